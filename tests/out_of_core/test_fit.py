"""A fit out of core gives the model of a fit in memory, bit for bit."""

import copy
import pickle
import re
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import DataConversionWarning
from tests.support.comparison import assert_same_model
from tests.support.parts_comparison import assert_parts_equal
from tests.support.tuning import tune, tuned

import opforest
from opforest import out_of_core
from opforest.errors import ModelFileError
from opforest.out_of_core import job
from opforest.out_of_core.plan import choose_jobs, make_plan

#: Each metric in one precision, because kernels are compiled for each.
METRICS = [
    ("euclidean", None, np.float64),
    ("euclidean", None, np.float32),
    ("cosine", None, np.float64),
    ("manhattan", None, np.float64),
    ("chebyshev", None, np.float32),
    ("minkowski", {"p": 3}, np.float64),
]
KINDS = ["lattice", "uniform", "duplicates", "equal", "clusters", "borders"]


def make(kind, n, d, rng):
    """Return points: with ties, duplicates, on planes between cells, and far apart."""
    if kind == "lattice":
        return rng.integers(1, 5, (n, d)).astype(float)
    if kind == "uniform":
        return rng.random((n, d))
    if kind == "duplicates":
        return rng.random((n // 4 + 1, d))[rng.integers(0, n // 4 + 1, n)]
    if kind == "equal":
        return np.full((n, d), 2.5)
    if kind == "clusters":
        return rng.normal(size=(n, d)).round(1) + 1e4 * rng.integers(0, 2, (n, 1)) + 0.05
    return np.column_stack([rng.integers(1, 3, n), rng.integers(1, 40, (n, d - 1))]).astype(float)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(KINDS),
    st.integers(1, 120),
    st.integers(1, 8),
    st.integers(1, 4),
    st.sampled_from(METRICS),
    st.sampled_from([1, 8, 40, 1000]),
    st.integers(0, 2**32),
)
def test_the_model_is_that_of_a_fit_in_memory(
    tmp_path_factory, kind, n, d, n_classes, metric, cell, seed
):
    rng, (name, params, dtype) = np.random.default_rng(seed), metric
    X, y = make(kind, n, d, rng).astype(dtype), rng.integers(0, n_classes, n)
    queries = np.vstack([X[:30], X[:30] + rng.normal(size=X[:30].shape).round(1) + 10])
    folder = tmp_path_factory.mktemp("fit") / "model"
    with tuned(disk_cell=cell, disk_piece=2000):
        model = out_of_core.fit(X, folder, y, metric=name, metric_params=params, n_jobs=2)
    with tuned(queries_per_piece=7):
        assert_parts_equal(model, X, y, queries)
        assert_parts_equal(opforest.load(folder), X, y, queries)
    assert sorted(path.name for path in folder.iterdir())[0] == "manifest.json"
    assert len(list(folder.iterdir())) == 2


def test_there_are_many_cells(tmp_path):
    tune(disk_cell=40, disk_piece=4000)
    rng = np.random.default_rng(0)
    X, y = rng.random((3000, 3)), rng.integers(0, 3, 3000)
    model = out_of_core.fit(X, tmp_path / "model", y)
    assert len(model.parts_.forests) == 128
    queries = rng.random((300, 3))
    local = assert_parts_equal(model, X, y, queries)
    assert_same_model(model.to_local(), local, queries)


@pytest.mark.parametrize("labels", [["b", "a", "long label"], [True, False, True], [0.5, -1.0, 7.0],
                                    [3, -2, 9]])  # fmt: skip
def test_labels_of_each_kind_come_back(tmp_path, labels):
    tune(disk_cell=5)
    X = np.arange(30.0).reshape(-1, 1)
    y = np.array(labels)[np.arange(30) % 3]
    if y.dtype == float:
        y = y.round()
    model = out_of_core.fit(X, tmp_path / "model", y)
    for one in (model, opforest.load(tmp_path / "model")):
        assert one.classes_.tolist() == np.unique(y).tolist()
        assert one.classes_.dtype == y.dtype
        assert one.predict(X).tolist() == y.tolist()


def test_labels_that_are_objects_come_back(tmp_path):
    X, y = np.arange(4.0).reshape(-1, 1), np.array(["a", "b", "b", "a"], object)
    model = out_of_core.fit(X, tmp_path / "model", y)
    assert model.predict(X).tolist() == y.tolist()
    assert opforest.load(tmp_path / "model").classes_.tolist() == ["a", "b"]


def test_names_of_a_data_frame_are_kept(tmp_path):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"u": [0.0, 1.0, 5.0], "v": [1.0, 1.0, 2.0]})
    out_of_core.fit(X, tmp_path / "model", [0, 0, 1])
    model = opforest.load(tmp_path / "model")
    assert model.feature_names_in_.tolist() == ["u", "v"]
    assert model.predict(X).tolist() == [0, 0, 1]
    assert model.to_local().feature_names_in_.tolist() == ["u", "v"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X.rename(columns={"u": "w"}))


