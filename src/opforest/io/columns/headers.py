"""Whether the first line of a table of text is a header: an ordered list of rules.

Each rule compares the first row with the rows below it, and returns a verdict or None: the row is
a header, it is an example, or the user must decide. The first verdict counts.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from opforest._utils.numerals import looks_like_number
from opforest.io.columns.column import FINITE, MISSING_NUMBER
from opforest.io.columns.label import LABEL_NAMES
from opforest.io.columns.roles import ID_NAME
from opforest.io.columns.table import Choice, ReadOptions, UndecidedError

#: Names that only a header has.
KNOWN_NAMES = {ID_NAME, *LABEL_NAMES}

#: How many numbers make a header: evenly spaced, or in order, beside a label that occurs once;
#: evenly spaced without such a label.
EVEN, ORDERED, EVEN_ALONE = 4, 7, 7

#: Fewer numbers than this prove nothing.
FEW = 3

_FINITE = re.compile(FINITE, re.ASCII)


def is_number(cell: str) -> bool:
    """Return whether a cell is a finite number, which no header has."""
    return bool(_FINITE.fullmatch(cell.strip()))


class Verdict(NamedTuple):
    """The answer of a rule: True for a header, False for an example, None to ask; and why."""

    is_header: bool | None
    why: str = ""
    column: int | None = None  #: the one that a question is about, counted from 1


HEADER, EXAMPLE = Verdict(True), Verdict(False)


@dataclass
class FirstRow:
    """The first row of a table, the rows below it, and the options."""

    head: list[str]
    others: list[list[str]]
    options: ReadOptions

    @cached_property
    def names(self) -> list[str]:
        """The cells, stripped and in lower case."""
        return [cell.strip().lower() for cell in self.head]

    @cached_property
    def below(self) -> list[Counter[str]]:
        """The cells below each cell, in the same way, with their frequencies."""
        columns = ([row[k] for row in self.others if k < len(row)] for k in range(len(self.head)))
        return [Counter(map(str.lower, map(str.strip, cells))) for cells in columns]

    @cached_property
    def numbers(self) -> list[int]:
        """The cells that are numbers, or are written like numbers below them."""
        return [
            k for k, name in enumerate(self.names)
            if is_number(name) or (looks_like_number(name) and any(
                looks_like_number(cell) and not is_number(cell) for cell in self.below[k]))
        ]  # fmt: skip

    @cached_property
    def words(self) -> list[int]:
        """The cells that are words."""
        numbers = set(self.numbers)
        return [k for k, name in enumerate(self.names)
                if name and name not in MISSING_NUMBER and k not in numbers]  # fmt: skip

    @cached_property
    def above_numbers(self) -> list[int]:
        """The words with nothing but numbers below them."""
        return [k for k in self.words if self.others
                and all(is_number(cell) or cell in MISSING_NUMBER for cell in self.below[k])
                and any(map(is_number, self.below[k]))]  # fmt: skip

    @cached_property
    def repeats(self) -> bool:
        """Whether a word occurs again below itself."""
        return any(self.names[k] in self.below[k] for k in self.words)

    @cached_property
    def is_alone(self) -> bool:
        """Whether no word occurs again, though words below them do."""
        counts = [[count for cell, count in self.below[k].items() if cell not in MISSING_NUMBER]
                  for k in self.words]  # fmt: skip
        return not self.repeats and any(
            sum(some) >= 2 and 2 * len(some) <= sum(some) + 1 for some in counts
        )

    def sequence(self, row: Sequence[str]) -> list[float]:
        """Return the numbers of a row in the columns where the first row has numbers."""
        cells = [row[k].strip() for k in self.numbers if k < len(row)]
        return [float(cell) for cell in cells if is_number(cell)]

    def has_alone(self, pattern: Callable[[list[float]], bool]) -> bool:
        """Return whether the first row alone has a pattern in its numbers."""
        return pattern(self.sequence(self.head)) and not any(
            pattern(self.sequence(row)) for row in self.others
        )

    @cached_property
    def counts(self) -> bool:
        """Whether the numbers count the columns, or themselves, from 0 or 1."""
        cells, places = [self.names[k] for k in self.numbers], range(len(self.numbers))
        counted = [self.numbers, places] if len(cells) > 1 else [self.numbers]
        return any(cells == [str(k + first) for k in some] for some in counted for first in (0, 1))

    @property
    def sample(self) -> str:
        """The first numbers, for messages."""
        cells = [self.head[k].strip() for k in self.numbers]
        return ", ".join(cells[:3]) + (", …" if len(cells) > 3 else "")


def is_even(numbers: list[float]) -> bool:
    """Return whether numbers have equal steps between them, up or down."""
    steps = [after - before for before, after in pairwise(numbers)]
    if len(steps) < FEW - 1 or steps[0] == 0:
        return False
    return all(abs(step - steps[0]) <= 1e-6 * abs(steps[0]) for step in steps)


def is_ordered(numbers: list[float]) -> bool:
    """Return whether numbers rise or fall strictly."""
    steps = [after - before for before, after in pairwise(numbers)]
    if len(numbers) < FEW:
        return False
    return all(step > 0 for step in steps) or all(step < 0 for step in steps)


# The rules.


def match_model(row: FirstRow) -> Verdict | None:
    """Recognize the names that a model expects."""
    names = row.options.expected.names if row.options.expected else None
    if not names or (len(names) < FEW and all(map(is_number, names))):
        return None
    return HEADER if set(names) <= {cell.strip() for cell in row.head} else None


def match_options(row: FirstRow) -> Verdict | None:
    """Recognize a name that an option names."""
    options = row.options
    named = {part.strip() for item in (options.label or "", *options.drop, *options.keep)
             for part in (item, *item.split(","))}  # fmt: skip
    words = ((row.head[k].strip(), row.below[k]) for k in row.words)
    is_named = any(word in named and word.lower() not in below for word, below in words)
    return HEADER if is_named else None


def judge_words(row: FirstRow) -> Verdict | None:
    """Take a row without numbers for a header, unless most of its words occur again below."""
    if row.numbers:
        return None
    again = sum(name in column for name, column in zip(row.names, row.below, strict=True) if name)
    return Verdict(2 * again < len(row.names) or not row.others)


def match_known_name(row: FirstRow) -> Verdict | None:
    """Recognize the name of a label, or ``id``, that does not occur below."""
    found = [k for k, name in enumerate(row.names) if name in KNOWN_NAMES]
    return HEADER if found and not any(row.names[k] in row.below[k] for k in found) else None


def ask_about_counting(row: FirstRow) -> Verdict | None:
    """Ask about a row that only counts the columns."""
    if row.others and len(row.numbers) == len(row.names) >= 5 and row.counts:
        return Verdict(None, f"the line counts the columns, {row.sample}")
    return None


def judge_words_above_numbers(row: FirstRow) -> Verdict | None:
    """Judge words in columns where all other rows have numbers."""
    words = row.above_numbers
    if not words:
        return None
    if row.counts or row.has_alone(is_even):
        return HEADER
    if len(row.others) > 1 and (len(words) > 1 or row.has_alone(is_ordered)):
        why = f"the line has numbers, but {row.head[words[0]]!r} where all others have numbers"
        return Verdict(None, why, words[0] + 1)
    return None


def judge_sequence(row: FirstRow) -> Verdict | None:
    """Judge numbers in order, with or without a word that occurs once."""
    n = len(row.numbers)
    if not row.words or row.above_numbers or not row.others:
        return None
    if row.repeats:
        return EXAMPLE
    why, sure = f"the numbers of the line are in order, {row.sample}", row.is_alone
    if sure:
        why += f", and {row.head[row.words[0]].strip()!r} does not occur below"
    is_long_even = row.has_alone(is_even) and n >= EVEN
    is_long_ordered = row.has_alone(is_ordered) and n >= ORDERED
    if (is_long_even and n >= (EVEN if sure else EVEN_ALONE)) or (sure and is_long_ordered):
        return Verdict(True, why)
    may_count = is_ordered(row.sequence(row.head)) or (n == FEW - 1 and row.counts)
    if (sure and may_count) or is_long_even or is_long_ordered:
        return Verdict(None, why)
    return None


def judge_rest(row: FirstRow) -> Verdict:
    """Take the row for an example; with a reason to doubt it, if there is one."""
    if not row.others or not row.words or not row.is_alone:
        return EXAMPLE
    return Verdict(False, f"{row.head[row.words[0]].strip()!r} does not occur below")


#: The rules, in order; the last one always answers.
RULES = (
    match_model,
    match_options,
    judge_words,
    match_known_name,
    ask_about_counting,
    judge_words_above_numbers,
    judge_sequence,
    judge_rest,
)


def find_header(
    rows: list[list[str]], options: ReadOptions, path: str, line: int
) -> tuple[bool, tuple[str, ...]]:
    """Return whether the first of these rows, on this line, is a header, with notes; or ask."""
    row = FirstRow(rows[0], rows[1:], options)
    verdicts = (rule(row) for rule in RULES)
    is_header, why, column = next(verdict for verdict in verdicts if verdict is not None)
    if is_header is None:
        raise _ask_header(row, why, path, line, column)
    if not why:
        return is_header, ()
    note = f"line {line} is read as an example, though {why} (--header makes it a header)"
    if is_header:
        note = f"line {line} has the names of the columns: {why} (--no-header makes it an example)"
    return is_header, (note,)


def _ask_header(
    row: FirstRow, why: str, path: str, line: int, column: int | None
) -> UndecidedError:
    shown = ",".join(row.head)
    shown = repr(f"{shown[:50]}…" if len(shown) > 50 else shown)
    advice = "It cannot be read as an example, so use --header"
    choices = [Choice({"header": True}, "--header", "names of columns, or at least no example")]
    if not row.above_numbers:  # as an example, it could not be read
        advice = "Use --header if it is, --no-header if it is an example"
        choices.append(Choice({"header": False}, "--no-header", "an example like the others"))
    reason = f"is {shown} a header? {why[0].upper()}{why[1:]}. {advice}"
    return UndecidedError(reason, path, f"What is line {line}, {shown}?", choices, line, column)
