"""Forms in which the numbers of a column are written: found for the whole column, or not at all."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from opforest._utils.numerals import PLAIN, STYLES, Affix, Cells, Form, affix_of
from opforest._utils.text import join_first
from opforest.io.columns.column import NUMBER, Column, is_mark, matches_all
from opforest.io.columns.table import Choice, ReadOptions, UndecidedError

#: Styles with a given decimal mark, the most general first: later cells may need it.
_BY_DECIMAL = {".": ("commas", "fortran", "blanks"), ",": ("points", "blanks comma")}


def find_forms(
    words: pl.Series, affix: Affix | None = None, decimal: str = "", guess: str = ""
) -> tuple[Form, ...]:
    """Return the form in which all cells are numbers: none, one, or two that differ in value.

    The affix is by default that of the first cell. ``decimal`` is the decimal mark, if known;
    ``guess`` is the one to assume where both are possible.

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
    known = known.filter(~is_mark(known))
    if affix is None and len(known):
        affix = affix_of(known[0])
    if affix is None or not len(known):
        return ()
    if affix == Affix() and bool(known.str.contains("^[+-]?[0-9]+$").all()):
        return (PLAIN,)
    forms = [Form(affix, name) for name in (_BY_DECIMAL[decimal] if decimal else STYLES)]
    fitting = [form for form in forms if _fits(known, form)]
    both = [form for form in fitting if form.style in ("comma", "commas")]
    if len(both) < 2 or fitting[0].style == "plain":
        return tuple(fitting[:1])
    return tuple(form for form in both if STYLES[form.style].decimal == guess) or tuple(both)


def _fits(words: pl.Series, form: Form) -> bool:
    return matches_all(words, NUMBER if form == PLAIN else form.pattern)


def detect_forms(columns: list[Column], options: ReadOptions, decimal: str) -> list[Column]:
    """Return the columns with the forms of their numbers and without marks of missing values.

    Where text must stay as it is written, there are no forms.
    """
    marks = (*options.na, *_trained_cells(options).missing)
    cleared = [mark_missing(column, marks) for column in columns]
    if options.lossless and options.categories:
        return cleared
    return [_with_form(column, None, options, decimal) for column in cleared]


def restore_affixes(
    columns: list[Column], features: Sequence[int], options: ReadOptions, decimal: str
) -> None:
    """Give features the affixes that they had in training; the style may differ."""
    assert options.expected is not None
    for place, k in enumerate(features):
        if place not in options.expected.text:
            affix = options.expected.cells.affixes.get(place + 1, Affix())
            column = replace(columns[k], form=PLAIN, ambiguous_forms=())
            columns[k] = _with_form(column, affix, options, decimal)


def _trained_cells(options: ReadOptions) -> Cells:
    return options.expected.cells if options.expected else Cells()


def _with_form(column: Column, affix: Affix | None, options: ReadOptions, decimal: str) -> Column:
    if column.declared == "category" or (not column.is_text and affix in (None, Affix())):
        return column
    known = options.decimal or ("," if decimal == "," else "")
    guess = decimal or _trained_cells(options).decimal
    forms = find_forms(column.words, affix, known, guess) if column.is_text else ()
    if forms:
        return replace(column, form=forms[0], ambiguous_forms=forms if len(forms) > 1 else ())
    return column if affix is None else replace(column, form=Form(affix))


def mark_missing(column: Column, marks: Sequence[str]) -> Column:
    """Return a column in which cells equal to one of the marks are missing."""
    cells = column.cells
    if column.is_text and marks:
        text = cells.cast(pl.String)
        return replace(column, cells=text.set(text.str.strip_chars().is_in(list(marks)), None))
    if not cells.dtype.is_numeric() or not marks:
        return column
    numbers = pl.Series(list(marks), dtype=pl.String).cast(pl.Float64, strict=False).drop_nulls()
    is_mark = cells.cast(pl.Float64, strict=False).is_in(numbers.to_list())
    return replace(column, cells=pl.select(pl.when(~is_mark).then(cells)).to_series())


def summarize_cells(columns: Sequence[Column], options: ReadOptions, had_commas: bool) -> Cells:
    """Return how the cells of these features are read, for later files."""
    trained = _trained_cells(options)
    text = [column for column in columns if column.is_text]
    affixes = {k: column.form.affix for k, column in enumerate(columns, 1)
               if column.is_text and column.form.affix != Affix()}  # fmt: skip
    styles = {column.form.style for column in text} - {"plain", "fortran"}
    marks = {STYLES[style].decimal for style in styles} | ({","} if had_commas else set())
    decimal = marks.pop() if len(marks) == 1 else trained.decimal
    return Cells(affixes, decimal, tuple(dict.fromkeys((*trained.missing, *options.na))))


def describe_forms(columns: Sequence[Column]) -> list[str]:
    """Return notes on marks of missing values, and on columns whose numbers are not plain."""
    marked = {mark: [one for one in columns if mark in one.marks]
              for mark in sorted({mark for one in columns for mark in one.marks})}  # fmt: skip
    notes = [f"{mark!r} among numbers means a missing value, in {join_first(where, 3)}"
             for mark, where in marked.items()]  # fmt: skip
    for column in columns:
        if column.form == PLAIN or not column.is_text or not len(column.formatted):
            continue
        cell = column.formatted[0]
        value = float(column.form.to_plain(cell) or "nan")
        kind = _find_simplest(column).description
        notes.append(f"{column} holds numbers ({kind}): {cell!r} is read as {value!r}")
    return notes


def _find_simplest(column: Column) -> Form:
    """Return the form of a column with the least general style."""
    affix, style = column.form
    forms = [Form(affix, name) for name, one in STYLES.items()
             if one.decimal == STYLES[style].decimal]  # fmt: skip
    return next((form for form in forms if _fits(column.formatted, form)), column.form)


def ask_decimal(columns: Sequence[Column], path: str) -> UndecidedError | None:
    """Return a question about the decimal mark of ambiguous columns, if there are any."""
    ambiguous = [column for column in columns if column.ambiguous_forms]
    if not ambiguous:
        return None
    cell = ambiguous[0].formatted[0]
    values = {STYLES[form.style].decimal: float(form.to_plain(cell) or "nan")
              for form in ambiguous[0].ambiguous_forms}  # fmt: skip
    point, comma = f"{values['.']:.15g}", f"{values[',']:.15g}"
    where = join_first(ambiguous)
    return UndecidedError(
        f"{where}: {cell!r} may be {point} or {comma}. Use --decimal . if the comma separates "
        "thousands, --decimal , if it is the decimal mark",
        path,
        f"Which number is {cell!r} in {where}?",
        [
            Choice({"decimal": "."}, "--decimal .", f"{point}: the comma separates thousands"),
            Choice({"decimal": ","}, "--decimal ,", f"{comma}: the comma is the decimal mark"),
        ],
    )
