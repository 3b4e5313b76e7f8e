"""Updates of the forest of a stream: parameters and learning."""

from collections.abc import Iterator

from opforest.core.metrics.types import Array
from opforest.estimators.validation import require_count
from opforest.forest.forest import BaseForest
from opforest.forest.seeded import SeededForest
from opforest.forest.updates import Update, find_update
from opforest.forest.updates.report import no_counts


def check_update(
    name: str, semi_supervised: bool, window_size: int | None, forest: BaseForest | None
) -> Update:
    """Return the update of this name; raise an error if other parameters do not match."""
    update = find_update(name)
    if semi_supervised and update.name != "exact":
        raise ValueError(f"semi_supervised needs update='exact', got update={name!r}.")
    if forest is not None and semi_supervised != isinstance(forest, SeededForest):
        raise ValueError("semi_supervised must not be changed after learning.")
    if window_size is not None:
        require_count("window_size", window_size, 1)
        if not update.can_forget:
            raise ValueError(f"window_size needs update='exact': update={name!r} cannot forget.")
    return update


def check_restored(forest: BaseForest, semi_supervised: bool, n_features: int) -> None:
    """Raise a ``ValueError`` if a saved forest does not fit the parameters or the features."""
    if semi_supervised != isinstance(forest, SeededForest):
        raise ValueError("semi_supervised does not match the forest.")
    if forest.n_features != max(1, n_features):
        raise ValueError(f"the forest has {forest.n_features} features, but {n_features} names.")


def grow(update: Update, forest: BaseForest, X: Array, label: Array) -> Iterator[BaseForest]:
    """Learn rows one after another; nothing changes before the first ``yield``."""
    counts = no_counts()
    if len(X) == 0:
        yield forest
    elif not update.classifies_first:
        yield from update.grow(forest, X, label, counts)
    else:  # classify each example just before learning it
        forest.storage.stage(X, label)
        yield forest
        for _ in range(len(X)):
            yield update.insert(forest, forest.queries.measure_staged(), counts)
