"""Whether the first line of a table of text has the names of the columns: an ordered list of rules.

Each rule looks at the first row and at those below it and says that it is a header, that it is an
example, that somebody must say which, or nothing. The first that says something decides.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from opforest._utils.numerals import looks_like_number
from opforest.errors import DataFileError
from opforest.io.columns.describe import MISSING_NUMBER, NUMBER
from opforest.io.columns.roles import ID_NAME, LABEL_NAMES
from opforest.io.columns.table import ReadOptions

#: Names that only a header has.
KNOWN = {ID_NAME, *LABEL_NAMES}

#: From so many numbers on, evenly spaced ones, and ones in order, are no accident beside a label
#: that occurs once; and without such a label.
EVEN, EVEN_ALONE, ORDERED = 4, 7, 7

#: Fewer numbers than this say nothing.
FEW = 3

_NUMBER = re.compile(NUMBER.replace("(?i:inf|infinity)", "(?i:inf|infinity|nan)"), re.ASCII)


def is_number(cell: str) -> bool:
    """Tell whether a cell is one that no header has."""
    return bool(_NUMBER.match(cell.strip())) and cell.strip().lower().lstrip("+-") not in (
        "nan", "inf", "infinity",
    )  # fmt: skip


class Verdict(NamedTuple):
    """What a rule says: True for a header, False for an example, None to ask; and why."""

    is_header: bool | None
    why: str = ""
    column: int | None = None  #: the one that a question is about, counted from 1


HEADER, EXAMPLE = Verdict(True), Verdict(False)


@dataclass
class FirstRow:
    """The first row of a table, those below it, and what is known of the table."""

    head: list[str]
    others: list[list[str]]
    reading: ReadOptions

    @cached_property
    def names(self) -> list[str]:
        """The cells, without blanks around them, in lower case."""
        return [cell.strip().lower() for cell in self.head]

    @cached_property
    def below(self) -> list[set[str]]:
        """What is below each cell."""
        return [{row[k].strip().lower() for row in self.others if k < len(row)}
                for k in range(len(self.head))]  # fmt: skip

    @cached_property
    def numbers(self) -> list[int]:
        """The cells that are numbers: as below, if other marks than digits are in them."""
        return [
            k for k, name in enumerate(self.names)
            if is_number(name)
            or (looks_like_number(name) and any(map(_is_disguised, self.below[k])))
        ]  # fmt: skip

    @cached_property
    def words(self) -> list[int]:
        """The cells that are words."""
        numbers = set(self.numbers)
        return [k for k, name in enumerate(self.names)
                if name and name not in MISSING_NUMBER and k not in numbers]  # fmt: skip

    @cached_property
    def above_numbers(self) -> list[int]:
        """The words below which there are only numbers."""
        return [k for k in self.words if self.others
                and all(is_number(cell) or cell in MISSING_NUMBER for cell in self.below[k])
                and any(map(is_number, self.below[k]))]  # fmt: skip

    @cached_property
    def is_alone(self) -> bool:
        """Whether no word comes again, though below it words do."""
        if any(self.names[k] in self.below[k] for k in self.words):
            return False
        counts = [(len(self.below[k] - set(MISSING_NUMBER)), self._filled(k)) for k in self.words]
        return any(filled >= 2 and 2 * distinct <= filled + 1 for distinct, filled in counts)

    def _filled(self, k: int) -> int:
        return sum(k < len(row) and row[k].strip().lower() not in MISSING_NUMBER
                   for row in self.others)  # fmt: skip

    def sequence(self, row: Sequence[str]) -> list[float]:
        """Return the numbers of a row in the columns where the first one has numbers."""
        cells = [row[k].strip() for k in self.numbers if k < len(row)]
        return [float(cell) for cell in cells if is_number(cell)]

    def has_alone(self, pattern: Callable[[list[float]], bool]) -> bool:
        """Tell whether the numbers of the first row have a pattern, and those of no other row."""
        return pattern(self.sequence(self.head)) and not any(
            pattern(self.sequence(row)) for row in self.others
        )

    @property
    def shown(self) -> str:
        """The first numbers, for people."""
        cells = [self.head[k].strip() for k in self.numbers]
        return ", ".join(cells[:3]) + (", …" if len(cells) > 3 else "")


def _is_disguised(cell: str) -> bool:
    return looks_like_number(cell) and not is_number(cell)


def is_even(numbers: list[float]) -> bool:
    """Tell whether there are equal steps, up or down, between numbers."""
    steps = [after - before for before, after in pairwise(numbers)]
    if len(steps) < FEW - 1 or steps[0] == 0:
        return False
    return all(abs(step - steps[0]) <= 1e-6 * abs(steps[0]) for step in steps)


def is_ordered(numbers: list[float]) -> bool:
    """Tell whether each number is larger, or each is smaller, than the one before."""
    if len(numbers) < FEW:
        return False
    steps = [after - before for before, after in pairwise(numbers)]
    return all(step > 0 for step in steps) or all(step < 0 for step in steps)


def _counts(row: FirstRow) -> bool:
    """Tell whether the numbers count the columns, or themselves, from 0 or 1."""
    cells = [row.names[k] for k in row.numbers]
    if any(all(cell == str(k + first) for k, cell in zip(row.numbers, cells, strict=True))
           for first in (0, 1)):  # fmt: skip
        return True
    return len(cells) > 1 and any(
        cells == [str(k + first) for k in range(len(cells))] for first in (0, 1)
    )


# The rules.


def by_model(row: FirstRow) -> Verdict | None:
    """Say that it is a header if it has the names that a model knows."""
    expected = row.reading.expected
    names = None if expected is None else expected.names
    if not names or (len(names) < FEW and all(map(is_number, names))):
        return None
    return HEADER if set(names) <= {cell.strip() for cell in row.head} else None


def by_options(row: FirstRow) -> Verdict | None:
    """Say that it is a header if it has a name that an option names."""
    reading = row.reading
    named = {part.strip() for item in (reading.label or "", *reading.drop, *reading.keep)
             for part in (item, *item.split(","))}  # fmt: skip
    for k, cell in enumerate(row.head):
        word = cell.strip()
        if word in named and k in row.words and word.lower() not in row.below[k]:
            return HEADER
    return None


def without_numbers(row: FirstRow) -> Verdict | None:
    """Decide about words only: a header, unless most of them come again below."""
    if row.numbers:
        return None
    again = sum(name in column for name, column in zip(row.names, row.below, strict=True) if name)
    return Verdict(2 * again < len(row.names) or not row.others)


def by_known_name(row: FirstRow) -> Verdict | None:
    """Say that it is a header if a cell is a name of a label, or ``id``, and nothing else."""
    found = [k for k, name in enumerate(row.names) if name in KNOWN]
    return HEADER if found and not any(row.names[k] in row.below[k] for k in found) else None


def by_counting(row: FirstRow) -> Verdict | None:
    """Ask about a row that does nothing but count the columns."""
    if row.others and len(row.numbers) == len(row.names) >= 5 and _counts(row):
        return Verdict(None, f"the line counts the columns, {row.shown}")
    return None


def by_words_above_numbers(row: FirstRow) -> Verdict | None:
    """Decide about words where all other rows have numbers."""
    words = row.above_numbers
    if not words:
        return None
    if _counts(row) or row.has_alone(is_even):
        return HEADER
    if len(row.others) > 1 and (len(words) > 1 or row.has_alone(is_ordered)):
        why = f"the line has {row.head[words[0]]!r} where all others have numbers, and numbers, too"
        return Verdict(None, why, words[0] + 1)
    return None


def by_sequence(row: FirstRow) -> Verdict | None:
    """Decide about numbers in order beside a word that comes once; or only about the former."""
    n = len(row.numbers)
    if not row.words or row.above_numbers or not row.others:
        return None
    if any(row.names[k] in row.below[k] for k in row.words):
        return EXAMPLE
    word, why = row.head[row.words[0]].strip(), f"the numbers of the line are in order, {row.shown}"
    sure = row.is_alone
    why += f", and {word!r} is nowhere below" if sure else ""
    if row.has_alone(is_even) and n >= (EVEN if sure else EVEN_ALONE):
        return Verdict(True, why)
    if sure and row.has_alone(is_ordered) and n >= ORDERED:
        return Verdict(True, why)
    head = row.sequence(row.head)
    if sure and (is_ordered(head) or (n == FEW - 1 and _counts(row))):
        return Verdict(None, why)
    if (row.has_alone(is_even) and n >= EVEN) or (row.has_alone(is_ordered) and n >= ORDERED):
        return Verdict(None, why)
    return None


#: The rules, in the order in which they are asked.
RULES = (
    by_model,
    by_options,
    without_numbers,
    by_known_name,
    by_counting,
    by_words_above_numbers,
    by_sequence,
)


def find_header(
    rows: list[list[str]], reading: ReadOptions, path: str, line: int
) -> tuple[bool, tuple[str, ...]]:  # fmt: skip
    """Tell whether the first row has the names of the columns, with notes, or ask.

    Parameters
    ----------
    rows : list of list of str
        The first rows of a table.
    reading : Reading
        What is known of it.
    path : str
        The file, for errors.
    line : int
        The line of the first row, for errors.

    Examples
    --------
    >>> from opforest.io.columns.table import Reading
    >>> from opforest.io.columns.headers import find_header
    >>> rows = [["2019", "2020", "2021", "2022", "group"]]
    >>> rows += [["3", "1", "4", "1", "a"], ["5", "9", "2", "6", "b"], ["5", "3", "5", "8", "a"]]
    >>> is_header, notes = find_header(rows, Reading(), "data.csv", 1)
    >>> is_header, notes[0][:35]
    (True, 'line 1 has the names of the columns')
    """
    row = FirstRow(rows[0], rows[1:], reading)
    verdict = next((said for rule in RULES if (said := rule(row)) is not None), EXAMPLE)
    if verdict.is_header is None:
        advice = "if it has the names of the columns, say --header"
        if not row.above_numbers:  # as an example, it could not be read
            advice += "; if it is an example, --no-header"
        raise DataFileError(f"{verdict.why}: {advice}", path, line, verdict.column)
    if verdict.is_header and verdict.why:
        note = f"line {line} has the names of the columns: {verdict.why} (--no-header makes it an "
        return True, (f"{note}example)",)
    return verdict.is_header, ()
