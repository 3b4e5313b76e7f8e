"""Stores whose preparation depends on labels: it is refitted when one of them changes."""

import numpy as np
import pytest

from opforest import Learner, Preparation, RelevanceScaler
from opforest.estimators.preparation import SUPERVISED

SIZES = [[float(k + 10 * (k % 2)), float(k * 7 % 5)] for k in range(8)]


@pytest.fixture(params=SUPERVISED)
def label_scaled(request, tmp_path):
    """A store of eight examples, of which the first six have labels."""
    scale = Preparation(scale=request.param)
    with Learner(tmp_path / "a.db", preparation=scale, semi_supervised=True) as learner:
        learner.learn(SIZES, ["a", "b"] * 3 + [None] * 2, keys=list("stuvwxyz"))
        yield learner


def relevance_in(learner):
    """Return the relevance of the features, or None if they are only standardized."""
    step = learner.session.replica.rows.steps[0][1].transformer_.steps[-1][1]
    return getattr(step, "relevance_", None)


def test_labels_of_the_first_batch_scale_features(label_scaled):
    labels = np.array(["a", "b"] * 3 + [None] * 2, object)
    expected = Preparation(**label_scaled.settings.preparation).fit(SIZES, labels)
    step = expected.transformer_.steps[-1][1]
    assert np.array_equal(relevance_in(label_scaled), getattr(step, "relevance_", None))
    assert label_scaled.audit().ok


@pytest.mark.parametrize("label", [Learner.correct, lambda a, k, y: a.learn([SIZES[6]], [y], [k])])
def test_a_late_label_changes_what_was_learned_from_labels(label_scaled, label):
    founded = label_scaled.settings.founded
    label_scaled.learn([[9.0, 9.0]], [None], keys=["later"])
    change = label(label_scaled, "y", "c")
    assert (change.labeled, change.learned, change.replaced) == (1, 0, 0)
    assert label_scaled.settings.founded == founded + 1  # fitted on all examples
    assert label_scaled.audit().ok
    path = label_scaled.path
    label_scaled.close()
    with Learner(path) as again:
        assert again.audit().ok
        assert again.stats()["classes"] == {"a": 3, "b": 3, "c": 1}


def test_labels_of_later_examples_change_no_scale(label_scaled):
    before = label_scaled.settings
    label_scaled.learn([[9.0, 9.0]], [None], keys=["later"])
    label_scaled.correct("later", "a")
    assert label_scaled.settings == before
    assert label_scaled.audit().ok


def test_a_first_batch_without_labels_is_standardized(tmp_path):
    scale = Preparation(scale="relevance")
    with Learner(tmp_path / "a.db", preparation=scale, semi_supervised=True) as learner:
        learner.learn(SIZES, [None] * 8, keys=list("stuvwxyz"))
        assert relevance_in(learner).tolist() == [1, 1]
        for key, label in zip("stuvwxyz", "abababab", strict=True):
            learner.correct(key, label)
            assert learner.audit().ok
        expected = RelevanceScaler().fit(SIZES, list("abababab"))
        assert np.array_equal(relevance_in(learner), expected.relevance_)


def test_minus_one_is_a_label_where_all_are_labeled(tmp_path):
    with Learner(tmp_path / "a.db", preparation=Preparation(scale="relevance")) as learner:
        learner.learn(SIZES, [-1, 1] * 4)
        expected = RelevanceScaler().fit(SIZES, list("abababab"))
        assert np.array_equal(relevance_in(learner), expected.relevance_)
        assert learner.audit().ok


@pytest.mark.parametrize("scale", ["standard", *SUPERVISED])
def test_labels_and_replacements_in_one_batch(tmp_path, scale):
    """The preparation is refitted because of one, and must not lose the other."""
    preparation = Preparation(scale=scale)
    with Learner(tmp_path / "a.db", preparation=preparation, semi_supervised=True) as learner:
        learner.learn(SIZES, ["a", "b"] * 3 + [None] * 2, keys=list("stuvwxyz"))
        batch = [SIZES[6], [3.0, 4.0]]
        change = learner.learn(batch, ["c", "b"], keys=["y", "s"], replace=True)
        assert (change.labeled, change.replaced) == (1, 1)
        assert learner.audit().ok
        assert learner.predict([SIZES[6]]).tolist() == ["c"]


def test_readers_follow_a_new_scale(label_scaled):
    with Learner(label_scaled.path, read_only=True) as reader:
        reader.predict(SIZES)
        label_scaled.correct("y", "c")
        assert reader.predict([SIZES[6]]).tolist() == ["c"]
        assert reader.settings == label_scaled.settings
        assert reader.audit().ok


def test_an_interrupted_label_of_the_first_batch_is_there(label_scaled, monkeypatch):
    def die(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(label_scaled.session, "take_snapshot_if_due", die)
    with pytest.raises(KeyboardInterrupt):
        label_scaled.correct("y", "c")
    assert label_scaled.predict([SIZES[6]]).tolist() == ["c"]
    assert label_scaled.audit().ok
