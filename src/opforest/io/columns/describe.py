"""What the columns of a table are: numbers, categories, dates, ids; before any of them is used."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from opforest._utils.numerals import NUMBER_LIKE, PLAIN, STYLES, Affix, Form

#: What stands for a value that is not there, in lower case.
MISSING = ("", "?", "na", "n/a", "nan", "null")

#: In a column of numbers, this does, too; elsewhere it may be a category.
MISSING_NUMBER = (*MISSING, "none")

#: With fewer rows than this, nothing is unlikely.
FEW_ROWS = 10

#: So many cells NumPy counts sooner than polars is called.
FEW_CELLS = 1000

#: A first column of whole numbers of which so many differ is an id, or nearly one.
NEARLY_ALL = 0.9

NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$|^[+-]?(?i:inf|infinity)$"
WHOLE = r"^[+-]?\d+(\.0*)?$"
_DATE = (
    r"^\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([ T]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$"
    r"|^\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}([ T]\d{1,2}:\d{2}(:\d{2})?)?$|^\d{1,2}:\d{2}(:\d{2})?$"
)

#: Kinds of columns that a model can measure without further ado.
NUMERIC = ("number", "whole number", "boolean")

ID_NAMES = ("id", "ids", "index", "uid", "uuid", "rownames", "row_names")


@dataclass
class Column:
    """A column of a table.

    Attributes
    ----------
    number : int
        Its place, counted from 1.
    name : str or None
        Its name.
    cells : polars.Series
        What is in it.
    declared : str
        The kind that the file declares, "category" or "number"; "" if it does not.
    form : Form
        How its numbers are written, if it came as text.
    doubts : tuple of Form
        Forms in which all of its cells are numbers, but not the same ones.

    Examples
    --------
    >>> import polars as pl
    >>> from opforest.io.columns.describe import Column
    >>> column = Column(1, "color", pl.Series(["red", "?", "blue", "red"] * 5))
    >>> column.kind, column.distinct, column.missing
    ('category', 2, 5)
    """

    number: int
    name: str | None
    cells: pl.Series
    declared: str = ""
    form: Form = PLAIN
    doubts: tuple[Form, ...] = ()

    def __str__(self) -> str:
        """Return what an error calls it."""
        numbered = f"column {self.number}"  # a column without a name is called so as well
        return numbered if self.name in (None, numbered) else f"column {self.name!r}"

    @property
    def option(self) -> str:
        """What an option calls it."""
        return str(self.number) if self.name is None else quote(self.name)

    @property
    def is_text(self) -> bool:
        """Whether its cells came as text."""
        return self.cells.dtype in (pl.String, pl.Categorical) or self.cells.dtype == pl.Enum

    @cached_property
    def words(self) -> pl.Series:
        """The cells as text without blanks around them; null where one is missing."""
        text = self.cells.cast(pl.String).str.strip_chars()
        return text.set(text.str.to_lowercase().is_in(MISSING), None)

    @cached_property
    def numbers(self) -> pl.Series:
        """The cells as float64, or float32 if they are; null where there is no number."""
        if not self.is_text:
            if self.cells.dtype == pl.Float32:
                return self.cells
            return self.cells.cast(pl.Float64, strict=False)
        return self.plain.cast(pl.Float64, strict=False)

    @cached_property
    def plain(self) -> pl.Series:
        """The numbers in cells of text as Python writes them; null where there is no number."""
        text, form = self.words, self.form
        if form == PLAIN:
            return text.set(~text.str.contains(NUMBER), None)
        style = STYLES[form.style]
        proper = text.set(~text.str.contains(form.pattern), None)
        bare = proper.str.replace(form.pattern, "${sign}${inner}${number}")
        for mark in style.groups:
            bare = bare.str.replace_all(mark, "", literal=True)
        return bare.str.replace(style.decimal, ".", literal=True).str.replace("[dD]", "e")

    @cached_property
    def disguised(self) -> pl.Series:
        """The cells that are numbers by the form of the column only."""
        plain = self.words.str.contains(NUMBER)
        return self.words.filter(self.numbers.is_not_null() & ~plain)

    @cached_property
    def bad(self) -> pl.Series:
        """Tell which cells are neither numbers nor missing."""
        if not self.is_text:  # bare numbers mean something else than those of a form
            is_bare = self.form.affix != Affix()
            return self.cells.is_not_null() & pl.repeat(is_bare, len(self.cells), eager=True)
        words = self.words.is_not_null() & (self.words.str.to_lowercase() != "none")
        return (words & self.numbers.is_null()).fill_null(False)

    @cached_property
    def kind(self) -> str:
        """One of number, whole number, boolean, category, text, date, mixed, empty, other."""
        dtype = self.cells.dtype
        if self.cells.null_count() == len(self.cells):
            return "empty"
        if not self.is_text and self.form.affix != Affix():
            return "mixed"
        if dtype == pl.Boolean:
            return "boolean"
        if dtype.is_integer():
            return "whole number"
        if dtype.is_float():
            return "whole number" if _is_whole(self.cells.to_numpy()) else "number"
        if dtype.is_temporal():
            return "date"
        return self._kind_of_text() if self.is_text else "other"

    def _kind_of_text(self) -> str:
        words = self.words.drop_nulls()
        if len(words) == 0:
            return "empty"
        if self.declared == "category":
            return "category"
        if set(words.head(20).str.to_lowercase()) <= {"true", "false"} and bool(
            words.str.to_lowercase().is_in(["true", "false"]).all()
        ):
            return "boolean"
        if not self.bad.any():
            known = self.numbers.drop_nulls()
            is_whole = self.form.affix == Affix() and len(known) and (known == known.round()).all()
            return "whole number" if is_whole else "number"
        if 2 * int(words.str.contains(NUMBER_LIKE).sum()) >= len(words) or self.declared:
            return "mixed"
        if bool(words.head(20).str.contains(_DATE).all()) and words.str.contains(_DATE).all():
            return "date"
        return "category" if len(words) < FEW_ROWS or 2 * self.distinct <= len(words) else "text"

    @cached_property
    def distinct(self) -> int:
        """The number of different values."""
        cells = self.words if self.is_text else self.cells
        if cells.dtype.is_numeric() and len(cells) <= FEW_CELLS and not cells.null_count():
            return len(np.unique(cells.to_numpy()))
        return int(cells.drop_nulls().n_unique())

    @cached_property
    def missing(self) -> int:
        """The number of cells that are missing."""
        cells = self.words if self.is_text else self.cells
        if cells.dtype.is_float():
            return int(np.isnan(cells.to_numpy()).sum())  # null is NaN there
        return cells.null_count()

    @cached_property
    def why_id(self) -> str:
        """Why it looks like an id; empty if it does not."""
        n = len(self.cells)
        named = self.name is not None and self.name.lower() in ID_NAMES
        if named and (n < FEW_ROWS or self.distinct == n - self.missing):
            return "called so"
        if n < FEW_ROWS or self.missing:
            return ""
        if self.kind == "whole number":
            whole = self.numbers
            if _steps_by_one(whole):
                return "running numbers"
            if self.number == 1 and self.distinct == n:
                return "whole numbers in the first column, no two the same"
        if self.kind == "text" and self.distinct == n:
            return "text, no two the same"
        return ""

    @property
    def is_nearly_id(self) -> bool:
        """Whether it may be an id all the same: too many values in the first column."""
        n = len(self.cells)
        return (
            self.number == 1 and n >= FEW_ROWS and not self.why_id
            and self.kind == "whole number" and self.distinct >= NEARLY_ALL * n
        )  # fmt: skip

    @property
    def may_be_label(self) -> bool:
        """Whether it may be taken for the label though nothing says so."""
        is_one = len(self.cells) >= FEW_ROWS and self.distinct < 2
        kinds = ("category", "boolean", "whole number")
        may = self.kind in kinds or self.form != PLAIN
        return may and self.has_classes and not is_one

    @property
    def has_classes(self) -> bool:
        """Whether its values come again."""
        n = len(self.cells)
        if self.why_id or self.kind in ("date", "empty", "other"):
            return False
        return n < FEW_ROWS or 2 * self.distinct <= n


def _is_whole(cells: npt.NDArray[np.floating[Any]]) -> bool:
    """Tell whether all numbers are whole, and there is one.

    By NumPy: a call of polars takes much longer where there are many columns and few rows.
    """
    known = cells[~np.isnan(cells)]
    head = known[:100]
    return len(known) > 0 and bool((head == head.round()).all() and (known == known.round()).all())


def _steps_by_one(numbers: pl.Series) -> bool:
    first, last = numbers[0], numbers[-1]
    if first is None or last is None or abs(last - first) != len(numbers) - 1:
        return False
    return bool((numbers.diff().drop_nulls().abs() == 1).all())


def describe(
    frame: pl.DataFrame, names: Sequence[str] | None, declared: Mapping[int, str]
) -> list[Column]:
    """Return the columns of a data frame; their names are those given."""
    return [
        Column(k + 1, None if names is None else names[k], cells, declared.get(k, ""))
        for k, cells in enumerate(frame.iter_columns())
    ]


def quote(word: str) -> str:
    """Return a word as a shell takes it."""
    import shlex

    return shlex.quote(word)


def listed(items: Sequence[object], most: int = 8) -> str:
    """Return some of the items, and how many more there are."""
    shown = ", ".join(map(str, items[:most]))
    return shown if len(items) <= most else f"{shown} and {len(items) - most} more"
