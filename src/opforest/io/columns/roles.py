"""Roles of the columns of a table: label, id, features; chosen by options, rules or a model."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from opforest._utils.interrupts import defer_interrupts
from opforest._utils.numerals import Cells
from opforest._utils.text import count, join_first
from opforest.errors import DataFileError
from opforest.io.columns.column import Column, describe_columns
from opforest.io.columns.forms import (
    describe_forms,
    detect_forms,
    restore_affixes,
    summarize_cells,
)
from opforest.io.columns.label import ask_label, choose_label, find_label_names
from opforest.io.columns.table import InputSchema, ReadOptions, Table

#: The name of a column that is never a feature.
ID_NAME = "id"


@dataclass
class Roles:
    """The role of each column; columns are named by their index."""

    columns: list[Column]
    features: list[int] = field(default_factory=list)  #: in the order in which a model takes them
    label: int | None = None
    id: int | None = None
    left_out: dict[int, str] = field(default_factory=dict)  #: other columns, with the reasons
    why: str = ""  #: the reason for the label; "" if an option names it
    notes: list[str] = field(default_factory=list)
    question: str = ""  #: to ask where a label is needed
    candidates: tuple[int, ...] = ()  #: for the label, the likeliest first, if there is a question
    text: frozenset[int] = frozenset()  #: places among the features that hold text
    cells: Cells = field(default_factory=Cells)  #: how cells of features are read, for later files
    copied: list[int] = field(default_factory=list)  #: columns to return as they are written

    @property
    def feature_columns(self) -> list[Column]:
        """The columns of the features."""
        return [self.columns[k] for k in self.features]

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the features."""
        named = self.columns[0].name is not None
        return tuple(str(column.name) for column in self.feature_columns) if named else None

    @property
    def unassigned(self) -> list[int]:
        """The columns that are neither label nor id, nor left out."""
        used = {self.label, self.id, *self.left_out}
        return [k for k in range(len(self.columns)) if k not in used]

    @property
    def layout(self) -> dict[str, Any]:
        """The places of features and label, for later files."""
        label = None if self.label is None else self.columns[self.label]
        cells = self.cells.to_data()
        return {
            "width": len(self.columns),
            "features": [k + 1 for k in self.features],
            "label": None if label is None else label.number,
            "label_name": None if label is None else label.name,
            **({"cells": cells} if cells else {}),
        }

    def leave_out(self, k: int, reason: str, note: str) -> None:
        """Leave out a column that no option names, with a note."""
        self.left_out[k] = reason
        self.notes.append(f"{self.columns[k]} is left out: {note}")


@defer_interrupts  # polars would swallow an interrupt
def choose_roles(table: Table, frame: pl.DataFrame, options: ReadOptions) -> Roles:
    """Return the roles of the columns of a table, by some of its rows."""
    columns = describe_columns(frame, table)
    finder = ColumnFinder(columns, table.path)
    roles = Roles(detect_forms(columns, options, table.decimal), notes=finder.notes)
    label, expected, keep = options.label, options.expected, finder.find_all(options.keep)
    roles.left_out = dict.fromkeys(finder.find_all(options.drop), "--drop")
    roles.copied = list(dict.fromkeys(finder.find_all(options.copied)))
    if table.fixed_roles:
        _fix_roles(roles, table, label)
    elif label not in (None, "none"):
        roles.label = finder.find_label(str(label), set(roles.left_out))
        roles.left_out.pop(roles.label, None)
    if expected is not None:
        ModelMatch(roles, expected, table, finder).assign(label)
        restore_affixes(roles.columns, roles.features, options, table.decimal)
    else:
        if not table.fixed_roles:
            _leave_out_ids(roles, keep, options.lossless)
            if label is None:
                choice = choose_label(roles.columns, roles.unassigned)
                roles.label, roles.why, note, roles.question, roles.candidates = choice
                roles.notes += [note] if note else []
        roles.features = roles.unassigned
        if not options.lossless:
            _leave_out_useless(roles, keep)
    if options.categories:
        roles.text = expected.text if expected else frozenset(
            i for i, column in enumerate(roles.feature_columns)
            if _holds_text(column, options.lossless)
        )  # fmt: skip
    roles.notes += describe_forms(roles.feature_columns)
    roles.notes[:0] = table.notes
    roles.cells = summarize_cells(roles.feature_columns, options, table.had_commas)
    return roles


