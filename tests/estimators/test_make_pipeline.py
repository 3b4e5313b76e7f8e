"""``make_pipeline``, which the warning about scales recommends, can do what its last step can."""

import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline as sklearn_make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from tests.support.comparison import same_forest

import opforest
from opforest import (
    OPFClassifier,
    OPFClustering,
    OPFKNNClassifier,
    OPFSemiSupervised,
    Pipeline,
    make_pipeline,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3)) * [1, 100, 0.001] + [0, 7, 0]
Y = RNG.integers(0, 3, 60)


def test_it_is_scikit_learns_but_of_our_class():
    ours = make_pipeline(StandardScaler(), StandardScaler(), OPFClassifier(), verbose=True)
    theirs = sklearn_make_pipeline(StandardScaler(), StandardScaler(), OPFClassifier())
    assert type(ours) is Pipeline
    assert [name for name, _ in ours.steps] == [name for name, _ in theirs.steps]
    assert ours.verbose is True
    assert type(clone(ours)) is Pipeline
    cached = make_pipeline(
        StandardScaler(), OPFClassifier(), memory="folder", transform_input=["X"]
    )
    assert (cached.memory, cached.transform_input) == ("folder", ["X"])
    with pytest.raises(TypeError, match="unexpected keyword"):
        make_pipeline(OPFClassifier(), memroy=None)


def test_everything_reaches_through_a_scaler():
    """Compare with the same steps by hand."""
    model = make_pipeline(StandardScaler(), OPFClassifier()).fit(X[:40], Y[:40])
    scaler = StandardScaler().fit(X[:40])
    alone = OPFClassifier().fit(scaler.transform(X[:40]), Y[:40])
    model.partial_fit(X[40:50], Y[40:50], classes=[9]).forget([3, 41])
    alone.partial_fit(scaler.transform(X[40:50]), Y[40:50], classes=[9]).forget([3, 41])
    assert same_forest(model[-1], alone)
    assert model.classes_.tolist() == [0, 1, 2, 9]
    new = scaler.transform(X[50:])
    for name in ("predict", "predict_proba", "predict_log_proba", "class_costs"):
        np.testing.assert_array_equal(getattr(model, name)(X[50:]), getattr(alone, name)(new))
    for found, expected in zip(model.conquerors(X[50:]), alone.conquerors(new), strict=True):
        np.testing.assert_array_equal(found, expected)
    for row in (X[50], X[50].tolist(), X[50:51]):
        assert str(model.explain(row)) == str(alone.explain(new[0]))
    assert model.score(X[50:], Y[50:]) == alone.score(new, Y[50:])
    assert model.forest_.ids.tolist() == alone.forest_.ids.tolist()
    assert model.update_report_ == alone.update_report_


def test_what_the_scaler_has_learned_stays():
    model = make_pipeline(StandardScaler(), OPFClassifier()).partial_fit(X[:30], Y[:30])
    mean, scale = model[0].mean_.copy(), model[0].scale_.copy()
    model.partial_fit(10 * X[30:], Y[30:]).forget(range(10))
    np.testing.assert_array_equal(model[0].mean_, mean)
    np.testing.assert_array_equal(model[0].scale_, scale)
    np.testing.assert_array_equal(mean, X[:30].mean(axis=0))


def test_data_frames():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = make_pipeline(MinMaxScaler(), OPFClassifier()).fit(frame[:40], Y[:40])
    model.partial_fit(frame[40:], Y[40:]).forget([0])
    plain = make_pipeline(MinMaxScaler(), OPFClassifier()).fit(X[:40], Y[:40])
    plain.partial_fit(X[40:], Y[40:]).forget([0])
    assert same_forest(model[-1], plain[-1])
    assert model.explain(frame.iloc[3]) == plain.explain(X[3])


def test_labels_that_come_later():
    given = np.where(np.arange(60) % 5 == 0, Y, -1)
    model = make_pipeline(StandardScaler(), OPFSemiSupervised()).fit(X, given)
    alone = OPFSemiSupervised().fit(StandardScaler().fit_transform(X), given)
    assert model.label([1, 2], Y[1:3]) is model
    assert same_forest(model[-1], alone.label([1, 2], Y[1:3]))
    assert not hasattr(make_pipeline(StandardScaler(), OPFClassifier()), "label")


def test_what_the_last_step_cannot_do_the_pipeline_cannot():
    pipeline = make_pipeline(StandardScaler(), OPFKNNClassifier()).fit(X, Y)
    for name in ("partial_fit", "forget", "explain", "class_costs", "conquerors", "label"):
        assert hasattr(pipeline, name) == hasattr(pipeline[-1], name)
    clusters = make_pipeline(StandardScaler(), OPFClustering(5))
    assert not hasattr(clusters, "forget")
    with pytest.raises(AttributeError, match="'Pipeline' has no attribute 'forget'"):
        clusters.forget([0])


@pytest.mark.parametrize("kind", [OPFClassifier, OPFSemiSupervised])
def test_the_warning_says_what_works_as_printed(kind):
    with pytest.warns(UserWarning, match="differ in spread") as caught:
        kind().fit(X, Y)
    advice = re.search(r"Scale them: (.*)\.$", str(caught[0].message)).group(1)
    scope = {"opforest": opforest, "StandardScaler": StandardScaler, kind.__name__: kind}
    model = eval(advice, scope)
    assert [type(step) for _, step in model.steps] == [StandardScaler, kind]
    model.fit(X[:40], Y[:40]).partial_fit(X[40:], Y[40:]).forget([2])
    assert model.explain(X[0]).label in (0, 1, 2)
