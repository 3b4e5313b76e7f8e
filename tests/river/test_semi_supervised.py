"""Streams in which labels are missing, or come late."""

import numpy as np
import pandas as pd
import pytest

import opforest
from opforest import OPFSemiSupervised
from opforest.river import OPFClassifier


def stream(n=120):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 12, (n, 2)).astype(float)
    y = np.where(X.sum(axis=1) > 11, "b", "a").astype(object)
    return X, y


def as_dict(x):
    return {"u": x[0], "v": x[1]}


def assert_same(model, X, y):
    fresh = OPFSemiSupervised().partial_fit(X, y)
    label = [model.labels[code] for code in model.forest.label]
    assert label == fresh.transduction_.tolist()
    for name in ("cost", "edges", "predecessor", "prototypes"):
        assert np.array_equal(getattr(model.forest, name), getattr(fresh.forest_, name)), name
    model.forest.check()


@pytest.mark.parametrize("window", [None, 40])
def test_labels_that_are_missing_and_come_late(window):
    X, y = stream()
    model = OPFClassifier(window_size=window, semi_supervised=True)
    known = np.full(len(X), None)
    for i, x in enumerate(X):
        model.predict_one(as_dict(x))
        model.predict_proba_one(as_dict(x))
        if i % 10 == 9:
            known[i] = y[i]
        model.learn_one(as_dict(x), known[i])
        first = 0 if window is None else max(0, i + 1 - window)
        if i % 7 == 6:
            late = i - 5
            assert model.learn_label(late, y[late])
            known[late] = y[late]
        if i % 15 == 14:
            assert_same(model, X[first : i + 1], known[first : i + 1])
    if window:
        assert not model.learn_label(0, "a")
    late = len(X) - 6
    with pytest.raises(ValueError, match="has the label"):
        model.learn_label(int(np.flatnonzero(known != None)[-1]), "c")  # noqa: E711
    with pytest.raises(ValueError, match="number must be the id"):
        model.learn_label(len(X), "a")


def test_before_the_first_label_nothing_is_predicted(tmp_path):
    X, _ = stream(30)
    model = OPFClassifier(semi_supervised=True)
    frame = pd.DataFrame(X, columns=["u", "v"])
    model.learn_many(frame, pd.Series([None] * 30))
    assert model.predict_one(as_dict(X[0])) is None
    assert model.predict_proba_one(as_dict(X[0])) == {}
    assert model.predict_many(frame).tolist() == [None] * 30
    opforest.save(model, tmp_path / "model.opforest")
    model = opforest.load(tmp_path / "model.opforest")
    assert model.learn_label(3, "a")
    assert model.predict_many(frame).tolist() == ["a"] * 30


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="must have a label"):
        OPFClassifier().learn_one({"u": 1.0}, None)
    with pytest.raises(ValueError, match="needs update='exact'"):
        OPFClassifier(update="opfi", semi_supervised=True).learn_one({"u": 1.0}, None)
    with pytest.raises(ValueError, match="needs semi_supervised=True"):
        OPFClassifier().learn_label(0, 1)
