"""Labels that are probably wrong, against votes counted in plain Python and against refitting."""

import re
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline as sklearn_make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.oracles import forest as oracle
from tests.oracles import label_issues as plain
from tests.oracles import votes
from tests.support.strategies import learning_problems
from tests.support.tuning import tuned

import opforest
from opforest import OPFClassifier, OPFSemiSupervised, find_label_issues
from opforest._utils.extras import install_command
from opforest.forest import judgment
from opforest.forest import votes as votes_of_forest
from opforest.forest.judgment import find_judging_rules


def table(X, Q=None):
    return np.array(oracle.table(X, oracle.squared_euclidean, Q), float)


def rules_of(clf):
    """Return the calibration of the votes, which is tested on its own."""
    return find_judging_rules(clf.source_forest(), clf.voters)


def judge_by_hand(clf, X, own, candidates):
    """Judge examples by all offers of others, which ``candidates(i)`` lists."""
    forest, rules, D = clf.source_forest(), rules_of(clf), table(X)
    label, cost = forest.label.tolist(), forest.cost.tolist()
    judged = {}
    for i in range(len(X)):
        rest = candidates(i)
        if own[i] >= 0 and rest:
            offers = sorted((max(cost[v], D[i, v]), cost[v], v) for v in rest)
            judged[i] = plain.judge(offers, label, own[i], sorted(set(label)), rules)
    return judged


def judge_by_refitting(clf, make, X, own):
    """Judge each example by the forest refitted without its row."""
    rules, D, judged = rules_of(clf), table(X), {}
    for i in range(len(X)):
        rest = [v for v in range(len(X)) if v != i]
        if own[i] < 0 or max((own[v] for v in rest), default=-1) < 0:
            continue
        other = make().fit(X[rest], np.array(own)[rest])
        code = other.source_forest().label
        label, cost = other.classes_[code].tolist(), other.source_forest().cost.tolist()
        offers = sorted((max(c, D[i, v]), c, k) for k, (c, v) in enumerate(zip(cost, rest)))  # noqa: B905
        winner, p, voters = plain.judge(offers, label, own[i], sorted(set(label)), rules)
        judged[i] = winner, p, [rest[k] for k in voters]
    return judged


def assert_same(issues, judged, own):
    """Probabilities may differ by rounding, and so may what they decide."""
    wrong, p, expected = plain.find_issues(judged, own)
    assert issues.n_judged == len(judged)
    unclear = {i for i, value in p.items() if abs(value - wrong) < 1e-9}
    found = {one.id: one for one in issues}
    assert len(found) == len(issues)
    assert found.keys() - unclear == {issue[0] for issue in expected} - unclear
    for i, suggested, probability, given_probability, voters in expected:
        if i in found:
            one = found[i]
            assert (one.label, one.suggested) == (own[i], suggested)
            assert [voter.id for voter in one.voters] == voters
            assert one.probability == pytest.approx(probability, rel=1e-9)
            assert one.given_probability == pytest.approx(given_probability, rel=1e-9, abs=1e-12)
            assert one.disagreeing.label == one.suggested
            assert one.agreeing is None or one.agreeing.label == one.label
    assert_in_order(issues)


def assert_in_order(issues):
    order = [(-one.probability, one.id) for one in issues]
    assert order == sorted(order)
    assert issues.ids.tolist() == [one.id for one in issues]


@settings(max_examples=100)
@given(problem=learning_problems(), voters=st.sampled_from([1, 2, 3, 5, "auto"]))
@pytest.mark.parametrize("algorithm", ["kd_tree", "brute"])
def test_issues_equal_sorting_all_offers(algorithm, problem, voters):
    X, y, _ = problem
    clf = OPFClassifier("sqeuclidean", algorithm=algorithm, voters=voters).fit(X, y)
    issues = find_label_issues(clf)
    judged = judge_by_hand(clf, X, y.tolist(), lambda i: [v for v in range(len(X)) if v != i])
    assert_same(issues, judged, y.tolist())
    with tuned(judged_cells=7):
        again = find_label_issues(clf, n_jobs=2)
    assert list(again) == list(issues)


