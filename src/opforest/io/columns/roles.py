"""Which column of a table is the label, which the id, and which are features, and why.

The label is never guessed silently: a choice that nobody made comes with a note, and where several
columns would do, the error lists them with what to type.
"""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from opforest._utils.interrupts import defer_interrupts
from opforest._utils.numerals import Cells
from opforest.errors import DataFileError
from opforest.io.columns.describe import FEW_ROWS, Column, listed
from opforest.io.columns.forms import remember, tell_forms, undisguise, undisguise_features
from opforest.io.columns.table import InputSchema, ReadOptions

#: Names of columns that hold the label, if no other is named; case does not matter.
LABEL_NAMES = ("label", "target", "class", "species", "outcome", "diagnosis")

#: Those that mean nothing else, wherever they stand.
CERTAIN_NAMES = ("label", "target")

#: The name of a column that is never a feature.
ID_NAME = "id"


@dataclass
class Roles:
    """What each column is used for; columns are named by their index.

    Attributes
    ----------
    features : list of int
        The features, in the order in which a model takes them.
    label, id : int or None
        The label and the id.
    left_out : dict of int to str
        The others, and why they are left out.
    why : str
        Why the label is the label; empty if it was named.
    notes : list of str
        What a person should know.
    cells : Cells
        How the cells of features are read, for files like this one.
    """

    columns: list[Column]
    features: list[int] = field(default_factory=list)
    label: int | None = None
    id: int | None = None
    left_out: dict[int, str] = field(default_factory=dict)
    why: str = ""
    notes: list[str] = field(default_factory=list)
    question: str = ""  #: what to ask where a label is needed
    text: frozenset[int] = frozenset()  #: places among the features that hold text
    cells: Cells = field(default_factory=Cells)

    @property
    def chosen(self) -> list[Column]:
        """The columns of the features."""
        return [self.columns[k] for k in self.features]

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the features."""
        named = self.columns[0].name is not None
        return tuple(str(self.columns[k].name) for k in self.features) if named else None

    @property
    def layout(self) -> dict[str, Any]:
        """Where features and label stand, for files like this one."""
        name = None if self.label is None else self.columns[self.label].name
        cells = self.cells.to_data()
        return {
            "width": len(self.columns),
            "features": [k + 1 for k in self.features],
            "label": None if self.label is None else self.label + 1,
            "label_name": name,
            **({"cells": cells} if cells else {}),
        }


@defer_interrupts  # polars would swallow an interrupt
def choose_roles(
    columns: list[Column], reading: ReadOptions, path: str, *, apart: tuple[Any, ...] = (),
    decimal: str = "", had_commas: bool = False,
) -> Roles:  # fmt: skip
    """Say what the columns of a table are, or what must be told.

    Parameters
    ----------
    columns : list of Column
        The columns.
    reading : Reading
        What is known already.
    path : str
        The file, for errors.
    apart : tuple, default=()
        Label and id, where the format has places of their own for them.
    decimal, had_commas
        What is known of decimal marks, as in a ``Table``.
    """
    if not columns:
        raise DataFileError("there are no columns", path)
    names = None if columns[0].name is None else tuple(str(column.name) for column in columns)
    _check_names(names, path)
    columns = undisguise(columns, reading, decimal)
    roles = Roles(columns)
    label, keep = reading.label, _numbers(reading.keep, names, len(columns), path, roles)
    for k in _numbers(reading.drop, names, len(columns), path, roles):
        roles.left_out[k] = "--drop"
    if apart:
        _take_apart(roles, apart, label, path)
    elif label not in (None, "none"):
        roles.label = _find(str(label), names, len(columns), path, roles)
        roles.left_out.pop(roles.label, None)
    expected = reading.expected
    if expected is not None:
        _match(roles, names, expected, reading, path, bool(apart))
        undisguise_features(columns, roles.features, reading, decimal)
    else:
        _leave_out_ids(roles, keep, bool(apart), reading.lossless)
        if not apart and label is None:
            _look_for_label(roles)
        roles.features = _others(roles)
        if not reading.lossless:
            _leave_out_useless(roles, keep)
    if reading.categories and expected is not None:
        roles.text = expected.text
    elif reading.categories:
        roles.text = frozenset(i for i, k in enumerate(roles.features)
                               if _holds_text(columns[k], reading.lossless))  # fmt: skip
    roles.notes += tell_forms(roles.chosen)
    roles.cells = remember(roles.chosen, reading, had_commas)
    return roles


def _holds_text(column: Column, lossless: bool) -> bool:
    if lossless and column.is_text and column.kind in ("mixed", "empty"):
        return bool((column.cells.cast(pl.String).str.strip_chars() != "").any())
    return column.kind in ("category", "text", "date")


def _others(roles: Roles) -> list[int]:
    used = {roles.label, roles.id, *roles.left_out}
    return [k for k in range(len(roles.columns)) if k not in used]


# What was said.


def _check_names(names: tuple[str, ...] | None, path: str) -> None:
    if names is None or len(set(names)) == len(names):
        return
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DataFileError(f"columns must have different names, got {name!r} twice", path)
        seen.add(name)


def _numbers(
    wanted: Sequence[str], names: tuple[str, ...] | None, n: int, path: str, roles: Roles
) -> list[int]:
    """Return the columns that ``a,b`` or ``3-9`` mean; a name that has a comma is itself first."""
    found: list[int] = []
    for item in wanted:
        known = names is not None and item in names
        for word in [item] if known else [part.strip() for part in item.split(",") if part.strip()]:
            first, dash, last = word.partition("-")
            is_range = dash and first.isdecimal() and last.isdecimal()
            if is_range and not (names is not None and word in names):
                low, high = (_find(end, None, n, path, roles) for end in (first, last))
                if low > high:
                    reason = f"{word} means no columns: the smaller number comes first"
                    raise DataFileError(reason, path)
                found += range(low, high + 1)
            else:
                found.append(_find(word, names, n, path, roles))
    return found


def _find(
    column: str, names: tuple[str, ...] | None, n_columns: int, path: str, roles: Roles
) -> int:
    if names is not None and column in names:
        if column.lstrip("-").isdecimal():
            roles.notes.append(
                f"{column} is the column of that name, number {names.index(column) + 1}"
            )
        return names.index(column)
    try:
        number = int(column)
    except ValueError:
        if names is None:
            reason = f"columns have no names, only numbers from 1 to {n_columns}, got {column!r}"
            raise DataFileError(reason, path) from None
        close = _closest(column, names)
        hint = f"; did you mean {close!r}?" if close else ""
        reason = f"there is no column {column!r}, but {listed(list(map(repr, names)))}{hint}"
        raise DataFileError(reason, path) from None
    if number == 0 or not -n_columns <= number <= n_columns:
        raise DataFileError(f"columns have the numbers 1 to {n_columns}, got {number}", path)
    return number - 1 if number > 0 else n_columns + number


def _closest(word: str, names: Sequence[str]) -> str | None:
    """Return the name that may be meant."""
    same = [name for name in names if name.lower() == word.lower()]
    return next(iter(same or difflib.get_close_matches(word, names[:1000], n=1)), None)


def _take_apart(
    roles: Roles, apart: tuple[int | None, int | None], label: str | None, path: str
) -> None:
    if label not in (None, "none"):
        reason = "the label has a place of its own in this format: leave out --label"
        raise DataFileError(reason, path)
    roles.label, roles.id = apart
    if label == "none" and roles.label is not None:
        roles.left_out[roles.label] = "--label none"
        roles.label = None


# What is found out.


def _leave_out_ids(roles: Roles, keep: list[int], apart: bool, only_named: bool) -> None:
    """Leave out what looks like an id, unless it is wanted."""
    for k in _others(roles):
        column = roles.columns[k]
        is_named = (column.name or "").lower() == ID_NAME
        if apart or k in keep or (only_named and not is_named):
            continue
        if roles.id is None and is_named:
            roles.id = k
            continue
        if not column.why_id:
            continue
        roles.left_out[k] = f"an id: {column.why_id}"
        advice = "" if column.kind == "text" else f" (--keep {column.option} takes it in)"
        roles.notes.append(f"{column} is left out: {column.why_id}, so it looks like an id{advice}")


def _leave_out_useless(roles: Roles, keep: list[int]) -> None:
    """Leave out dates, and columns with nothing in them."""
    for k in list(roles.features):
        column = roles.columns[k]
        if k in keep:
            continue
        if column.kind == "empty" and len(column.cells) > 1:
            roles.left_out[k] = "empty"
            roles.notes.append(f"{column} is left out: all of its cells are missing")
        elif column.kind == "date":
            roles.left_out[k] = "dates"
            roles.notes.append(f"{column} is left out: it holds dates, which no metric measures")
        elif column.is_nearly_id:
            roles.notes.append(
                f"{column} may be an id: {column.distinct} different values in "
                f"{len(column.cells)} rows (--drop {column.option} leaves it out)"
            )
    roles.features[:] = [k for k in roles.features if k not in roles.left_out]


def _look_for_label(roles: Roles) -> None:
    """Choose the label if one column is it, or have a question."""
    columns, left = roles.columns, _others(roles)
    candidates = [k for k in left if columns[k].may_be_label]
    sure = {k for k in left if (columns[k].name or "").lower() in CERTAIN_NAMES}
    ranks = _ranks_of_names(columns, left)
    named = [k for k in sorted(ranks, key=lambda k: ranks[k])
             if columns[k].has_classes or k in sure]  # fmt: skip
    words = [k for k in candidates if columns[k].kind in ("category", "boolean")]
    whole = [k for k in candidates if columns[k].kind == "whole number"]
    ends = (left[0], left[-1]) if left else ()
    others_have_fractions = all(
        columns[k].kind in ("number", "date", "empty") for k in set(left).difference(whole, words)
    )
    # Whole numbers at an end are a rival, unless whole numbers are what features are here.
    many = len(columns[0].cells) >= FEW_ROWS
    some_have = many and any(columns[k].kind == "number" for k in left)
    rivals = [k for k in whole if k in ends] if some_have and len(whole) < 3 else []
    chosen, why = None, ""
    certain = [k for k in named if k in sure]
    if certain or (named and (named[0] in ends or set(words) | set(rivals) <= {named[0]})):
        chosen, why = (certain or named)[0], "by its name"
    elif len(words) == 1 and not rivals:
        chosen, why = words[0], "the only column of categories"
    elif many and not words and len(whole) == 1 and whole[0] in ends and others_have_fractions:
        chosen, why = whole[0], "the only column of whole numbers, in the first or last place"
    if chosen is not None:
        others = [k for k in dict.fromkeys((*named, *words, *rivals)) if k != chosen]
        also = f"; it might have been {_offers(columns, others, 3)}" if others else ""
        column = columns[chosen]
        roles.label, roles.why = chosen, why
        roles.notes.append(
            f"the label is {column}, {why}: {_classes(column)}{also or ' (--label names another)'}"
        )
        return
    ordered = [*named, *(k for k in candidates if k in ends), *words,
               *sorted(whole, key=lambda k: columns[k].distinct)]  # fmt: skip
    roles.question = _question(columns, list(dict.fromkeys(ordered)), left)


def _ranks_of_names(columns: list[Column], left: list[int]) -> dict[int, int]:
    """Return which columns have a label's name, and how good a name it is: 0 is the best."""
    names = {k: (columns[k].name or "").lower() for k in left}
    good = list(LABEL_NAMES) if "x" in names.values() else [*LABEL_NAMES, "y"]
    return {k: good.index(name) for k, name in names.items() if name in good}


