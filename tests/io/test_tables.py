"""Data files of every kind: written, read back, and recognized."""

import gzip
import io
import os
import re
import sys
import threading
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays as any_array

from opforest.errors import DataFileError
from opforest.io.columns.column import ID_NAMES
from opforest.io.columns.table import Data, InputSchema, ReadOptions
from opforest.io.formats import find_format
from opforest.io.source import open_source
from opforest.io.tables import FORMATS, format_of, read_table, write_table

pytest.importorskip("pyarrow")
from tests.support.table_files import ENDS, NAMED, NUMBERED, SINGLE, WRITTEN, write

texts = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")),
                min_size=1, max_size=6).map(str.strip).filter(bool)  # fmt: skip
words = texts.filter(lambda text: not re.match(r"[+-]?\d", text) and text.isprintable())

#: Names that say what a column is, so that no feature can have them.
SPECIAL = {"label", "class", "target", "y", *ID_NAMES}


@st.composite
def data_sets(draw, single=False, named=True, text=True):
    n, d = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    width = 32 if single else 64
    numbers = st.floats(width=width, allow_nan=False, allow_infinity=False)
    X = draw(any_array(np.float32 if single else np.float64, (n, d), elements=numbers))
    X = X + 0.0 if single else X
    names = (
        draw(st.none() | st.lists(words, min_size=d, max_size=d, unique=True)) if named else None
    )
    if names is not None and {name.lower() for name in names} & SPECIAL:
        names = None
    labels = words if text and draw(st.booleans()) else st.integers(1, 9)
    y = np.array(draw(st.lists(labels, min_size=n, max_size=n)))
    ids = draw(st.none() | st.permutations(range(3, 3 + n)).map(np.array)) if named else None
    return Data(X, y, ids, None if names is None else tuple(names))


def assert_same(found, data, kind):
    assert found.X.shape == data.X.shape
    assert found.X.astype(np.float64).tobytes() == data.X.astype(np.float64).tobytes()
    assert found.y.tolist() == data.y.tolist()
    assert found.y.dtype.kind == data.y.dtype.kind
    if kind in (*NAMED, *SINGLE):
        assert (found.ids is None) == (data.ids is None) or kind in SINGLE
        if data.ids is not None:
            assert found.ids.tolist() == data.ids.tolist()
    if kind in NAMED and data.feature_names:
        assert found.feature_names == data.feature_names


class TestThereAndBack:
    @pytest.mark.parametrize("kind", NAMED)
    @settings(max_examples=30, report_multiple_bugs=False)
    @given(data=data_sets())
    def test_formats_with_names(self, tmp_path_factory, kind, data):
        path = tmp_path_factory.mktemp("there") / f"data{ENDS[kind]}"
        write_table(path, data)
        assert_same(read_table(path), data, kind)

    @pytest.mark.parametrize("kind", NUMBERED)
    @settings(max_examples=30, report_multiple_bugs=False)
    @given(data=data_sets(named=False, text=False))
    def test_formats_of_numbers(self, tmp_path_factory, kind, data):
        path = tmp_path_factory.mktemp("there") / f"data{ENDS[kind]}"
        write_table(path, data)
        options = ReadOptions(
            label="-1" if kind == "npy" else None
        )  # NPY says nothing of its columns
        assert_same(read_table(path, options), data, kind)

    @pytest.mark.parametrize("first", WRITTEN)
    @settings(max_examples=8, report_multiple_bugs=False)
    @given(data=data_sets(single=True, named=False, text=False), order=st.permutations(WRITTEN))
    def test_any_to_any_by_a_chain_of_all(self, tmp_path_factory, first, data, order):
        folder = tmp_path_factory.mktemp("chain")
        chain = [first, *order]
        write_table(folder / f"0{ENDS[first]}", data)
        for i, (kind, following) in enumerate(pairwise(chain)):
            options = ReadOptions(label="-1" if kind == "npy" else None)
            found = read_table(folder / f"{i}{ENDS[kind]}", options)
            assert_same(found, data, "libsvm")
            write_table(folder / f"{i + 1}{ENDS[following]}", found)

    @pytest.mark.parametrize("kind", NAMED)
    def test_missing_values_and_no_labels(self, tmp_path, kind):
        path = tmp_path / f"data{ENDS[kind]}"
        X = np.array([[np.nan, 0.5], [1.5, np.nan]])
        write_table(path, Data(X))
        found = read_table(path, ReadOptions(allow_missing=True))
        assert np.array_equal(found.X, X, equal_nan=True)
        assert found.y is None
        with pytest.raises(DataFileError, match="finite"):
            read_table(path)

    @pytest.mark.parametrize("kind", ["parquet", "npz", "npy"])
    def test_precision_is_kept(self, tmp_path, kind):
        path = tmp_path / f"data{ENDS[kind]}"
        write_table(path, Data(np.float32([[0.1], [0.2]]), np.array([1, 2])))
        assert read_table(path).X.dtype == np.float32

    @pytest.mark.parametrize("kind", ["parquet", "npz"])
    def test_text_that_looks_like_numbers_stays_text(self, tmp_path, kind):
        path = tmp_path / f"data{ENDS[kind]}"
        write_table(path, Data(np.ones((2, 1)), np.array(["1", "2"])))
        assert read_table(path).y.tolist() == ["1", "2"]
        whole = ReadOptions(expected=InputSchema(1, None, False))
        assert read_table(path, whole).y.tolist() == [1, 2]

    def test_features_that_are_zero_everywhere_are_kept_by_libsvm(self, tmp_path):
        write_table(tmp_path / "a.svm", Data(np.zeros((3, 5)), np.array([1, 2, 1])))
        assert read_table(tmp_path / "a.svm").X.shape == (3, 5)

    @pytest.mark.parametrize(
        ("kind", "data", "message"),
        [
            ("libopf", Data(np.array([[0.1]]), np.array([1])), "32 bits, which cannot hold"),
            ("libopf", Data(np.array([[1e300]]), np.array([1])), "32 bits, which cannot hold"),
            ("libopf", Data(np.array([[0.5]]), np.array([0])), "count from 1, got 0"),
            ("libopf", Data(np.array([[0.5]]), np.array(["a"])), "--encode-labels"),
            ("libsvm", Data(np.array([[0.5]]), np.array(["a"])), "--encode-labels"),
            ("libsvm", Data(np.array([[0.5]]), np.array([0])), "must not all be 0"),
            ("npy", Data(np.float32([[0.5]]), np.array([2**25 + 1])), "must fit into float32"),
            ("csv", Data(np.array([[0.5]]), np.array(["a "])), "blanks"),
        ],
    )
    def test_loss_is_refused_and_nothing_written(self, tmp_path, kind, data, message):
        path = tmp_path / f"data{ENDS[kind]}"
        with pytest.raises(DataFileError, match=message):
            write_table(path, data)
        assert list(tmp_path.iterdir()) == []