@settings(max_examples=40)
@given(problem=learning_problems(max_n=14, max_d=2), voters=st.sampled_from([1, 2, 3]))
@pytest.mark.parametrize("algorithm", ["kd_tree", "brute"])
def test_exact_issues_equal_refitting(algorithm, problem, voters):
    X, y, _ = problem

    def make():
        return OPFClassifier("sqeuclidean", algorithm="brute", voters=voters)

    clf = OPFClassifier("sqeuclidean", algorithm=algorithm, voters=voters).fit(X, y)
    before = clf.forest_.state()
    with tuned(refit_fraction_to_forget=1.0):
        issues = find_label_issues(clf, exact=True)
    assert_same(issues, judge_by_refitting(clf, make, X, y.tolist()), y.tolist())
    assert np.array_equal(before.model.cost, clf.forest_.state().model.cost)
    assert clf.forest_.ids.tolist() == list(range(len(X)))


def some_labels(y, kept):
    y = np.where(np.resize(kept, len(y)), y, -1)
    if (y == -1).all():
        y[0] = 0
    return np.searchsorted(np.unique(y[y >= 0]), y, side="right") - 1


@settings(max_examples=60)
@given(problem=learning_problems(), kept=st.lists(st.booleans(), min_size=1, max_size=24))
@pytest.mark.parametrize("seeds", ["labeled", "prototypes"])
def test_given_labels_are_judged_by_other_trees(seeds, problem, kept):
    X, y, _ = problem
    y = some_labels(y, kept)
    clf = OPFSemiSupervised("sqeuclidean", seeds=seeds, voters=3).fit(X, y)
    root = clf.source_forest().root
    judged = judge_by_hand(
        clf, X, y.tolist(), lambda i: [v for v in range(len(X)) if root[v] != i]
    )  # fmt: skip
    assert_same(find_label_issues(clf), judged, y.tolist())


@settings(max_examples=25)
@given(
    problem=learning_problems(max_n=12, max_d=2),
    kept=st.lists(st.booleans(), min_size=1, max_size=24),
)
def test_exact_issues_of_given_labels_equal_refitting(problem, kept):
    X, y, _ = problem
    y = some_labels(y, kept)

    def make():
        return OPFSemiSupervised("sqeuclidean", voters=2)

    clf = make().fit(X, y)
    with tuned(refit_fraction_to_forget=1.0):
        issues = find_label_issues(clf, exact=True)
    assert_same(issues, judge_by_refitting(clf, make, X, y.tolist()), y.tolist())


def test_wrong_types():
    X, y = [[0.0], [1.0]], [0, 1]
    for other in (3, None, X, np.zeros((2, 1)), "m.opforest"):
        with pytest.raises(TypeError, match=f"got an object of type {type(other).__name__}. Fit"):
            find_label_issues(other)
    with pytest.raises(TypeError, match=r"got the class OPFClassifier\. Fit one first"):
        find_label_issues(OPFClassifier)
    with pytest.raises(NotFittedError, match="got OPFClassifier, which is not fitted"):
        find_label_issues(OPFClassifier())
    with pytest.raises(NotFittedError, match=r"got KNeighborsClassifier\.$"):
        find_label_issues(KNeighborsClassifier(1).fit(X, y))
    clf = OPFClassifier().fit(X, y)
    for n_jobs in ("2", 1.5, 0):
        with pytest.raises(ValueError, match="n_jobs must be an integer that is not 0, or None"):
            find_label_issues(clf, n_jobs=n_jobs)
    with pytest.raises(ValueError, match="exact must be True or False, got 'yes'"):
        find_label_issues(clf, exact="yes")


