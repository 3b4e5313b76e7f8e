"""Examples whose labels are probably wrong, as the service describes them."""

import math
from typing import Any

from opforest.learner import Learner

#: The most examples in one answer.
MAX_SUSPECTS = 100


def describe_suspects(learner: Learner, n: int) -> list[dict[str, Any]]:
    """Return at most n examples of a learner, in types that JSON has."""
    suspects, session = learner.suspects(n), learner.session
    rows = session.store.rows_of([one.id for one in suspects])
    known = [one for one in suspects if one.id in rows]  # others have just been forgotten
    if not known:
        return []
    _, cells, _ = session.refresh().decode([rows[one.id] for one in known])
    return [
        {
            "key": one.key,
            "row": [_as_json(cell) for cell in row],
            "label": one.label,
            "suggested": one.suggested,
            "probability": one.probability,
            "given_probability": one.given_probability,
            "voters": [
                {
                    "key": voter.key,
                    "label": voter.label,
                    "offer": _as_json(voter.offer),
                    "weight": voter.weight,
                }
                for voter in one.voters
            ],
        }
        for one, row in zip(known, cells.tolist(), strict=True)
    ]


def _as_json(cell: Any) -> Any:
    """Return a cell, or None if it is a number that JSON does not have."""
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell
