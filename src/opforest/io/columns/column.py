"""Columns of a table and their kinds: numbers, categories, dates, ids."""

import shlex
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from opforest._utils.numerals import NUMBER_LIKE, PLAIN, STYLES, Affix, Form
from opforest.io.columns.table import Table

#: Marks of a missing value, in lower case.
MISSING = ("", "?", "na", "n/a", "nan", "null")

#: Those in a column of numbers; elsewhere "none" may be a category.
MISSING_NUMBER = (*MISSING, "none")

#: More of them, which spreadsheets and statistical programs write among numbers.
MARKS = ("none", "-", "--", ".", "*", "#n/a", "#n/a n/a", "#na", "#div/0!", "#value!", "#ref!",
         "#name?", "#num!", "#null!")  # fmt: skip

#: With fewer rows than this, no coincidence is unlikely.
FEW_ROWS = 10

#: Up to this many cells, NumPy counts faster than a call to polars takes.
FEW_CELLS = 1000

#: A first column of integers with at least this fraction of distinct values may be an id.
NEARLY_ALL = 0.9

#: Regular expressions for numbers in Python's notation: a finite one, and any.
FINITE = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
NUMBER = rf"^{FINITE}$|^[+-]?(?i:inf|infinity)$"
_DATE = (
    r"^\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([ T]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$"
    r"|^\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}([ T]\d{1,2}:\d{2}(:\d{2})?)?$|^\d{1,2}:\d{2}(:\d{2})?$"
)

#: Kinds of columns that need no preparation.
NUMBERS = ("number", "whole number")
NUMERIC = (*NUMBERS, "boolean")

ID_NAMES = ("id", "ids", "index", "uid", "uuid", "rownames", "row_names")


@dataclass
class Column:
    """A column of a table."""

    number: int  #: counted from 1
    name: str | None
    cells: pl.Series
    declared: str = ""  #: the kind that the file declares: "category", "number" or ""
    form: Form = PLAIN  #: how numbers are written in cells of text
    ambiguous_forms: tuple[Form, ...] = ()  #: forms in which all cells are numbers, but not equal

    def __str__(self) -> str:
        """Return its name in messages."""
        numbered = f"column {self.number}"  # also the name of a column without one
        return numbered if self.name in (None, numbered) else f"column {self.name!r}"

    @property
    def option(self) -> str:
        """Its name on the command line."""
        return str(self.number) if self.name is None else shlex.quote(self.name)

    @property
    def is_text(self) -> bool:
        """Whether its cells are text."""
        return self.cells.dtype in (pl.String, pl.Categorical, pl.Enum)

    @cached_property
    def words(self) -> pl.Series:
        """The cells as stripped text; null where missing."""
        text = self.cells.cast(pl.String).str.strip_chars()
        return text.set(text.str.to_lowercase().is_in(MISSING), None)

    @cached_property
    def numbers(self) -> pl.Series:
        """The cells as floats; null where there is no number."""
        if self.cells.dtype == pl.Float32:
            return self.cells
        return (self.plain if self.is_text else self.cells).cast(pl.Float64, strict=False)

    @cached_property
    def plain(self) -> pl.Series:
        """The numbers in cells of text as Python writes them; null where there is no number."""
        text, form = self.words, self.form
        if form == PLAIN:
            return text.set(~text.str.contains(NUMBER), None)
        style = STYLES[form.style]
        matching = text.set(~text.str.contains(form.pattern), None)
        bare = matching.str.replace(form.pattern, "${sign}${inner}${number}")
        for mark in style.groups:
            bare = bare.str.replace_all(mark, "", literal=True)
        return bare.str.replace(style.decimal, ".", literal=True).str.replace("[dD]", "e")

    @cached_property
    def formatted(self) -> pl.Series:
        """The cells that are numbers only in the form of the column."""
        return self.words.filter(self.numbers.is_not_null() & ~self.words.str.contains(NUMBER))

    @cached_property
    def is_invalid(self) -> pl.Series:
        """Whether each cell is neither a number nor missing."""
        if not self.is_text:  # a bare number has not the unit of the column
            is_bare = self.form.affix != Affix()
            return self.cells.is_not_null() & pl.repeat(is_bare, len(self.cells), eager=True)
        known = self.words.is_not_null() & ~is_mark(self.words)
        return (known & self.numbers.is_null()).fill_null(False)

    @cached_property
    def marks(self) -> list[str]:
        """The marks of missing values among its numbers that other columns do not know."""
        if not self.is_text or self.kind not in NUMBERS:
            return []
        found = self.words.filter(is_mark(self.words)).unique(maintain_order=True)
        return [mark for mark in found if mark.lower() != "none"]

    @cached_property
    def kind(self) -> str:
        """One of number, whole number, boolean, category, text, date, mixed, empty, other."""
        dtype = self.cells.dtype
        if self.cells.null_count() == len(self.cells):
            return "empty"
        if self.is_text:
            return self._find_kind_of_text()
        if self.form.affix != Affix():
            return "mixed"
        if dtype == pl.Boolean:
            return "boolean"
        if dtype.is_integer():
            return "whole number"
        if dtype.is_float():  # NumPy is much faster where there are many columns and few rows
            known = self.cells.to_numpy()
            known = known[~np.isnan(known)]
            parts = (known[:100], known)
            is_whole = len(known) and all((part == part.round()).all() for part in parts)
            return "whole number" if is_whole else "number"
        return "date" if dtype.is_temporal() else "other"

    def _find_kind_of_text(self) -> str:
        words = self.words.drop_nulls()
        if len(words) == 0:
            return "empty"
        if self.declared == "category":
            return "category"
        if matches_all(words, "^(?i-u:true|false)$"):
            return "boolean"
        if not self.is_invalid.any():
            known = self.numbers.drop_nulls()
            if not len(known):
                return "empty"
            is_whole = self.form.affix == Affix() and (known == known.round()).all()
            return "whole number" if is_whole else "number"
        if 2 * int(words.str.contains(NUMBER_LIKE).sum()) >= len(words) or self.declared:
            return "mixed"
        if matches_all(words, _DATE):
            return "date"
        return "category" if len(words) < FEW_ROWS or 2 * self.distinct <= len(words) else "text"

    @cached_property
    def distinct(self) -> int:
        """The number of distinct values."""
        cells = self.words if self.is_text else self.cells
        if cells.dtype.is_numeric() and len(cells) <= FEW_CELLS and not cells.null_count():
            return len(np.unique(cells.to_numpy()))
        if cells.dtype.is_integer() and not cells.null_count() and len(cells):
            least = int(cells.min())  # type: ignore[arg-type]
            if int(cells.max()) - least < len(cells):  # type: ignore[arg-type]
                return int(np.count_nonzero(np.bincount((cells - least).to_numpy())))
        return int(cells.drop_nulls().n_unique())

    @cached_property
    def missing(self) -> int:
        """The number of missing cells."""
        if self.is_text:  # "none" is missing among numbers
            return (self.numbers if self.kind in NUMBERS else self.words).null_count()
        if self.cells.dtype.is_float():
            return int(np.isnan(self.cells.to_numpy()).sum())  # null is NaN there
        return self.cells.null_count()

    @cached_property
    def id_reason(self) -> str:
        """Why it looks like an id, by the first of ``ID_RULES`` that applies; else ""."""
        return next((reason for reason, rule in ID_RULES.items() if rule(self)), "")

    @property
    def has_many_rows(self) -> bool:
        """Whether there are enough rows to judge by its values."""
        return len(self.cells) >= FEW_ROWS

    @property
    def is_nearly_id(self) -> bool:
        """Whether it may be an id though no rule applies: a first column of distinct integers."""
        return (
            self.number == 1 and self.has_many_rows and not self.id_reason
            and self.kind == "whole number" and self.distinct >= NEARLY_ALL * len(self.cells)
        )  # fmt: skip

    @property
    def may_be_label(self) -> bool:
        """Whether it looks like a label, whatever its name."""
        is_discrete = self.kind in ("category", "boolean", "whole number") or self.form != PLAIN
        return is_discrete and self.has_classes and not (self.has_many_rows and self.distinct < 2)

    @property
    def has_classes(self) -> bool:
        """Whether its values repeat."""
        if self.id_reason or self.kind in ("date", "empty", "other"):
            return False
        return not self.has_many_rows or 2 * self.distinct <= len(self.cells)