@pytest.mark.parametrize("exact", [False, True])
def test_one_example_and_one_class(exact):
    alone = find_label_issues(OPFClassifier().fit([[1.0]], ["a"]), exact=exact)
    assert (len(alone), alone.n_judged, alone.ids.tolist()) == (0, 0, [])
    same = find_label_issues(OPFClassifier().fit([[1.0], [2.0], [2.0]], [7, 7, 7]), exact=exact)
    assert (len(same), same.n_judged) == (0, 3)
    seed = OPFSemiSupervised().fit([[1.0], [2.0], [3.0]], [4, -1, -1])
    assert len(find_label_issues(seed, exact=exact)) == 0
    for issues in (alone, same):
        assert len(issues.to_frame()) == 0
        assert "0 of" in str(issues)
        assert "0 of" in issues._repr_html_()
        assert issues.plot().axes


@pytest.mark.parametrize("exact", [False, True])
def test_duplicates_with_different_labels(exact):
    X = np.repeat([[0.0], [1.0], [9.0]], [6, 6, 6], axis=0)
    y = np.repeat(["a", "b", "c"], 6)
    y[2] = "b"
    issues = find_label_issues(OPFClassifier(voters=5).fit(X, y), exact=exact)
    assert issues.ids.tolist() == [2]
    assert (issues[0].label, issues[0].suggested) == ("b", "a")


def test_a_label_that_no_other_example_has():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y].astype("<U12")
    names[7] = "setoso"
    issues = find_label_issues(OPFClassifier().fit(X, names))
    assert 7 in issues.ids
    one = next(one for one in issues if one.id == 7)
    assert one.suggested == "setosa"
    assert one.agreeing is None


def test_a_label_that_no_other_example_has_is_suspected_where_others_are_less_probable():
    X = np.random.default_rng(0).normal(size=(160, 1))
    y = np.append("b", np.full(159, "a"))
    issues = find_label_issues(OPFClassifier(voters=30).fit(X, y))
    assert issues.ids.tolist() == [0]
    given = OPFSemiSupervised(voters=30).fit(X, y)
    assert find_label_issues(given).ids.tolist() == [0]


@pytest.mark.parametrize("voters", [1, 7, 10**30])
def test_no_more_voters_than_others(voters):
    clf = OPFClassifier(voters=voters).fit([[0.0], [0.1], [0.2], [1.0]], [0, 0, 1, 1])
    issues = find_label_issues(clf)
    assert issues.n_voters == 3
    assert all(len(one.voters) == 3 for one in issues)
    assert "by the votes of 3 others" in issues._repr_html_()
    assert find_label_issues(clf.forget([1, 2, 3])).n_voters == 0


def flipped_moons(n=400, noise=0.1):
    X, truth = make_moons(n, noise=0.15, random_state=0)
    flipped = np.random.default_rng(0).random(n) < noise
    return X, np.where(flipped, 1 - truth, truth), flipped


def test_most_flipped_labels_are_found():
    X, y, flipped = flipped_moons()
    issues = find_label_issues(OPFClassifier().fit(X, y))
    found = np.isin(np.arange(len(X)), issues.ids)
    assert found[flipped].mean() > 0.6  # recall
    assert flipped[found].mean() > 0.9  # precision; every tenth label was flipped
    assert issues.n_voters >= 10


def test_the_classifier_stays_as_it_was():
    X, y, _ = flipped_moons(100)
    clf = OPFClassifier().fit(X, y)
    expected = clf.predict_proba(X)
    calibration = clf.calibration_
    find_label_issues(clf)
    assert clf.forest_.found_calibration is not None
    assert clf.calibration_ == calibration
    assert np.array_equal(clf.predict_proba(X), expected)


