"""Damaged and hostile files that other libraries read for us: one error with the file's name."""

import bz2
import gzip
import json
import lzma
import os
import re
import subprocess
import sys
import zipfile

import numpy as np
import polars as pl
import pytest
from tests.support.children import run_command
from tests.support.table_files import write
from tests.support.tuning import tune
from tests.support.workbooks import write_workbook

from opforest.errors import DataFileError
from opforest.io.columns.table import Data, ReadOptions, Table
from opforest.io.library_errors import convert_errors, is_panic, protect
from opforest.io.readers.unpacked_size import measure_arrow, measure_parquet
from opforest.io.tables import read_chunks, read_columns, read_table, write_table

pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")
pq = pytest.importorskip("pyarrow.parquet")


def npy_with(path, header):
    """Write an NPY file that has this text for a header."""
    text = header.encode("latin-1")
    content = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(64)
    path.write_bytes(content)


def no_characters(path, save):
    """Save an array of text, and then make a character of it one that does not exist."""
    save(path, np.array([(1.0, "wrong"), (2.0, "right")], "f8,U5"))
    place = path.read_bytes().index("wrong".encode("utf-32-le"))
    content = bytearray(path.read_bytes())
    content[place : place + 4] = (0x110000).to_bytes(4, "little")
    return content


def union(path):
    """Write an Arrow file of a type that polars has not."""
    types = pa.array([0, 1], pa.int8())
    column = pa.UnionArray.from_sparse(types, [pa.array([1, 2]), pa.array(["a", "b"])])
    table = pa.table({"u": column, "class": ["x", "y"]})
    with pa.OSFile(str(path), "wb") as stream, pa.ipc.new_file(stream, table.schema) as writer:
        writer.write(table)


def make_damaged(folder):
    """Write the files that once ended in a traceback, a panic or "this is a bug"."""
    npy_with(folder / "token.npy", "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2)\n")
    npy_with(folder / "null.npy", "\0" * 20)
    npy_with(folder / "shape.npy", "{'descr': '<f8', 'fortran_order': False, 'shape': ('3', -2), }")
    npy_with(folder / "type.npy", "{'descr': [('a', 3)], 'fortran_order': False, 'shape': (3,), }")
    (folder / "text.npy").write_bytes(no_characters(folder / "text.npy", np.save))
    words = np.array(["wrong", "right"])
    for name, code in (("text.npz", 0x110000), ("surrogate.npz", 0xD800), ("far.npz", 2**32 - 1)):
        words.view(np.uint32)[:1] = code
        np.savez(folder / name, X=np.zeros((2, 2)), y=words)
        np.savez(folder / f"names-{name}", X=np.zeros((2, 2)), feature_names=words)
    with zipfile.ZipFile(folder / "token.npz", "w") as archive:
        archive.writestr("X.npy", (folder / "token.npy").read_bytes())
    write_workbook(folder / "book.xlsx", [[["a", "class"], [1, "x"], [2, "y"]]])
    content = (folder / "book.xlsx").read_bytes()
    central = content.index(b"PK\x01\x02")
    (folder / "book.xlsx").write_bytes(content[:central] + b"PK\x09" + content[central + 3 :])
    union(folder / "union.arrow")


def test_damaged_files_are_one_line_with_their_name(tmp_path):
    make_damaged(tmp_path)
    paths = sorted(tmp_path.iterdir())
    assert len(paths) == 14
    for path in paths:
        for read in (read_table, read_columns, lambda path: list(read_chunks(path))):
            with pytest.raises(DataFileError, match=path.name) as caught:
                read(path)
            assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["token.npy", "text.npz", "book.xlsx", "union.arrow"])
