"""Votes in streams: the same as those of the batch classifier when weights are found again."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import make_moons

pytest.importorskip("river", reason="river is not installed: pip install 'opforest[river]'")
import pandas as pd

import opforest
from opforest.river import OPFClassifier

X, Y = make_moons(120, noise=0.35, random_state=0)
QUERIES = np.random.default_rng(0).uniform(-1, 2, (20, 2))


def stream(model, n=120):
    for x, y in zip(X[:n].tolist(), Y[:n].tolist(), strict=True):
        model.learn_one(dict(enumerate(x)), y)
    return model


@pytest.mark.parametrize("voters", [2, 7, "auto"])
@pytest.mark.parametrize("window_size", [None, 80])
def test_streams_vote_as_batches_do(voters, window_size):
    model = stream(OPFClassifier(voters=voters, window_size=window_size))
    first = 0 if window_size is None else 120 - window_size
    batch = opforest.OPFClassifier(voters=voters).fit(X[first:], Y[first:])
    for query in QUERIES:
        x = dict(enumerate(query.tolist()))
        label = batch.classes_.tolist().index
        expected = batch.predict_proba([query])[0]
        found = model.predict_proba_one(x)
        assert [found[k] for k in batch.classes_] == expected.tolist()
        assert model.predict_one(x) == batch.predict([query])[0]
        assert label(model.predict_one(x)) == int(expected.argmax())
        why = model.explain_one(x)
        assert why.label == model.predict_one(x)
        assert len(why.voters) == (batch.voters_ if batch.voters_ > 1 else 0)
    frame = pd.DataFrame(QUERIES)
    assert model.predict_many(frame).tolist() == batch.predict(QUERIES).tolist()
    many = model.predict_proba_many(frame)[batch.classes_.tolist()]
    assert np.array_equal(many.to_numpy(), batch.predict_proba(QUERIES))


def test_learning_after_a_vote_uses_the_measured_distances():
    one, other = OPFClassifier(voters=5), OPFClassifier(voters=5)
    for x, y in zip(X.tolist(), Y.tolist(), strict=True):
        one.predict_one(dict(enumerate(x)))
        one.learn_one(dict(enumerate(x)), y)
        other.learn_one(dict(enumerate(x)), y)
    assert np.array_equal(one.forest.cost, other.forest.cost)


def test_weights_are_found_again_on_a_schedule():
    model = stream(OPFClassifier(voters="auto"), 20)
    model.predict_one({0: 0.0, 1: 0.0})
    found = model._calibration
    stream(model, 50)
    model.predict_one({0: 0.0, 1: 0.0})
    assert model._calibration is found
    again = pickle.loads(pickle.dumps(model))
    assert again._calibration == found
    for _ in range(3):
        stream(model)
    model.predict_one({0: 0.0, 1: 0.0})
    assert model._calibration is not found


def test_saved(tmp_path):
    model = stream(OPFClassifier(voters="auto"))
    x = {0: 0.2, 1: 0.1}
    expected = model.predict_proba_one(x)
    opforest.save(model, tmp_path / "a.opfm")
    again = opforest.load(tmp_path / "a.opfm")
    assert again.voters == "auto"
    assert again.predict_proba_one(x) == expected
    assert again._calibration == model._calibration


def test_bad_numbers_of_voters():
    model = OPFClassifier(voters=0)
    model.learn_one({"a": 1.0}, "x")
    with pytest.raises(ValueError, match="voters must be an integer of at least 1 or 'auto'"):
        model.predict_one({"a": 1.0})
