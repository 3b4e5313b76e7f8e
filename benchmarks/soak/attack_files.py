"""Read damaged data files of all formats: each must give data or a ``DataFileError``.

python -m benchmarks.soak.attack_files --count 10000 --seed 1
"""

import bz2
import gzip
import io
import lzma
import random
import re
import tempfile
import warnings
import zipfile
from functools import partial
from pathlib import Path

import numpy as np
from benchmarks.soak import attack

from opforest.errors import DataFileError
from opforest.io.columns.table import Data, ReadOptions
from opforest.io.readers import libsvm  # noqa: F401  (imported once, before children fork)
from opforest.io.tables import read_chunks, read_columns, read_table, write_table

FOLDER = tempfile.TemporaryDirectory(prefix="attack-")

#: Difficult cells.
CELLS = [b"", b"nan", b"-inf", b"1e999", b"9" * 400, b"0x10", b"'", b'"', b"\\", b"\0", b"\xff",
         b"{", b"}", b"[[[[", b"%", b"?", b",", b"\t", b"\r", b"\n", b"\xef\xbb\xbf", b"1:1", b"-1",
         b"99999999999:1", b"@data\n", b"@attribute a {", b'{"a":', b"null", "é😀".encode(),
         b"x" * 200_000]  # fmt: skip


def make_files(folder: Path) -> None:
    """Write one or several files of each format."""
    import polars as pl
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet
    from tests.support.workbooks import write_workbook

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)).round(3), rng.choice(["no", "yes", "maybe"], 60)
    names = ("a", "b", "c", "d")
    words = Data(X, y, np.arange(60), names, "class")
    numbers = Data(X.astype(np.float32), rng.integers(1, 4, 60))
    for end in (".csv", ".tsv", ".parquet", ".arrow", ".ndjson", ".npz"):
        write_table(folder / f"words{end}", words)
        write_table(folder / f"numbers{end}", numbers)
    for end in (".svm", ".npy", ".dat", ".opf.txt"):
        write_table(folder / f"numbers{end}", numbers)
    frame = pl.DataFrame({"a": X[:, 0], "s": y, "t": X[:, 1] > 0, "class": y})
    for codec in ("uncompressed", "snappy", "gzip", "lz4"):
        frame.write_parquet(folder / f"{codec}.parquet", compression=codec, row_group_size=20)
    table = frame.to_arrow()
    pyarrow.parquet.write_table(table, folder / "v2.parquet", data_page_version="2.0",
                                data_page_size=100)  # fmt: skip
    for codec in ("uncompressed", "lz4", "zstd"):
        pyarrow.feather.write_feather(table, folder / f"{codec}.feather", codec, chunksize=20)
    nested = pa.table({"a": X[:, 0], "l": [[1, 2]] * 60, "r": [{"u": 1}] * 60,
                       "d": pa.array(y).dictionary_encode(), "class": y})  # fmt: skip
    pyarrow.feather.write_feather(nested, folder / "nested.arrow", "lz4")
    pyarrow.parquet.write_table(nested, folder / "nested.parquet")
    np.save(folder / "fields.npy", np.array([*zip(X[:, 0], y, strict=True)], "f8,U5"))
    np.savez_compressed(folder / "packed.npz", X=X, y=y, feature_names=np.array(names))
    np.savez(folder / "bytes.npz", X=X, y=y.astype("S5"))
    write_workbook(folder / "book.xlsx",
                   [[[*names, "class"], *([*row, label] for row, label in
                                          zip(X.tolist(), y.tolist(), strict=True))]])  # fmt: skip
    head = "@relation r\n@attribute a real\n@attribute 'b c' {x,y}\n@attribute s string\n@data\n"
    rows = "".join(f"{k},{'xy'[k % 2]},'it\\'s'\n" for k in range(30))
    (folder / "words.arff").write_text(head + rows)
    text = (folder / "words.csv").read_bytes()
    (folder / "utf-16.csv").write_bytes(text.decode().encode("utf-16"))
    for end, pack in PACKERS.items():
        (folder / f"words.csv{end}").write_bytes(pack(text))
    (folder / "numbers.npy.gz").write_bytes(gzip.compress((folder / "numbers.npy").read_bytes()))