# Rules for ids.


def _has_id_name(column: Column) -> bool:
    if (column.name or "").lower() not in ID_NAMES:
        return False
    return not column.has_many_rows or column.distinct == len(column.cells) - column.missing


def _is_running(column: Column) -> bool:
    if not column.has_many_rows or column.missing or column.kind != "whole number":
        return False
    ends = (column.numbers if column.is_text else column.cells)[[0, -1]].to_list()
    if abs(ends[1] - ends[0]) != len(column.cells) - 1:
        return False
    numbers = column.numbers
    return bool((numbers.diff().drop_nulls().abs() == 1).all())


def _is_unique(column: Column, kind: str) -> bool:
    return (
        column.has_many_rows and not column.missing and column.kind == kind
        and column.distinct == len(column.cells)
    )  # fmt: skip


#: Reasons to take a column for an id, in order.
ID_RULES = {
    "called so": _has_id_name,
    "running numbers": _is_running,
    "whole numbers in the first column, no two the same": lambda column: (
        column.number == 1 and _is_unique(column, "whole number")
    ),
    "text, no two the same": lambda column: _is_unique(column, "text"),
}


def is_mark(words: pl.Series) -> pl.Series:
    """Return whether each cell means a missing value if the column holds numbers."""
    return words.str.to_lowercase().is_in(MARKS).fill_null(False)


def matches_all(words: pl.Series, pattern: str) -> bool:
    """Return whether all cells match a pattern; the first ones are cheap to check."""
    return all(bool(part.str.contains(pattern).all()) for part in (words.head(20), words))


def describe_columns(frame: pl.DataFrame, table: Table) -> list[Column]:
    """Return the columns in some rows of a table."""
    return [
        Column(k + 1, table.names[k] if table.names else None, cells, table.declared.get(k, ""))
        for k, cells in enumerate(frame.iter_columns())
    ]
