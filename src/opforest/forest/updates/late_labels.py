"""Late labels for examples that a semi-supervised forest already contains."""

from opforest.core.label_spread.batch import UNLabeled
from opforest.core.label_spread.insert import label_exactly
from opforest.core.metrics.types import Array
from opforest.core.tree_costs import as_tree
from opforest.forest.seeded import SeededForest
from opforest.forest.state import label_only

#: From this share of all examples on, labels are spread over the whole tree again.
WORTH_SPREADING = 0.02


def give_labels(forest: SeededForest, ids: Array, label: Array, counts: Array) -> SeededForest:
    """Give labels to known examples that have not been given one.

    Returns
    -------
    SeededForest
        The forest itself, changed by one call of a kernel; or a new forest, and the old one does
        not change.
    """
    examples = forest.storage
    vertex = examples.vertices_of(ids)
    if len(ids) < max(2, WORTH_SPREADING * len(examples)):
        with examples.lock.write():
            label_exactly(examples.arrays, examples.fields.index, vertex, label, counts)
        return forest
    with examples.lock.read():
        parts, given, before = forest.state(), forest.given(), examples.costs()
        place = examples.ids.searchsorted(ids)
    given[place] = label
    model = parts.model
    tree = as_tree(model.parent, model.weight)
    parts = parts._replace(model=label_only(given, parts.rows.dtype), rows=parts.rows.copy())
    spread = SeededForest.from_state(SeededForest.conquered(parts, tree))
    counts["prototypes_gained"] += (given != UNLabeled).sum() - forest.n_seeds
    counts["reconquered"] += (spread.storage.costs() != before).sum()
    return spread
