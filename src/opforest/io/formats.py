"""The formats of data files: one line each, which says all that is to be known of one."""

import codecs
import re
from importlib import import_module
from typing import Any, NamedTuple

from opforest.errors import DataFileError
from opforest.io.source import UTF_16, Source


class Format(NamedTuple):
    """A format of data files.

    Attributes
    ----------
    name : str
        What options call it.
    ends : tuple of str
        How the names of such files end.
    reader, writer : str
        ``"module:function"`` in this package; "" if there is none.
    reads : {"stream", "file"}
        What the reader takes: a ``Source`` as it comes in and a ``ReadOptions``, or the path and
        the name of a file. It returns a ``Table``.
    magic : tuple of bytes
        How such files begin.
    keeps_names, keeps_ids, keeps_words : bool
        Whether there is room for names of features, for ids, and for labels that are text.
    keeps_cells : bool
        Whether there is room for text in features, and for labels that are missing.
    """

    name: str
    ends: tuple[str, ...]
    reader: str
    writer: str = ""
    reads: str = "file"
    magic: tuple[bytes, ...] = ()
    keeps_names: bool = True
    keeps_ids: bool = True
    keeps_words: bool = True
    keeps_cells: bool = False

    def load(self, what: str) -> Any:
        """Return the reader or the writer."""
        module, name = what.split(":")
        return getattr(import_module(f"opforest.io.readers.{module}"), name)


FORMATS = {
    one.name: one
    for one in (
        Format("csv", (".csv",), "delimited:read_delimited", "frames:write_frame", "stream",
               keeps_cells=True),
        Format("tsv", (".tsv", ".tab"), "delimited:read_delimited", "frames:write_frame", "stream",
               keeps_cells=True),
        Format("parquet", (".parquet", ".pq"), "frames:read_parquet", "frames:write_frame",
               magic=(b"PAR1",), keeps_cells=True),
        Format("arrow", (".arrow", ".feather", ".ipc"), "frames:read_arrow", "frames:write_frame",
               magic=(b"ARROW1",), keeps_cells=True),
        Format("ndjson", (".ndjson", ".jsonl"), "frames:read_ndjson", "frames:write_frame",
               keeps_cells=True),
        Format("excel", (".xlsx", ".xls", ".xlsb", ".ods"), "frames:read_excel",
               magic=(b"\xd0\xcf\x11\xe0",)),
        Format("npz", (".npz",), "arrays:read_npz", "arrays:write_npz"),
        Format("npy", (".npy",), "arrays:read_npy", "arrays:write_npy", magic=(b"\x93NUMPY",),
               keeps_names=False, keeps_ids=False, keeps_words=False),
        Format("arff", (".arff",), "arff:read_arff", "arff:write_arff", "stream"),
        Format("libsvm", (".libsvm", ".svm", ".svmlight"), "libsvm:read_svm", "libsvm:write_svm",
               "stream", keeps_names=False, keeps_ids=False, keeps_words=False),
        Format("libopf", (".dat", ".opf"), "arrays:read_libopf", "arrays:write_libopf",
               keeps_names=False, keeps_words=False),
        Format("libopf-text", (".opf.txt",), "arrays:read_libopf", "arrays:write_libopf",
               keeps_names=False, keeps_words=False),
    )
}  # fmt: skip

_SVM = re.compile(rb"\s*[+-]?[\d.]+(e[+-]?\d+)?(\s+(qid|\d+):\S+)+\s*(#|$)", re.IGNORECASE)
_JSON = re.compile(rb'\s*\{\s*"')

#: How files begin that are text, and no table; in lower case.
_FOREIGN = {
    re.compile(rb"<(!doctype|html|\?xml)"): "a web page or XML, and no table",
    re.compile(rb"%pdf-"): "a PDF, and no table",
    re.compile(rb'\[\s*[\[{"]|\{\s*\n'): "JSON, of which one object a line is read: "
    "jq -c '.[]' FILE > lines.ndjson makes lines of a list",
}


def find_format(source: Source) -> str:
    """Return the format of a file: by how it begins, by its name, or by its first line."""
    begin = source.begin
    if not begin:
        raise DataFileError("the file is empty", source.name)
    for one in FORMATS.values():
        if begin.startswith(one.magic):
            return one.name
    named = format_of(source.file_name)
    if begin.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "npz" if named != "excel" and b".xml" not in begin[:4096] else "excel"
    if named in ("arff", "libsvm", "ndjson", "tsv"):
        return named
    is_ours = named is None or named.startswith("libopf")
    if is_ours and (found := _libopf_kind(source, named is not None)):
        return found
    kind = "csv" if begin.startswith(UTF_16) else _by_first_line(begin, source.name)
    is_binary_by_name = named is not None and FORMATS[named].magic and kind == "csv"
    return named if named and (is_binary_by_name or named in ("csv", "npz", "excel")) else kind


def _libopf_kind(source: Source, is_named_so: bool) -> str | None:
    """Return the format of a file that is LibOPF's, or is said to be and holds no text."""
    from opforest.io import libopf

    there = not source.is_packed and not source.is_live
    found = libopf.looks_like(source.path) if there else None
    if found == "text":
        return "libopf-text"
    is_binary = b"\0" in source.begin and not source.begin.startswith(UTF_16)
    if found == "dataset" or (is_named_so and (found or is_binary)):
        return "libopf"
    return "libopf" if is_binary and source.is_live else None


def _by_first_line(begin: bytes, name: str) -> str:
    if begin[257:262] == b"ustar":
        raise DataFileError("the file is an archive of tar; unpack it first", name)
    if b"\0" in begin:
        reason = "the file is neither text nor of a known format; --format names one"
        raise DataFileError(reason, name)
    text = begin.removeprefix(codecs.BOM_UTF8).strip().lower()
    for pattern, what in _FOREIGN.items():
        if pattern.match(text):
            raise DataFileError(f"the file is {what}", name)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    start = next((line for line in lines if not line.startswith(b"%")), b"")
    if start.startswith((b"@relation", b"@attribute")):
        return "arff"
    if _JSON.match(start):
        return "ndjson"
    return "libsvm" if _SVM.match(start) else "csv"


def format_of(path: str) -> str | None:
    """Return the format that files of such a name have."""
    name = path.lower()
    found = [one.name for one in FORMATS.values() if name.endswith(one.ends)]
    return found[-1] if found else None
