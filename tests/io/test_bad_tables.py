"""Data files that are wrong, or would lose something: the error for each."""

import json
import re
import sys
import zipfile
from importlib import import_module

import numpy as np
import pytest

from opforest._utils.extras import install_command
from opforest.errors import DataFileError
from opforest.io.columns.table import Data, InputSchema, ReadOptions
from opforest.io.tables import read_table, write_table

pytest.importorskip("pyarrow")

from tests.support.table_files import ENDS, write


class TestErrors:
    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("", "data.csv: the file is empty"),
            ("\n\n", "data.csv: the file is empty"),
            ("a,b,class\n", "data.csv: there are no examples"),
            (
                "a,b,class\n1,2,x\n1,zz,y\n",
                "line 3, column 2: column 'b' must hold numbers, got 'zz'",
            ),
            ("a,b,class\n1,2,x\n1,,y\n", "line 3, column 2: column 'b' must hold finite numbers"),
            ("a,b,class\n1,2,x\n\n1,inf,y\n", "line 4, column 2: column 'b' must hold finite"),
            (
                "a,b,class\n1,1_0,x\n1,2,y\n",
                "line 2, column 2: column 'b' must hold numbers",
            ),
            ("a,b,class\n1,2,x\n1,2\n", "line 3: the row has 2 cells, but the header has 3"),
            ("1,2\n1\n", "line 2: the row has 1 cell, but the first line has 2"),
            ('a,b\n1,"2\n', "line 2: the row cannot be read"),
            (
                "a,b,class\n1,2,x\n1,3,y\n1,4,x\n# by me\n",
                "line 5: the row has 1 cell, but the header has 3; if it is a comment or a total",
            ),
            (
                "a,b,class\n1,2,x\n1,3,y\n1,4,x\nSumme,,\n",
                "line 5, column 1: column 'a' must hold numbers, got 'Summe'; only one cell of the "
                "row is filled: if it is a total or a comment, delete it$",
            ),
            (
                "a,b,class\n1,2,x\n1,3,y\n1,4,x\nSumme,9,\n",
                "line 5, column 1: column 'a' must hold numbers, got 'Summe'; the row has no "
                "label: if it is a total or a comment, delete it$",
            ),
            (
                "a,b,label\n1,2,x\n1,3,y\n1,4,x\n,,Summe\n",
                "line 5, column 1: column 'a' must hold finite numbers, got an empty cell; 1 of 4 "
                "rows has missing cells, in a, b; only one cell of the row is filled",
            ),
        ],
    )
    def test_bad_csv(self, tmp_path, content, message):
        with pytest.raises(DataFileError, match=message):
            read_table(write(tmp_path, content), ReadOptions(delimiter=","))

    @pytest.mark.parametrize(
        ("label", "message"),
        [("clas", "did you mean 'class'"), ("9", "numbers 1 to 2, got 9"), ("0", "got 0")],
    )
    def test_a_label_that_is_not_there(self, tmp_path, label, message):
        with pytest.raises(DataFileError, match=message):
            read_table(write(tmp_path, "a,class\n1,2\n"), ReadOptions(label=label))

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("@relation r\n@attribute a real\n", "no line @data"),
            ("@relation r\n@data\n1\n", "line 2: @data must follow attributes"),
            ("@relation r\n@attribute a\n", "line 2: @attribute must have a name and a type"),
            ("@relation r\n@attribute a relational\n", "line 2: attributes of type 'relational'"),
            ("@relation r\nwhat\n", "line 2: a line of the header cannot be read: 'what'"),
            ("@attribute a real\n@data\n1,2\n", "line 3: the row has 2 cells, but the header"),
            ("@attribute a real\n@data\n'1\n", "line 3: quotes must be closed"),
            ("@attribute a real\n@data\n{0 1}\n", "line 3: sparse rows cannot be read"),
            ("@attribute a real\n@attribute b {x}\n@data\n1,x\nz,x\n",
             "line 5, column 1: column 'a' must hold numbers, got 'z'"),
        ],
    )  # fmt: skip
    def test_bad_arff(self, tmp_path, content, message):
        with pytest.raises(DataFileError, match=message):
            read_table(write(tmp_path, content, "a.arff"))

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("1 1:0.5\nx 1:1\n", "line 2: the row cannot be read"),
            ("1 1:0.5\n1 1:z\n", "line 2: the row cannot be read"),
            ("1 0:0.5\n", "line 1: the row cannot be read"),
            ("1 1:nan\n", "line 1, column 1: column 1 must hold finite numbers"),
            ("1.5 1:1\n", "labels must be whole numbers or text, got fractions"),
        ],
    )
    def test_bad_libsvm(self, tmp_path, content, message):
        with pytest.raises(DataFileError, match=message):
            read_table(write(tmp_path, content, "a.svm"))

    def test_bad_numpy_files(self, tmp_path):
        np.save(tmp_path / "a.npy", np.array([{}], object), allow_pickle=True)
        np.save(tmp_path / "b.npy", np.zeros(3))
        np.savez(tmp_path / "c.npz", X=np.zeros((3, 2)), y=np.zeros(2))
        np.savez(tmp_path / "d.npz", a=np.zeros((3, 2)), b=np.zeros(2))
        (tmp_path / "e.npz").write_bytes(b"PK\x03\x04 and more")
        np.savez(tmp_path / "h.npz", X=np.array([[{}]], object), allow_pickle=True)
        with (
            zipfile.ZipFile(tmp_path / "i.npz", "w") as archive,
            archive.open("X.npy", "w") as file,
        ):
            np.lib.format.write_array_header_1_0(
                file, {"descr": "<f8", "fortran_order": False, "shape": (10**6, 10**9)}
            )
        np.savez(tmp_path / "j.npz", X=np.ones((3, 0)))
        np.savez(tmp_path / "k.npz", X=np.ones((2, 2)), y=np.array([b"\xff", b"b"]))
        np.savez(tmp_path / "l.npz")
        np.save(tmp_path / "m.npy", np.float64(1))
        (tmp_path / "f.npy").write_bytes(b"\x93NUMPY\x01\x00 and more")
        (tmp_path / "g.parquet").write_bytes(b"PAR1 and more PAR1")
        for path in sorted(tmp_path.iterdir()):
            with pytest.raises(DataFileError, match=path.name):
                read_table(path)

    @pytest.mark.parametrize("suffix", [".json", ".ndjson"])
    @pytest.mark.parametrize(
        ("cell", "message"),
        [
            ({"p": 1}, "got nested objects; --drop b leaves it out, or write their members in"),
            ([1, 2], "got lists; --drop b leaves it out$"),
            ([{"p": [1]}], "got lists; --drop b leaves it out$"),
        ],
    )
    def test_nested_json(self, tmp_path, suffix, cell, message):
        rows = [json.dumps({"a": k, "b": cell, "label": "xy"[k % 2]}) for k in range(4)]
        content = "\n".join(rows) if suffix == ".ndjson" else f"[{','.join(rows)}]"
        path = write(tmp_path, content, f"a{suffix}")
        with pytest.raises(DataFileError, match=f"column 'b' must hold numbers, {message}"):
            read_table(path)
        assert read_table(path, ReadOptions(drop=("b",))).X.shape == (4, 1)
        with pytest.raises(DataFileError, match=r"text or numbers, and column 'b' holds [a-z]+"):
            read_table(path, ReadOptions(label="b", drop=("label",)))

    @pytest.mark.parametrize("y", [np.array([1e19, 1]), np.array([2**63, 1], np.uint64)])
    def test_labels_that_are_too_large(self, tmp_path, y):
        np.savez(tmp_path / "a.npz", X=np.zeros((2, 2)), y=y)
        with pytest.raises(DataFileError, match=r"below 2\^63"):
            read_table(tmp_path / "a.npz")

    def test_numbers_that_cannot_be_kept_are_not_converted(self, tmp_path):
        import pyarrow as pa
        import pyarrow.parquet as pq

        large = 2**53 + 1
        write(tmp_path, f"a,class\n1,x\n{large},y\n")
        np.savez(tmp_path / "a.npz", X=np.array([[1, large]]))
        pq.write_table(pa.table({"a": [1, large], "label": [1, 2]}), tmp_path / "a.parquet")
        for path in tmp_path.iterdir():
            with pytest.raises(DataFileError, match=f"{large}, which float64 cannot hold"):
                read_table(path, ReadOptions(allow_missing=True))
            with pytest.raises(DataFileError, match=f"{large}, which float64 cannot hold"):
                read_table(path)

    @pytest.mark.parametrize("kind", ["csv", "parquet", "ndjson"])
    @pytest.mark.parametrize("name", ["id", "Target"])
    def test_names_that_would_mean_something_else(self, tmp_path, kind, name):
        data = Data(np.zeros((2, 2)), np.array(["a", "b"]), None, (name, "b"), "species")
        with pytest.raises(DataFileError, match=f"a feature called '{name}' would be read"):
            write_table(tmp_path / f"a{ENDS[kind]}", data)

    @pytest.mark.parametrize(
        ("names", "message"),
        [(("a ", "b"), "blanks"), (("", "b"), "empty"), (("1", "2"), "as an example")],
    )
    def test_names_that_a_table_of_text_cannot_hold(self, tmp_path, names, message):
        data = Data(np.zeros((2, 2)), np.array(["a", "b"]), None, names, "kind")
        with pytest.raises(DataFileError, match=message):
            write_table(tmp_path / "a.csv", data)

    def test_kinds_of_parquet_labels(self, tmp_path):
        import decimal

        import pyarrow as pa
        import pyarrow.parquet as pq

        path = tmp_path / "a.parquet"
        good = [([True, False], [1, 0]), ([3, 4], [3, 4]), (["x", "y"], ["x", "y"])]
        for labels, read in good:
            pq.write_table(pa.table({"a": [1.0, 2.0], "label": pa.array(labels)}), path)
            assert read_table(path).y.tolist() == read
        bad = [([decimal.Decimal(1)] * 2, "text or numbers"), ([b"x"] * 2, "text or numbers"),
               ([None] * 2, "text or numbers"), ([[1], [2]], "text or numbers"),
               ([True, None], "row 2: the"), ([1, None], "row 2: the label")]  # fmt: skip
        for labels, message in bad:
            pq.write_table(pa.table({"a": [1.0, 2.0], "label": pa.array(labels)}), path)
            with pytest.raises(DataFileError, match=message):
                read_table(path)

    def test_text_must_be_utf_8(self, tmp_path):
        (tmp_path / "a.csv").write_bytes("a,class\n1,é\n".encode() + b"2,caf\xe9\n")
        with pytest.raises(DataFileError, match=r"line 3: .*UTF-8, but byte 0xe9"):
            read_table(tmp_path / "a.csv")
        (tmp_path / "a.csv").write_text("a,class\n1,2\n", "utf-16")
        assert read_table(tmp_path / "a.csv").y.tolist() == [2]
        (tmp_path / "b").write_bytes(bytes(range(256)))
        with pytest.raises(DataFileError, match="nor of a known format"):
            read_table(tmp_path / "b")

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("a,c,class\n1,2,x\n", "trained on are missing: 'b'"),
            ("1,2,3,4\n", "the model expects 2 features, but the file has 4"),
        ],
    )
    def test_other_columns_than_the_models(self, tmp_path, content, message):
        options = ReadOptions(expected=InputSchema(2, ("a", "b"), True))
        with pytest.raises(DataFileError, match=message):
            read_table(write(tmp_path, content), options)

    def test_columns_come_in_any_order(self, tmp_path):
        options = ReadOptions(expected=InputSchema(2, ("a", "b"), True))
        data = read_table(write(tmp_path, "b,class,a\n1,x,2\n"), options)
        assert (data.X.tolist(), data.y.tolist()) == ([[2, 1]], ["x"])
        assert data.feature_names == ("a", "b")

    def test_more_columns_than_the_models_are_ignored(self, tmp_path):
        options = ReadOptions(expected=InputSchema(2, ("a", "b"), True))
        data = read_table(write(tmp_path, "id,when,a,more,b,class\n1,noon,2,9,3,1\n"), options)
        assert (data.X.tolist(), data.y.tolist()) == ([[2, 3]], ["1"])
        assert read_table(write(tmp_path, "2,3\n"), options).y is None
        assert read_table(write(tmp_path, "2,3,1\n"), options).y.tolist() == ["1"]
        assert read_table(write(tmp_path, "a,b,sort\n2,3,1\n"), options).y.tolist() == ["1"]


def test_what_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    monkeypatch.delitem(sys.modules, "opforest.io.tables")
    with pytest.raises(ImportError, match=re.escape(install_command("cli"))):
        import_module("opforest.io.tables")
