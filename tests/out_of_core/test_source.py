"""Sources of examples: each gives the same model, or an error that says what to do."""

import re
from unittest.mock import patch

import numpy as np
import pytest
from tests.support.parts_comparison import assert_parts_equal
from tests.support.tuning import tune

import opforest
from opforest import out_of_core
from opforest.errors import DataFileError
from opforest.out_of_core import cells
from opforest.out_of_core.rows import FileRows

pl = pytest.importorskip("polars")


@pytest.fixture(autouse=True)
def small_cells(monkeypatch):
    tune(disk_cell=50, disk_piece=3000)
    monkeypatch.setattr("opforest.out_of_core.source.CHUNK", 64)
    monkeypatch.setattr("opforest.out_of_core.source.LABEL_BYTES", 1000)


def some(n=300):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 20, (n, 3)) / 4
    return X, np.array(["red", "green", "very dark blue"])[rng.integers(0, 3, n)]


def parts_of(folder):
    """Return the files with the parts of a model."""
    return {path.name: path.read_bytes() for path in folder.rglob("*.opforest")}


def test_files_and_arrays_give_the_same_model(tmp_path):
    X, y = some()
    frame = pl.DataFrame({"u": X[:, 0], "v": X[:, 1], "w": X[:, 2], "species": y})
    frame.write_parquet(tmp_path / "data.parquet", row_group_size=70)
    frame.write_csv(tmp_path / "data.csv")
    frame.write_ipc(tmp_path / "data.arrow")
    (tmp_path / "folder").mkdir()
    frame[:100].write_parquet(tmp_path / "folder" / "a.parquet")
    frame[100:].write_parquet(tmp_path / "folder" / "b.parquet")
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    memory_maps = [np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "Xy"]
    model = out_of_core.fit(X, tmp_path / "model", y)
    assert_parts_equal(model, X, y, X[:50] + 0.1)
    expected = parts_of(tmp_path / "model")
    assert len(expected) == 2 * 8 + 2
    out_of_core.fit(memory_maps[0], tmp_path / "mapped", memory_maps[1])
    assert parts_of(tmp_path / "mapped") == expected
    out_of_core.fit(memory_maps[0][:], tmp_path / "view", memory_maps[1][:])
    assert parts_of(tmp_path / "view") == expected
    for name in ("data.parquet", "data.csv", "data.arrow", "folder"):
        out_of_core.fit(tmp_path / name, tmp_path / f"model-{name}")
        again = opforest.load(tmp_path / f"model-{name}")
        assert parts_of(tmp_path / f"model-{name}") == expected
        assert again.feature_names_in_.tolist() == ["u", "v", "w"]
        assert again.classes_.tolist() == sorted(set(y.tolist()))


def test_an_npy_file_has_its_labels_in_a_column(tmp_path):
    X, _ = some()
    y = np.arange(len(X)) % 4
    np.save(tmp_path / "data.npy", np.column_stack([X, y]))
    model = out_of_core.fit(tmp_path / "data.npy", tmp_path / "model", y="last")
    assert_parts_equal(model, X, y, X[:20])
    assert model.classes_.dtype == np.int64


def test_float32_is_kept(tmp_path):
    X, y = some()
    X = X.astype(np.float32)
    pl.DataFrame({"u": X[:, 0], "v": X[:, 1], "w": X[:, 2], "label": y}).write_parquet(
        tmp_path / "data.parquet"
    )
    model = out_of_core.fit(tmp_path / "data.parquet", tmp_path / "model")
    assert model.parts_.map.box.dtype == np.float32
    del model.feature_names_in_  # scikit-learn warns of queries without
    assert_parts_equal(model, X, y, X[:20])


def test_whole_numbers_become_float64(tmp_path):
    X = np.arange(60).reshape(-1, 2)
    model = out_of_core.fit(X, tmp_path / "model", np.arange(30) % 2)
    assert_parts_equal(model, X.astype(float), np.arange(30) % 2, X[:5])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["1,a,x", "2,b,y"], "text, which has no distances"),
        (["1,2,x", "2,,y"], "line 3.*missing cells.*fill them in"),
        (["1,2,x", "2,3,"], "label is missing"),
        ([], "no examples|empty|label"),
    ],
)
def test_bad_files_are_explained(tmp_path, rows, message):
    path = tmp_path / "data.csv"
    path.write_text("\n".join(["u,v,label", *rows]) + "\n")
    with pytest.raises(DataFileError, match=message) as caught:
        out_of_core.fit(path, tmp_path / "model")
    assert "--encode" not in str(caught.value)
    assert "--missing" not in str(caught.value)
    assert not (tmp_path / "model").exists()


def test_labels_of_a_file_are_not_passed_as_an_array(tmp_path):
    (tmp_path / "data.csv").write_text("u,label\n1,a\n2,b\n")
    with pytest.raises(ValueError, match="name or number of the label column"):
        out_of_core.fit(tmp_path / "data.csv", tmp_path / "model", [0, 1])


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        out_of_core.fit(tmp_path / "missing.csv", tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("fault", [np.nan, np.inf, "constant"])
def test_errors_name_the_row_of_an_array(tmp_path, fault):
    X, y = some()
    X += np.arange(3)
    X[250] = 1 if fault == "constant" else (0, fault, 0)
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(ValueError) as caught:
        out_of_core.fit(
            np.load(tmp_path / "X.npy", mmap_mode="r"), tmp_path / "model", y, metric="correlation"
        )
    first = re.search(r"counted from row (\d+) of X", str(caught.value))
    row = re.search(r"row (\d+) (?:has NaN or infinity|of X is one)", str(caught.value))
    assert int(row[1]) + (int(first[1]) if first else 0) == 250


def test_labels_and_samples_are_read_in_small_pieces(tmp_path, monkeypatch):
    X, y = some(2000)
    np.save(tmp_path / "y.npy", y)
    monkeypatch.setattr("opforest.out_of_core.cells.SAMPLE_NUMBERS", 600)
    sizes, read = [], FileRows.read

    def record(self, begin, end):
        sizes.append(end - begin)
        return read(self, begin, end)

    monkeypatch.setattr(FileRows, "read", record)
    with patch.object(cells, "divide_space", wraps=cells.divide_space) as divide:
        out_of_core.fit(X, tmp_path / "model", np.load(tmp_path / "y.npy", mmap_mode="r"))
    assert len(divide.call_args.args[0]) == 200
    assert max(sizes) * y.dtype.itemsize <= 1000