def _offers(columns: list[Column], chosen: list[int], most: int = 8) -> str:
    """Say what to type for each of the columns; those with holes last, for they need labels."""
    ordered = sorted(chosen, key=lambda k: columns[k].missing > 0)
    return listed([f"--label {columns[k].option} ({_classes(columns[k])}{_holes(columns[k])})"
                   for k in ordered], most)  # fmt: skip


def _holes(column: Column) -> str:
    return f", {column.missing} missing" if column.missing else ""


def _classes(column: Column) -> str:
    return f"{column.distinct} {'class' if column.distinct == 1 else 'classes'}"


def _question(columns: list[Column], candidates: list[int], left: list[int]) -> str:
    if not candidates:
        reason = "no column is known to be the label: none has values that come again"
        kinds = ("category", "text", "whole number", "boolean")
        named = [k for k in left if columns[k].kind in kinds]
        advice = f"name it: --label {columns[named[-1]].option}?" if named else (
            "--label names a column of classes"
        )  # fmt: skip
        return f"{reason}; {advice}"
    return f"which column is the label? Say {_offers(columns, candidates)}"


# What a model knows.


def _match(
    roles: Roles, names: tuple[str, ...] | None, expected: InputSchema, reading: ReadOptions,
    path: str, apart: bool,
) -> None:  # fmt: skip
    """Find the columns that a model was trained on."""
    columns, layout = roles.columns, expected.layout
    if names is not None and expected.names is not None and not apart:
        roles.features = _match_names(names, expected.names, roles, path)
    else:
        roles.features = _match_numbers(roles, expected, path, apart)
    if roles.label is None and reading.label is None and not apart:
        left = _others(roles)
        left = [k for k in left if k not in roles.features]
        _label_beside(roles, left, layout, names)
    for k in _others(roles):
        if k in roles.features:
            continue
        if (columns[k].name or "").lower() == ID_NAME and roles.id is None:
            roles.id = k
        else:
            roles.left_out[k] = "not among the features of the model"


