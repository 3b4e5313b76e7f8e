"""Models in parts on the workers: what they do, and what they refuse."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

pytest.importorskip("distributed", reason="Dask is not installed: pip install 'opforest[dask]'")
import dask.array as da
import dask.dataframe as dd
from distributed import Client
from tests.support.blocks import grid, in_blocks
from tests.support.comparison import assert_same_model
from tests.support.tuning import tune

import dask
import opforest
from opforest import OPFClassifier
from opforest.dask import DaskOPFClassifier


@pytest.fixture
def synchronous():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def problem():
    tune(examples_per_part=20)
    X, y = grid(100, 2)
    return X, np.array(["fir", "oak", "elm"])[y]


@pytest.mark.usefixtures("synchronous")
def test_wrong_uses_of_a_model_in_parts_are_explained(problem, tmp_path):
    X, y = problem
    clf = DaskOPFClassifier(keep="parts").fit(in_blocks(X, (50, 50)), y)
    with pytest.raises(ValueError, match=r"in parts cannot be judged.*model\.to_local\(\)"):
        opforest.find_label_issues(clf)
    with pytest.raises(ValueError, match=r"PartsClassifier, got .*Save model\.parts_ to a folder"):
        opforest.save(clf, tmp_path / "model")
    for wrong in ("model", clf.to_local()):
        with pytest.raises(TypeError, match=r"a PartsClassifier, as opforest\.load\(folder\)"):
            DaskOPFClassifier.from_parts(wrong)


@pytest.mark.usefixtures("synchronous")
def test_what_needs_the_whole_forest_is_refused(problem):
    X, y = problem
    clf = DaskOPFClassifier(keep="parts").fit(in_blocks(X, (50, 50)), y)
    check_is_fitted(clf)
    assert clf.n_features_in_ == 2
    before = clf.predict(X)
    refused = [
        lambda: clf.predict_proba(X),
        lambda: clf.predict_proba(da.from_array(X)),
        lambda: clf.predict_log_proba(X),
        lambda: clf.predict_log_proba(da.from_array(X)),
        lambda: clf.class_costs(X),
        lambda: clf.class_costs(da.from_array(X)),
        lambda: clf.kneighbors(X),
        lambda: clf.explain(X[0]),
        lambda: clf.conquerors(X, k=2),
        lambda: clf.predict(X, priors="balanced"),
        lambda: clf.partial_fit(X, y),
        lambda: clf.forget([0]),
    ]
    for call in refused:
        with pytest.raises(ValueError, match=r"a model in parts .* cannot .*to_local\(\)"):
            call()
    for name in ("forest_", "exponent_", "voters_", "calibration_", "update_report_"):
        assert not hasattr(clf, name)
    with pytest.raises(ValueError, match="cannot count votes"):
        clf.set_params(voters=3).predict(X)
    clf.set_params(voters=1)
    assert np.array_equal(clf.predict(X), before)
    assert "100 examples" in clf._repr_html_()
    assert "8 parts" in clf._repr_html_()


@pytest.mark.parametrize(
    "params", [{"metric": "canberra"}, {"algorithm": "brute"}, {"voters": 3}, {"voters": "auto"}]
)
def test_what_parts_cannot_be_is_refused(problem, params):
    X, y = problem
    with pytest.raises(ValueError, match=r"keep='parts' needs .* Use keep='forest'"):
        DaskOPFClassifier(keep="parts", **params).fit(in_blocks(X, (50, 50)), y)


def test_another_place():
    X, y = grid(10, 2)
    with pytest.raises(ValueError, match=r"keep must be one of \['forest', 'parts'\], got 'disk'"):
        DaskOPFClassifier(keep="disk").fit(in_blocks(X, (10,)), y)


@pytest.mark.usefixtures("synchronous")
def test_fitting_again_elsewhere(problem):
    X, y = problem
    local = OPFClassifier().fit(X, y)
    clf = DaskOPFClassifier(keep="parts").fit(in_blocks(X, (50, 50)), y)
    clf.set_params(keep="forest").fit(in_blocks(X, (50, 50)), y)
    assert not hasattr(clf, "parts_")
    assert_same_model(clf, local, X)
    clf.set_params(keep="parts").fit(in_blocks(X, (50, 50)), y)
    assert not hasattr(clf, "forest_")
    assert np.array_equal(clf.predict(X), local.predict(X))


def test_pickles_and_clones(client, problem):
    X, y = problem
    clf = DaskOPFClassifier(keep="parts", client=client).fit(in_blocks(X, (50, 50)), y)
    for make in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match=r"on the workers .*opforest.save\(model.parts_"):
            make(clf)
    fresh = clone(clf)
    assert (fresh.keep, fresh.client, hasattr(fresh, "parts_")) == ("parts", client, False)
    local = clf.set_params(algorithm="kd_tree", update="opfi").to_local()
    assert (type(local), local.algorithm, local.update) == (OPFClassifier, "kd_tree", "opfi")


def test_a_closed_client_is_explained(client, problem):
    X, y = problem
    with Client(client.scheduler.address, set_as_default=False) as own:
        clf = DaskOPFClassifier(keep="parts", client=own).fit(in_blocks(X, (50, 50)), y)
    for ask in (lambda: clf.predict(X), lambda: clf.predict(in_blocks(X, (50, 50))), clf.to_local):
        with pytest.raises(RuntimeError, match=r"client is closed.*fit again, or from_parts"):
            ask()


def test_data_frames(client, problem):
    X, y = problem
    frame = pd.DataFrame(X, columns=["a", "b"])
    lazy = dd.from_pandas(frame, npartitions=3)
    clf = DaskOPFClassifier(keep="parts").fit(lazy, dd.from_pandas(pd.Series(y), npartitions=3))
    local = OPFClassifier().fit(frame, pd.Series(y))
    assert clf.feature_names_in_.tolist() == ["a", "b"]
    assert clf.classes_.tolist() == local.classes_.tolist()
    assert np.array_equal(clf.predict(lazy).compute(), local.predict(frame))
    assert np.array_equal(clf.predict(frame), local.predict(frame))
    assert clf.to_local().feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="feature names should match"):
        clf.predict(lazy[["b", "a"]])
    with pytest.raises(ValueError, match=r"contains NaN.*\nThis is block . of X"):
        clf.predict(lazy.where(lazy["a"] > 100)).compute()


def test_a_folder(client, problem, tmp_path, monkeypatch):
    X, y = problem
    monkeypatch.chdir(tmp_path)
    clf = DaskOPFClassifier("manhattan", keep="parts").fit(in_blocks(X, (50, 50)), y)
    opforest.save(clf.parts_, "model")
    for again in (client, None):
        loaded = DaskOPFClassifier.from_parts(opforest.load("model"), again)
        assert (loaded.metric, loaded.keep, loaded.n_features_in_) == ("manhattan", "parts", 2)
        lazy = loaded.predict(in_blocks(X + 0.25, (30, 70)))
        local = OPFClassifier("manhattan").fit(X, y)
        assert np.array_equal(lazy.compute(), local.predict(X + 0.25))
        assert np.array_equal(loaded.predict(X + 0.25), local.predict(X + 0.25))
        assert_same_model(loaded.to_local(), local, X)
    opforest.save(loaded.parts_, tmp_path / "copy")
    assert np.array_equal(opforest.load(tmp_path / "copy").predict(X), local.predict(X))


@pytest.mark.usefixtures("synchronous")
def test_labels_in_any_blocks(problem):
    X, y = problem
    local = OPFClassifier().fit(X, y)
    blocks = in_blocks(X, (33, 0, 20, 47))
    for sizes in ((100,), (1, 99), (0, 50, 0, 50, 0), (33, 0, 20, 47)):
        clf = DaskOPFClassifier(keep="parts").fit(blocks, in_blocks(y, sizes))
        assert np.array_equal(clf.predict(X), local.predict(X))
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[100, 99\]"):
        clf.fit(blocks, in_blocks(y[:99], (99,)))
    mixed = np.array([*y[:99], 1], object)
    for wrong, message in (
        (np.arange(100) + 0.5, "Unknown label type"),
        (np.where(X[:, 0] > 0, np.nan, 1), "contains NaN"),
        (mixed, "all be text or all be numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            clf.fit(blocks, in_blocks(wrong, (40, 60)))
