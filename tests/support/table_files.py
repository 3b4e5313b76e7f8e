"""Tables as files."""

from opforest.io.formats import FORMATS

#: Endings of file names by format.
ENDS = {kind: one.ends[0] for kind, one in FORMATS.items()}
NAMED = ("csv", "tsv", "parquet", "arrow", "ndjson", "npz")  # with names and text
NUMBERED = ("libsvm", "npy")
SINGLE = ("libopf", "libopf-text")
WRITTEN = (*NAMED, *NUMBERED, *SINGLE)  # Excel and ARFF are only read


def write(tmp_path, content, name="data.csv"):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    return path
