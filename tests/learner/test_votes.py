"""Stores whose labels are votes."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

from opforest import Learner, OPFClassifier, StoreError

X, Y = make_moons(150, noise=0.35, random_state=0)
KEYS = [f"k{i}" for i in range(150)]


@pytest.mark.parametrize("voters", [5, "auto"])
def test_a_store_votes_as_a_classifier_does(tmp_path, voters):
    path = tmp_path / "a.db"
    with Learner(path, voters=voters) as learner:
        learner.learn(X, Y, KEYS)
        learner.forget(KEYS[:10])
        assert learner.stats()["voters"] == voters
    expected = OPFClassifier(voters=voters).fit(X[10:], Y[10:])
    with Learner(path) as learner:
        assert np.array_equal(learner.predict(X), expected.predict(X))
        assert np.array_equal(learner.predict_proba(X), expected.predict_proba(X))
        assert learner.audit().ok
        why = learner.explain(X[0])
        assert why.label == expected.predict(X[:1])[0]
        assert [v.key for v in why.voters] == [
            KEYS[10 + i] for i in expected.conquerors(X[:1], max(1, expected.voters_))[0][0]
        ][: len(why.voters)]


def test_a_number_of_numpy(tmp_path):
    with Learner(tmp_path / "a.db", voters=np.int64(5)) as learner:
        learner.learn(X, Y, KEYS)
    with Learner(tmp_path / "a.db", voters=5) as learner:
        assert learner.stats()["voters"] == 5


def test_another_number_is_an_error(tmp_path):
    with Learner(tmp_path / "a.db", voters=5) as learner:
        learner.learn(X, Y, KEYS)
    with pytest.raises(StoreError, match="voters"):
        Learner(tmp_path / "a.db", voters=7)
    with pytest.raises(ValueError, match="voters must be an integer of at least 1 or 'auto'"):
        Learner(tmp_path / "b.db", voters=0)
    assert not (tmp_path / "b.db").exists()