def test_interrupts_leave_the_classifier_usable(monkeypatch):
    X, y, _ = flipped_moons(100)
    clf = OPFClassifier().fit(X, y)
    calls = []

    def interrupt(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return votes_of_forest.elect_among_others(*arguments)

    monkeypatch.setattr(judgment, "elect_among_others", interrupt)
    with tuned(judged_cells=300), pytest.raises(KeyboardInterrupt):
        find_label_issues(clf)
    monkeypatch.undo()
    clf.partial_fit(X[:1] + 0.5, y[:1])  # waits for no reader
    assert find_label_issues(clf).n_judged == 101


def test_while_another_thread_learns():
    X, y, _ = flipped_moons(400)
    clf = OPFClassifier(voters=5).fit(X[:200], y[:200])
    learner = threading.Thread(
        target=lambda: [clf.partial_fit(X[i : i + 1], y[i : i + 1]) for i in range(200, 400)]
    )
    learner.start()
    sizes = [find_label_issues(clf).n_judged for _ in range(30)]
    learner.join()
    assert sizes == sorted(sizes)
    fresh = OPFClassifier(voters=5).fit(X, y)
    assert list(find_label_issues(clf)) == list(find_label_issues(fresh))


def test_ids_are_those_of_forget():
    X, y, _ = flipped_moons(200)
    clf = OPFClassifier().fit(X, y).forget(np.arange(0, 60, 3))
    left = clf.forest_.ids
    fresh = find_label_issues(OPFClassifier().fit(X[left], y[left]))
    issues = find_label_issues(clf)
    assert issues.ids.tolist() == left[fresh.ids].tolist()
    assert len(issues) > 0
    clf.forget(issues.ids)
    assert not np.isin(issues.ids, clf.forest_.ids).any()


@pytest.mark.parametrize("make", [opforest.make_pipeline, sklearn_make_pipeline])
def test_pipelines(make):
    X, y, _ = flipped_moons(150)
    model = make(StandardScaler(), OPFClassifier(voters=7)).fit(X, y)
    direct = OPFClassifier(voters=7).fit(StandardScaler().fit_transform(X), y)
    assert list(find_label_issues(model)) == list(find_label_issues(direct))


def test_dask():
    da = pytest.importorskip("dask.array")
    pytest.importorskip("distributed")
    from opforest.dask import DaskOPFClassifier

    X, y, _ = flipped_moons(150)
    clf = DaskOPFClassifier().fit(da.from_array(X, (40, 2)), da.from_array(y, 40))
    assert list(find_label_issues(clf)) == list(find_label_issues(OPFClassifier().fit(X, y)))


@pytest.mark.parametrize("metric", ["manhattan", "cosine", "canberra"])
@pytest.mark.parametrize("exact", [False, True])
def test_other_metrics(metric, exact):
    rng = np.random.default_rng(0)
    X, y = rng.random((40, 3)) + 0.1, rng.integers(0, 2, 40)
    clf = OPFClassifier(metric, voters=3).fit(X, y)
    issues = find_label_issues(clf, exact=exact)
    assert issues.n_judged == 40
    assert_in_order(issues)


@pytest.mark.filterwarnings("ignore:metric .* is a Python function")
@pytest.mark.parametrize("exact", [False, True])
def test_precomputed_distances_and_functions(exact):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 9, (40, 3)).astype(float), rng.integers(0, 2, 40)

    def manhattan(a, b):
        return float(np.abs(a - b).sum())

    D = np.abs(X[:, None] - X[None]).sum(axis=2)
    models = [
        OPFClassifier("precomputed", voters=3).fit(D, y),
        OPFClassifier(manhattan, voters=3).fit(X, y),
        OPFClassifier("manhattan", voters=3).fit(X, y),
    ]
    for ids in ([], [4, 9]):
        found = [find_label_issues(clf.forget(ids), exact=exact) for clf in models]
        assert list(found[0]) == list(found[1]) == list(found[2])
        assert len(found[0]) > 0
    left = np.setdiff1d(np.arange(40), [4, 9])
    fresh = find_label_issues(OPFClassifier("manhattan", voters=3).fit(X[left], y[left]))
    if not exact:
        assert found[0].ids.tolist() == left[fresh.ids].tolist()


def test_approximate_forests():
    X, y, _ = flipped_moons(100)
    clf = OPFClassifier(update="opfi").fit(X[:50], y[:50]).partial_fit(X[50:], y[50:])
    assert_in_order(find_label_issues(clf))
    with pytest.raises(ValueError, match="exact=True needs a forest that can forget"):
        find_label_issues(clf, exact=True)