class TestFindingOut:
    @pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " ", ", "])
    def test_delimiters(self, tmp_path, delimiter):
        rows = [("a", "b", "class"), ("1", "2.5", "x"), ("3", "-1e3", "y")]
        path = write(tmp_path, "\n".join(map(delimiter.join, rows)) + "\n", "data.txt")
        data = read_table(path)
        assert data.X.tolist() == [[1, 2.5], [3, -1000]]
        assert (data.feature_names, data.y.tolist()) == (("a", "b"), ["x", "y"])

    def test_quotes_may_hold_anything(self, tmp_path):
        path = write(tmp_path, '"a, ""b""","c\nd",class\n1,2,"x,y"\n')
        data = read_table(path)
        assert data.feature_names == ('a, "b"', "c\nd")
        assert data.y.tolist() == ["x,y"]

    @pytest.mark.parametrize(
        ("content", "label", "features"),
        [
            ("a,label,b\n1,2,3\n", "label", ("a", "b")),
            ("Target,a\n1,2\n", "Target", ("a",)),
            ("a,kind,b\n1,x,3\n", "kind", ("a", "b")),  # the only text
            ("x,y,kind\n1,2,z\n", "kind", ("x", "y")),
            ("x1,x2,y\n1,2,0\n", "y", ("x1", "x2")),
            ("x,y\n1,2\n", None, ("x", "y")),
            ("a,b\n1,2\n", None, ("a", "b")),
            ("id,a,class\n7,1,2\n", "class", ("a",)),
        ],
    )
    def test_labels_of_columns_with_names(self, tmp_path, content, label, features):
        data = read_table(write(tmp_path, content))
        assert (data.label_name, data.feature_names) == (label, features)
        assert (data.y is None) == (label is None)

    @pytest.mark.parametrize(
        ("content", "labeled", "d"),
        [("1.5,2\n2.5,3\n" * 9, True, 1), ("1,0.5,a\n", True, 2), ("1,2.5\n", False, 2)],
    )
    def test_labels_of_columns_without(self, tmp_path, content, labeled, d):
        data = read_table(write(tmp_path, content))
        assert data.feature_names is None
        assert ((data.y is not None), data.X.shape[1]) == (labeled, d)

    @pytest.mark.parametrize(("label", "y"), [("1", [1]), ("-1", [3]), ("b", [2]), ("none", None)])
    def test_a_label_that_is_named(self, tmp_path, label, y):
        data = read_table(write(tmp_path, "a,b,class\n1,2,3\n"), ReadOptions(label=label))
        assert (None if data.y is None else data.y.tolist()) == y
        assert data.X.shape[1] == (3 if y is None else 2)

    def test_columns_can_be_dropped(self, tmp_path):
        path = write(tmp_path, "name,when,a,class\nx,noon,1,2\n")
        assert read_table(path, ReadOptions(drop=("name", "2"))).feature_names == ("a",)

    @pytest.mark.parametrize(
        ("labels", "found"),
        [("1 2", [1, 2]), ("1.0 +2", [1, 2]), ("007 1", ["007", "1"]), ("a 1", ["a", "1"]),
         ("1.5 2", ["1.5", "2"])],
    )  # fmt: skip
    def test_whole_numbers_are_numbers(self, tmp_path, labels, found):
        content = "a,class\n" + "".join(f"0,{label}\n" for label in labels.split())
        assert read_table(write(tmp_path, content)).y.tolist() == found

    def test_a_header_of_numbers_can_be_forced(self, tmp_path):
        path = write(tmp_path, "1,2,class\n1.5,2,3\n")
        assert read_table(path, ReadOptions(header=True)).feature_names == ("1", "2")

    @pytest.mark.parametrize(
        ("content", "kind"),
        [
            ("+1 1:0.5 3:2 # note\n-1 2:1\n", "libsvm"),
            ("% c\n@RELATION r\n@attribute a real\n@attribute class {x,y}\n@DATA\n1,x\n", "arff"),
            ("1\t2\tz\n", "csv"),
        ],
    )
    def test_formats_by_content(self, tmp_path, content, kind):
        data = read_table(write(tmp_path, content, "data.unknown"))
        if kind == "libsvm":
            assert data.X.tolist() == [[0.5, 0, 2], [0, 1, 0]]
            assert data.y.tolist() == [1, -1]
        elif kind == "arff":
            assert data.y.tolist() == ["x"]
        else:
            assert data.y.tolist() == ["z"]

    def test_content_goes_before_the_name(self, tmp_path):
        write_table(tmp_path / "data.npz", Data(np.ones((2, 2)), np.array([1, 2])))
        (tmp_path / "data.npz").rename(tmp_path / "data.csv")
        assert read_table(tmp_path / "data.csv").y.tolist() == [1, 2]

    def test_packed_files_are_unpacked(self, tmp_path):
        (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"a,class\n1,2\n"))
        assert read_table(tmp_path / "a.csv.gz").y.tolist() == [2]
        (tmp_path / "b.csv.gz").write_bytes(gzip.compress(b"a,class\n1,2\n" * 9)[:-9])
        with pytest.raises(DataFileError, match="the compressed file is damaged"):
            read_table(tmp_path / "b.csv.gz")

    @pytest.mark.parametrize("kind", ["csv", "npz", "parquet", "libsvm"])
    def test_standard_input(self, tmp_path, monkeypatch, kind):
        path = tmp_path / f"data{ENDS[kind]}"
        write_table(path, Data(np.ones((2, 2)), np.array([1, 2])))
        content = path.read_bytes()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert read_table("-").y.tolist() == [1, 2]

    def test_names_say_formats(self):
        for kind, one in FORMATS.items():
            assert all(format_of(f"a{end}") == kind for end in one.ends)
        assert format_of("a.txt") is None

    def test_names_of_text_formats_decide(self, tmp_path):
        for kind, one in FORMATS.items():
            for end in one.ends if one.is_text or kind == "csv" else ():
                with open_source(str(write(tmp_path, "1 2\n", f"a{end}"))) as source:
                    assert find_format(source) == kind

    def test_quoted_arff(self, tmp_path):
        content = (
            "@attribute 'a b' numeric\n@attribute \"c\" {p, 'q r'}\n@attribute d real\n"
            "@data\n1.5,'q r',0\n 0 , p,3\n% done\n1,\"q r\",?\n"
        )
        options = ReadOptions(label="c", allow_missing=True)
        data = read_table(write(tmp_path, content, "a.arff"), options)
        assert data.feature_names == ("a b", "d")
        assert data.y.tolist() == ["q r", "p", "q r"]
        assert np.array_equal(data.X, [[1.5, 0], [0, 3], [1, np.nan]], equal_nan=True)


