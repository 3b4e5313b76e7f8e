"""The choice of the label column: an ordered list of rules, and a question where none applies.

No choice is silent: a column that no option names comes with a note.
"""

from typing import NamedTuple

from opforest._utils.text import count, join_first
from opforest.io.columns.column import Column

#: Names of label columns, best first; case does not matter.
LABEL_NAMES = ("label", "target", "class", "species", "outcome", "diagnosis")

#: Those that mean nothing else, wherever the column stands.
CERTAIN_NAMES = ("label", "target")

#: A last column is taken for the label if it has at most this many classes, of this size on
#: average, and at most this fraction of the other columns have as many distinct values.
FEW_CLASSES, CLASS_SIZE, SAME = 30, 5, 0.25


class LabelChoice(NamedTuple):
    """The label column with the reason and a note; or a question."""

    label: int | None = None
    why: str = ""
    note: str = ""
    question: str = ""
    candidates: tuple[int, ...] = ()  #: the likeliest columns, where there is a question


class Candidates(NamedTuple):
    """Columns that may be the label, named by their index."""

    columns: list[Column]
    left: list[int]  #: columns without another role
    possible: list[int]  #: columns that look like a label
    named: list[int]  #: columns with the name of a label, best first
    categories: list[int]  #: possible columns of text or booleans
    integers: list[int]  #: possible columns of whole numbers
    rivals: list[int]  #: whole numbers at an end, unless features are whole numbers here

    def is_certain(self, k: int) -> bool:
        """Return whether the name of a column means nothing but the label."""
        return (self.columns[k].name or "").lower() in CERTAIN_NAMES

    def is_end(self, k: int) -> bool:
        """Return whether a column is the first or the last one."""
        return k in (self.left[0], self.left[-1])

    def stands_out(self, k: int) -> bool:
        """Return whether a column has few classes, and few others have as many values."""
        column = self.columns[k]
        if k not in self.possible or column.distinct > FEW_CLASSES or column.missing:
            return False
        alike = sum(self.columns[j].distinct == column.distinct for j in self.left if j != k)
        return CLASS_SIZE * column.distinct <= len(column.cells) and alike <= SAME * (
            len(self.left) - 1
        )


def find_candidates(columns: list[Column], left: list[int]) -> Candidates:
    """Return the columns that may be the label among those without another role."""
    found = Candidates(columns, left, [k for k in left if columns[k].may_be_label], [], [], [], [])
    integers = [k for k in found.possible if columns[k].kind == "whole number"]
    has_reals = columns[0].has_many_rows and any(columns[k].kind == "number" for k in left)
    return found._replace(
        named=[k for k in find_label_names(columns, left)
               if columns[k].has_classes or found.is_certain(k)],
        categories=[k for k in found.possible if columns[k].kind in ("category", "boolean")],
        integers=integers,
        rivals=[k for k in integers if found.is_end(k) and has_reals and len(integers) < 3],
    )  # fmt: skip


def _find_certain_name(found: Candidates) -> int | None:
    return next(filter(found.is_certain, found.named), None)


def _find_name(found: Candidates) -> int | None:
    if not found.named:
        return None
    best = found.named[0]
    has_rival = {*found.categories, *found.rivals} - {best}
    return best if found.is_end(best) or not has_rival else None


def _find_only_categories(found: Candidates) -> int | None:
    return found.categories[0] if len(found.categories) == 1 and not found.rivals else None


def _find_only_integers(found: Candidates) -> int | None:
    if found.categories or len(found.integers) != 1 or not found.columns[0].has_many_rows:
        return None
    (chosen,) = found.integers
    others = {found.columns[k].kind for k in found.left if k != chosen}
    return chosen if found.is_end(chosen) and others <= {"number", "date", "empty"} else None


def _find_last(found: Candidates) -> int | None:
    """Return the last column if it stands out, and no other is as good."""
    if len(found.left) < 2 or not found.columns[0].has_many_rows:
        return None
    first, last = found.left[0], found.left[-1]
    has_words, others = last in found.categories, {*found.categories} - {last}
    if not found.stands_out(last) or found.named or (others and not has_words):
        return None
    is_rival = found.stands_out(first) and (first in found.categories or not has_words)
    fewer = found.columns[first].distinct <= found.columns[last].distinct
    return None if is_rival and fewer else last


#: The rules in order, each of which returns a column or None, with the reasons that they give.
RULES = {
    _find_certain_name: "by its name",
    _find_name: "by its name",
    _find_only_categories: "the only column of categories",
    _find_only_integers: "the only column of whole numbers, in the first or last place",
    _find_last: "the last one, which has few classes",
}


def choose_label(columns: list[Column], left: list[int]) -> LabelChoice:
    """Return the label by the first rule that applies, or a question."""
    found = find_candidates(columns, left)
    for rule, why in RULES.items():
        if (chosen := rule(found)) is not None:
            others = dict.fromkeys((*found.named, *found.categories, *found.rivals))
            others.pop(chosen, None)
            also = f"; it might have been {_offer(columns, list(others), 3)}" if others else ""
            classes = count(columns[chosen].distinct, "class", "classes")
            note = f"the label is {columns[chosen]}, {why}: {classes}"
            return LabelChoice(chosen, why, note + (also or " (--label names another)"))
    ends = [k for k in (left[-1], left[0]) if k in found.possible] if left else []
    ordered = [*found.named, *ends, *found.categories,
               *sorted(found.integers, key=lambda k: columns[k].distinct)]  # fmt: skip
    ordered = sorted(dict.fromkeys(ordered), key=lambda k: columns[k].missing > 0)
    return LabelChoice(question=ask_label(columns, ordered, left), candidates=tuple(ordered))


def find_label_names(columns: list[Column], left: list[int]) -> list[int]:
    """Return the columns with the name of a label, best first."""
    names = {k: (columns[k].name or "").lower() for k in left}
    known = list(LABEL_NAMES) if "x" in names.values() else [*LABEL_NAMES, "y"]
    return sorted((k for k in left if names[k] in known), key=lambda k: known.index(names[k]))


def ask_label(columns: list[Column], candidates: list[int], left: list[int]) -> str:
    """Return a question that lists the candidates as options."""
    if candidates:
        return f"which column is the label? Choose {_offer(columns, candidates)}"
    kinds = ("category", "text", "whole number", "boolean")
    named = [columns[k].option for k in left if columns[k].kind in kinds]
    advice = f"name it: --label {named[-1]}?" if named else "--label names a column of classes"
    return f"no column is known to be the label: no column has repeated values; {advice}"


def _offer(columns: list[Column], chosen: list[int], most: int = 8) -> str:
    """Return the option for each of the columns."""
    return join_first([
        f"--label {columns[k].option} ({describe_classes(columns[k])})" for k in chosen
    ], most)  # fmt: skip


def describe_classes(column: Column, n_shown: int = 0) -> str:
    """Return the number of classes, the first few if there are no more, and missing labels."""
    shown = ""
    if column.distinct <= n_shown:
        cells = (column.words if column.is_text else column.cells).drop_nulls()
        known = sorted(map(str, cells.unique(maintain_order=True)))
        shown = ": " + ", ".join(f"{one[:20]}…" if len(one) > 20 else one for one in known)
    classes = count(column.distinct, "class", "classes")
    return f"{classes}{shown}" + (f", {column.missing} missing" if column.missing else "")
