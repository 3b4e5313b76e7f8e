"""Rows of a table of text that are neither names nor examples: titles above it, and units."""

import re
from collections import Counter
from collections.abc import Sequence

from opforest._utils.numerals import looks_like_number
from opforest.io.columns.column import MARKS, MISSING_NUMBER, NUMBER

#: Rows that show what the table looks like, and the fewest to judge by.
SAMPLE, FEW = 50, 3

#: A table with fewer columns than this may have a header with one cell, as R writes it.
NARROW = 3

#: A longer cell is not a unit.
LONGEST_UNIT = 20

_NUMBER = re.compile(NUMBER, re.ASCII)
_MISSING = {*MISSING_NUMBER, *MARKS}


def count_titles(rows: Sequence[Sequence[str]]) -> int:
    """Return the number of rows above the table: empty, or words in fewer cells than it has.

    Examples
    --------
    >>> from opforest.io.columns.extra_rows import count_titles
    >>> count_titles([["Iris"], ["a", "b", "c"], ["1", "2", "x"], ["3", "4", "y"], ["5", "6", "x"]])
    1
    """
    sample = rows[:SAMPLE]
    width = Counter(map(len, sample)).most_common(1)[0][0] if sample else 0
    n = 0
    while n + FEW < len(rows) and _is_title(rows[n], rows[n + 1 :], width):
        n += 1
    return n


def _is_title(row: Sequence[str], below: Sequence[Sequence[str]], width: int) -> bool:
    filled = [cell.strip() for cell in row if cell.strip()]
    if width < NARROW or any(map(_NUMBER.match, filled)):
        return False
    if len(row) < width - 1 or not filled:
        return True
    is_alone = len(filled) == 1 and row[0].strip() == filled[0]
    return is_alone and not any(other and other[0].strip() == filled[0] for other in below)


def describe_title(row: Sequence[str]) -> str:
    """Return a description of a row above the table, for a note."""
    text = " ".join(filter(None, row))
    shown = f"{text[:40]}…" if len(text) > 40 else text
    return f"a title, {shown!r}" if text.strip() else "it has only empty cells"


def drop_repeated_names(rows: Sequence[tuple[int, list[str]]]) -> list[tuple[int, list[str]]]:
    """Return numbered rows without those that repeat the first one, if it has names.

    It has if all others have numbers below one of its words; where all cells are words, two equal
    rows may be examples.
    """
    head = rows[0][1]
    others = [(line, row) for line, row in rows[1:] if row != head]
    if len(others) == len(rows) - 1 or not others:
        return list(rows)
    below = others[1:] if len(others) > FEW else others  # the first one may have units
    for k, name in enumerate(head):
        cells = (row[k].strip() for _, row in below if k < len(row))
        known = [cell for cell in cells if cell.lower() not in _MISSING]
        is_name = name.strip() and not looks_like_number(name)
        if is_name and known and all(map(looks_like_number, known)):
            return [rows[0], *others]
    return list(rows)


def find_units(rows: Sequence[Sequence[str]]) -> str:
    """Return the units in the first of these rows, which follow a header; "" if it has none.

    It has words, or nothing, in all columns where the other rows have numbers, nothing that occurs
    below in the others, and no number.
    """
    if len(rows) <= FEW or any(_NUMBER.match(cell.strip()) for cell in rows[0]):
        return ""
    head, below = rows[0], rows[1:]
    units = []
    for k, cell in enumerate(map(str.strip, head)):
        cells = {row[k].strip() for row in below if k < len(row)}
        known = [one for one in cells if one.lower() not in _MISSING]
        is_empty = cell.lower() in _MISSING
        if known and all(map(looks_like_number, known)):
            if looks_like_number(cell) or len(cell) > LONGEST_UNIT:
                return ""
            units += [] if is_empty else [cell]
        elif not is_empty and cell in cells:
            return ""
    return ", ".join(map(repr, dict.fromkeys(units)))