class TestHabits:
    """What other programs write."""

    @pytest.mark.parametrize(
        ("content", "names", "rows"),
        [
            ("0,1,label\n1.5,2,a\n3,4,b\n", ("0", "1"), [[1.5, 2], [3, 4]]),
            ("1,2,species\n1,2,0\n3,4,1\n", ("1", "2"), [[1, 2], [3, 4]]),
            ("# a note\n# more\na;b;class\n1,5;2;x\n-3,25e1;4;y\n", ("a", "b"),
             [[1.5, 2], [-32.5, 4]]),
            ("a,b,label,\n1,2,x,\n3,4,y,\n", ("a", "b"), [[1, 2], [3, 4]]),
            ("1,2,x\n3,4,y\n", None, [[1, 2], [3, 4]]),
            ("5,2,x\n3,4,7\n", None, [[5, 2], [3, 4]]),
        ],
    )  # fmt: skip
    def test_headers_commas_and_comments(self, tmp_path, content, names, rows):
        options = ReadOptions(label="3")
        data = read_table(write(tmp_path, content), options)
        assert data.feature_names == names
        assert data.X.tolist() == rows

    def test_errors_count_comments_too(self, tmp_path):
        path = write(tmp_path, "# a note\na,class\n1,x\nz,y\n2,x\n")
        with pytest.raises(DataFileError, match="line 4, column 1"):
            read_table(path)

    @pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes")
    def test_pipes(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        writer = threading.Thread(
            target=(tmp_path / "pipe").write_text, args=("a,class\n1,x\n2,y\n",)
        )
        writer.start()
        assert read_table(tmp_path / "pipe").y.tolist() == ["x", "y"]
        writer.join()