@pytest.mark.parametrize("name", ["partial_fit", "forget", "fit", "predict_proba", "forest_"])
def test_what_a_model_in_parts_lacks_is_explained(tmp_path, name):
    model = out_of_core.fit(np.eye(3), tmp_path / "model", [0, 1, 1])
    with pytest.raises(AttributeError, match=rf"no {name}.*to_local\(\).*fit again with all"):
        getattr(model, name)
    with pytest.raises(AttributeError, match=r"'PartsClassifier' object has no attribute 'other'"):
        _ = model.other
    assert not hasattr(model, name)
    assert pickle.loads(pickle.dumps(model)).predict(np.eye(3)).tolist() == [0, 1, 1]
    assert copy.deepcopy(model).predict(np.eye(3)).tolist() == [0, 1, 1]


def test_phases_are_printed(tmp_path, capsys):
    tune(disk_cell=5)
    out_of_core.fit(np.arange(30.0).reshape(-1, 1), tmp_path / "m", np.arange(30) % 2, verbose=1)
    lines = capsys.readouterr().out.splitlines()
    phases = [line.removeprefix("[out_of_core.fit] ").split(":")[0] for line in lines]
    assert phases == ["reading labels, 30 examples", "dealing, 30 examples", "growing cells",
                      "joining cells", "joining costs", "finding costs", "finishing"]  # fmt: skip


@pytest.mark.parametrize("metric", ["canberra", "hamming", "precomputed", "braycurtis"])
def test_metrics_without_bounds_are_refused(tmp_path, metric):
    with pytest.raises(ValueError, match=r"cannot be used out of core.*Euclidean family"):
        out_of_core.fit(np.eye(3), tmp_path / "model", [0, 1, 2], metric=metric)
    assert not (tmp_path / "model").exists()


def test_examples_that_are_lost_to_rounding_are_refused(tmp_path):
    X = np.array([[0.0], [1e-200], [1.0]])
    with pytest.raises(ValueError, match=r"lost to rounding.*Rescale"):
        out_of_core.fit(X, tmp_path / "model", [0, 1, 1])
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[0.0], [np.nan]], [0, 1], "X must have finite numbers, but row 1 has NaN or infinity"),
        ([[0.0], [1.0]], [0.5, 0.25], "Unknown label type"),
        ([[0.0], [1.0]], [0], "a label for each of 2 rows"),
        ([[0.0], [1.0]], None, "y must have the labels"),
        ([[0.0], [1e300]], [0, 1], "too large"),
        ([0.0, 1.0], [0, 1], "2D array"),
        ([["a"], ["b"]], [0, 1], "must hold numbers|could not convert"),
    ],
)
def test_bad_input_is_explained(tmp_path, X, y, message):
    with pytest.raises(ValueError, match=message):
        out_of_core.fit(np.array(X), tmp_path / "model", y if y is None else np.array(y))


def test_too_little_memory_is_explained_before_anything_is_written(tmp_path):
    with pytest.raises(ValueError, match=r"max_bytes must be more than .* MB.* got 1 MB"):
        out_of_core.fit(np.eye(3), tmp_path / "model", [0, 1, 2], max_bytes=1e6)
    assert not (tmp_path / "model").exists()
    X = np.random.default_rng(0).random((1000, 8))
    with pytest.raises(ValueError, match=r"max_bytes must be about .* MB for 1,000 examples"):
        out_of_core.fit(X, tmp_path / "model", np.arange(1000) % 2, max_bytes=300_000_100)