def _zstd(content: bytes) -> bytes:
    import zstandard

    return zstandard.compress(content)


PACKERS = {".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress, ".zst": _zstd}


def repack(rng: random.Random, content: bytes, other: bytes) -> bytes:
    """Return an archive with a damaged member and a valid checksum."""
    made = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as archive,
        zipfile.ZipFile(made, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as new,
    ):
        names = archive.namelist()
        chosen = rng.choice(names)
        for name in names:
            inside = archive.read(name)
            if name == chosen:
                worsen = rng.choice(
                    (write_over, lambda *two: attack.damage(rng, *two[1:], other)[1])
                )
                inside = worsen(rng, inside)
            new.writestr(name, inside)
    return made.getvalue()


def write_over(rng: random.Random, content: bytes) -> bytes:
    """Return the text with one or several cells replaced."""
    text = content
    for _ in range(rng.choice((1, 1, 2, 5))):
        places = [found.span() for found in re.finditer(rb"[\w.+-]+", text)]
        begin, end = rng.choice(places) if places else (0, 0)
        text = text[:begin] + rng.choice(CELLS) + text[end:]
    return text


def try_files(format: str, rng: random.Random) -> str:
    """Damage a file of a format, read it, and return the outcome."""
    folder = Path(FOLDER.name)
    files = sorted(folder.glob("files/*"))
    path = rng.choice([file for file in files if format_of(file) == format])
    content, other = path.read_bytes(), rng.choice(files).read_bytes()
    ends = path.suffixes[-1]
    if ends in PACKERS and rng.random() < 0.5:
        plain = (folder / "files" / path.stem).read_bytes()
        content = PACKERS[ends](attack.damage(rng, plain, other)[1])
    elif content.startswith(b"PK") and rng.random() < 0.6:
        content = repack(rng, content, other)
    elif rng.random() < 0.4 and ends not in PACKERS:
        content = write_over(rng, content)
    else:
        content = attack.damage(rng, content, other)[1]
    damaged = folder / f"damaged-{path.name}"
    damaged.write_bytes(content)
    return read(rng, damaged)


def read(rng: random.Random, path: Path) -> str:
    """Read a file with random options."""
    options = rng.choice((
        ReadOptions(), ReadOptions(allow_missing=True), ReadOptions(label="1", allow_missing=True),
        ReadOptions(allow_missing=True, categories=True, may_lack_labels=True),
        ReadOptions(allow_missing=True, categories=True, lossless=True),
    ))  # fmt: skip
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            how = rng.randrange(4)
            if how == 0:
                for column in read_columns(path, options).columns:
                    _ = column.kind, column.distinct, column.missing
                return "accepted"
            parts = [read_table(path, options)] if how < 3 else list(read_chunks(path, options))
        for data in parts:
            assert len(data.X) == len(data), "wrong number of rows"
            assert data.y is None or len(data.y) == len(data), "wrong number of labels"
            assert not isinstance(data.X, np.ndarray) or data.X.dtype.kind == "f", data.X.dtype
        return "accepted"
    except DataFileError as error:
        if path.name not in str(error) or "\n" in str(error):
            raise RuntimeError(f"not one line with the file name: {error}") from error
        return "refused"


def format_of(path: Path) -> str:
    """Return the name of the format, under which attacks are listed."""
    return ".".join(path.name.split(".")[1:])


if __name__ == "__main__":
    files = Path(FOLDER.name) / "files"
    files.mkdir()
    attack.in_child(partial(make_files, files))
    formats = sorted({format_of(file) for file in files.iterdir()})
    attack.main({format: partial(try_files, format) for format in formats}, 10_000)
