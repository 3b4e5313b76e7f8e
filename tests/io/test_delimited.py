"""What polars reads is what the csv module reads, cell by cell, and so are errors and places."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("polars")
from opforest.errors import DataFileError
from opforest.io.columns.table import ReadOptions
from opforest.io.readers.delimited import Delimited
from opforest.io.readers.dialect import find_delimiter
from opforest.io.tables import read_table

CELLS = ("1", "2.5", "-3e4", "+7", ".5", "5.", "1e-320", "x", "y z", "", "?", "NA", '"a,b"',
         '"q""r"', '"1"', "True", "007", " 3", "4 ", "0", "12345678901234567", "9007199254740993",
         "1_0")  # fmt: skip

pools = st.lists(st.lists(st.sampled_from(CELLS), min_size=1, max_size=4), min_size=3, max_size=3)


def outcome(path):
    options = ReadOptions(label="-1", categories=True, allow_missing=True, keep=("1-2",))
    try:
        data = read_table(path, options)
    except DataFileError as error:
        return str(error)
    return repr((data.X.to_dict(as_series=False), data.y.tolist()))


@settings(max_examples=60)
@given(pools, st.data())
def test_fast_and_slow_agree(tmp_path_factory, columns, choose):
    path = tmp_path_factory.mktemp("both") / "a.csv"
    row = st.tuples(*map(st.sampled_from, columns)).map(",".join) | st.sampled_from(["", "1,2"])
    rows = choose.draw(st.lists(row, min_size=3, max_size=25))
    path.write_text(
        "a,b,label\n1,2,3\n" + "\n".join(rows) + choose.draw(st.sampled_from(["", "\n"]))
    )
    fast = outcome(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Delimited, "_parse", Delimited._parse_by_rows)
        assert outcome(path) == fast


@pytest.mark.parametrize(
    ("line", "delimiter"),
    [
        ('0.5,Rome,"word 1 of 2",x', ","),
        ("0.5,Rome,word 1 of 2,x", ","),
        ("0.5\tword 1 of 2\tx", "\t"),
        ('"5.1 points"\tx', "\t"),
        ("5.1 cm,x", ","),
        ("5,1 3,5 x", " "),
        ("1.234,5;7;x", ";"),
        ("5.1  3.5   1.4 x", " "),
    ],
)
def test_blanks_within_cells_separate_nothing(line, delimiter):
    assert find_delimiter([line] * 5) == delimiter
