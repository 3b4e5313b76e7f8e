"""ARFF: columns of numbers are found together, and are what their cells say."""

import numpy as np
import polars as pl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.tuning import tuned

from opforest.errors import DataFileError
from opforest.io.columns.table import ReadOptions
from opforest.io.tables import read_table

CELLS = st.sampled_from(
    ["?", "0", "-0", "7", "007", "+3", "1.5", "1.50", "1e3", "-inf", "nan", "9007199254740993",
     "1234567890123456789", "12345678901234567890", "x", "1_0", "0x1", " 2 ", "none", "", "1e400"]
)  # fmt: skip
IDS = st.sampled_from(["7", "0", "+3", "007", "x", "12", "?", "1234567890123456789"])


@given(
    rows=st.lists(st.tuples(CELLS, IDS, st.sampled_from("uv")), min_size=1, max_size=8),
    label=st.sampled_from([None, "1", "2", "3"]),
    lenient=st.booleans(),
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_numbers_of_arff_are_what_their_text_says(tmp_path, monkeypatch, rows, label, lenient):
    """Columns of numbers are made at once; the oracle reads each cell as text."""
    head = "@relation r\n@attribute a real\n@attribute id numeric\n@attribute c {u,v}\n@data\n"
    path = tmp_path / "a.arff"
    path.write_text(head + "".join(",".join(row) + "\n" for row in rows))
    options = ReadOptions(label=label, allow_missing=lenient, categories=lenient)

    def answer(some):
        with tuned(arff_rows=some):
            try:
                data = read_table(path, options)
            except DataFileError as error:
                return str(error).partition(", got ")[0]
        X = data.X if isinstance(data.X, np.ndarray) else data.X.to_numpy()
        # Ids that are fractions are numbers now, as those of CSV are.
        ids = None if data.ids is None else [str(one).lstrip("+-0") for one in data.ids.tolist()]
        return repr(X.tolist()), data.y.tolist() if data.y is not None else None, ids, data.notes

    fast = {repr(answer(some)) for some in (2, 2048)}
    with monkeypatch.context() as patched:
        patched.setattr("opforest.io.readers.arff._to_numbers", lambda rows, columns: {})
        assert fast == {repr(answer(2048))}


def test_wide_arff_files_are_columns_of_numbers(tmp_path):
    """Each column that stays text takes milliseconds later on."""
    from opforest.io.readers.arff import Arff
    from opforest.io.source import open_source

    names = "".join(f"@attribute a{k} real\n" for k in range(300))
    row = ",".join("0.5" if k % 3 else "7" for k in range(300))
    path = tmp_path / "a.arff"
    path.write_text(f"@relation r\n{names}@attribute c {{x}}\n@data\n{row},x\n{row},x\n")
    with open_source(str(path)) as source:
        (frame,) = Arff(source).frames()
    assert set(frame.dtypes[:-1]) == {pl.Int64, pl.Float64}
    assert frame.dtypes[-1] == pl.String