@pytest.mark.parametrize(("n", "d", "n_jobs"), [(1000, 8, 1), (10**6, 3, 2), (10**8, 3, 4)])
def test_the_memory_that_an_error_names_is_enough(n, d, n_jobs):
    with pytest.raises(ValueError, match="max_bytes must be about") as caught:
        make_plan(n, d, np.dtype(np.float64), 300_000_100, n_jobs)
    number, unit = re.search(r"about ([\d.]+) ([MG]B)", str(caught.value)).groups()
    enough = float(number) * {"MB": 1e6, "GB": 1e9}[unit]
    assert make_plan(n, d, np.dtype(np.float64), 1.01 * enough, n_jobs).n_cells >= 1
    with pytest.raises(ValueError, match="max_bytes must be about"):
        make_plan(n, d, np.dtype(np.float64), 0.9 * enough, n_jobs)


@pytest.mark.parametrize("wrong", ["2GB", None, True])
def test_memory_must_be_a_number(tmp_path, wrong):
    with pytest.raises(ValueError, match="max_bytes must be a number of bytes, such as 2e9"):
        out_of_core.fit(np.eye(3), tmp_path / "model", [0, 1, 2], max_bytes=wrong)


def test_labels_that_cannot_be_saved_are_refused_before_the_fit(tmp_path):
    days = np.array(["2020-01-01", "2020-01-02", "2020-01-01"], "M8[D]")
    with (
        patch.object(job, "deal_examples") as deal,
        pytest.raises(ModelFileError, match=r"labels of type datetime64\[D\] cannot be saved"),
    ):
        out_of_core.fit(np.eye(3), tmp_path / "model", days)
    assert not deal.called
    assert not (tmp_path / "model").exists()


def test_a_column_of_labels_is_taken_as_in_memory(tmp_path):
    y = np.array([[0], [1], [1]])
    with pytest.warns(DataConversionWarning, match="column-vector"):
        model = out_of_core.fit(np.eye(3), tmp_path / "model", y)
    assert model.predict(np.eye(3)).tolist() == [0, 1, 1]


def test_cells_shrink_and_threads_wait_if_memory_is_short():
    plan = make_plan(10**7, 3, np.dtype(np.float64), 8e8, 1)
    small = make_plan(10**7, 3, np.dtype(np.float64), 8e8, 16)
    assert small.n_cells > plan.n_cells
    assert choose_jobs(plan, [100_000] * 20, 4) == 4
    assert choose_jobs(plan, [2_000_000, 900_000, 10], 2) == 1
    with pytest.raises(ValueError, match="examples are in one cell"):
        choose_jobs(plan, [10**8], 2)


@pytest.mark.parametrize("name", ["manifest.json", "parts-0123456789abcdef/mine.txt"])
def test_files_that_look_like_ours_are_kept(tmp_path, name):
    place = tmp_path / name
    place.parent.mkdir(exist_ok=True)
    place.write_text("{}")
    with pytest.raises(ValueError, match=f"has other files, such as {re.escape(name)}"):
        out_of_core.fit(np.eye(3), tmp_path, [0, 1, 2])
    assert place.read_text() == "{}"


def test_a_file_added_to_a_model_is_kept(tmp_path):
    out_of_core.fit(np.eye(3), tmp_path / "model", [0, 1, 2])
    (inner,) = (tmp_path / "model").glob("parts-*")
    (inner / "mine.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"has other files, such as parts-.*mine\.txt"):
        out_of_core.fit(np.eye(3), tmp_path / "model", [2, 1, 0])
    assert (inner / "mine.txt").read_text() == "mine"


def test_the_lock_of_another_program_is_explained(tmp_path):
    (tmp_path / ".lock").write_text("x" * 100)
    with pytest.raises(OSError, match=r"its file \.lock is not one of ours"):
        out_of_core.fit(np.eye(3), tmp_path, [0, 1, 2])
    assert (tmp_path / ".lock").read_text() == "x" * 100


def test_a_link_to_nothing_and_an_empty_folder_are_explained(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    with pytest.raises(ValueError, match="link to a folder that does not exist"):
        out_of_core.fit(np.eye(3), tmp_path / "link", [0, 1, 2])
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelFileError, match="there is no model in this folder"):
        opforest.load(tmp_path / "empty")


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"notes\.txt: name a folder"):
        out_of_core.fit(np.eye(3), tmp_path, [0, 1, 2])
    with pytest.raises(ValueError, match="is a file"):
        out_of_core.fit(np.eye(3), tmp_path / "notes.txt", [0, 1, 2])
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_classifier_without_parts_says_so():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError, match="out_of_core"):
        out_of_core.PartsClassifier().predict([[0.0]])
