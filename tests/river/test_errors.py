"""What the river adapter refuses, and that refusing leaves no trace."""

import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from tests.support.streams import (
    as_dicts,
    assert_same_model,
    learned,
    snapshot,
    updates,
)

from opforest._utils.extras import install_command
from opforest.river import OPFClassifier

# Errors.


@pytest.mark.parametrize("value", ["1.5", None, np.nan, np.inf, -np.inf, 10**400, 1j, b"1", [1.0]])
@pytest.mark.parametrize("asked_before", [False, True])
def test_features_must_be_finite_numbers(value, asked_before):
    clf = learned([{"a": 1, "b": 2}, {"a": 2, "b": 1}], [0, 1])
    good = {"a": 1, "b": 1}
    if asked_before:
        clf.predict_one(good)
    before = snapshot(clf)
    for x in ({"a": 1, "b": value}, {"b": value}, {"a": 1, "b": value, "c": 1}):
        with pytest.raises(ValueError, match="feature 'b' must be a finite number"):
            clf.learn_one(x, 2)
        with pytest.raises(ValueError, match="feature 'b' must be a finite number"):
            clf.predict_one(x)
        table = pd.DataFrame({"c": [1, 1], "b": [1, value]}, dtype=object)
        with pytest.raises(ValueError, match="feature 'b' must be a finite number"):
            clf.learn_many(table, pd.Series([2, 2]))
    assert snapshot(clf) == before
    clf.learn_one(good, 0)
    assert_same_model(clf, learned([{"a": 1, "b": 2}, {"a": 2, "b": 1}, good], [0, 1, 0]), [good])


@pytest.mark.parametrize(
    "value",
    [True, np.True_, 3, np.int8(3), np.uint8(255), np.float16(3), Fraction(3), Decimal(3), 1e-300],
)
def test_all_kinds_of_numbers(value):
    xs = [{"a": value, "b": value}, {"a": value, "b": 0.0}]
    clf = learned(xs, [0, 1])
    assert_same_model(
        clf, learned([{"a": float(x["a"]), "b": float(x["b"])} for x in xs], [0, 1]), xs
    )
    many = OPFClassifier()
    many.learn_many(pd.DataFrame(xs), pd.Series([0, 1]))
    assert_same_model(clf, many, xs)


def test_times_are_no_numbers():
    X = pd.DataFrame({"when": pd.to_datetime(["2024-01-01", "2024-01-02"])})
    with pytest.raises(ValueError, match="feature 'when' must be a finite number"):
        OPFClassifier().learn_many(X, pd.Series([0, 1]))


@pytest.mark.parametrize("label", [None, np.nan])
def test_labels_must_not_be_missing(label):
    clf = learned([{"a": 1}], [0])
    with pytest.raises(ValueError, match="must have a label"):
        clf.learn_one({"a": 2}, label)
    with pytest.raises(ValueError, match="must have a label"):
        clf.learn_many(pd.DataFrame({"a": [1, 2]}), pd.Series([0, label]))
    assert len(clf.forest) == 1


def test_frames_must_fit():
    clf = OPFClassifier()
    with pytest.raises(ValueError, match="same length, got 2 and 1"):
        clf.learn_many(pd.DataFrame({"a": [1, 2]}), pd.Series([0]))
    with pytest.raises(ValueError, match="names are repeated"):
        clf.learn_many(pd.DataFrame([[1, 2]], columns=["a", "a"]), pd.Series([0]))
    assert clf.forest is None


@pytest.mark.parametrize("metric", ["correlation", "co", "precomputed"])
def test_metrics_that_streams_cannot_use(metric):
    with pytest.raises(ValueError, match=f"metric '{metric}' cannot learn from a stream"):
        OPFClassifier(metric).learn_one({"a": 1}, 0)


@pytest.mark.parametrize(
    ("metric", "bad"),
    [
        ("cosine", {"a": 0, "b": 0}),
        ("chi_squared", {"a": -1, "b": 0}),
        ("euclidean", {"a": 1e200, "b": 0}),
        ("braycurtis", {"a": -1, "b": -1}),
    ],
)
@pytest.mark.parametrize(
    "attempt",
    [
        lambda clf, bad: clf.predict_one(bad),
        lambda clf, bad: clf.predict_many(pd.DataFrame([bad])),
        lambda clf, bad: clf.learn_one({**bad, "new": 0}, 2),
        lambda clf, bad: clf.learn_many(pd.DataFrame([{"a": 1, "b": 1}, bad]), pd.Series([3, 2])),
    ],
)
@updates
def test_what_the_metric_refuses_leaves_no_trace(metric, bad, update, attempt):
    params = {"metric": metric, "update": update}
    xs, ys = [{"a": 1, "b": 1}, {"a": 2, "b": 0}, {"a": 3, "b": 3}], [0, 1, 0]
    clf = learned(xs[:2], ys[:2], **params)
    clf.predict_one(xs[2])
    before = snapshot(clf)
    with pytest.raises(ValueError, match=metric):
        attempt(clf, bad)
    assert snapshot(clf) == before
    clf.learn_one(xs[2], ys[2])
    assert_same_model(clf, learned(xs, ys, **params), xs)


def test_parameters_are_checked_when_learning_begins():
    with pytest.raises(ValueError, match="update must be one of"):
        OPFClassifier(update="exakt").learn_one({"a": 1}, 0)
    with pytest.raises(ValueError, match="Did you mean 'euclidean'"):
        OPFClassifier("euclidian").learn_one({"a": 1}, 0)


def test_an_update_may_change_only_where_the_model_allows_it():
    xs = as_dicts(np.random.default_rng(6).integers(0, 4, (40, 2)))
    clf = learned(xs[:20], [0, 1] * 10)
    clf.update = "opfi"
    for x in xs[20:]:
        clf.predict_one(x)
        clf.learn_one(x, 1)
        clf.forest.check()
    clf.update = "exact"
    with pytest.raises(ValueError, match="update='exact' cannot continue"):
        clf.learn_one(xs[0], 0)


def test_without_river_the_error_says_what_to_install():
    code = "import sys; sys.modules['river'] = None; import opforest.river.classifier"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"ImportError: opforest.river needs river: {install_command('river')}" in run.stderr


def test_a_stream_that_fails_after_its_update_was_changed_is_as_before():
    stream = OPFClassifier()
    for i in range(6):
        stream.learn_one({"a": float(i)}, i % 2)
    stream.update = "opfi"
    with pytest.raises(ValueError, match="too large"):
        stream.learn_one({"a": 1e200}, 0)
    stream.update = "exact"
    stream.learn_one({"a": 3.5}, 0)
    assert len(stream.forest) == 7
