"""Examples of a store as JSON values."""

import math
from collections.abc import Sequence
from typing import Any

from opforest.learner import Learner, RowError
from opforest.learner.store import Row

#: The most examples in one answer to a search, and of those with doubtful labels.
MAX_FOUND, MAX_SUSPECTS = 50, 100


def search_examples(learner: Learner, text: str, n: int) -> list[dict[str, Any]]:
    """Return at most n examples whose keys begin with a text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise RowError("the key must be valid Unicode.") from None
    rows = learner.session.store.search(text, n)
    return [
        {"key": row.name, "row": cells, "label": label, "time": row.time}
        for row, (cells, label) in zip(rows, decode_rows(learner, rows), strict=True)
    ]


def describe_suspects(learner: Learner, n: int) -> list[dict[str, Any]]:
    """Return at most n examples of a learner whose labels are probably wrong."""
    suspects = learner.suspects(n)
    rows = learner.session.store.rows_of([one.id for one in suspects])
    known = [one for one in suspects if one.id in rows]  # others have just been forgotten
    decoded = decode_rows(learner, [rows[one.id] for one in known])
    names = ("label", "suggested", "probability", "given_probability")
    return [
        {
            "key": one.key,
            "row": row,
            **{name: getattr(one, name) for name in names},
            "voters": [
                {"key": voter.key, "label": voter.label, "offer": to_json(voter.offer),
                 "weight": voter.weight}
                for voter in one.voters
            ],
        }
        for one, (row, _) in zip(known, decoded, strict=True)
    ]  # fmt: skip


def decode_rows(learner: Learner, rows: Sequence[Row]) -> list[tuple[list[Any], Any]]:
    """Return the features of examples, as they were learned, and their labels."""
    if not rows:
        return []
    _, cells, labels = learner.session.refresh().decode(rows)
    table = [[to_json(cell) for cell in row] for row in cells.tolist()]
    return list(zip(table, labels.tolist(), strict=True))


def to_json(cell: Any) -> Any:
    """Return a cell, or None if it is a number that JSON does not have."""
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell
