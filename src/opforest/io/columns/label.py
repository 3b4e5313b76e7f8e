"""The choice of the label column: an ordered list of rules, and a question where none applies.

No choice is silent: a column that no option names comes with a note.
"""

from typing import NamedTuple

from opforest.io.columns.describe import Column, join_first

#: Names of label columns, best first; case does not matter.
LABEL_NAMES = ("label", "target", "class", "species", "outcome", "diagnosis")

#: Those that mean nothing else, wherever the column stands.
CERTAIN_NAMES = ("label", "target")


class LabelChoice(NamedTuple):
    """The label column with the reason and a note; or a question."""

    label: int | None = None
    why: str = ""
    note: str = ""
    question: str = ""


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


#: The rules in order, each of which returns a column or None, with the reasons that they give.
RULES = {
    _find_certain_name: "by its name",
    _find_name: "by its name",
    _find_only_categories: "the only column of categories",
    _find_only_integers: "the only column of whole numbers, in the first or last place",
}


def choose_label(columns: list[Column], left: list[int]) -> LabelChoice:
    """Return the label by the first rule that applies, or a question."""
    found = find_candidates(columns, left)
    for rule, why in RULES.items():
        if (chosen := rule(found)) is not None:
            others = dict.fromkeys((*found.named, *found.categories, *found.rivals))
            others.pop(chosen, None)
            also = f"; it might have been {_offer(columns, list(others), 3)}" if others else ""
            classes = _count_classes(columns[chosen])
            note = f"the label is {columns[chosen]}, {why}: {classes}"
            return LabelChoice(chosen, why, note + (also or " (--label names another)"))
    ordered = [*found.named, *(k for k in found.possible if found.is_end(k)), *found.categories,
               *sorted(found.integers, key=lambda k: columns[k].distinct)]  # fmt: skip
    return LabelChoice(question=ask_label(columns, list(dict.fromkeys(ordered)), left))


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
    """Return the option for each of the columns; those with missing cells last."""
    ordered = sorted((columns[k] for k in chosen), key=lambda column: column.missing > 0)
    return join_first([
        f"--label {column.option} ({_count_classes(column)}"
        f"{f', {column.missing} missing' if column.missing else ''})" for column in ordered
    ], most)  # fmt: skip


def _count_classes(column: Column) -> str:
    return f"{column.distinct} {'class' if column.distinct == 1 else 'classes'}"
