"""LibOPF's files: read as LibOPF means them, written so that it reads them, refused if they lie."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.support.data_files import PUBLISHED_DATA, at_hand

from opforest import OPFClassifier
from opforest.datasets.published import PUBLISHED
from opforest.errors import DataFileError
from opforest.io.libopf import (
    looks_like,
    read_dataset,
    read_distances,
    read_model,
    write_dataset,
    write_distances,
    write_model,
)


def some(n, seed=0, d=3, classes=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)).astype(np.float32), rng.integers(1, classes + 1, n)


def test_golden_files_are_told_apart(golden):
    assert looks_like(golden / "training.dat") == "dataset"
    assert looks_like(golden / "classifier.opf") == "model"
    assert looks_like(golden / "testing.dat.out") is None
    assert looks_like((golden / "training.dat").read_bytes()) == "dataset"


@pytest.mark.parametrize("part", ["training", "testing"])
def test_golden_sets_are_read_and_written_again_byte_by_byte(golden, tmp_path, part):
    path = golden / f"{part}.dat"
    X, y, ids = read_dataset(path)
    assert X.dtype == np.float32
    write_dataset(tmp_path / "again.dat", X, y, ids)
    assert (tmp_path / "again.dat").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    "name",
    [name for name, about in PUBLISHED.items() if name != "Skin" and at_hand(about.file.name)],
)
def test_published_sets_are_read_and_written_again_byte_by_byte(tmp_path, name):
    about = PUBLISHED[name]
    path = PUBLISHED_DATA / "opfi" / about.file.name
    X, y, ids = read_dataset(path)
    assert X.shape == (about.n_samples, about.n_features)
    assert X.dtype == np.float32
    assert set(y) == set(range(1, about.n_classes + 1))
    write_dataset(tmp_path / "again.opf", X, y, ids)
    assert (tmp_path / "again.opf").read_bytes() == path.read_bytes()


@given(data=st.data(), text=st.booleans())
def test_data_sets_round_trip_bit_by_bit(tmp_path_factory, data, text):
    n, d = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 5))
    finite = st.floats(width=32, allow_nan=False, allow_infinity=False)
    X = data.draw(arrays(np.float32, (n, d), elements=finite))
    whole = st.integers(0, 2**31 - 1)
    y = data.draw(arrays(np.int64, n, elements=whole))
    ids = data.draw(arrays(np.int64, n, elements=whole))
    path = tmp_path_factory.getbasetemp() / "round_trip"
    write_dataset(path, X, y, ids, text=text)
    assert looks_like(path) == ("text" if text else "dataset")
    again = read_dataset(path)
    assert again[0].tobytes() == X.tobytes()
    assert np.array_equal(again[1], y)
    assert np.array_equal(again[2], ids)
    assert np.array_equal(read_dataset(path.read_bytes())[0], again[0])


def test_text_as_libopf_writes_it_is_read():
    X, y, ids = read_dataset(b"2 2 3 \r\n0 1 0.500000 1.000000 -2.5e-3 \r\n5 2 1 2 .25\r\n\r\n")
    assert X.tolist() == [[0.5, 1.0, pytest.approx(-0.0025)], [1.0, 2.0, 0.25]]
    assert y.tolist() == [1, 2]
    assert ids.tolist() == [0, 5]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"its header has"),
        (b"2 1 1\n0 1 0.5\n", r"line 1: it is too short|ends after 1 of 2"),
        (b"1 1 2\n0 1 0.5\n", r"line 2: the line must have 4 values, got 3"),
        (b"1 1 1\n0 1 0.5\n0 1 0.5\n", r"line 3: there are more samples than the 1 of its header"),
        (b"1 1 1\n0 1 0x5\n", r"line 2, column 3: there must be a number, got '0x5'"),
        (b"1 1 1\n0 1 1_0\n", r"line 2, column 3: there must be a number, got '1_0'"),
        (b"1 1 1\n0 1 nan\n", r"line 2, column 3: there must be a number, got 'nan'"),
        (b"1 1 1\n0 1.5 2\n", r"line 2, column 2: there must be a whole number, got '1.5'"),
        (b"1 1 1\n0 9999999999 2\n", r"line 2: position and label must be"),
        (b"1 1 1\n0 1 1e39\n", r"line 2, column 3: the feature is too large"),
        (b"1 1 1\n0 2 1\n", r"sample 0 has the label 2, which is not in 0..1"),
        (b"9999999999 1 9999999999\n0 2 1\n", r"line 1: it is too short"),
        (b"0 1 1\n\n", r"line 1: it is too short"),
        (b"hello, world, this is a letter", r"samples of .* features take"),
    ],
)
def test_text_that_is_no_data_set_is_refused_with_its_place(content, message):
    with pytest.raises(DataFileError, match=message):
        read_dataset(content)


def test_binary_files_that_lie_are_refused(tmp_path):
    path = tmp_path / "a.dat"
    write_dataset(path, *some(4))
    content = path.read_bytes()
    for length in range(len(content)):
        with pytest.raises(DataFileError):
            read_dataset(content[:length])
    with pytest.raises(DataFileError, match="4 samples of 3 features take 92 bytes, not 96"):
        read_dataset(content + bytes(4))
    for place, value, message in [
        (0, 2**31 - 1, "features take"), (0, -1, "its header has"), (8, 2**31 - 1, "features take"),
        (4, 1, "sample .* has the label"), (4, -1, "features take"),
        (16, -5, "sample 0 has the label -5"), (20, 0x7F800000, "not finite"),
        (20, 0x7FC00000, "sample 0 has a feature that is not finite"),
    ]:  # fmt: skip
        lie = content[:place] + np.array(value, "<i4").tobytes() + content[place + 4 :]
        path.write_bytes(lie)
        with pytest.raises(DataFileError, match=message) as caught:
            read_dataset(path)
        assert caught.value.path == str(path)


@given(noise=st.binary(max_size=300), prefix=st.sampled_from([0, 4, 12, 32, 60]))
@settings(max_examples=800)
def test_noise_is_refused_or_read_but_never_worse(tmp_path_factory, noise, prefix):
    path = tmp_path_factory.getbasetemp() / "noise_model"
    if not path.exists():
        write_model(path, OPFClassifier().fit(*some(5)), incremental=True)
    content = path.read_bytes()[:prefix] + noise
    for read in (read_dataset, read_distances, read_model):
        with suppress(DataFileError):
            read(content)


def test_distances_round_trip_and_train(tmp_path):
    X, y = some(30)
    ids = np.random.default_rng(1).permutation(40)[:30]
    D = np.zeros((40, 40), np.float32)
    D[np.ix_(ids, ids)] = np.sqrt(((X[:, None] - X) ** 2).sum(2))
    write_distances(tmp_path / "d.dat", D)
    assert looks_like(tmp_path / "d.dat") == "distances"
    again = read_distances(tmp_path / "d.dat")
    assert np.array_equal(again, D)
    clf = OPFClassifier("precomputed").fit(again[np.ix_(ids, ids)], y)
    assert np.array_equal(clf.forest_.prototypes, OPFClassifier().fit(X, y).forest_.prototypes)
    content = (tmp_path / "d.dat").read_bytes()
    with pytest.raises(DataFileError, match=r"4 \+ 4 n²"):
        read_distances(content[:-4])
    with pytest.raises(DataFileError, match="holds distances"):
        read_dataset(content)
    for value in (-1.0, np.nan, np.inf):
        with pytest.raises(DataFileError, match="the distance from 0 to 1"):
            read_distances(content[:8] + np.float32(value).tobytes() + content[12:])


def test_what_libopf_cannot_hold_is_not_written(tmp_path):
    path = tmp_path / "a"
    for X, y, message in [
        ([[1.0]], ["a"], "integers"), ([[1.0]], [-1], "from 0"), ([[np.nan]], [1], "finite"),
        ([[1e39]], [1], "finite"), ([1.0], [1], "table"), ([[1.0]], [1, 2], "1 integers"),
        ([[1.0]], [2**31], "from 0"), ([], [], "table"), ([["a"]], [1], "could not convert|table"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=message):
            write_dataset(path, X, y)
    with pytest.raises(ValueError, match="square"):
        write_distances(path, [[1.0, 2.0]])
    assert not path.exists()
    with pytest.raises(FileNotFoundError):
        read_dataset(path)