def _match_names(
    names: tuple[str, ...], wanted: tuple[str, ...], roles: Roles, path: str
) -> list[int]:
    place = {name: k for k, name in enumerate(names) if k != roles.label}
    missing = [name for name in wanted if name not in place]
    if missing:
        close = _closest(missing[0], list(place))
        hint = f"; is {close!r} the first of them?" if close else ""
        raise DataFileError(
            "columns that the model was trained on are missing: "
            f"{listed(list(map(repr, missing)))}{hint}",
            path,
        )
    chosen = sorted(place[name] for name in wanted)
    for k, name in zip(chosen, wanted, strict=True):
        if names[k] != name:
            raise DataFileError(
                f"columns must come in the order of training: {name!r} should come where "
                f"{names[k]!r} does; the order is {listed(list(map(repr, wanted)))}",
                path,
            )
    return chosen


def _match_numbers(roles: Roles, expected: InputSchema, path: str, apart: bool) -> list[int]:
    layout, width = expected.layout, len(roles.columns)
    if (
        layout and width == layout["width"] and not roles.left_out
        and roles.label in (None, (layout["label"] or 0) - 1) and not apart
    ):  # fmt: skip
        if layout["label"] and roles.label is None:
            roles.label = layout["label"] - 1
        return [k - 1 for k in layout["features"]]
    others = _others(roles)
    is_last = layout is None or layout["label"] in (None, layout["width"])
    one_more = len(others) == expected.n_features + 1
    if one_more and is_last and not apart and roles.label is None:
        others = others[:-1]  # the label comes last
    if len(others) != expected.n_features:
        but = "" if roles.label is None else ", beside the label,"
        raise DataFileError(
            f"the model expects {expected.n_features} features, but the file{but} has "
            f"{len(others)}",
            path,
        )
    return others


def _label_beside(
    roles: Roles, left: list[int], layout: dict[str, Any] | None, names: tuple[str, ...] | None
) -> None:
    """Find the label among the columns that are no features of the model."""
    columns = roles.columns
    if names is None:
        roles.label = left[0] if len(left) == 1 else None
        return
    by_name = [k for k in left if layout and columns[k].name == layout["label_name"]]
    by_name += _ranks_of_names(columns, left)
    if not by_name and len(left) > 1:
        left = [k for k in left if not columns[k].why_id and columns[k].kind != "date"]
    if by_name or len(left) == 1:
        roles.label = (by_name or left)[0]
        return
    roles.question = _question(columns, left, left) if left else ""
