"""Votes: labels, probabilities and their calibration, against oracles that try everything."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from sklearn.datasets import load_iris, make_moons
from sklearn.metrics import log_loss
from tests.oracles import forest as oracle
from tests.oracles import probabilities as one_voter
from tests.oracles import votes as plain
from tests.support.comparison import assert_same_votes
from tests.support.strategies import learning_problems
from tests.support.tuning import NO_REFIT, reset, tune, tuned

import opforest
from opforest import OPFClassifier, OPFSemiSupervised
from opforest.core.probability.votes import EXPONENTS, SMOOTHING, vote_likelihoods
from opforest.forest import votes
from opforest.forest.judgment import judge


def table(clf, X, Q=None):
    """Return squared distances between examples, or from queries, as floats."""
    return np.array(oracle.table(X, oracle.squared_euclidean, Q), float)


def assert_votes_right(clf, X, Q):
    """Labels and probabilities follow from the calibration and a sort of all offers."""
    found, D = clf.calibration_, table(clf, X, Q)
    label, cost = clf.forest_.label.tolist(), clf.forest_.cost.tolist()
    known = sorted(set(label))
    proba, predicted = clf.predict_proba(Q), clf.predict(Q)
    for i in range(len(Q)):
        best = plain.best_offers(cost, D[i].tolist(), found.voters)
        offers, labels = [offer for offer, _, _ in best], [label[v] for _, _, v in best]
        rules = found.exponent, found.floor, found.class_weights
        _, counted = plain.count(offers, labels, *rules)
        assert predicted[i] == clf.classes_[plain.winner(counted)]
        expected = np.zeros(len(clf.classes_))
        for k, p in plain.probabilities(counted, found.smoothing, known).items():
            expected[k] = p
        np.testing.assert_allclose(proba[i], expected, rtol=1e-12)
        assert clf.classes_[proba[i].argmax()] == predicted[i]
        assert (proba[i] == proba[i].max()).sum() == 1
    np.testing.assert_allclose(np.exp(clf.predict_log_proba(Q)), proba)


@settings(max_examples=150)
@given(problem=learning_problems(), voters=st.sampled_from([2, 3, 5, 40]))
@pytest.mark.parametrize("algorithm", ["kd_tree", "brute"])
def test_votes_equal_sorting(algorithm, problem, voters):
    X, y, Q = problem
    clf = OPFClassifier("sqeuclidean", algorithm=algorithm, voters=voters).fit(X, y)
    assert clf.voters_ == voters
    assert_votes_right(clf, X, Q)


def judged_by_hand(clf, X, at_most=1000):
    """Return what the calibration judges: other offers in order, their labels, own labels."""
    label, cost, D = clf.forest_.label.tolist(), clf.forest_.cost.tolist(), table(clf, X)
    judged = []
    for i in one_voter.chosen(len(X), at_most):
        if label.count(label[i]) > 1:
            best = plain.others(i, cost, D[i].tolist(), 50)
            judged.append(([o for o, _, _ in best], [label[v] for _, _, v in best], label[i]))
    return judged


@settings(max_examples=60)
@given(problem=learning_problems(), voters=st.sampled_from([2, 5, "auto"]))
def test_the_calibration_has_the_largest_likelihood(problem, voters):
    X, y, _ = problem
    clf = OPFClassifier("sqeuclidean", voters=voters).fit(X, y)
    found, judged = clf.calibration_, judged_by_hand(clf, X)
    sizes = plain.VOTERS if voters == "auto" else (voters,)
    grid = plain.log_likelihoods(judged, len(clf.classes_), found.floor, sizes)
    largest = max(grid.values())
    if found.class_weights:  # each of them is a parameter, by Akaike's criterion
        rules = found.voters, found.exponent, found.smoothing
        args = judged, len(clf.classes_), found.floor, rules, found.class_weights
        weighted = plain.weighted_log_likelihood(*args) - (len(clf.classes_) - 1)
        assert found.voters == 50
        assert weighted >= largest - 1e-9 * max(1, abs(largest))
        largest = max(largest, weighted)
    elif found.voters > 1:
        own = grid[found.voters, found.exponent, found.smoothing]
        assert own >= largest - 1e-9 * max(1, abs(largest))
        # Of equals, the smallest: with few examples, all others vote anyway.
        smaller = [k for (k, e, a), value in grid.items() if value > largest + 1e-9]
        assert not smaller
    if voters == "auto":
        plain_opf = OPFClassifier("sqeuclidean").fit(X, y)
        assert found.floor == plain_opf.calibration_.floor
        alone = alone_likelihood(plain_opf, X)
        margin = 1e-9 * max(1, abs(largest), abs(alone))
        if found.voters == 1:
            assert alone >= largest - margin
            assert found.exponent == plain_opf.exponent_
        else:
            assert alone <= largest + margin


def alone_likelihood(clf, X):
    """Return the leave-one-out likelihood of one voter, with the exponent that was found."""
    label, cost, D = clf.forest_.label.tolist(), clf.forest_.cost.tolist(), table(clf, X)
    offers = [
        one_voter.offers_without(i, cost, label, D.tolist(), len(clf.classes_))
        for i in one_voter.chosen(len(X))
    ]
    judged, own = one_voter.judged(offers, [label[i] for i in one_voter.chosen(len(X))])
    if not judged:
        return 0.0
    found = clf.calibration_
    return sum(
        log_probability([max(c, found.floor) for c in row], k, found.exponent)
        for row, k in zip(judged, own, strict=True)
    )


def log_probability(cost, own, exponent):
    """Return the logarithm of the probability of one class by its cost, even if it underflows."""
    least = min(cost)
    if least == 0:
        return -math.log(cost.count(0)) if cost[own] == 0 else -math.inf
    logs = [
        -exponent * (math.log(c) - math.log(least)) if c < math.inf else -math.inf for c in cost
    ]
    return logs[own] - math.log(sum(math.exp(value) for value in logs))


def test_likelihoods_equal_a_plain_grid():
    rng = np.random.default_rng(0)
    offers = np.sort(rng.exponential(size=(400, 50)), axis=1)
    offers[::7, :3] = 0
    label, own = rng.integers(0, 3, (400, 50)), rng.integers(0, 3, 400)
    label[::5, 30:] = -1
    found = vote_likelihoods(offers, label, own, 3, 0.01, np.array(plain.VOTERS))
    judged = [
        (o[k >= 0].tolist(), k[k >= 0].tolist(), int(t))
        for o, k, t in zip(offers, label, own, strict=True)
    ]
    expected = plain.log_likelihoods(judged, 3, 0.01)
    assert (EXPONENTS, SMOOTHING, votes.VOTERS) == (
        plain.EXPONENTS, plain.SMOOTHING, plain.VOTERS,
    )  # fmt: skip
    np.testing.assert_allclose(found.ravel(), [*expected.values()], rtol=1e-10)


@pytest.mark.parametrize("algorithm", ["kd_tree", "brute"])
def test_more_voters_than_examples(algorithm):
    X, y = make_moons(40, noise=0.3, random_state=0)
    few, many = (
        OPFClassifier(algorithm=algorithm, voters=voters).fit(X, y) for voters in (40, 10**8)
    )
    Q = X + 0.1
    assert many.voters_ == 10**8
    assert np.array_equal(few.predict_proba(Q), many.predict_proba(Q))
    assert len(many.explain(Q[0]).voters) == 40
    issues = [opforest.find_label_issues(clf).ids.tolist() for clf in (few, many)]
    assert issues[0] == issues[1]
    ids, offer = few.conquerors(Q, k=45)
    assert ids.shape == offer.shape == (40, 45)
    assert (ids[:, 40:] == -1).all()
    assert np.isinf(offer[:, 40:]).all()
    assert np.isfinite(offer[:, :40]).all()
    assert OPFClassifier(voters=10**8).fit([[0.0]], ["a"]).predict([[1.0]]).tolist() == ["a"]
    huge = OPFClassifier(algorithm=algorithm, voters=10**30).fit(X, y)
    assert np.array_equal(few.predict_proba(Q), huge.predict_proba(Q))
    with huge.forest_.storage.lock.read():  # they do not make blocks smaller
        assert len(list(judge(huge.forest_, 2, huge.calibration_))) == 1


@settings(max_examples=60)
@given(problem=learning_problems(), voters=st.sampled_from([2, 3, "auto"]))
@pytest.mark.parametrize("algorithm", ["kd_tree", "brute"])
def test_grown_and_refitted_models_vote_alike(algorithm, problem, voters):
    """Bit for bit, after any learning and forgetting."""
    X, y, Q = problem
    with tuned(max_calibration_examples=7, **NO_REFIT):
        clf = OPFClassifier(algorithm=algorithm, voters=voters)
        for i in range(len(X)):
            clf.partial_fit(X[i : i + 1], y[i : i + 1])
            if i % 4 == 1:
                clf.predict(Q)
        assert_same_votes(clf, OPFClassifier(algorithm="brute", voters=voters).fit(X, y), Q)
        left = np.arange(len(X)) % 3 != 1
        for i in np.flatnonzero(~left):
            clf.forget([i])
        other = OPFClassifier(voters=voters).partial_fit(X[left], y[left], classes=clf.classes_)
        assert_same_votes(clf, other, Q)


@settings(max_examples=60)
@given(problem=learning_problems(), kept=st.lists(st.booleans(), min_size=1, max_size=24))
@pytest.mark.parametrize("algorithm", ["kd_tree", "brute"])
def test_seeds_are_judged_by_other_trees(algorithm, problem, kept):
    X, y, Q = problem
    y = np.where(np.resize(kept, len(y)), y, -1)
    if (y == -1).all():
        y[0] = 0
    y = np.searchsorted(np.unique(y[y >= 0]), y, side="right") - 1
    clf = OPFSemiSupervised("sqeuclidean", algorithm=algorithm, voters=3).fit(X, y)
    assert_votes_right(clf, X, Q)
    label, cost, root = clf.forest_.label, clf.forest_.cost.tolist(), clf.forest_.root
    D, judged = table(clf, X), []
    plain_opf = OPFSemiSupervised("sqeuclidean").fit(X, y)
    for i in np.flatnonzero(y >= 0).tolist():
        if not has_peers(D, y, i):
            continue
        rest = [v for v in range(len(X)) if root[v] != i]
        best = plain.best_offers([cost[v] for v in rest], D[i][rest].tolist(), 3)
        judged.append(([o for o, _, _ in best], [int(label[rest[v]]) for _, _, v in best], y[i]))
    grid = plain.log_likelihoods(
        judged, len(set(label.tolist())), plain_opf.calibration_.floor, (3,)
    )
    found = clf.calibration_
    assert grid[3, found.exponent, found.smoothing] >= max(grid.values()) - 1e-9


def has_peers(D, y, i):
    """Return whether others of its class are left without the label of example i."""
    given = [-1 if j == i else int(label) for j, label in enumerate(y)]
    if max(given) < 0:
        return False
    label, _, _, _ = oracle.seeded(D, given)
    tree_of_class = [j for j in range(len(y)) if label[j] == y[i] and j != i]
    return bool(tree_of_class) or label[i] == y[i]


def test_noise_is_outvoted():
    X, truth = make_moons(1500, noise=0.15, random_state=0)
    flipped = np.random.default_rng(0).random(1500) < 0.15
    y = np.where(flipped, 1 - truth, truth)
    one = OPFClassifier().fit(X[:1000], y[:1000])
    many = OPFClassifier(voters="auto").fit(X[:1000], y[:1000])
    assert many.voters_ >= 5
    assert many.score(X[1000:], truth[1000:]) > one.score(X[1000:], truth[1000:]) + 0.08
    noisy = y[1000:]
    assert log_loss(noisy, many.predict_proba(X[1000:])) < log_loss(
        noisy, one.predict_proba(X[1000:])
    )


def test_one_voter_may_be_the_best():
    """Each class is many small islands, in which more voters only err."""
    X = np.array([[10.0 * i + j, 0] for i in range(60) for j in range(2)])
    clf = OPFClassifier(voters="auto").fit(X, np.arange(120) // 2 % 7)
    assert clf.voters_ == 1
    plain_opf = OPFClassifier().fit(X, clf.classes_[clf.forest_.label])
    assert np.array_equal(clf.predict_proba(X + 0.3), plain_opf.predict_proba(X + 0.3))


def test_a_class_without_examples_gets_nothing():
    X, y = load_iris(return_X_y=True)
    clf = OPFClassifier(voters=5).fit(X, y)
    clf.forget(np.flatnonzero(y == 1))
    rest = OPFClassifier(voters=5).fit(X[y != 1], y[y != 1])
    assert (clf.predict_proba(X)[:, 1] == 0).all()
    assert np.array_equal(clf.predict_proba(X)[:, [0, 2]], rest.predict_proba(X))
    assert (clf.predict_log_proba(X)[:, 1] == -np.inf).all()


@pytest.mark.parametrize("voters", [0, -1, 2.0, True, "many", None, [3]])
def test_voters_must_be_a_count_or_auto(voters):
    clf = OPFClassifier(voters=voters)
    with pytest.raises(ValueError, match="voters must be an integer of at least 1 or 'auto'"):
        clf.fit([[0.0], [1.0]], [0, 1])
    assert not hasattr(clf, "forest_")


def test_explanations_list_the_voters():
    X = [[0.0], [1.0], [2.0], [4.0], [5.0]]
    clf = OPFClassifier(voters=3).fit(X, ["a", "b", "a", "b", "b"]).forget([4])
    why = clf.explain([1.0])
    assert why.label == clf.predict([[1.0]])[0]
    assert [voter.id for voter in why.voters] == clf.conquerors([[1.0]], 3)[0][0].tolist()
    assert [voter.offer for voter in why.voters] == clf.conquerors([[1.0]], 3)[1][0].tolist()
    assert why.votes[why.label] == max(why.votes.values())
    assert why.steps[-2].label == why.label
    assert why.conqueror in [voter.id for voter in why.voters]
    for text in (str(why), why._repr_html_()):
        assert all(voter.name in text for voter in why.voters)
    assert OPFClassifier().fit(X, [0, 1, 0, 1, 1]).explain([1.0]).voters == ()


@pytest.mark.parametrize("voters", [4, "auto"])
def test_saved_and_pickled(tmp_path, voters):
    X, y = make_moons(200, noise=0.3, random_state=0)
    for clf in (OPFClassifier(voters=voters), OPFSemiSupervised(voters=voters)):
        clf.fit(X, y)
        expected = clf.predict_proba(X + 0.1)
        for path in ("before.opfm", "after.opfm"):
            opforest.save(clf, tmp_path / path)
            again = opforest.load(tmp_path / path)
            assert again.voters == voters
            assert np.array_equal(again.predict_proba(X + 0.1), expected)
            assert again.calibration_ == clf.calibration_
        assert np.array_equal(pickle.loads(pickle.dumps(clf)).predict_proba(X + 0.1), expected)


@pytest.mark.parametrize("update", ["opfi", "dift"])
def test_approximate_forests_vote(update):
    X, y = make_moons(300, noise=0.3, random_state=0)
    clf = OPFClassifier("sqeuclidean", update=update, voters="auto").fit(X[:50], y[:50])
    for i in range(50, 300):
        clf.partial_fit(X[i : i + 1], y[i : i + 1])
    if clf.voters_ > 1:
        assert_votes_right(clf, X, X[::9] + 0.05)


@pytest.mark.parametrize("metric", ["manhattan", "cosine", "gaussian", "canberra", "precomputed"])
def test_all_kinds_of_metrics(metric):
    rng = np.random.default_rng(0)
    X, y = rng.random((80, 3)) + 0.1, rng.integers(0, 3, 80)
    Q = X[::5] + 0.01
    if metric == "precomputed":
        Q = np.abs(Q[:, None] - X[None]).sum(axis=2)
        X = np.abs(X[:, None] - X[None]).sum(axis=2)
    clf = OPFClassifier(metric, voters="auto").fit(X, y)
    assert clf.predict(Q).tolist() == clf.classes_[clf.predict_proba(Q).argmax(axis=1)].tolist()
    np.testing.assert_allclose(clf.predict_proba(Q).sum(axis=1), 1)


def test_changing_the_number_of_voters():
    X, y = make_moons(200, noise=0.3, random_state=0)
    clf = OPFClassifier().fit(X, y)
    first = clf.predict_proba(X)
    assert clf.set_params(voters=7).voters_ == 7
    assert np.array_equal(clf.predict_proba(X), OPFClassifier(voters=7).fit(X, y).predict_proba(X))
    assert np.array_equal(clf.set_params(voters=1).predict_proba(X), first)


class VotingModel(RuleBasedStateMachine):
    """Learns, forgets and answers on a grid full of ties; compared with fresh fits."""

    points = st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from("abc")),
        min_size=1,
        max_size=6,
    )
    queries = np.array([[a, b] for a in range(-1, 5) for b in (0, 1.5, 3)], float)

    def __init__(self):
        super().__init__()
        tune(max_calibration_examples=9, **NO_REFIT)

    def teardown(self):
        reset()

    @initialize(batch=points, voters=st.sampled_from(["auto", "auto", 2, 5]))
    def begin(self, batch, voters):
        self.X, self.y = np.empty((0, 2)), np.empty(0, "<U1")
        self.ids, self.n_seen, self.voters = np.empty(0, np.int64), 0, voters
        self.models = [
            OPFClassifier(algorithm=name, voters=voters) for name in ("kd_tree", "brute")
        ]
        self.learn(batch)

    @rule(batch=points)
    def learn(self, batch):
        X, y = np.array([row[:2] for row in batch], float), np.array([row[2] for row in batch])
        for clf in self.models:
            clf.partial_fit(X, y, classes=list("abc"))
        self.X, self.y = np.concatenate((self.X, X)), np.concatenate((self.y, y))
        self.ids = np.append(self.ids, np.arange(self.n_seen, self.n_seen + len(X)))
        self.n_seen += len(X)

    @precondition(lambda self: len(self.ids) > 2)
    @rule(data=st.data())
    def forget(self, data):
        gone = data.draw(st.lists(st.sampled_from(self.ids.tolist()), min_size=1, max_size=2,
                                  unique=True))  # fmt: skip
        for clf in self.models:
            clf.forget(gone)
        stays = ~np.isin(self.ids, gone)
        self.X, self.y, self.ids = self.X[stays], self.y[stays], self.ids[stays]

    @invariant()
    def equals_a_fresh_fit(self):
        if not hasattr(self, "models"):
            return
        fresh = OPFClassifier(voters=self.voters)
        fresh.partial_fit(self.X, self.y, classes=list("abc"))
        for clf in self.models:
            assert_same_votes(clf, fresh, self.queries)


TestVotingModel = VotingModel.TestCase
TestVotingModel.settings = settings(max_examples=40, stateful_step_count=12)
