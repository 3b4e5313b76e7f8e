"""Layer 2: the ways a forest grows."""

from typing import Any

from opforest.updates.dift import DIFT
from opforest.updates.exact import EXACT
from opforest.updates.opfi import OPFI
from opforest.updates.update import Update

__all__ = ["UPDATES", "Update", "find_update"]

#: The updates by the names that the parameter ``update`` takes.
UPDATES = {update.name: update for update in (EXACT, OPFI, DIFT)}


def find_update(name: Any) -> Update:
    """Return the update of this name; a ``ValueError`` lists the valid names."""
    if not isinstance(name, str) or name not in UPDATES:
        raise ValueError(f"update must be one of {sorted(UPDATES)}, got {name!r}.")
    return UPDATES[name]
