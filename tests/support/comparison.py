"""Comparing models: all arrays must be equal, bit for bit."""

import pickle

import numpy as np

from tests.support.tuning import tuned


def insertions_only():
    """Learn even large batches one by one."""
    return tuned(refit_fraction=np.inf)


def assert_same_model(a, b, queries, ids=True):
    """Array by array, to the bit."""
    names = ("edges", "prototypes", "cost", "predecessor", "root", "label", "points")
    for name in (*names, "ids") if ids else names:
        assert np.array_equal(getattr(a.forest_, name), getattr(b.forest_, name)), name
    assert a.classes_.tolist() == b.classes_.tolist()
    assert a.classes_.dtype == b.classes_.dtype
    (mine, offer), (theirs, other) = a.conquerors(queries), b.conquerors(queries)
    assert np.array_equal(a.forest_.index_of(mine), b.forest_.index_of(theirs))
    assert np.array_equal(offer, other)
    assert np.array_equal(a.predict(queries), b.predict(queries))
    assert np.array_equal(a.class_costs(queries), b.class_costs(queries))
    assert np.array_equal(a.predict_proba(queries), b.predict_proba(queries))


def snapshot(clf):
    return pickle.dumps({name: value for name, value in vars(clf).items() if name != "n_jobs"})


def same_forest(a, b):
    names = ("label", "cost", "edges", "root", "predecessor", "prototypes", "ids")
    return np.array_equal(a.classes_, b.classes_) and all(
        np.array_equal(getattr(a.forest_, name), getattr(b.forest_, name)) for name in names
    )


def assert_same_votes(a, b, Q):
    """Assert that two models have the same calibration and answers, bit for bit."""
    mine, theirs = a.calibration_, b.calibration_
    names = ("voters", "exponent", "smoothing", "floor", "class_weights")
    assert all(getattr(mine, name) == getattr(theirs, name) for name in names)
    assert np.array_equal(a.predict(Q), b.predict(Q))
    assert np.array_equal(a.predict_proba(Q), b.predict_proba(Q))
