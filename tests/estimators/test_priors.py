"""``predict(X, priors=...)``, compared with Bayes' rule in plain Python."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import StandardScaler
from tests.support.strategies import learning_problems

from opforest import OPFClassifier, make_pipeline


@settings(max_examples=40)
@given(problem=learning_problems(max_n=16), voters=st.sampled_from([1, 3]), data=st.data())
def test_probabilities_follow_bayes_rule(problem, voters, data):
    X, y, Q = problem
    clf = OPFClassifier(voters=voters).fit(X, y)
    classes = clf.classes_.tolist()
    priors = data.draw(st.lists(st.floats(0.01, 1), min_size=len(classes), max_size=len(classes)))
    found = clf.predict_proba(Q, dict(zip(classes, priors, strict=True)))
    plain = clf.predict_proba(Q)
    for row, known in zip(found, plain, strict=True):
        weights = [p * prior / y.tolist().count(label)
                   for p, prior, label in zip(known, priors, classes, strict=True)]  # fmt: skip
        expected = [weight / math.fsum(weights) for weight in weights]
        np.testing.assert_allclose(row, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(clf.predict(Q, priors), clf.classes_[found.argmax(axis=1)])
    frequencies = [y.tolist().count(label) for label in classes]
    np.testing.assert_allclose(clf.predict_proba(Q, frequencies), plain, rtol=1e-9, atol=1e-12)


def test_balanced_priors_are_equal_ones_in_a_pipeline_too():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.where(np.arange(60) % 10 == 0, "rare", "usual")
    clf = OPFClassifier(voters="auto").fit(StandardScaler().fit_transform(X), y)
    model = make_pipeline(StandardScaler(), OPFClassifier(voters="auto")).fit(X, y)
    scaled = StandardScaler().fit_transform(X)
    expected = clf.predict(scaled, priors=[0.5, 0.5])
    np.testing.assert_array_equal(clf.predict(scaled, priors="balanced"), expected)
    np.testing.assert_array_equal(model.predict(X, priors="balanced"), expected)


def test_impossible_classes():
    clf = OPFClassifier().fit([[0.0], [1.0], [5.0]], ["a", "a", "b"])
    assert clf.predict_proba([[0.1]], {"a": 0, "b": 1}).tolist() == [[0.0, 1.0]]
    empty = OPFClassifier().partial_fit([[0.0], [1.0], [5.0]], ["a", "a", "b"], classes=["c"])
    assert empty.predict_proba([[0.1]], "balanced")[0, 2] == 0
    with pytest.raises(ValueError, match="must not be 0 for all classes that have examples"):
        empty.predict([[0.1]], {"a": 0, "b": 0, "c": 1})


@pytest.mark.parametrize("priors", ["equal", [1], [1, -1], [0, 0], [1, np.nan], [1, np.inf],
                                    [[1, 1]], {"a": 1}, {"a": 1, "b": 1, "c": 1}, 3])  # fmt: skip
def test_bad_priors(priors):
    clf = OPFClassifier().fit([[0.0], [1.0]], ["a", "b"])
    for method in (clf.predict, clf.predict_proba):
        with pytest.raises(ValueError, match="priors must"):
            method([[0.0]], priors)


def test_a_series_names_its_classes():
    X, y = [[0.0], [1.0], [2.0]], ["a", "b", "c"]
    clf, series = OPFClassifier().fit(X, y), pd.Series({"c": 0.8, "b": 0.15, "a": 0.05})
    expected = clf.predict_proba([[0.8]], priors=series.to_dict())
    assert np.array_equal(clf.predict_proba([[0.8]], priors=series), expected)
