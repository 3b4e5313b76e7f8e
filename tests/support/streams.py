"""Streams of dicts, and comparisons of models that learned them."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import strategies as st

from opforest.forest.updates import UPDATES
from opforest.river import OPFClassifier

updates = pytest.mark.parametrize("update", list(UPDATES))


def as_dicts(X):
    """Return the rows as dicts; their names sort like the columns."""
    return [{f"x{k}": value for k, value in enumerate(row)} for row in X.tolist()]


def learned(xs, ys, **params):
    clf = OPFClassifier(**params)
    for x, y in zip(xs, ys, strict=True):
        clf.learn_one(x, y)
    return clf


def assert_same_forest(one, other):
    one.check()
    other.check()
    assert type(one) is type(other)
    for name in ("cost", "predecessor", "root", "prototypes", "edges"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


def assert_same_model(one, other, xs):
    assert one._column == other._column
    assert one._code == other._code
    assert_same_forest(one.forest, other.forest)
    assert np.array_equal(one.forest.points, other.forest.points)
    one._calibration = other._calibration = None  # so that both find it now
    for x in xs:
        assert one.predict_one(x) == other.predict_one(x)
        assert one.predict_proba_one(x) == other.predict_proba_one(x)


def snapshot(clf):
    """Return the whole state of a model."""
    forest = copy.deepcopy(clf).forest
    state = None if forest is None else pickle.dumps(forest)
    return state, list(clf._column.items()), list(clf._code.items())


@st.composite
def sparse_streams(draw, max_n=16):
    """Return dicts with any of six features, in any order, and their labels."""
    feature = st.sampled_from("abcdef")
    x = st.lists(st.tuples(feature, st.integers(-2, 2)), max_size=6).map(dict)
    pairs = st.tuples(x, st.sampled_from(["red", "green", "blue"]))
    return draw(st.lists(pairs, min_size=1, max_size=max_n))
