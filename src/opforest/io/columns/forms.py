"""In which form the numbers of a column are written: found for the whole column, or not at all."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from opforest._utils.numerals import PLAIN, STYLES, Affix, Cells, Form, affix_of
from opforest.io.columns.describe import NUMBER, Column, listed
from opforest.io.columns.table import ReadOptions

#: With a decimal mark that was told, the most general style comes first: later cells may need it.
_BY_DECIMAL = {".": ("commas", "fortran", "blanks"), ",": ("points", "blanks comma")}


def find_forms(
    words: pl.Series, affix: Affix | None = None, decimal: str = "", guess: str = ""
) -> tuple[Form, ...]:
    """Return the form in which all cells are numbers: none, one, or two that differ in value.

    Parameters
    ----------
    words : polars.Series
        The cells, stripped; null where one is missing.
    affix : Affix, default=None
        What must stand around the numbers; by default, what stands around the first.
    decimal : {"", ".", ","}
        What the decimal mark must be, if that is known.
    guess : {"", ".", ","}
        What it is where both are possible.

    Examples
    --------
    >>> import polars as pl
    >>> from opforest.io.columns.forms import find_forms
    >>> [form.description for form in find_forms(pl.Series(["$1,200.50", "$7"]))]
    ['amounts in $, thousands separators']
    >>> [form.style for form in find_forms(pl.Series(["1,200", "3,500"]))]
    ['comma', 'commas']
    """
    known = words.drop_nulls()
    known = known.filter(known.str.to_lowercase() != "none")
    around = affix_of(known[0]) if affix is None and len(known) else affix
    if around is None or not len(known):
        return ()
    if around == Affix() and bool(known.str.contains("^[+-]?[0-9]+$").all()):
        return (PLAIN,)
    forms = [Form(around, name) for name in (_BY_DECIMAL[decimal] if decimal else STYLES)]
    fitting = [form for form in forms if _fits(known, form)]
    both = [form for form in fitting if form.style in ("comma", "commas")]
    if len(both) < 2 or fitting[0].style == "plain":
        return tuple(fitting[:1])
    return tuple(form for form in both if STYLES[form.style].decimal == guess) or tuple(both)


def _fits(words: pl.Series, form: Form) -> bool:
    if form == PLAIN:
        return bool(words.head(20).str.contains(NUMBER).all() and words.str.contains(NUMBER).all())
    pattern = form.pattern
    return bool(words.head(20).str.contains(pattern).all() and words.str.contains(pattern).all())


def undisguise(columns: list[Column], reading: ReadOptions, decimal: str) -> list[Column]:
    """Return the columns with the forms of their numbers, and without marks of missing values.

    Where text is to be kept as it is written, there are no forms.
    """
    before = Cells() if reading.expected is None else reading.expected.cells
    cleared = [clear(column, (*reading.na, *before.missing)) for column in columns]
    if reading.lossless and reading.categories:
        return cleared
    must = reading.decimal or ("," if decimal == "," else "")
    guess = decimal or before.decimal
    return [_with_form(column, None, must, guess) for column in cleared]


def undisguise_features(
    columns: list[Column], features: Sequence[int], reading: ReadOptions, decimal: str
) -> None:
    """Give features what stood around their numbers in training; a style may be another."""
    expected = reading.expected
    if expected is None:
        return
    must = reading.decimal or ("," if decimal == "," else "")
    for place, k in enumerate(features):
        if place not in expected.text:
            affix = expected.cells.affixes.get(place + 1, Affix())
            guess = decimal or expected.cells.decimal
            columns[k] = _with_form(replace(columns[k], form=PLAIN, doubts=()), affix, must, guess)


def _with_form(column: Column, affix: Affix | None, decimal: str, guess: str) -> Column:
    if column.declared == "category" or (not column.is_text and affix in (None, Affix())):
        return column
    forms = find_forms(column.words, affix, decimal, guess) if column.is_text else ()
    if forms:
        return replace(column, form=forms[0], doubts=forms if len(forms) > 1 else ())
    return column if affix is None else replace(column, form=Form(affix))


def clear(column: Column, marks: Sequence[str]) -> Column:
    """Return a column in which these cells are missing."""
    cells = column.cells
    if not marks:
        return column
    if column.is_text:
        text = cells.cast(pl.String)
        return replace(column, cells=text.set(text.str.strip_chars().is_in(list(marks)), None))
    if not cells.dtype.is_numeric():
        return column
    numbers = pl.Series(list(marks), dtype=pl.String).cast(pl.Float64, strict=False).drop_nulls()
    gone = cells.cast(pl.Float64, strict=False).is_in(numbers.to_list())
    return replace(column, cells=cells.to_frame("a").select(
        pl.when(~gone).then(pl.col("a")).otherwise(None))["a"])  # fmt: skip


def remember(columns: Sequence[Column], reading: ReadOptions, had_commas: bool) -> Cells:
    """Return what to remember of the cells of these columns, the features."""
    before = Cells() if reading.expected is None else reading.expected.cells
    affixes = {k: column.form.affix for k, column in enumerate(columns, 1)
               if column.is_text and column.form.affix != Affix()}  # fmt: skip
    styles = {column.form.style for column in columns if column.is_text}
    marks = {STYLES[style].decimal for style in styles - {"plain", "fortran"}}
    marks |= {","} if had_commas else set()
    decimal = marks.pop() if len(marks) == 1 else before.decimal
    return Cells(affixes, decimal, tuple(dict.fromkeys((*before.missing, *reading.na))))


def tell_forms(columns: Sequence[Column]) -> list[str]:
    """Return a note on each of the columns whose numbers are written otherwise than plainly."""
    notes = []
    for column in columns:
        if column.form == PLAIN or not column.is_text or not len(column.disguised):
            continue
        cell = column.disguised[0]
        value = float(column.form.to_plain(cell) or "nan")
        told = _simplest(column).description
        notes.append(f"{column} holds numbers ({told}): {cell!r} is read as {value!r}")
    return notes


def _simplest(column: Column) -> Form:
    """Return the form of a column with the least general style."""
    affix, style = column.form
    forms = [Form(affix, name) for name, one in STYLES.items()
             if one.decimal == STYLES[style].decimal]  # fmt: skip
    return next((form for form in forms if _fits(column.disguised, form)), column.form)


def ask_decimal(columns: Sequence[Column]) -> str:
    """Return the question which decimal mark columns have that can be read two ways; or ""."""
    doubtful = [column for column in columns if column.doubts]
    if not doubtful:
        return ""
    cell = doubtful[0].disguised[0]
    values = {STYLES[form.style].decimal: float(form.to_plain(cell) or "nan")
              for form in doubtful[0].doubts}  # fmt: skip
    names = listed([str(column) for column in doubtful])
    return (
        f"{names}: {cell!r} may be {values['.']:.15g} or {values[',']:.15g}. Say --decimal . if "
        "the comma separates thousands, --decimal , if it comes before the fraction"
    )
