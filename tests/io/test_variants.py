"""Every variant of a real table is read right, asked about, or refused with a hint that works."""

import re
import shlex
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("polars")
from tests.support.mangled_tables import make_variants

from opforest.errors import DataFileError
from opforest.io.columns.table import ReadOptions, UndecidedError, join
from opforest.io.tables import read_chunks, read_table

VARIANTS = make_variants()

#: Options in hints, and what they change.
HINTS = {
    r"--missing median": lambda _: {"allow_missing": True},
    r"--na (?P<value>'[^']+'|\S+)": lambda value: {
        "na": tuple(shlex.split(value)),
        "allow_missing": True,
    },
    r"--skip (?P<value>\d+)": lambda value: {"skip": int(value)},
    r"--encoding (?P<value>[\w-]+)": lambda value: {"encoding": value},
}


def is_right(data, table):
    """Return whether all cells and labels are those of the table."""
    X, label = table.expected, [str(one) for one in table.y]
    return (
        data.X.shape == X.shape
        and np.array_equal(data.X, X, equal_nan=True)
        and [str(one) for one in data.y] == label
    )


def find_changes(error):
    """Return the remedies that an error offers, as changes of options."""
    told = str(error)
    assert "\n" not in told
    if isinstance(error, UndecidedError):
        assert all(choice.option in told for choice in error.choices[:2])
        return [choice.values for choice in error.choices[:9]]
    merged = {}
    for hint, change in HINTS.items():
        if found := re.search(hint, told):
            merged |= change(found.groupdict().get("value"))
    assert merged, f"the error offers no remedy: {told}"
    return [merged]


def follow(path, options, depth=4):
    """Yield what is read by each way of answering questions and following hints."""
    caught = None
    try:
        yield read_table(path, options)
    except DataFileError as error:
        caught = error
    for change in find_changes(caught) if caught and depth else ():
        yield from follow(path, replace(options, **change), depth - 1)


@pytest.mark.parametrize("name", VARIANTS)
def test_read_right_or_a_remedy(tmp_path, name):
    table = VARIANTS[name]
    path = tmp_path / f"data{table.suffix}"
    path.write_bytes(table.content())
    options = ReadOptions(needs_label=True)
    try:
        read_at_once = read_table(path, options)
    except DataFileError:
        assert any(is_right(data, table) for data in follow(path, options))
    else:
        assert is_right(read_at_once, table)
        parts = list(read_chunks(path, options, rows=32))
        assert is_right(join(parts), table)
        assert set(parts[-1].notes) == set(read_at_once.notes)


def test_there_are_many():
    assert len(VARIANTS) >= 150
    assert len({table.content() for table in VARIANTS.values()}) >= 150