def _holds_text(column: Column, lossless: bool) -> bool:
    if lossless and column.is_text and column.kind in ("mixed", "empty"):
        return bool((column.cells.cast(pl.String).str.strip_chars() != "").any())
    return column.kind in ("category", "text", "date")


def _fix_roles(roles: Roles, table: Table, label: str | None) -> None:
    if label not in (None, "none"):
        reason = "the format fixes which column is the label: leave out --label"
        raise DataFileError(reason, table.path)
    roles.label, roles.id = table.fixed_roles or (None, None)
    if label == "none" and roles.label is not None:
        roles.left_out[roles.label] = "--label none"
        roles.label = None


def _leave_out_ids(roles: Roles, keep: list[int], only_named: bool) -> None:
    """Leave out columns that look like ids, unless they are to be kept."""
    for k in roles.unassigned:
        column = roles.columns[k]
        is_named = (column.name or "").lower() == ID_NAME
        if k in keep or (only_named and not is_named):
            continue
        advice = "" if column.kind == "text" else f" (--keep {column.option} makes it a feature)"
        if roles.id is None and is_named:
            roles.id = k
            if not only_named:
                roles.notes.append(f"{column} is the id of the examples{advice}")
        elif column.id_reason:
            roles.leave_out(k, f"an id: {column.id_reason}",
                            f"{column.id_reason}, so it looks like an id{advice}")  # fmt: skip


def _leave_out_useless(roles: Roles, keep: list[int]) -> None:
    """Leave out dates and empty columns, and note columns that may be ids."""
    for k in [k for k in roles.features if k not in keep]:
        column = roles.columns[k]
        if column.kind == "empty" and len(column.cells) > 1:
            roles.leave_out(k, "empty", "all of its cells are missing")
        elif column.kind == "date":
            roles.leave_out(k, "dates", "it holds dates, which no metric measures")
        elif column.is_nearly_id:
            roles.notes.append(
                f"{column} may be an id: {column.distinct} distinct values in "
                f"{len(column.cells)} rows (--drop {column.option} leaves it out)"
            )
    roles.features[:] = [k for k in roles.features if k not in roles.left_out]


class ColumnFinder:
    """Finds columns by name or number, and notes where a number is taken for a name."""

    def __init__(self, columns: list[Column], path: str) -> None:
        if not columns:
            raise DataFileError("there are no columns", path)
        self.path, self.width = path, len(columns)
        self.notes: list[str] = []
        self.names = [column.name for column in columns if column.name is not None]

    def find_all(self, wanted: Sequence[str]) -> list[int]:
        """Return the columns that ``a,b`` or ``3-9`` mean; a name with a comma comes first."""
        found: list[int] = []
        for item in wanted:
            words = [part.strip() for part in item.split(",") if part.strip()]
            for word in [item] if item in self.names else words:
                first, _, last = word.partition("-")
                if word in self.names or not (first.isdecimal() and last.isdecimal()):
                    found.append(self.find(word))
                    continue
                low, high = self._find_number(first), self._find_number(last)
                if low > high:
                    reason = f"{word} means no columns: the smaller number comes first"
                    raise DataFileError(reason, self.path)
                found += range(low, high + 1)
        return found

    def find(self, column: str) -> int:
        """Return the column that an option names."""
        if column in self.names:
            place = self.names.index(column)
            if column.lstrip("-").isdecimal():
                self.notes.append(f"{column} is the column of that name, number {place + 1}")
            return place
        return self._find_number(column)

    def find_label(self, column: str, dropped: set[int]) -> int:
        """Return the column that an option names; "first" and "last" are those that are left."""
        left = [k for k in range(self.width) if k not in dropped]
        if column not in ("first", "last") or column in self.names or not left:
            return self.find(column)
        return left[0] if column == "first" else left[-1]

    def _find_number(self, column: str) -> int:
        n = self.width
        try:
            number = int(column)
        except ValueError:
            if not self.names:
                reason = f"columns have no names, only numbers from 1 to {n}, got {column!r}"
                raise DataFileError(reason, self.path) from None
            close = find_closest(column, self.names)
            hint = f"; did you mean {close!r}?" if close else ""
            known = join_first(list(map(repr, self.names)))
            reason = f"there is no column {column!r}; the columns are {known}{hint}"
            raise DataFileError(reason, self.path) from None
        if number == 0 or not -n <= number <= n:
            raise DataFileError(f"columns have the numbers 1 to {n}, got {number}", self.path)
        return number - 1 if number > 0 else n + number


