"""``Learner.suspects``: the label issues of the model, with keys, after every change."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

from opforest import Learner, Preparation, StoreError, find_label_issues

X, TRUTH = make_moons(150, noise=0.15, random_state=0)
Y = np.where(np.random.default_rng(0).random(150) < 0.1, 1 - TRUTH, TRUTH)
KEYS = [f"moon-{i}" for i in range(150)]


def assert_up_to_date(learner):
    keys, _, labels = learner.rows()
    label_of = dict(zip(keys, labels.tolist(), strict=True))
    expected, found = find_label_issues(learner.model), learner.suspects(1000)
    assert [one.id for one in found] == expected.ids.tolist()
    assert [one.probability for one in found] == [one.probability for one in expected]
    for one in found:
        assert label_of[one.key] == one.label
        assert all(label_of[voter.key] == voter.label for voter in one.voters)


@pytest.mark.parametrize("voters", [1, 7, "auto"])
def test_they_follow_every_change(tmp_path, voters):
    with Learner(tmp_path / "a.db", voters=voters) as learner:
        assert learner.suspects() == []
        learner.learn(X[:100], Y[:100], KEYS[:100])
        assert_up_to_date(learner)
        learner.learn(X[100:], Y[100:], KEYS[100:])
        assert_up_to_date(learner)
        worst = learner.suspects(3)
        assert len(worst) == 3
        learner.correct([one.key for one in worst], [one.suggested for one in worst])
        assert not {one.key for one in worst} & {one.key for one in learner.suspects()}
        assert_up_to_date(learner)
        learner.forget(learner.suspects(1)[0].key)
        assert_up_to_date(learner)
        with Learner(tmp_path / "a.db", read_only=True) as reader:
            assert reader.suspects() == learner.suspects()
    with pytest.raises(StoreError, match="closed"):
        learner.suspects()


def test_semi_supervised_stores():
    with Learner(":memory:", semi_supervised=True) as learner:
        learner.learn(X[:5], [-1] * 5, KEYS[:5])
        assert learner.suspects() == []
        labels = [None if i % 3 == 0 else int(y) for i, y in enumerate(Y)]
        learner.learn(X[5:], labels[5:], KEYS[5:])
        found = learner.suspects()
        assert found
        assert all(int(one.key[5:]) % 3 for one in found)
        learner.correct(KEYS[0], int(Y[0]))
        assert [one.id for one in learner.suspects(1000)] == find_label_issues(
            learner.model
        ).ids.tolist()


def test_prepared_stores():
    with Learner(":memory:", preparation=Preparation(scale="standard")) as learner:
        learner.learn(X * [1, 50], Y, KEYS)
        assert_up_to_date(learner)
        assert learner.suspects()


@pytest.mark.parametrize("n", [0, -1, 2.5, "3", True])
def test_invalid_numbers(n):
    with Learner(":memory:") as learner, pytest.raises(ValueError, match="n must be an integer"):
        learner.suspects(n)
