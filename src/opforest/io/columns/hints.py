"""Options that make unusable columns usable: each hint works as it is printed."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace

from opforest._utils.numerals import NUMBER_LIKE, affix_of, looks_like_number
from opforest._utils.text import count, join_first
from opforest.io.columns.column import Column
from opforest.io.columns.forms import find_forms
from opforest.io.columns.roles import Roles
from opforest.io.columns.table import ReadOptions

#: Up to this many distinct words among numbers may be marks of missing values.
FEW_MARKS = 3

#: Number of cells that are examined in a column.
_SAMPLE = 1000


def explain_text(roles: Roles, options: ReadOptions) -> str:
    """Return an error message about all features that are not numbers."""
    kinds = ("category", "text", "mixed", "date", "other")
    wrong = [column for column in roles.feature_columns if column.kind in kinds]
    text = [column for column in wrong if column.kind in ("category", "text")]
    mixed = [column for column in wrong if column.kind == "mixed"]
    named = [f"{column.option} ({count(column.distinct, 'value')})" for column in text]
    shown = join_first(named, 20)
    noun = "these columns hold" if len(text) > 1 else "this column holds"
    message = f"{noun} text, which has no distances: {shown}."
    if mixed:
        message += f" Also, {'; '.join(map(_describe_mixture, mixed[:3]))}."
    return f"{message} {_advise(roles, options, wrong)}"


def explain_mixed(column: Column, roles: Roles, options: ReadOptions) -> str:
    """Return advice about cells among numbers that are not numbers."""
    wrong = [column, *(one for one in roles.feature_columns
                       if one.kind == "mixed" and one.number != column.number)]  # fmt: skip
    advice = _advise(roles, options, wrong)
    if (marks := _find_marks(column)) and options.remedy:
        return f"; if {' or '.join(map(repr, marks))} stands for a missing value: {advice}"
    return f"; {_describe_mixture(column)}, or leave out columns without numbers: {advice}"


def explain_missing(missing: Sequence[Column], options: ReadOptions) -> str:
    """Return advice about missing cells in these columns of numbers."""
    if options.remedy == "store":
        return "fill them in, or create the store with --missing median, which does"
    if options.expected is not None:
        advice = ", or train the model with --missing median, which does"
        return f"fill them in{advice if options.remedy else ''}"
    if options.remedy == "here" and not options.lossless:
        return "--missing median fills them, --missing drop leaves these rows out"
    return f"fill them in, or leave these columns out:{_format_drop(missing)}"


def explain_no_features(roles: Roles) -> str:
    """Return an error message that lists the role of each column."""
    columns, label, ids = roles.columns, roles.label, roles.id
    used = [] if label is None else [f"{columns[label]} is the label"]
    used += [] if ids is None else [f"{columns[ids]} is the id"]
    used += [f"{columns[k]} is left out ({why})" for k, why in roles.left_out.items()]
    kept = [k for k, why in roles.left_out.items() if why.startswith("an id")]
    kept += [] if ids is None else [ids]
    kept = [k for k in kept if columns[k].kind in ("number", "whole number")]
    advice = f"; --keep {columns[kept[-1]].option} makes it a feature" if kept else ""
    if not roles.left_out and roles.why and not kept:
        advice = "; --label names another column, or none"
    return f"there is no column of features: {join_first(used)}{advice}"


def guess_form(column: Column) -> Column:
    """Return a column with the form of those of its cells that are numbers, if they share one."""
    words = column.words
    forms = find_forms(words.filter(words.str.contains(NUMBER_LIKE)))
    return replace(column, form=forms[0]) if len(forms) == 1 else column


def _advise(roles: Roles, options: ReadOptions, wrong: Sequence[Column]) -> str:
    """Return all options that together make these columns usable."""
    can_prepare = options.remedy != "" and not options.lossless
    marks = {column.number: _find_marks(column) for column in wrong if can_prepare}
    encoded = {column.number for column in wrong if can_prepare and column.kind == "category"}
    dropped = {column.number: column for column in wrong
               if column.number not in encoded and not marks.get(column.number)}  # fmt: skip
    has_missing = any(marks.values()) or any(
        column.missing for column in roles.feature_columns if column.number not in dropped
    )
    prepared = " --encode onehot" if encoded else ""
    if can_prepare and not options.allow_missing and has_missing:
        prepared += " --missing median"
    distinct = dict.fromkeys(mark for some in marks.values() for mark in some)
    here = "".join(f" --na {shlex.quote(mark)}" for mark in distinct)
    here += _format_drop(dropped.values())
    if options.remedy != "store":
        return f"Add{prepared}{here}"
    steps = {"Create the store with": prepared, "add": here}
    return "; ".join(f"{verb}{added}" for verb, added in steps.items() if added)


def _format_drop(columns: Iterable[Column]) -> str:
    """Return the options that leave columns out; a name with a comma needs its own."""
    names = [column.name or str(column.number) for column in columns]
    plain = ",".join(name for name in names if "," not in name)
    values = [plain, *(name for name in names if "," in name)]
    return "".join(f" --drop {shlex.quote(value)}" for value in values if value)


def _find_invalid(column: Column) -> list[str]:
    """Return some of the distinct cells that are not numbers, in their order."""
    cells = column.words.filter(column.is_invalid).head(_SAMPLE).unique(maintain_order=True)
    return [str(cell) for cell in cells]


def _find_marks(column: Column) -> list[str]:
    """Return the few words among numbers that may stand for missing values."""
    invalid = _find_invalid(guess_form(column)) if column.kind == "mixed" else []
    are_marks = len(invalid) <= FEW_MARKS and not any(map(looks_like_number, invalid))
    return invalid if are_marks else []


def _describe_mixture(column: Column) -> str:
    """Return what a column of numbers and other cells holds."""
    column = guess_form(column)
    invalid = _find_invalid(column)
    valid = column.words.filter(column.numbers.is_not_null()).head(1).to_list()
    likely = [cell for cell in [*valid, *invalid] if looks_like_number(cell)]
    if len(likely) > len(valid):
        by_affix = {affix_of(cell): cell for cell in reversed(likely)}
        shown = list(reversed(by_affix.values())) if len(by_affix) > 1 else likely
        return f"{column} writes its numbers in several ways, {_show(shown)}: write them in one"
    if _find_marks(column):
        marks = " or ".join(map(repr, invalid))
        return f"{column} holds numbers and {marks}, which may stand for a missing value"
    return f"{column} mixes numbers and text, {_show([*valid, *invalid])}: correct these cells"


def _show(cells: Sequence[str]) -> str:
    return " and ".join(repr(cell if len(cell) <= 30 else f"{cell[:30]}…") for cell in cells[:3])
