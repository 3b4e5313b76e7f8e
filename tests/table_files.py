"""Tables as files."""

from opforest.io.tables import FORMATS

#: How the names of files end, by format.
ENDS = {kind: ends[0] for kind, ends in FORMATS.items()}
NAMED = ("csv", "tsv", "arff", "parquet", "npz")  # that have room for all there is
NUMBERED = ("libsvm", "npy")
SINGLE = ("libopf", "libopf-text")


def write(tmp_path, content, name="data.csv"):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    return path
