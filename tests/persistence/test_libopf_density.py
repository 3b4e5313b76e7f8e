"""Models of opf_cluster and opfknn_train: read as they are, refused if they lie."""

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score
from tests.support.commands import run, run_json
from tests.support.data_files import LIBOPF

import opforest
from opforest import OPFClustering, OPFKNNClassifier
from opforest.errors import DataFileError
from opforest.io.libopf import looks_like, read_dataset, read_model

FOLDER = LIBOPF / "densities"
HEADER, NODE = struct.Struct("<3i f i 3f"), struct.Struct("<4i 3f 2f")


def content(name):
    """What the file says, in plain Python: the header, and one tuple for each node."""
    raw = (FOLDER / f"{name}.opf").read_bytes()
    header = HEADER.unpack_from(raw)
    nodes = [NODE.unpack_from(raw, HEADER.size + i * NODE.size) for i in range(header[0])]
    return header, nodes


@pytest.mark.parametrize(("name", "kind"), [("cluster", OPFClustering), ("knn", OPFKNNClassifier)])
def test_what_the_file_says_is_kept(name, kind, tmp_path):
    path = FOLDER / f"{name}.opf"
    assert looks_like(path) == "model"
    model = read_model(path)
    assert type(model) is kind
    (n, n_labels, d, _, k, *_), nodes = content(name)
    assert (model.k_, model.n_features_in_, len(model.density_)) == (k, d, n)
    assert model.predecessor_.tolist() == [node[2] for node in nodes]
    assert model.density_.tolist() == [node[6] for node in nodes]
    Q = read_dataset(FOLDER / "testing.dat")[0]
    expected = np.loadtxt(FOLDER / f"{name}.out", dtype=int)
    opforest.save(model, tmp_path / "model.opforest")
    for each in (model, opforest.load(tmp_path / "model.opforest")):
        if kind is OPFClustering:  # clusters have other numbers
            assert adjusted_rand_score(each.labels_, [node[3] for node in nodes]) == 1
            assert adjusted_rand_score(each.predict(Q), expected) == 1
            assert len(each.roots_) == n_labels
        else:
            assert np.array_equal(each.predict(Q), expected)
            assert each.classes_.tolist() == [1, 2, 3]


def test_a_clustering_read_is_the_one_found(tmp_path):
    model = read_model(FOLDER / "cluster.opf")
    X, y, _ = read_dataset(FOLDER / "cluster.opf")
    assert set(y) == {1, 2, 3}  # more classes than that many clusters would be fine, too
    again = OPFClustering(**model.get_params()).fit(X.astype(float))
    assert np.array_equal(again.labels_, model.labels_)
    assert np.array_equal(again.predecessor_ < 0, model.predecessor_ < 0)
    np.testing.assert_allclose(again.density_, model.density_, rtol=2e-3)


def test_more_classes_than_clusters(tmp_path):
    raw = bytearray((FOLDER / "cluster.opf").read_bytes())
    struct.pack_into("<i", raw, HEADER.size + 4, 99)
    assert read_dataset(bytes(raw))[1][0] == 99
    assert isinstance(read_model(bytes(raw)), OPFClustering)


@pytest.mark.parametrize(
    ("place", "form", "value", "message"),
    [
        (16, "i", 0, "neighbors cannot be 0"),
        (16, "i", -3, "neighbors cannot be -3"),
        (16, "i", 10**6, "neighbors"),
        (20, "f", float("nan"), "its scale"),
        (24, "f", 5.0, "its scale"),
        (HEADER.size + 8, "i", 0, "cycle"),
        (HEADER.size + 8, "i", 10**6, "predecessor is not a node"),
        (HEADER.size + 12, "i", 5, "label differs from that of its root"),
        (HEADER.size + 16, "f", 2000.0, "a value is out of range"),
        (HEADER.size + 24, "f", 0.0, "a density is not"),
        (HEADER.size + 24, "f", float("nan"), "a density is not"),
        (HEADER.size + 28, "f", float("inf"), "not finite"),
    ],
)
def test_models_that_lie_are_refused(place, form, value, message):
    raw = bytearray((FOLDER / "cluster.opf").read_bytes())
    struct.pack_into(f"<{form}", raw, place, value)
    with pytest.raises(DataFileError, match=message):
        read_model(bytes(raw))


@given(data=st.data())
@settings(max_examples=200)
def test_a_changed_model_is_refused_or_answers(data):
    name = data.draw(st.sampled_from(["cluster", "knn"]))
    numbers = np.frombuffer((FOLDER / f"{name}.opf").read_bytes(), "<i4").copy()
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, 30) | st.integers(0, len(numbers) - 1))
        value = st.integers(-2, 8) | st.integers(-(2**31), 2**31 - 1)
        numbers[place] = data.draw(value | st.sampled_from(numbers.tolist()))
    try:
        model = read_model(numbers.tobytes())
    except DataFileError:
        return
    if not isinstance(model, opforest.OPFClassifier):
        with np.errstate(over="ignore"):
            assert len(model.predict(np.zeros((1, model.n_features_in_)))) == 1


def test_commands(folder):
    cluster, knn, data = (FOLDER / name for name in ("cluster.opf", "knn.opf", "testing.dat"))
    labels = run("predict", cluster, data).stdout.split()
    assert adjusted_rand_score(labels, np.loadtxt(FOLDER / "cluster.out")) == 1
    assert run("predict", knn, data).stdout == (FOLDER / "knn.out").read_text()
    assert run_json("predict", cluster, data)["classes"] == list(range(6))
    assert run_json("info", cluster)["clusters"] == 6
    assert run_json("convert", cluster, "clusters.opforest")["clusters"] == 6
    assert run("predict", "clusters.opforest", data).stdout.split() == labels
    assert run_json("evaluate", knn, data)["examples"] == 121
    assert "which does not predict labels" in run("evaluate", cluster, data, code=4).stderr
    refused = run("prune", knn, data, "small.opforest", code=4)
    assert "it is an OPFKNNClassifier, not an OPFClassifier" in refused.stderr
