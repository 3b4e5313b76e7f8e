"""Weights of classes in votes: those of largest likelihood, and a function of the forest."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.comparison import assert_same_votes
from tests.support.tuning import NO_REFIT, tuned

import opforest
from opforest import OPFClassifier
from opforest.core.probability.votes import SMOOTHING, fit_class_weights


@st.composite
def elections(draw):
    """Return weights of voters by row, their classes, own classes, and the smoothing."""
    n, k, n_classes = draw(st.integers(1, 12)), draw(st.integers(1, 6)), draw(st.integers(1, 4))
    share = st.sampled_from([0.0, 1e-300, 1e-9, 0.25, 0.5, 1.0])
    weight = [[1.0, *draw(st.lists(share, min_size=k - 1, max_size=k - 1))] for _ in range(n)]
    code = st.integers(0, n_classes - 1)
    label = [[draw(code), *(draw(code | st.just(-1)) for _ in range(k - 1))] for _ in range(n)]
    own = [draw(code) for _ in range(n)]
    return np.array(weight), np.array(label), np.array(own), draw(st.sampled_from(SMOOTHING))


def class_objective(weight, label, own, logarithm, smoothing):
    """Return the log-likelihood by weights of classes, and what fitting maximizes."""
    total, n_classes = 0.0, len(logarithm)
    for row, codes, mine in zip(weight.tolist(), label.tolist(), own.tolist(), strict=True):
        votes = [0.0] * n_classes
        for w, k in zip(row, codes, strict=True):
            if k >= 0:
                votes[k] += w * math.exp(logarithm[k])
        total += math.log((votes[mine] + smoothing / n_classes) / (sum(votes) + smoothing))
    return total, total - sum(t * t for t in logarithm) / 2


@settings(max_examples=200)
@given(elections())
def test_class_weights_have_the_largest_likelihood(election):
    weight, label, own, smoothing = election
    n_classes = max(own.max(), label.max()) + 1
    class_weight, multiplied = np.ones(n_classes), np.where(label < 0, 0.0, weight)
    found = fit_class_weights(multiplied, label, own, class_weight, n_classes, smoothing)
    logarithm = np.log(class_weight).tolist()
    likelihood, best = class_objective(weight, label, own, logarithm, smoothing)
    assert found == pytest.approx(likelihood, rel=1e-9, abs=1e-9)
    known = label >= 0
    np.testing.assert_allclose(
        multiplied[known], (weight * class_weight[label])[known], rtol=1e-9, atol=0
    )
    none = class_objective(weight, label, own, [0.0] * n_classes, smoothing)[1]
    assert best >= none - 1e-9
    for k in range(n_classes):
        for change in (-0.2, 0.2):
            other = [t + change * (i == k) for i, t in enumerate(logarithm)]
            assert class_objective(weight, label, own, other, smoothing)[1] <= best + 1e-9


def ringnorm(n):
    """Return examples in which every neighbor of a wide class is of the narrow one (Breiman's)."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 20)) * np.where(y == 0, 2.0, 1.0)[:, None]
    X[y == 1] += 2 / math.sqrt(20)
    return X, y


def test_class_weights_find_a_wide_class(tmp_path):
    X, y = ringnorm(1200)
    one = OPFClassifier().fit(X[:800], y[:800]).score(X[800:], y[800:])
    clf = OPFClassifier(voters="auto").fit(X[:800], y[:800])
    assert clf.score(X[800:], y[800:]) > one + 0.1
    weights = clf.calibration_.class_weights
    assert weights[0] > 10 * weights[1] > 0
    clf.forget(np.arange(1, 800, 3))
    left = np.delete(np.arange(800), np.arange(1, 800, 3))
    assert_same_votes(clf, OPFClassifier(voters="auto").fit(X[left], y[left]), X[800:])
    opforest.save(clf, tmp_path / "model")
    for copy in (pickle.loads(pickle.dumps(clf)), opforest.load(tmp_path / "model")):
        assert copy.forest_.found_calibration == clf.calibration_
        assert_same_votes(clf, copy, X[800:])


def test_class_weights_follow_their_classes():
    X, y = ringnorm(300)
    clf = OPFClassifier(voters="auto").fit(X, y)
    weights = clf.calibration_.class_weights
    assert len(weights) == 2
    renamed = clf.forest_.relabel(np.array([2, 0]))
    assert renamed.calibration(voters="auto").class_weights == (weights[1], 1.0, weights[0])


@pytest.mark.parametrize("algorithm", ["kd_tree", "brute"])
def test_class_weights_are_those_of_a_fresh_fit(algorithm):
    """Also while a class before the others comes and goes."""
    X, y = ringnorm(320)
    names, Q = np.where(np.arange(320) < 300, np.array(["b", "c"])[y], "a"), X + 0.1
    clf = OPFClassifier(algorithm=algorithm, voters="auto").fit(X[:250], names[:250])
    with tuned(**NO_REFIT):
        clf.predict(Q)
        for some in (range(250, 290), range(290, 320)):
            clf.partial_fit(X[some], names[some])
        assert_same_votes(clf, OPFClassifier(voters="auto").fit(X, names), Q)
        assert len(clf.calibration_.class_weights) == 3
        clf.forget([*range(0, 300, 7), *range(300, 320)])
    left = np.delete(np.arange(300), np.arange(0, 300, 7))
    other = OPFClassifier(voters="auto").partial_fit(X[left], names[left], classes=clf.classes_)
    assert_same_votes(clf, other, Q)
    assert clf.calibration_.class_weights[0] == 1
