"""Examples whose labels are probably wrong, as the service describes them."""

from typing import Any

from opforest.apps.serve.cells import decode_rows, to_json
from opforest.learner import Learner

#: The most examples in one answer.
MAX_SUSPECTS = 100


def describe_suspects(learner: Learner, n: int) -> list[dict[str, Any]]:
    """Return at most n examples of a learner, in types that JSON has."""
    suspects = learner.suspects(n)
    rows = learner.session.store.rows_of([one.id for one in suspects])
    known = [one for one in suspects if one.id in rows]  # others have just been forgotten
    decoded = decode_rows(learner, [rows[one.id] for one in known])
    return [
        {
            "key": one.key,
            "row": row,
            "label": one.label,
            "suggested": one.suggested,
            "probability": one.probability,
            "given_probability": one.given_probability,
            "voters": [
                {
                    "key": voter.key,
                    "label": voter.label,
                    "offer": to_json(voter.offer),
                    "weight": voter.weight,
                }
                for voter in one.voters
            ],
        }
        for one, (row, _) in zip(known, decoded, strict=True)
    ]
