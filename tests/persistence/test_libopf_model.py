"""LibOPF's models: read as it means them, written so that it reads them, refused if they lie."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opforest import OPFClassifier
from opforest.errors import DataFileError
from opforest.io.libopf import looks_like, read_dataset, read_model, write_dataset, write_model


@pytest.fixture
def libopf():
    """The folder with LibOPF's own programs."""
    folder = os.environ.get("LIBOPF")
    if not folder or not (Path(folder) / "opf_classify").exists():
        pytest.skip("the environment variable LIBOPF names no folder with LibOPF's programs")
    return Path(folder)


def classify(libopf, folder, X, y):
    """Return what LibOPF's opf_classify says with the classifier.opf of a folder."""
    write_dataset(folder / "queries.dat", X, y)
    subprocess.run(
        [libopf / "opf_classify", "queries.dat"], cwd=folder, check=True, capture_output=True
    )
    return np.loadtxt(folder / "queries.dat.out", dtype=int)


def some(n, seed=0, d=3, classes=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)).astype(np.float32), rng.integers(1, classes + 1, n)


def test_golden_models_predict_what_libopf_predicts(golden):
    clf = read_model(golden / "classifier.opf")
    assert clf.update == "exact"
    for part in ("training", "testing"):
        X, _, _ = read_dataset(golden / f"{part}.dat")
        expected = np.loadtxt(golden / f"{part}.dat.out", dtype=int)
        assert np.array_equal(clf.predict(X), expected)
    X, y, ids = read_dataset(golden / "classifier.opf")
    again = read_dataset(golden / "training.dat")
    assert all(np.array_equal(*pair) for pair in zip((X, y, ids), again, strict=True))


def test_the_paths_of_golden_models_predict_the_same(golden, monkeypatch):
    monkeypatch.setattr("opforest.persistence.libopf.model._is_same_model", lambda *_: False)
    clf = read_model(golden / "classifier.opf")
    assert clf.update == "opfi"
    clf.forest_.check()
    X, _, _ = read_dataset(golden / "testing.dat")
    assert np.array_equal(clf.predict(X), np.loadtxt(golden / "testing.dat.out", dtype=int))
    clf.partial_fit(X[:9].astype(float), clf.predict(X[:9])).forest_.check()


def test_a_golden_model_is_written_as_libopf_wrote_it(golden, tmp_path):
    X, y, _ = read_dataset(golden / "training.dat")
    write_model(tmp_path / "classifier.opf", OPFClassifier().fit(X.astype(float), y))
    ours, theirs = ((f / "classifier.opf").read_bytes() for f in (tmp_path, golden))
    n, _, d = np.frombuffer(theirs, "<i4", 3)
    nodes = [np.frombuffer(raw, "<i4", n * (7 + d), 32).reshape(n, -1) for raw in (ours, theirs)]
    assert len(ours) == len(theirs)
    for column in (1, 3, 4, 5, 6, *range(7, 7 + d)):  # labels, costs bit for bit, features
        assert np.array_equal(nodes[0][:, column], nodes[1][:, column])
    assert np.array_equal(nodes[0][:, 2] < 0, nodes[1][:, 2] < 0)  # prototypes


@pytest.mark.parametrize("update", ["exact", "opfi", "dift"])
@pytest.mark.parametrize("incremental", [False, True])
def test_models_round_trip(tmp_path, update, incremental):
    X, y = some(80)
    Q, _ = some(50, 1)
    clf = OPFClassifier(update=update).fit(X[:50].astype(float), y[:50])
    clf.partial_fit(X[50:].astype(float), y[50:])
    path = tmp_path / "classifier.opf"
    write_model(path, clf, incremental=incremental)
    assert looks_like(path) == ("incremental model" if incremental else "model")
    again = read_model(path)
    again.forest_.check()
    assert np.array_equal(again.predict(Q), clf.predict(Q))
    assert np.array_equal(again.forest_.prototypes, clf.forest_.prototypes)
    assert again.update == ("exact" if update == "exact" and not incremental else "opfi")
    if incremental and update != "exact":
        assert np.array_equal(again.forest_.pair, clf.forest_.pair)
        assert np.array_equal(again.forest_.predecessor, clf.forest_.predecessor)
    again.partial_fit(Q.astype(float), np.ones(50, int)).forest_.check()


def test_other_labels_are_numbered(tmp_path):
    X, y = some(20)
    clf = OPFClassifier().fit(X, np.array(["?", "cat", "dog", "emu"])[y])
    write_model(tmp_path / "m", clf)
    expected = np.searchsorted(clf.classes_, clf.predict(X)) + 1
    assert np.array_equal(read_model(tmp_path / "m").predict(X), expected)


