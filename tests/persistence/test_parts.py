"""Models in parts: saved and loaded, replaced at once, and refused if damaged or forged."""

import hashlib
import json
import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.model_files import sealed, split
from tests.support.parts_comparison import assert_parts_equal
from tests.support.tuning import tuned

import opforest
from opforest import ModelFileError, out_of_core
from opforest.persistence import parts

X = np.random.default_rng(0).integers(0, 9, (150, 2)).astype(float)
Y = np.random.default_rng(1).integers(0, 3, 150)


class Memory:
    """The simplest executor."""

    def fetch(self, function, *arguments):
        return [function(*group) for group in zip(*arguments, strict=True)]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts") / "model"
    with tuned(disk_cell=40):
        out_of_core.fit(X, folder, Y)
    return folder


@pytest.fixture
def folder(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "model")


def test_a_model_of_any_executor_is_saved(saved, tmp_path):
    model = opforest.load(saved)
    forests, costs = (model.executor_.fetch(lambda part: part, kept) for kept in model.parts_[:2])
    kept = model.parts_._replace(forests=forests, costs=costs)
    model.set_parts(Memory(), kept, model.classes_, model.n_examples_, model.n_features_in_)
    opforest.save(model, tmp_path / "copy")
    assert_parts_equal(opforest.load(tmp_path / "copy"), X, Y, X[:20] + 0.3)


def test_a_model_is_replaced_at_once(saved, folder, monkeypatch):
    model, other = opforest.load(saved), opforest.load(folder)
    with monkeypatch.context() as patch:
        patch.setattr(parts, "write_manifest", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            opforest.save(model, folder)
    assert len(list(folder.iterdir())) == 2
    assert np.array_equal(other.predict(X), model.predict(X))
    opforest.save(model, folder)
    assert len(list(folder.iterdir())) == 2
    with pytest.raises(ModelFileError, match="Load it again"):
        other.predict(X)
    assert np.array_equal(opforest.load(folder).predict(X), model.predict(X))


def test_a_model_is_not_saved_over_itself_nor_to_a_stream(folder):
    model = opforest.load(folder)
    with pytest.raises(ValueError, match="in this folder already"):
        opforest.save(model, folder)
    with (folder / "manifest.json").open("rb") as stream, pytest.raises(ValueError, match="stream"):
        opforest.save(model, stream)
    assert_parts_equal(opforest.load(folder), X, Y, X[:5])


def test_a_folder_without_manifest_is_no_model(folder):
    (folder / "manifest.json").unlink()
    with pytest.raises(ModelFileError, match="not a complete model"):
        opforest.load(folder)


def test_damaged_files_are_refused(folder):
    rng = np.random.default_rng(0)
    for path in sorted(folder.rglob("*.*")):
        if not path.is_file():
            continue
        content = path.read_bytes()
        damaged = [content[: len(content) // 2], b"", content + b"\0"]
        for place in rng.integers(0, len(content), 4):
            flipped = bytearray(content)
            flipped[place] ^= 1 << int(rng.integers(0, 7))
            damaged.append(bytes(flipped))
        for bad in damaged:
            path.write_bytes(bad)
            with pytest.raises(ModelFileError, match=r"manifest|opforest"):
                opforest.load(folder)
        path.unlink()
        with pytest.raises(ModelFileError, match=r"missing|complete"):
            opforest.load(folder)
        path.write_bytes(content)
    opforest.load(folder)


def test_files_of_another_cell_are_refused(folder):
    one, other = sorted(folder.rglob("forest-*"))[:2]
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)
    with pytest.raises(ModelFileError, match="another file than the manifest lists"):
        opforest.load(folder)


def forge_manifest(folder, change):
    """Change the manifest, with a checksum that is right."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["sha256"]
    change(manifest)
    text = json.dumps(manifest, sort_keys=True)
    manifest["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(json.dumps(manifest))


def forge_array(folder, name, wanted, place, value):
    """Change a number in a file, with checksums that are right everywhere."""
    path = next(folder.rglob(name))
    header, body = split(path.read_bytes())
    at = 0
    for array, dtype, shape in header["arrays"]:
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if array == wanted and size:
            view = np.frombuffer(memoryview(body)[at : at + size], dtype)
            kind = np.dtype(dtype).kind
            if kind == "i":
                value = int(np.clip(value, np.iinfo(dtype).min, np.iinfo(dtype).max))
            view[place % len(view)] = value if kind != "b" else bool(value)
        at += size + -size % 8
    content = sealed(header, body)
    path.write_bytes(content)

    def change(manifest):
        for listed in manifest["files"].values():
            for entry in [listed] if isinstance(listed[0], str) else listed:
                if entry[0] == name:
                    entry[1] = content[-32:].hex()

    forge_manifest(folder, change)


ARRAYS = [
    *(("forest-00001.opforest", f"tree.{name}") for name in ("nodes", "box", "vertex", "points")),
    *(("forest-00001.opforest", name) for name in ("border", "fragment", "coarse", "id", "number",
                                                   "label")),
    *(("forest-00001.opforest", f"{pool}.{name}") for pool in ("certain", "uncertain")
      for name in ("u", "v", "weight")),
    *(("costs-00001.opforest", name) for name in ("cost", "is_prototype", "first")),
    *(("joined.opforest", name) for name in ("u", "v", "weight", "a", "b")),
    *(("map.opforest", name) for name in ("box", "cost", "id")),
]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(ARRAYS),
    st.integers(0, 10**6),
    st.sampled_from([-1, 0, 1, 5, 40, 149, 150, 2**31 - 1, -(2**62), 2**62]),
)
def test_forged_numbers_are_refused_or_harmless(saved, tmp_path_factory, array, place, value):
    """Kernels check nothing; what is not refused must be usable without a crash."""
    folder = shutil.copytree(saved, tmp_path_factory.mktemp("forged") / "model")
    forge_array(folder, *array, place, value)
    try:
        model = opforest.load(folder)
    except ModelFileError as error:
        assert str(folder) in str(error)  # noqa: PT017
        return
    assert len(model.predict(X)) == len(X)
    try:
        model.to_local()
    except ValueError as error:
        assert "forged" in str(error) or "must" in str(error)  # noqa: PT017


def test_numbers_that_are_not_finite_are_refused(folder):
    forge_array(folder, "forest-00000.opforest", "tree.points", 3, np.nan)
    with pytest.raises(ModelFileError, match="finite"):
        opforest.load(folder)


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("format", 2),
        ("kind", "other"),
        ("examples", 151),
        ("examples", 0),
        ("features", -1),
        ("coordinates", 3),
        ("cells", 3),
        ("dtype", "int64"),
        ("dtype", "float32"),
        ("label_type", "O"),
        ("label_type", "<M8[s]"),
        ("classes", [0, 1]),
        ("classes", [2, 1, 0]),
        ("classes", []),
        ("feature_names", ["u"]),
        ("folder", "../../other"),
        ("folder", "parts-0000000000000000"),
        ("files", {}),
        ("parameters", {"metric": "hamming", "metric_params": None}),
        ("parameters", {"metric": "no metric", "metric_params": None}),
        ("columns", [1]),
    ],
)
def test_forged_manifests_are_refused(folder, entry, value):
    forge_manifest(folder, lambda manifest: manifest.update({entry: value}))
    with pytest.raises(ModelFileError, match="model"):
        opforest.load(folder)


def test_files_outside_of_the_folder_are_not_read(folder):
    def change(manifest):
        manifest["files"]["map"][0] = "../manifest.json"

    forge_manifest(folder, change)
    with pytest.raises(ModelFileError, match="list of files is invalid"):
        opforest.load(folder)
