"""Learning from errors, and pruning."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.oracles import forest as oracle
from tests.support.comparison import assert_same_model, snapshot
from tests.support.strategies import learning_problems

from opforest import OPFClassifier, OPFSemiSupervised, learn_from_errors, prune


def train(D, y):
    roots = oracle.prototypes(oracle.kruskal(D), y)
    return roots, oracle.costs(D, roots)


def arcs(D, y, roots, cost):
    """Who takes each example, in the order in which they offer."""
    before, order, waiting = dict.fromkeys(roots, -1), [], set(roots)
    while waiting:
        u = min(waiting, key=lambda v: (cost[v], v))
        waiting.remove(u)
        order.append(u)
        for v in range(len(D)):
            if v not in before and y[u] == y[v] and max(cost[u], D[u, v]) == cost[v]:
                before[v] = u
                waiting.add(v)
    return before, order


def pruned(D, y, DQ, truth, loss):
    def judge(kept):
        roots, cost = train(D[np.ix_(kept, kept)], y[kept])
        winner, _ = oracle.conquerors(cost, DQ[:, kept])
        return roots, cost, winner, oracle.opf_accuracy(truth, y[kept][winner])

    kept = np.arange(len(y))
    roots, cost, winner, first = judge(kept)
    while True:
        before, order = arcs(D[np.ix_(kept, kept)], y[kept], roots, cost)
        needed = set()
        for q, w in enumerate(winner):
            offers = np.maximum(cost, DQ[q, kept])
            v = next(u for u in order if offers[u] == offers.min())
            v = v if y[kept[v]] == y[kept[w]] else w
            while v >= 0:
                needed.add(v)
                v = before[v]
        fewer = kept[sorted(needed)]
        if len(fewer) == len(kept) or len(set(y[fewer])) < len(set(y)):
            return kept
        result = judge(fewer)
        if result[3] < first - loss:
            return kept
        kept = fewer
        roots, cost, winner, _ = result


@settings(max_examples=40)
@given(problem=learning_problems(max_n=16), loss=st.sampled_from([0.0, 0.1]))
def test_pruning_keeps_what_conquers(problem, loss):
    X, y, Q = problem
    truth = np.resize(y, len(Q))
    clf = OPFClassifier().fit(X, y)
    before = snapshot(clf)
    smaller, history = prune(clf, Q, truth, loss=loss)
    D, DQ = (oracle.table(X, oracle.squared_euclidean, A) for A in (X, Q))
    kept = pruned(D, y, DQ, truth, loss)
    assert smaller.forest_.ids.tolist() == kept.tolist()
    assert [step.examples for step in history][-1] == len(kept)
    assert history[-1].accuracy >= history[0].accuracy - loss
    fresh = OPFClassifier().fit(X[kept], y[kept])
    assert_same_model(smaller, fresh, Q, ids=False)
    assert snapshot(clf) == before


def learned(D, y, n, mode, rounds):
    """The training set that is best, and how right each one was."""
    random = np.random.RandomState(0)
    chosen, queries, history = list(range(n)), list(range(n, len(y))), []
    while True:
        chosen = sorted(chosen)
        roots, cost = train(D[np.ix_(chosen, chosen)], y[chosen])
        winner, _ = oracle.conquerors(cost, D[np.ix_(queries, chosen)])
        wrong = [i for i, w in enumerate(winner) if y[chosen[w]] != y[queries[i]]]
        answers = [y[chosen[w]] for w in winner]
        history.append((oracle.opf_accuracy(y[queries], answers), list(chosen)))
        if not wrong:
            break
        if mode == "add":
            chosen += [queries[i] for i in wrong]
            queries = [q for i, q in enumerate(queries) if i not in wrong]
            if not queries:
                history.append((None, sorted(chosen)))
                break
            continue
        if len(history) > rounds:
            break
        swapped = set(roots)
        for i in wrong:
            options = [p for p in range(n) if p not in swapped and y[chosen[p]] == y[queries[i]]]
            if options:
                place = options[random.randint(len(options))]
                chosen[place], queries[i] = queries[i], chosen[place]
                swapped.add(place)
        if len(swapped) == len(roots):
            break
    best = history[-1]
    if mode == "swap":
        best = max(history, key=lambda entry: round(entry[0], 9))  # the first of equals
    return best[1], [accuracy for accuracy, _ in history if accuracy is not None]


@settings(max_examples=60)
@given(
    problem=learning_problems(max_n=16),
    mode=st.sampled_from(["swap", "add"]),
    rounds=st.sampled_from([0, 1, 10]),
)
def test_learning_from_errors(problem, mode, rounds):
    X, y, Q = problem
    truth = np.resize(y, len(Q))
    clf = OPFClassifier().fit(X, y)
    before = snapshot(clf)
    better, history = learn_from_errors(clf, Q, truth, mode=mode, rounds=rounds, random_state=0)
    assert snapshot(clf) == before
    D = oracle.table(np.concatenate((X, Q)), oracle.squared_euclidean)
    expected, accuracies = learned(D, np.append(y, truth), len(X), mode, rounds)
    assert better.forest_.ids.tolist() == expected
    assert [step.accuracy for step in history] == pytest.approx(accuracies)
    everything, labels = np.concatenate((X, Q)), np.append(y, truth)
    kept = better.forest_.ids
    fresh = OPFClassifier().partial_fit(everything[kept], labels[kept], classes=clf.classes_)
    assert_same_model(better, fresh, Q, ids=False)
    assert history[0].accuracy == pytest.approx(oracle.opf_accuracy(truth, clf.predict(Q)))
    if mode == "add":
        rest = np.setdiff1d(np.arange(len(labels)), kept)
        if len(rest):
            assert np.array_equal(better.predict(everything[rest]), labels[rest])
    else:
        assert np.array_equal(np.bincount(labels[kept]), np.bincount(y))
        assert max(step.accuracy for step in history) >= history[0].accuracy


def test_metrics_that_embed_or_are_given():
    rng = np.random.default_rng(0)
    X, y = rng.random((40, 3)), rng.integers(0, 2, 40)
    for metric in ("cosine", "manhattan"):
        clf = OPFClassifier(metric).fit(X[:25], y[:25])
        smaller, _ = prune(clf, X[25:], y[25:], loss=1.0)
        assert len(smaller.forest_) < 25
    D = np.abs(X[:, None] - X).sum(axis=2)
    table = OPFClassifier("precomputed").fit(D[:25, :25], y[:25])
    same, _ = prune(table, D[25:], y[25:], loss=1.0)
    assert same.forest_.ids.tolist() == smaller.forest_.ids.tolist()
    one, _ = learn_from_errors(table, D[25:], y[25:], random_state=1)
    two, _ = learn_from_errors(clf, X[25:], y[25:], random_state=1)
    assert one.forest_.ids.tolist() == two.forest_.ids.tolist()


def test_bad_input():
    X, y = np.array([[0.0], [1.0], [2.0]]), [0, 1, 1]
    clf = OPFClassifier().fit(X, y)
    for function in (prune, learn_from_errors):
        with pytest.raises(ValueError, match="class 7, which is not one of the 2 known classes"):
            function(clf, X, [0, 1, 7])
        with pytest.raises(ValueError, match="update='exact'"):
            function(OPFClassifier(update="opfi").fit(X, y), X, y)
        for seeds in ("labeled", "prototypes"):
            with pytest.raises(ValueError, match="got OPFSemiSupervised"):
                function(OPFSemiSupervised(seeds=seeds).fit(X, y), X, y)
        with pytest.raises(ValueError, match="Of a pipeline, pass the last step"):
            function(make_pipeline(StandardScaler(), clf), X, y)
        with pytest.raises(ValueError, match="forgotten all examples"):
            function(OPFClassifier().fit(X, y).forget([0, 1, 2]), X, y)
    with pytest.raises(ValueError, match="mode must be one of"):
        learn_from_errors(clf, X, y, mode="drop")
    with pytest.raises(ValueError, match="loss must be"):
        prune(clf, X, y, loss=-1)
