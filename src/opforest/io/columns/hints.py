"""What to type where columns cannot be used as they are: each hint works as it is printed."""

from collections.abc import Sequence
from dataclasses import replace

from opforest._utils.numerals import NUMBER_LIKE, affix_of, looks_like_number
from opforest.io.columns.describe import Column, listed, quote
from opforest.io.columns.forms import find_forms
from opforest.io.columns.roles import Roles
from opforest.io.columns.table import ReadOptions

#: So many different words among numbers may be marks of missing values; more of them are text.
FEW_MARKS = 3

#: So many cells are looked at to say what is in a column.
_SOME = 1000


def explain_text(roles: Roles, reading: ReadOptions) -> str:
    """Say what is wrong with features that are not numbers, all of them, and what would help."""
    kinds = ("category", "text", "mixed", "date", "other")
    wrong = [column for column in roles.chosen if column.kind in kinds]
    words = [column for column in wrong if column.kind in ("category", "text")]
    mixed = [column for column in wrong if column.kind == "mixed"]
    shown = listed([f"{column.option} ({column.distinct} values)" for column in words], 20)
    told = (
        f"{'these columns hold' if len(words) > 1 else 'this column holds'} text, which has no "
        f"distances: {shown}."
    )
    if mixed:
        told += f" Also, {'; '.join(_mixture(column) for column in mixed[:3])}."
    return f"{told} {_advice(roles, reading, wrong)}"


def explain_mixed(column: Column, roles: Roles, reading: ReadOptions) -> str:
    """Say what would help against cells among numbers that are none."""
    mixed = [one for one in roles.chosen if one.kind == "mixed" and one.number != column.number]
    marks, chosen = _marks(column), [column, *mixed]
    if marks and reading.remedy:
        shown = " or ".join(map(repr, marks))
        return f"; if {shown} stands for a missing value: {_advice(roles, reading, chosen)}"
    advice = _advice(roles, reading, chosen)
    return f"; {_mixture(column)}, or leave out what has no numbers: {advice}"


def explain_missing(missing: Sequence[Column], reading: ReadOptions) -> str:
    """Say what would help against missing cells in these columns of numbers."""
    if reading.expected is not None:
        return "the model was trained without --missing median, which would fill them"
    if reading.remedy == "here" and not reading.lossless:
        return "--missing median fills them, --missing drop leaves these rows out"
    if reading.remedy == "store":
        return "a store created with --missing median fills them"
    return f"fill them in, or leave these columns out:{_drop(missing)}"


def explain_no_features(roles: Roles) -> str:
    """Say what became of all columns, and what to type where one of them is a feature."""
    columns, label, ids = roles.columns, roles.label, roles.id
    used = [] if label is None else [f"{columns[label]} is the label"]
    used += [] if ids is None else [f"{columns[ids]} is the id"]
    used += [f"{columns[k]} is left out ({why})" for k, why in roles.left_out.items()]
    kept = [k for k, why in roles.left_out.items() if why.startswith("an id")]
    kept += [] if ids is None else [ids]
    kept = [k for k in kept if columns[k].kind in ("number", "whole number")]
    advice = f"; --keep {columns[kept[-1]].option} takes it in" if kept else ""
    if not roles.left_out and roles.why and not kept:
        advice = "; --label names another column, or none"
    return f"there is no column of features: {listed(used)}{advice}"


def in_likely_form(column: Column) -> Column:
    """Return a column with the form of those of its cells that are numbers, if they have one."""
    words = column.words
    forms = find_forms(words.filter(words.str.contains(NUMBER_LIKE)))
    return replace(column, form=forms[0]) if len(forms) == 1 else column


# What the advice is made of.


def _advice(roles: Roles, reading: ReadOptions, wrong: Sequence[Column]) -> str:
    """Return all options together that make these columns usable."""
    can_prepare = reading.remedy != "" and not reading.lossless
    has_na = {column.number for column in wrong if can_prepare and _marks(column)}
    encoded = {column.number for column in wrong if can_prepare and column.kind == "category"}
    dropped = [column for column in wrong if column.number not in encoded | has_na]
    gone = {column.number for column in dropped}
    missing = can_prepare and not reading.allow_missing and (has_na or any(
        column.missing for column in roles.chosen if column.number not in gone))  # fmt: skip
    marks = dict.fromkeys(m for column in wrong if column.number in has_na for m in _marks(column))
    here = "".join(f" --na {quote(mark)}" for mark in marks) + _drop(dropped)
    prepared = " --encode onehot" if encoded else ""
    prepared += " --missing median" if missing else ""
    if reading.remedy != "store":
        return f"Add{prepared}{here}"
    made = [f"Create the store with{prepared}"] if prepared else []
    return "; ".join([*made, *([f"add{here}"] if here else [])])


def _drop(columns: Sequence[Column]) -> str:
    """Return the options that leave columns out; a name that has a comma comes by itself."""
    names = [column.name or str(column.number) for column in columns]
    plain = [name for name in names if "," not in name]
    together = [",".join(plain)] if plain else []
    return "".join(f" --drop {quote(name)}"
                   for name in [*together, *(name for name in names if "," in name)])  # fmt: skip


def _odd(column: Column) -> list[str]:
    """Return some of the different cells that are no numbers, in their order."""
    odd = column.words.filter(column.bad).head(_SOME).unique(maintain_order=True)
    return [str(cell) for cell in odd]


def _marks(column: Column) -> list[str]:
    """Return the few words among numbers that may stand for missing values."""
    odd = _odd(in_likely_form(column)) if column.kind == "mixed" else []
    return odd if len(odd) <= FEW_MARKS and not any(map(looks_like_number, odd)) else []


def _mixture(column: Column) -> str:
    """Say what a column of numbers and other things has in it."""
    column = in_likely_form(column)
    odd = _odd(column)
    proper = column.words.filter(column.numbers.is_not_null()).head(1).to_list()
    likely = [cell for cell in [*proper, *odd] if looks_like_number(cell)]
    if len(likely) > len(proper):
        ways = {affix_of(cell): cell for cell in reversed(likely)}
        shown = list(reversed(ways.values())) if len(ways) > 1 else likely
        return f"{column} writes its numbers in several ways, {_some(shown)}: write them in one"
    if _marks(column):
        marks = " or ".join(map(repr, odd))
        return f"{column} holds numbers and {marks}, which may stand for a missing value"
    return f"{column} mixes numbers and text, {_some([*proper, *odd])}: correct these cells"


def _some(cells: Sequence[str]) -> str:
    shown = [cell if len(cell) <= 30 else f"{cell[:30]}…" for cell in cells[:3]]
    return " and ".join(map(repr, shown))
