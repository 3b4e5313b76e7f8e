"""Updates: the algorithms by which a forest learns and forgets examples."""

from typing import Any

from opforest.forest.updates.approximate import DIFTUpdate, OPFIUpdate
from opforest.forest.updates.base import Update
from opforest.forest.updates.exact import ExactUpdate

__all__ = ["EXACT", "UPDATES", "Update", "find_update"]

EXACT = ExactUpdate()

#: The updates by the values of the parameter ``update``.
UPDATES: dict[str, Update] = {update.name: update for update in (EXACT, OPFIUpdate(), DIFTUpdate())}


def find_update(name: Any) -> Update:
    """Return the update of this name; a ``ValueError`` lists the valid names."""
    if not isinstance(name, str) or name not in UPDATES:
        raise ValueError(f"update must be one of {sorted(UPDATES)}, got {name!r}.")
    return UPDATES[name]