def find_closest(word: str, names: Sequence[str]) -> str | None:
    """Return the name that may be meant."""
    same = [name for name in names if name.lower() == word.lower()]
    return next(iter(same or difflib.get_close_matches(word, names[:1000], n=1)), None)


@dataclass
class ModelMatch:
    """Finds the columns that a model was trained on."""

    roles: Roles
    expected: InputSchema
    table: Table
    finder: ColumnFinder

    def assign(self, label: str | None) -> None:
        """Assign the roles of all columns."""
        roles, names = self.roles, self.finder.names
        is_fixed = self.table.fixed_roles is not None
        if names and self.expected.names is not None and not is_fixed:
            roles.features = self._match_names(names, self.expected.names)
        else:
            roles.features = self._match_numbers(is_fixed)
        if roles.label is None and label is None and not is_fixed:
            self._choose_label([k for k in roles.unassigned if k not in roles.features])
        for k in [k for k in roles.unassigned if k not in roles.features]:
            if (roles.columns[k].name or "").lower() == ID_NAME and roles.id is None:
                roles.id = k
            else:
                roles.left_out[k] = "not among the features of the model"

    def _match_names(self, names: list[str], wanted: tuple[str, ...]) -> list[int]:
        place = {name: k for k, name in enumerate(names) if k != self.roles.label}
        missing = [name for name in wanted if name not in place]
        if missing:
            close = find_closest(missing[0], list(place))
            hint = f"; is {close!r} the first of them?" if close else ""
            raise DataFileError("columns that the model was trained on are missing: "
                                f"{join_first(list(map(repr, missing)))}{hint}",
                                self.table.path)  # fmt: skip
        return [place[name] for name in wanted]  # in whatever order the file has them

    def _match_numbers(self, is_fixed: bool) -> list[int]:
        roles, layout, n = self.roles, self.expected.layout, self.expected.n_features
        trained_label = layout["label"] if layout else None
        if (
            layout and len(roles.columns) == layout["width"] and not roles.left_out
            and roles.label in (None, (trained_label or 0) - 1) and not is_fixed
        ):  # fmt: skip
            if trained_label:
                roles.label = trained_label - 1
            return [k - 1 for k in layout["features"]]
        others = roles.unassigned
        is_last = layout is None or trained_label in (None, layout["width"])
        if len(others) == n + 1 and is_last and not is_fixed and roles.label is None:
            others = others[:-1]  # the label comes last
        if len(others) != n:
            but = "" if roles.label is None else ", beside the label,"
            wanted = count(n, "feature")
            reason = f"the model expects {wanted}, but the file{but} has {len(others)}"
            raise DataFileError(reason, self.table.path)
        return others

    def _choose_label(self, left: list[int]) -> None:
        """Choose the label among the columns that are not features of the model."""
        roles, layout, columns = self.roles, self.expected.layout, self.roles.columns
        if not self.finder.names:
            roles.label = left[0] if len(left) == 1 else None
            return
        named = [k for k in left if layout and columns[k].name == layout["label_name"]]
        named += sorted(find_label_names(columns, left))
        if not named and len(left) > 1:
            left = [k for k in left if not columns[k].id_reason and columns[k].kind != "date"]
        if named or len(left) == 1:
            roles.label = (named or left)[0]
        elif left:
            roles.question, roles.candidates = ask_label(columns, left, left), tuple(left)
