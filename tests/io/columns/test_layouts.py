"""Layouts of files, good and bad: what is read, and the error for each of the rest."""

import bz2
import gzip
import io
import lzma
import os
import subprocess
import sys
import tarfile
import time
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from tests.support.tuning import tune
from tests.support.workbooks import write_workbook

from opforest.errors import DataFileError
from opforest.io.columns.table import ReadOptions
from opforest.io.tables import read_chunks, read_table

pl = pytest.importorskip("polars")

PLAIN = "a,b,class\n1,2.5,x\n3,-1e3,y\n"


def read(path, content, **options):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_table(path, ReadOptions(**options))


class TestLayouts:
    @pytest.mark.parametrize(
        "content",
        [
            PLAIN,
            PLAIN.replace("\n", "\r\n"),
            PLAIN.replace("\n", "\r"),
            "\ufeff" + PLAIN,
            PLAIN + "\n\n  \n",
            PLAIN.replace("\n", "\n\n"),
            "# note\n% more\n\n" + PLAIN,
            PLAIN.replace(",", ", "),
            PLAIN.replace(",", " , "),
            PLAIN.replace(",", "\t"),
            PLAIN.replace(",", "   "),
            PLAIN.replace(",", ";").replace("2.5", "2,5"),
            "".join(f"{line},\n" for line in PLAIN.split()),
            PLAIN.replace("class", "class,"),
            '"a","b","class"\n"1","2.5","x"\n3,-1e3,"y"\n',
            PLAIN.rstrip(),
        ],
    )
    @pytest.mark.parametrize("code", ["utf-8", "utf-16"])
    def test_they_are_the_same_table(self, tmp_path, content, code):
        content = content.removeprefix("\ufeff") if code == "utf-16" else content
        data = read(tmp_path / "data.txt", content.encode(code))
        assert data.X.tolist() == [[1, 2.5], [3, -1000]]
        assert (data.feature_names, data.y.tolist()) == (("a", "b"), ["x", "y"])

    def test_names_of_rows(self, tmp_path):
        rows = "".join(f'"r{k}",{k}.5,{"xy"[k % 2]}\n' for k in range(20))
        data = read(tmp_path / "a.csv", '"width","class"\n' + rows)
        assert (data.feature_names, data.X.shape) == (("width",), (20, 1))
        data = read(tmp_path / "a.csv", ',"width","class"\n' + rows)
        assert (data.feature_names, data.X.shape) == (("width",), (20, 1))

    def test_blanks_beside_quotes_that_come_late(self, tmp_path):
        rows = "1,2,x\n" * 1500 + '1, "3",  "y"\n1,"4", "z, "\n'
        data = read(tmp_path / "a.csv", "a,b,class\n" + rows)
        assert (data.X[-2:].tolist(), data.y[-2:].tolist()) == ([[1, 3], [1, 4]], ["y", "z,"])

    def test_commas_in_quotes_are_read_by_polars(self, tmp_path, monkeypatch):
        rows = "".join(f'"Smith, {k}",{k}.5,{"xy"[k % 2]}\n' for k in range(40))
        monkeypatch.setattr("opforest.io.readers.delimited.Delimited._parse_by_rows", None)
        assert read(tmp_path / "a.csv", "name,a,class\n" + rows).X.shape == (40, 1)

    def test_true_and_false_are_numbers(self, tmp_path):
        data = read(tmp_path / "a.csv", "a,b,class\nTrue,1,x\nfalse,2,y\n")
        assert data.X.tolist() == [[1, 1], [0, 2]]

    @pytest.mark.parametrize("mark", ["", "?", "NA", "n/a", "NaN", "null", "None", " "])
    def test_marks_of_what_is_missing(self, tmp_path, mark):
        content = "a,b,class\n" + "1,2,x\n" * 1500 + f"1,{mark},y\n"
        found = read(tmp_path / "a.csv", content, allow_missing=True).X
        assert np.isnan(found[-1, 1])
        assert np.isfinite(found[:-1]).all()

    @pytest.mark.parametrize(
        ("end", "pack"),
        [(".gz", gzip.compress), (".xz", lzma.compress), (".bz2", bz2.compress), (".zst", None)],
    )
    def test_packed(self, tmp_path, end, pack):
        if pack is None:
            pack = pytest.importorskip("zstandard").compress
        assert read(tmp_path / f"a.csv{end}", pack(PLAIN.encode())).y.tolist() == ["x", "y"]
        parts = pack(PLAIN[:13].encode()) + bytes(3000) + pack(PLAIN[13:].encode()) + bytes(4)
        assert read(tmp_path / f"a.csv{end}", parts).y.tolist() == ["x", "y"]
        with pytest.raises(DataFileError, match="the compressed file is damaged"):
            read(tmp_path / f"a.csv{end}", pack(PLAIN.encode() * 99)[:-9])

    def test_what_polars_writes(self, tmp_path):
        frame = pl.DataFrame({"a": [1.5, 2.5], "b": [1, 2], "class": ["x", "y"]})
        frame.write_parquet(tmp_path / "a.parquet")
        frame.write_ipc(tmp_path / "a.arrow")
        frame.write_ndjson(tmp_path / "a.ndjson")
        (tmp_path / "parts").mkdir()
        frame[:1].write_parquet(tmp_path / "parts" / "1.parquet")
        frame[1:].write_parquet(tmp_path / "parts" / "2.parquet")
        for path in tmp_path.iterdir():
            data = read_table(path)
            assert (data.X.tolist(), data.y.tolist()) == ([[1.5, 1], [2.5, 2]], ["x", "y"])
        frame.rename({"a": "z"}).write_parquet(tmp_path / "parts" / "3.parquet")
        with pytest.raises(DataFileError, match=r"differ in their columns: [^\n]*z$"):
            read_table(tmp_path / "parts")
        (tmp_path / "none").mkdir()
        with pytest.raises(DataFileError, match=r"no file whose name ends in \.parquet"):
            read_table(tmp_path / "none")

    def test_workbooks(self, tmp_path):
        pytest.importorskip("fastexcel")
        write_workbook(tmp_path / "a.xlsx", [[["a", "class"], [1.5, "x"], [2.5, "y"]]])
        data = read_table(tmp_path / "a.xlsx")
        assert (data.X.tolist(), data.y.tolist()) == ([[1.5], [2.5]], ["x", "y"])
        write_workbook(tmp_path / "b.xlsx", [[["a", "b"], [1, 2]]] * 2)
        with pytest.raises(DataFileError, match="choose --sheet S1, --sheet S2"):
            read_table(tmp_path / "b.xlsx")
        for sheet in ("S2", "2"):
            assert len(read_table(tmp_path / "b.xlsx", ReadOptions(sheet=sheet))) == 1
        with pytest.raises(DataFileError, match="no sheet 'S3'; the sheets are 'S1', 'S2'"):
            read_table(tmp_path / "b.xlsx", ReadOptions(sheet="S3"))

    def test_labels_with_zeros_before_them_are_text_wherever_they_come(self, tmp_path):
        content = "a,class\n" + "1,7\n2,8\n" * 2000 + "3,007\n"
        y = read(tmp_path / "a.csv", content).y
        assert (y[-1], y.dtype.kind) == ("007", "U")

    def test_blocks_are_cut_between_rows(self, tmp_path):
        rows = [f'{k},"a ""b""\nc{k}",{k}.5,x\n' for k in range(200)]
        (tmp_path / "a.csv").write_text("n,text,b,class\n" + "".join(rows))
        whole = read_table(tmp_path / "a.csv", ReadOptions(drop=("text",), keep=("n",)))
        tune(csv_block=40)
        tune(csv_lines=4)
        cut = read_table(tmp_path / "a.csv", ReadOptions(drop=("text",), keep=("n",)))
        assert np.array_equal(whole.X, cut.X)
        assert len(cut) == 200

    @pytest.mark.parametrize("mark", [",", ", ", " ", ";"])
    @pytest.mark.parametrize("between", ["", "\n", "  \n\n", '7,"a\nb",x\n'])
    def test_lines_are_counted_over_blocks(self, tmp_path, mark, between):
        tune(csv_block=64)
        tune(csv_lines=4)
        if mark == " " and '"' in between:
            between = ""  # there are no quotes where blanks separate
        rows = "1.5,2.5,x\n3,4,y\n" * 20
        content = ("a,b,class\n" + rows + between + rows + "9,9\n").replace(",", mark)
        lines = content.splitlines()
        with pytest.raises(DataFileError, match=f"line {len(lines)}: the row has 2 cells"):
            read(tmp_path / "a.csv", content, drop=("b",))

    def test_text_that_comes_late(self, tmp_path):
        tune(csv_block=64)
        tune(csv_lines=4)
        rows = "".join(f"{k}.50,{k % 3}\n" for k in range(100)) + "1,two\n" * 60
        assert read(tmp_path / "a.csv", "a,class\n" + rows).y.tolist()[-1] == "two"
        with pytest.raises(DataFileError, match=r"line 62, column 1: .* numbers, got 'z'"):
            read(tmp_path / "a.csv", "a,class\n" + "1.5,x\n2.5,y\n" * 30 + "z,x\n")