def test_invalid_classifiers():
    for wrong in (OPFClassifier(), opforest.OPFClustering(), StandardScaler()):
        with pytest.raises(NotFittedError, match="must be a fitted OPFClassifier"):
            find_label_issues(wrong)
    with pytest.raises(NotFittedError, match="a Pipeline that ends in StandardScaler"):
        find_label_issues(sklearn_make_pipeline(StandardScaler()))


class TestTables:
    def issues(self):
        X, y, _ = flipped_moons(120)
        names = np.array(["left", "right"])[y]
        return X, names, find_label_issues(OPFClassifier(voters=9).fit(X, names))

    def test_sequence(self):
        _, _, issues = self.issues()
        assert len(issues[:3]) == 3
        assert issues[:3].ids.tolist() == issues.ids[:3].tolist()
        assert issues[-1].id == issues.ids[-1]
        assert issues[0] in issues
        assert f"{len(issues)} of 120 labels" in repr(issues)
        assert len(str(issues).splitlines()) == 2 + min(10, len(issues)) + (len(issues) > 10)

    def test_frames_show_neighbors(self):
        pd = pytest.importorskip("pandas")
        X, names, issues = self.issues()
        frame = issues.to_frame(X)
        assert frame["id"].tolist() == issues.ids.tolist()
        assert frame["label"].tolist() == names[issues.ids].tolist()
        assert np.array_equal(frame[["feature 0", "feature 1"]], X[issues.ids])
        beside = frame[["disagreeing feature 0", "disagreeing feature 1"]]
        assert np.array_equal(beside, X[frame["disagreeing"].astype(int)])
        named = issues.to_frame(pd.DataFrame(X, columns=["x", "y"]))
        assert {"x", "agreeing x", "disagreeing y"} <= set(named.columns)
        assert len(issues.to_frame().columns) == 7

    def test_frames_of_polars(self, monkeypatch):
        pl = pytest.importorskip("polars")
        X, _, issues = self.issues()
        monkeypatch.setitem(sys.modules, "pandas", None)
        frame = issues.to_frame(pl.DataFrame({"x": X[:, 0], "y": X[:, 1]}))
        assert isinstance(frame, pl.DataFrame)
        assert frame["x"].to_list() == X[issues.ids, 0].tolist()
        monkeypatch.setitem(sys.modules, "polars", None)
        with pytest.raises(ImportError, match=re.escape(install_command("cli"))):
            issues.to_frame()

    @pytest.mark.parametrize("method", ["to_frame", "plot"])
    def test_other_examples(self, method):
        X, _, issues = self.issues()
        with pytest.raises(ValueError, match="X must hold the 120 examples"):
            getattr(issues, method)(X[:5])

    def test_html(self):
        _, _, issues = self.issues()
        shown = issues._repr_html_()
        assert all(f">{id}<" in shown for id in issues.ids[:20].tolist())
        text = OPFClassifier(voters=2).fit([[0.0], [0.1], [0.2], [9.0]], ["<b>"] * 2 + ["c", "c"])
        assert "<b>'" not in find_label_issues(text)._repr_html_()

    def test_plots(self):
        pytest.importorskip("matplotlib")
        X, _, issues = self.issues()
        (ax,) = issues.plot(n=4).axes
        assert [text.get_text() for text in ax.texts] == [str(id) for id in issues.ids[:4]]
        (ax,) = issues.plot(np.column_stack((X, X)), n=4).axes
        assert len(ax.get_yticks()) == 4
        assert issues.plot(X).axes[0].get_xlabel() == "feature 0"
        with pytest.raises(ValueError, match="n must be an integer of at least 1"):
            issues.plot(n=0)


def test_ties_go_to_the_smaller_id():
    X = np.repeat(np.arange(4.0) * 100, 12)[:, None]
    y = np.repeat([0, 1, 0, 1], 12)
    y[[5, 17, 29]] = 1 - y[[5, 17, 29]]
    issues = find_label_issues(OPFClassifier(voters=10).fit(X, y))
    assert issues.ids.tolist() == [5, 17, 29]
    assert len({one.probability for one in issues}) == 1
    assert votes.winner({0: 1.0, 1: 1.0}) == 0
