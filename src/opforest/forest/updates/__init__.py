"""Updates: the algorithms by which a forest learns and forgets examples."""

from typing import Any

from opforest.forest.updates.base import Update
from opforest.forest.updates.dift import DIFT
from opforest.forest.updates.exact import EXACT
from opforest.forest.updates.opfi import OPFI

__all__ = ["UPDATES", "Update", "find_update"]

#: The updates by the names that the parameter ``update`` takes.
UPDATES = {update.name: update for update in (EXACT, OPFI, DIFT)}


def find_update(name: Any) -> Update:
    """Return the update of this name; a ``ValueError`` lists the valid names."""
    if not isinstance(name, str) or name not in UPDATES:
        raise ValueError(f"update must be one of {sorted(UPDATES)}, got {name!r}.")
    return UPDATES[name]
