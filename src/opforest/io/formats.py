"""The registry of data file formats, and how a file's format is recognized."""

import codecs
import re
from collections.abc import Callable
from dataclasses import replace
from pkgutil import resolve_name
from typing import IO, TYPE_CHECKING, NamedTuple

from opforest.errors import DataFileError
from opforest.io.compression import ARCHIVE
from opforest.io.encodings import UTF_16
from opforest.io.source import Source

if TYPE_CHECKING:
    from opforest.io.columns.table import Data, ReadOptions, Table


class Format(NamedTuple):
    """A format of data files."""

    name: str
    ends: tuple[str, ...]  #: of file names
    reader: str  #: a function in ``opforest.io.readers``, as ``"module:function"``
    writer: str = ""  #: likewise; "" if there is none
    magic: tuple[bytes, ...] = ()  #: first bytes of such files
    keeps_names: bool = True  #: whether there is room for names of features
    keeps_ids: bool = True
    keeps_words: bool = True  #: whether labels may be text
    keeps_cells: bool = False  #: whether features may be text, and labels missing
    is_text: bool = False  #: whether a text file with such a name has this format

    def read(self, source: Source, options: "ReadOptions") -> "Table":
        """Return the table in a file of this format."""
        read: Callable[..., Table] = resolve_name(f"opforest.io.readers.{self.reader}")
        return read(source, replace(options, format=self.name))

    def write(self, stream: IO[bytes], data: "Data") -> None:
        """Write a file of this format."""
        resolve_name(f"opforest.io.readers.{self.writer}")(stream, data, self.name)


FORMATS = {
    one.name: one
    for one in (
        Format("csv", (".csv",), "delimited:read_delimited", "frames:write_frame",
               keeps_cells=True),
        Format("tsv", (".tsv", ".tab"), "delimited:read_delimited", "frames:write_frame",
               keeps_cells=True, is_text=True),
        Format("parquet", (".parquet", ".pq"), "frames:read_parquet", "frames:write_frame",
               magic=(b"PAR1",), keeps_cells=True),
        Format("arrow", (".arrow", ".feather", ".ipc"), "frames:read_arrow", "frames:write_frame",
               magic=(b"ARROW1",), keeps_cells=True),
        Format("ndjson", (".ndjson", ".jsonl"), "frames:read_ndjson", "frames:write_frame",
               keeps_cells=True, is_text=True),
        Format("json", (".json",), "frames:read_json", is_text=True),
        Format("excel", (".xlsx", ".xls", ".xlsb", ".ods"), "workbooks:read_excel",
               magic=(b"\xd0\xcf\x11\xe0",)),
        Format("npz", (".npz",), "arrays:read_npz", "arrays:write_npz"),
        Format("npy", (".npy",), "arrays:read_npy", "arrays:write_npy", magic=(b"\x93NUMPY",),
               keeps_names=False, keeps_ids=False, keeps_words=False),
        Format("arff", (".arff",), "arff:read_arff", is_text=True),
        Format("libsvm", (".libsvm", ".svm", ".svmlight"), "libsvm:read_svm", "libsvm:write_svm",
               keeps_names=False, keeps_ids=False, keeps_words=False, is_text=True),
        Format("libopf", (".dat", ".opf"), "arrays:read_libopf", "arrays:write_libopf",
               keeps_names=False, keeps_words=False),
        Format("libopf-text", (".opf.txt",), "arrays:read_libopf", "arrays:write_libopf",
               keeps_names=False, keeps_words=False),
    )
}  # fmt: skip

_SVM = re.compile(rb"\s*[+-]?[\d.]+(e[+-]?\d+)?(\s+(qid|\d+):\S+)+\s*(#|$)", re.IGNORECASE)
_JSON_LINE = re.compile(rb'\s*\{\s*"')
_JSON_LIST = re.compile(rb"\[\s*\{")

#: The first bytes of an SQLite database, such as a store.
SQLITE = b"SQLite format 3\0"

#: Beginnings of text files that are not tables, in lower case.
_FOREIGN = {
    rb"<(!doctype|html|\?xml)": "a web page or XML, not a table",
    rb"%pdf-": "a PDF, not a table",
    rb'\[\s*[\["]|\{\s*\n': "JSON, which must be a list of objects, or one object per line; "
    "pandas writes it by to_json(orient='records')",
}


def find_format(source: Source) -> str:
    """Return the format of a file: by its first bytes, its name, or its first line."""
    begin = source.begin
    if not begin:
        raise DataFileError("the file is empty", source.name)
    if begin.startswith(SQLITE):
        reason = "the file is a database, not a table; if it is a store of opforest, `opforest "
        reason += "store export` writes its examples to a data file, or its model to a model file"
        raise DataFileError(reason, source.name)
    for one in FORMATS.values():
        if begin.startswith(one.magic):
            return one.name
    named = format_of(source.file_name)
    if begin.startswith(ARCHIVE):
        return "npz" if named != "excel" and b".xml" not in begin[:4096] else "excel"
    if named == "json" and _has_objects_in_lines(begin):
        return "ndjson"
    if named and FORMATS[named].is_text:
        return named
    if _JSON_LIST.match(begin.removeprefix(codecs.BOM_UTF8).strip()):
        return "json"
    may_be_libopf = named is None or named.startswith("libopf")
    if may_be_libopf and (found := _find_libopf_format(source, is_named=named is not None)):
        return found
    kind = "csv" if begin.startswith(UTF_16) else _find_by_first_line(begin, source.name)
    is_binary_by_name = named is not None and FORMATS[named].magic and kind == "csv"
    return named if named and (is_binary_by_name or named in ("csv", "npz", "excel")) else kind


def _has_objects_in_lines(begin: bytes) -> bool:
    lines = [line for line in begin.splitlines() if line.strip()]
    return len(lines) > 1 and all(map(_JSON_LINE.match, lines[:2]))


def _find_libopf_format(source: Source, is_named: bool) -> str | None:
    """Return the format of a LibOPF file, or of a binary file with the name of one."""
    from opforest.io import libopf

    is_file = not source.is_compressed and not source.is_live
    found = libopf.looks_like(source.path) if is_file else None
    if found == "text":
        return "libopf-text"
    is_binary = b"\0" in source.begin and not source.begin.startswith(UTF_16)
    if found == "dataset" or (is_named and (found or is_binary)):
        return "libopf"
    return "libopf" if is_binary and source.is_live else None


def _find_by_first_line(begin: bytes, name: str) -> str:
    if begin[257:262] == b"ustar":
        raise DataFileError("the file is a tar archive; unpack it first", name)
    if b"\0" in begin:
        reason = "the file is neither text nor of a known format; --format names one"
        raise DataFileError(reason, name)
    text = begin.removeprefix(codecs.BOM_UTF8).strip().lower()
    for pattern, what in _FOREIGN.items():
        if re.match(pattern, text):
            raise DataFileError(f"the file is {what}", name)
    lines = (line.strip() for line in text.splitlines())
    start = next((line for line in lines if line and not line.startswith(b"%")), b"")
    if start.startswith((b"@relation", b"@attribute")):
        return "arff"
    if _JSON_LINE.match(start):
        return "ndjson"
    return "libsvm" if _SVM.match(start) else "csv"


def format_of(path: str) -> str | None:
    """Return the format of files with such a name."""
    return next((one.name for one in FORMATS.values() if path.lower().endswith(one.ends)), None)