@pytest.mark.parametrize("metric", ["manhattan", "cosine", "squared_chord", "precomputed"])
def test_models_that_libopf_does_not_know_are_not_written(tmp_path, metric):
    X = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0))) + (metric != "precomputed")
    clf = OPFClassifier(metric).fit(X, [1, 1, 2, 2, 2])
    with pytest.raises(ValueError, match="LibOPF measures"):
        write_model(tmp_path / "m", clf)
    with pytest.raises(ValueError, match="not fitted"):
        write_model(tmp_path / "m", OPFClassifier())
    with pytest.raises(ValueError, match="needs examples"):
        write_model(tmp_path / "m", OPFClassifier().fit(X, [1, 1, 2, 2, 2]).forget(range(5)))


@pytest.mark.parametrize("incremental", [False, True])
def test_models_that_lie_are_refused(tmp_path, incremental):
    path = tmp_path / "m"
    write_model(path, OPFClassifier().fit(*some(6)), incremental=incremental)
    content = path.read_bytes()
    for length in range(len(content)):
        with pytest.raises(DataFileError):
            read_model(content[:length])
    first = 28 if incremental else 32
    for place, value, message in [
        (first + 8, 0, "cycle|costs are not"), (first + 8, 99, "predecessor is not a node"),
        (first + 8, -2, "predecessor is not a node"), (first + 12, 0, "inconsistent"),
        (first + 12, -1, "sample 0 has the label"), (first + 16, 0x7FC00000, "a cost is"),
        (first + 16, 0x49000000, "not by cost"), (len(content) - 4, 0, "order by cost|not by cost"),
        (0, 10**9, "not a LibOPF model"), (8, 10**9, "not a LibOPF model"), (4, 0, "label"),
    ]:  # fmt: skip
        lie = content[:place] + np.array(value, "<i4").tobytes() + content[place + 4 :]
        if lie != content:
            with pytest.raises(DataFileError, match=message):
                read_model(lie)
    if not incremental:
        density = content[:16] + np.array(3, "<i4").tobytes() + content[20:]
        with pytest.raises(DataFileError, match="a density is not"):
            read_model(density)


@pytest.mark.parametrize("incremental", [False, True])
@given(data=st.data())
@settings(max_examples=400)
def test_a_changed_model_is_refused_or_a_forest(tmp_path_factory, incremental, data):
    path = tmp_path_factory.getbasetemp() / f"changed_{incremental}"
    if not path.exists():
        write_model(path, OPFClassifier().fit(*some(6, d=2)), incremental=incremental)
    numbers = np.frombuffer(path.read_bytes(), "<i4").copy()
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(numbers) - 1))
        value = st.integers(-2, 8) | st.integers(-(2**31), 2**31 - 1)
        numbers[place] = data.draw(value | st.sampled_from(numbers.tolist()))
    try:
        clf = read_model(numbers.tobytes())
    except DataFileError:
        return
    if not isinstance(clf, OPFClassifier):
        return  # as test_libopf_density.py tries it
    clf.forest_.check()
    clf.partial_fit([[0.0, 0.0]], [1]).predict([[1.0, 1.0]])


def test_libopf_accepts_our_models_and_returns_our_predictions(libopf, golden, tmp_path):
    X, y, _ = read_dataset(golden / "training.dat")
    Q, truth, _ = read_dataset(golden / "testing.dat")
    clf = OPFClassifier().fit(X.astype(float), y)
    write_model(tmp_path / "classifier.opf", clf)
    assert np.array_equal(classify(libopf, tmp_path, Q, truth), clf.predict(Q))


@pytest.mark.parametrize("update", ["exact", "opfi", "dift"])
@pytest.mark.parametrize("seed", range(3))
def test_libopf_agrees_with_models_that_grew(libopf, tmp_path, update, seed):
    X, y = some(300, seed, d=4)
    Q, truth = some(200, seed + 10, d=4)
    clf = OPFClassifier(update=update).fit(X[:100].astype(float), y[:100])
    clf.partial_fit(X[100:].astype(float), y[100:])
    write_model(tmp_path / "classifier.opf", clf)
    assert np.array_equal(classify(libopf, tmp_path, Q, truth), clf.predict(Q))


@pytest.mark.parametrize("classes", [1, 3])
def test_models_of_libopf_are_read_however_its_edges_tie(libopf, tmp_path, classes):
    rng = np.random.default_rng(0)
    for _ in range(10):
        X, y = rng.integers(0, 4, (60, 2)).astype(np.float32), rng.integers(1, classes + 1, 60)
        write_dataset(tmp_path / "training.dat", X, y)
        program = [libopf / "opf_train", "training.dat"]
        subprocess.run(program, cwd=tmp_path, check=True, capture_output=True)
        if classes == 1:  # LibOPF finds no prototype then, as its model shows
            with pytest.raises(DataFileError, match="a single class"):
                read_model(tmp_path / "classifier.opf")
            continue
        clf = read_model(tmp_path / "classifier.opf")
        clf.forest_.check()
        Q = rng.random((50, 2)).astype(np.float32) * 4
        assert np.array_equal(clf.predict(Q), classify(libopf, tmp_path, Q, np.ones(50, int)))