def test_commands_end_with_3_and_one_line(tmp_path, name):
    """Not even the report that Rust prints of a panic is on the standard error."""
    make_damaged(tmp_path)
    done = run_command(["info", name], tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(f"opforest: error: {name}: ")
    assert done.stderr.count("\n") == 1


#: Words of libraries about their own internals, which do not help users.
INTERNALS = re.compile(
    r"CRC|zlib|zip::|[Zz]ip (error|file)|calamine|codec|Error -?\d|EOCD|\bb'|literal|"
    r"magic|central directory|offset|struct\b|to unpack|numpy\.|pickle|polars|arrow::|thrift"
)


def write_formats(folder):
    """Write a table in each format, and compressed."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 99, (60, 3)).astype(np.float32) / 8, rng.integers(1, 4, 60)
    for end in (".csv", ".parquet", ".arrow", ".ndjson", ".npz", ".npy", ".svm", ".dat"):
        write_table(folder / f"a{end}", Data(X, y))
    rows = [[*map(float, row), int(label)] for row, label in zip(X, y, strict=True)]
    write_workbook(folder / "a.xlsx", [[["a", "b", "c", "label"], *rows]])
    records = [dict(zip("abcd", row, strict=True)) for row in rows]
    (folder / "a.json").write_text(json.dumps(records))
    content = (folder / "a.csv").read_bytes()
    for end, pack in ((".gz", gzip.compress), (".xz", lzma.compress), (".bz2", bz2.compress)):
        (folder / f"a.csv{end}").write_bytes(pack(content))
    with zipfile.ZipFile(folder / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", content)


def test_messages_are_about_the_file_and_not_about_libraries(tmp_path):
    write_formats(tmp_path)
    rng = np.random.default_rng(1)
    messages = []
    for path in sorted(tmp_path.iterdir()):
        content = path.read_bytes()
        wrong = [content[:end] for end in (5, len(content) // 2, len(content) - 1)]
        for place, byte in zip(rng.integers(0, len(content), 25), rng.bytes(25), strict=True):
            wrong.append(content[:place] + bytes([byte]) + content[place + 1 :])
        for bad in wrong:
            path.write_bytes(bad)
            try:
                read_table(path, ReadOptions(label="last" if path.suffix == ".npy" else None))
            except DataFileError as error:
                messages.append(str(error))
    assert [one for one in messages if INTERNALS.search(one) or "\n" in one] == []
    assert len(messages) > 200


@pytest.mark.parametrize(
    ("name", "what"),
    [("a.csv.gz", "compressed file"), ("a.csv.xz", "compressed file"), ("a.zip", "archive"),
     ("a.csv.bz2", "compressed file"), ("a.npz", "NPZ file"), ("a.xlsx", "workbook"),
     ("a.parquet", "Parquet file"), ("a.arrow", "Arrow file")],
)  # fmt: skip
def test_what_to_do_about_a_damaged_file(tmp_path, name, what):
    write_formats(tmp_path)
    path = tmp_path / name
    content = path.read_bytes()
    middle = len(content) // 2
    is_archive = what in ("archive", "workbook", "NPZ file")  # without an end, it is none
    bad = content[:middle] + bytes(9) + content[middle + 9 :] if is_archive else content[:-9]
    path.write_bytes(bad)
    message = f"{name}: the {what} is damaged, or was not written to its end: write it again"
    with pytest.raises(DataFileError, match=re.escape(message)):
        read_table(path)


def test_only_reports_of_panics_are_dropped(tmp_path):
    union(tmp_path / "union.arrow")
    code = (
        "import os, sys\nfrom opforest.io.library_errors import convert_errors, hide_panics\n"
        "hide_panics()\nfrom opforest.errors import DataFileError\n"
        "import polars as pl\n"
        "try:\n"
        "    with convert_errors('name'):\n"
        "        os.write(2, b'before\\n'); print('Python', file=sys.stderr)\n"
        "        pl.scan_ipc(sys.argv[1]).collect()\n"
        "except DataFileError as error: print(error)\n"
        "os.write(2, b'after\\n')\n"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "union.arrow"],
                          capture_output=True, text=True, check=True)  # fmt: skip
    assert done.stdout.startswith("name: the file cannot be read: Arrow datatype Union")
    assert sorted(done.stderr.split()) == ["Python", "after", "before"]


class PanicException(BaseException):
    """Looks like what libraries in Rust raise."""


class TestGuard:
    @pytest.mark.parametrize(
        "error",
        [KeyError("a"), TypeError(), SystemError("bad"), RecursionError(), AssertionError("x\ny"),
         PanicException("not yet implemented"), OSError("unexpected end"), OSError(22, "Invalid")],
    )  # fmt: skip
    def test_what_is_about_the_file_is_its_error(self, error):
        message = r"^a\.csv: the file cannot be read: [^\n]+$"
        with pytest.raises(DataFileError, match=message), convert_errors("a.csv"):
            raise error

    @pytest.mark.parametrize(
        "error",
        [KeyboardInterrupt(), SystemExit(1), GeneratorExit(), MemoryError(), ImportError(),
         FileNotFoundError(2, "gone"), PermissionError(13, "no"), OSError(28, "No space left"),
         DataFileError("known", "b.csv")],
    )  # fmt: skip
    def test_what_is_not_passes(self, error):
        with pytest.raises(type(error)) as caught, convert_errors("a.csv"):
            raise error
        assert caught.value is error

    def test_rows_that_are_read_late_are_guarded_as_well(self):
        def frames():
            yield pl.DataFrame({"0": [1]})
            raise PanicException("late")

        def as_text(columns):
            raise PanicException("later")

        table = protect(Table("a.csv", None, frames(), as_text=as_text))
        assert len(next(table.frames)) == 1
        with pytest.raises(DataFileError, match=r"a\.csv: .*late"):
            next(table.frames)
        with pytest.raises(DataFileError, match=r"a\.csv: .*later"):
            table.as_text([0])

    def test_panics_of_every_library_are_known(self):
        assert is_panic(pl.exceptions.PanicException("x"))
        assert not is_panic(KeyboardInterrupt())


@pytest.fixture
def small_limits():
    tune(max_unpacked_bytes=1 << 16)


ROWS = 200_000


def varint(number, width=0):
    """Return a number as Thrift has it, in at least that many bytes."""
    rest, found = 2 * number, []
    while rest or len(found) < width or not found:
        found.append(rest & 0x7F | 0x80)
        rest >>= 7
    found[-1] &= 0x7F
    return bytes(found)


def refused(path, message="more than 100 times its size"):
    for read in (read_table, lambda path: list(read_chunks(path, ReadOptions(label="1")))):
        with pytest.raises(DataFileError, match=message):
            read(path)


@pytest.mark.usefixtures("small_limits")
class TestLimits:
    @pytest.mark.parametrize("codec", ["zstd", "snappy", "none"])
    def test_parquet(self, tmp_path, codec):
        table = pa.table({"a": np.zeros(ROWS), "class": np.zeros(ROWS, int)})
        pq.write_table(table, tmp_path / "a.parquet", compression=codec)
        assert measure_parquet(str(tmp_path / "a.parquet")) >= 8 * ROWS
        refused(tmp_path / "a.parquet")

    def test_a_folder_of_parquet(self, tmp_path):
        for name in ("a.parquet", "b.parquet"):
            pl.DataFrame({"a": np.zeros(ROWS)}).write_parquet(tmp_path / name)
        refused(tmp_path)

    def test_parquet_that_lies_in_its_footer(self, tmp_path):
        """The headers of the pages say how much there is, too."""
        path = tmp_path / "a.parquet"
        pq.write_table(pa.table({"a": np.zeros(ROWS)}), path, compression="zstd")
        about = pq.ParquetFile(path).metadata.row_group(0).column(0)
        content = path.read_bytes()
        end = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
        pages, footer = content[:end], content[end:]
        for number in {about.num_values, about.total_uncompressed_size}:
            assert varint(number) in footer
            footer = footer.replace(varint(number), varint(1, len(varint(number))))
        path.write_bytes(pages + footer)
        assert measure_parquet(str(path)) >= 8 * ROWS
        refused(path)

    def test_parquet_of_long_texts(self, tmp_path):
        """A dictionary holds a text once, however often it comes."""
        table = pa.table({"a": ["x" * 10_000] * 2000, "class": ["y"] * 2000})
        pq.write_table(table, tmp_path / "a.parquet", compression="none")
        assert measure_parquet(str(tmp_path / "a.parquet")) < 1 << 16
        refused(tmp_path / "a.parquet")

    @pytest.mark.parametrize("codec", ["lz4", "zstd"])
    def test_arrow(self, tmp_path, codec):
        table = pa.table({"a": np.zeros(ROWS), "class": np.zeros(ROWS, int)})
        feather.write_feather(table, tmp_path / "a.feather", codec)
        assert measure_arrow(str(tmp_path / "a.feather")) >= 16 * ROWS
        refused(tmp_path / "a.feather")

    def test_arrow_without_buffers(self, tmp_path):
        table = pa.table({"a": pa.nulls(10**9)})
        path = str(tmp_path / "a.arrow")
        with pa.OSFile(path, "wb") as stream, pa.ipc.new_file(stream, table.schema) as writer:
            writer.write(table)
        refused(tmp_path / "a.arrow")

    def test_an_archive_that_lies(self, tmp_path):
        """What the directory of an archive says of a member is not what is believed."""
        write_workbook(tmp_path / "a.xlsx", [[["a", "class"]] + [[1, "x"]] * 20_000])
        packed = tmp_path / "b.xlsx"
        with (
            zipfile.ZipFile(tmp_path / "a.xlsx") as archive,
            zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new,
        ):
            for name in archive.namelist():
                new.writestr(name, archive.read(name))
        refused(packed)

    def test_cells_that_are_far_apart(self, tmp_path):
        write_workbook(tmp_path / "a.xlsx", [[["a", "class"], [1, "x"], [2, "y"]]])
        far = tmp_path / "b.xlsx"
        for old, new in (
            (b"<c><v>2</v>", b'<c r="XFD1048576"><v>2</v>'),
            (b"<row><c><v>2</v>", b"<row r='1048576'><c r='ABC1048576'><v>2</v>"),
        ):
            with zipfile.ZipFile(tmp_path / "a.xlsx") as archive, zipfile.ZipFile(far, "w") as made:
                for name in archive.namelist():
                    made.writestr(name, archive.read(name).replace(old, new))
            refused(far, r"b\.xlsx: the cells of a sheet span 1048576 rows and \d+ columns")

    def test_texts_that_many_cells_share(self, tmp_path):
        from opforest.io.readers.workbooks import unpack_workbook

        cells = b"".join(b'<row><c t="s"><v>0</v></c></row>' for _ in range(1000))
        with zipfile.ZipFile(tmp_path / "a.xlsx", "w") as archive:
            archive.writestr("xl/worksheets/sheet1.xml", b"<sheetData>" + cells + b"</sheetData>")
            archive.writestr("xl/sharedStrings.xml", b"<si><t>" + b"x" * 9000 + b"</t></si>")
        book = unpack_workbook(str(tmp_path / "a.xlsx"), "a.xlsx")
        with pytest.raises(DataFileError, match="100 times"), book:
            pass

    def test_tables_of_opendocument_end_with_empty_rows(self, tmp_path):
        """Office programs fill up all sheets with one row that is repeated a million times."""
        from opforest.io.readers.workbooks import _measure_tables

        row = b"<table:table-row{}><table:table-cell>1</table:table-cell>"
        end = b'<table:table-cell table:number-columns-repeated="16000"/></table:table-row>'
        rest = b'<table:table-row table:number-rows-repeated="1048000">' + end
        table = b"<table:table>" + (row.replace(b"{}", b"") + end) * 3 + rest + b"</table:table>"
        assert _measure_tables(bytearray(table)) == (3, 1)
        many = row.replace(b"{}", b' table:number-rows-repeated="1000000"') + end
        assert _measure_tables(bytearray(b"<table:table>" + many)) == (1_000_000, 1)
        far = end.replace(b"</table:table-row>", b"<table:table-cell>1</table:table-cell>")
        span = _measure_tables(bytearray(b"<table:table><table:table-row>" + far))
        assert span == (1, 16_001)

    def test_objects_that_have_nothing_in_common(self, tmp_path, monkeypatch):
        """They are refused before a single row is read."""
        monkeypatch.setattr("opforest.io.readers.frames._slices", lambda *_: iter(()))
        lines = "".join(f'{{"a{k}": {k}}}\n' for k in range(3000))
        refused(write(tmp_path, lines, "a.ndjson"))

    def test_honest_files_are_read(self, tmp_path):
        rng = np.random.default_rng(0)
        frame = pl.DataFrame({"a": rng.normal(size=20_000).round(1), "b": rng.random(20_000) < 0.1,
                              "s": ["x", "y"] * 10_000, "class": ["u", "v"] * 10_000})  # fmt: skip
        frame.write_parquet(tmp_path / "a.parquet")
        frame.write_ipc(tmp_path / "a.arrow", compression="zstd")
        pq.write_table(frame.to_arrow(), tmp_path / "b.parquet", data_page_version="2.0",
                       compression="gzip", data_page_size=500, write_page_index=True)  # fmt: skip
        feather.write_feather(frame.to_arrow(), tmp_path / "b.feather", "lz4", chunksize=99)
        for path in tmp_path.iterdir():
            assert len(read_columns(path).columns[0].cells) == 20_000


def test_sizes_outside_of_the_file_are_never_allocated(tmp_path):
    """Polars would set memory aside for what the list of buffers says."""
    path = tmp_path / "a.feather"
    feather.write_feather(pa.table({"a": [1.5, 2.5], "class": [1, 2]}), path, "zstd")
    content = path.read_bytes()
    found = 0
    for place in range(8, len(content) - 8, 8):
        damaged = bytearray(content)
        damaged[place + 5] = 0x20  # a length or an offset of 2^45 and more
        path.write_bytes(damaged)
        try:
            measure_arrow(str(path))
        except Exception as error:
            found += "outside the file" in str(error)
    assert found >= 4


def test_names_that_are_not_utf_8(tmp_path):
    """They are bytes to the system, and text with surrogates in Python."""
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    try:
        os.mkdir(folder)
    except OSError:
        pytest.skip("the file system wants names in UTF-8")
    frame = pl.DataFrame({"a": [1.0, 2.0], "class": ["x", "y"]})
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_ipc(tmp_path / "a.arrow")
    frame.write_ndjson(tmp_path / "a.ndjson")
    frame.write_csv(tmp_path / "a.csv")
    write_workbook(tmp_path / "a.xlsx", [[["a", "class"], [1, "x"], [2, "y"]]])
    np.savez(tmp_path / "a.npz", X=np.array([[1.0], [2.0]]), y=np.array(["x", "y"]))
    for name in (b"a.parquet", b"a.arrow", b"a.ndjson", b"a.csv", b"a.xlsx", b"a.npz"):
        os.rename(os.fsencode(tmp_path) + b"/" + name, folder + b"/\xff" + name)
        data = read_table(os.fsdecode(folder + b"/\xff" + name))
        assert (data.X.tolist(), data.y.tolist()) == ([[1.0], [2.0]], ["x", "y"])
    assert len(read_table(os.fsdecode(folder))) == 2
    with open(folder + b"/\xffbad.parquet", "wb") as file:
        file.write(b"PAR1 and more PAR1")
    with pytest.raises(DataFileError, match=r"bad\.parquet"):
        read_table(os.fsdecode(folder + b"/\xffbad.parquet"))