class TestBadInput:
    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("a,b,class\n" + "1,2,x\n" * 1500 + "1,2\n", "line 1502: the row has 2 cells, but the"),
            ("a,b,class\n" + "1,2,x\n" * 1500 + "1,2,3,x\n", "line 1502: the row has 4 cells"),
            ("a,b,class\n1,2,x\n" + '1,"2,x\n' + "1,2,x\n" * 9, "line 3: .*quote is not closed"),
            ('1, "2",x\n' + "1,2,x\n" * 1500 + '1,"2, 3", "y\n', "line 1502: .*is not closed"),
            (b"\x7fELF" + bytes(999), "neither text nor of a known format"),
            ("<!DOCTYPE html>\n<p>404, sorry</p>\n", "a web page or XML, not a table"),
            (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n", "a PDF, not a table"),
            ("[[1, 2], [3, 4]]", "JSON, which must be a list of objects"),
            ('[{"a": 1, "class": "x"}, {"a": "b"}]', "column 'a' mixes types: 1 and 'b'"),
            ('[{"a": 1.5, "class": "x"}, {"a": 9007199254740993}]', "which float64 cannot hold"),
            ('[{"a": 1, "class": "x"}, 7]', "JSON must be a list of objects"),
            ('[{"a": 1, "class": "x"}', "not valid JSON"),
            ('{\n  "a": 1\n}\n', "JSON, which must be a list of objects, or one object per line"),
            (b"a,b\n1,\x00\n", "neither text|NUL"),
            ("a,class\n" + "1,x\n2,y\n" * 9000 + "1,x\0\n", "line 18002: .* a NUL byte"),
            ("a,class\n" + "9" * 400 + ",x\n1,y\n", "column 1: column 'a' must hold finite"),
            ("a,class\n9007199254740993,x\n1,y\n", "9007199254740993, which float64 cannot hold"),
            ("a,class\n1.5,x\n9007199254740993,y\n", "9007199254740993, which float64 cannot hold"),
            ("a,class\n1e400,x\n1,y\n", "line 2, column 1: .* finite numbers"),
            ("a,class\n1,é\n".encode() + b"2,caf\xe9\n", "line 3: .*UTF-8, but byte 0xe9"),
            (b"\xff\xfea\x00,", "there are no examples|not valid UTF-16"),
        ],
    )  # fmt: skip
    def test_one_line_that_says_what_and_where(self, tmp_path, content, message):
        with pytest.raises(DataFileError, match=message) as caught:
            read(tmp_path / "a.csv", content)
        assert "\n" not in str(caught.value)

    def test_a_million_columns_end(self, tmp_path):
        begin = time.process_time()
        with pytest.raises(DataFileError, match="1000000 columns; 100000 are the most"):
            read(tmp_path / "a.csv", "0," * 999_999 + "1\n" + "0," * 999_999 + "1\n")
        assert time.process_time() - begin < 20

    @pytest.mark.parametrize("row", [b"0,0\n", b"0"])
    def test_bombs(self, tmp_path, row):
        tune(max_unpacked_bytes=1 << 20)
        tune(csv_block=1 << 16)
        (tmp_path / "a.csv.gz").write_bytes(gzip.compress(row * (1 << 22)))
        tracemalloc.start()
        try:
            with pytest.raises(DataFileError, match=r"more than 100 times its size|longer than"):
                list(read_chunks(tmp_path / "a.csv.gz", ReadOptions(label="1")))
            assert tracemalloc.get_traced_memory()[1] < 1 << 25
        finally:
            tracemalloc.stop()

    @pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is limited by Linux")
    def test_bombs_by_real_limits(self, tmp_path):
        """Each ends within seconds, in a process that could not hold what it unpacks to."""
        pytest.importorskip("fastexcel")
        script = Path(__file__).parents[2] / "support" / "bombs.py"
        done = subprocess.run([sys.executable, script, tmp_path], capture_output=True, text=True)
        lines = [line.split("\t") for line in done.stdout.splitlines()]
        assert [name for name, *_ in lines] == [
            "a.csv.gz", "a.npy.zst", "a.npz", "a.xlsx", "one-row.csv.gz"
        ], done.stderr  # fmt: skip
        for name, seconds, said in lines:
            assert float(seconds) < 20, name
            assert "times its size" in said or "a cell has more than" in said, name

    def test_an_archive_that_is_a_bomb(self, tmp_path):
        tune(max_unpacked_bytes=1 << 20)
        np.savez_compressed(tmp_path / "a.npz", X=np.zeros((1 << 16, 8)))
        with pytest.raises(DataFileError, match="times its size"):
            read_table(tmp_path / "a.npz")

    @pytest.mark.parametrize("line", ['{"a": 1,', "1,2", "[1]", '{"a": 1} {"a": 2}'])
    def test_lines_that_are_no_objects(self, tmp_path, line):
        content = '{"a": 1, "class": "x"}\n\n' + line + "\n"
        with pytest.raises(DataFileError, match="line 3: the line must be a JSON object, got"):
            read(tmp_path / "a.ndjson", content)

    def test_archives_of_other_files(self, tmp_path):
        with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
            archive.writestr("data.csv", PLAIN)
        assert len(read_table(tmp_path / "a.zip")) == len(read(tmp_path / "data.csv", PLAIN))
        with zipfile.ZipFile(tmp_path / "a.zip", "a") as archive:
            archive.writestr("more.csv", PLAIN)
        message = r"holds 2 files, 'data\.csv', 'more\.csv': unpack it, and name one of them"
        with pytest.raises(DataFileError, match=message):
            read_table(tmp_path / "a.zip")
        with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
            archive.add(tmp_path / "a.zip")
        with pytest.raises(DataFileError, match="a tar archive; unpack it first"):
            read_table(tmp_path / "a.tar.gz")

    def test_indices_of_libsvm(self, tmp_path):
        for index in (10**7, 10**12, 10**30):
            with pytest.raises(DataFileError, match=f"line 2: the index {str(index)[:8]}"):
                read(tmp_path / "a.svm", f"1 1:2\n2 {index}:1\n")

    def test_nominal_values_are_declared(self, tmp_path):
        content = "@relation r\n@attribute a real\n@attribute c {x,y}\n@data\n1,x\n2,z\n"
        with pytest.raises(DataFileError, match=r"line 6, column 2: .*one of x, y, got 'z'"):
            read(tmp_path / "a.arff", content)

    def test_types_that_mix_name_the_cell(self, tmp_path):
        content = "a,class\n" + "1,x\n2,y\n" * 700 + "yes,x\n"
        with pytest.raises(DataFileError, match=r"line 1402, column 1: .* got 'yes'"):
            read(tmp_path / "a.csv", content)

    def test_rows_before_a_bad_one_come_first(self, tmp_path):
        (tmp_path / "a.csv").write_text("a,class\n1,x\n2,y\n3\n")
        chunks = read_chunks(tmp_path / "a.csv", rows=1)
        assert [next(chunks).y[0], next(chunks).y[0]] == ["x", "y"]
        with pytest.raises(DataFileError, match="line 4"):
            next(chunks)

    def test_places_in_the_standard_input(self, monkeypatch):
        content = b"a,class\n1,x\n2,y\nz,x\n"
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        with pytest.raises(DataFileError, match=r"standard input, line 4, column 1"):
            list(read_chunks("-", rows=1))

    @pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes")
    def test_a_pipe_is_no_model(self, tmp_path):
        import opforest

        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(opforest.ModelFileError, match="not a regular file"):
            opforest.load(tmp_path / "pipe")
