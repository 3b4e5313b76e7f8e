"""Late labels for examples that a semi-supervised forest already contains."""

from opforest._utils import tuning
from opforest.core.label_spread.batch import UNLABELED
from opforest.core.label_spread.insert import label_exactly
from opforest.core.metrics.types import Array
from opforest.core.tree_costs import as_tree
from opforest.forest.seeded import SeededForest
from opforest.forest.state import TreeModel


def give_labels(forest: SeededForest, ids: Array, label: Array, counts: Array) -> SeededForest:
    """Label known examples that have no given label.

    Returns
    -------
    SeededForest
        The forest itself, changed by one call of a kernel; or a new forest, and the old one does
        not change.
    """
    storage = forest.storage
    if len(ids) < max(2, tuning.values.spread_fraction * len(storage)):
        vertex = storage.vertices_of(ids)
        with storage.lock.write():
            label_exactly(storage.arrays, storage.fields.index, vertex, label, counts)
        return forest
    state, given = forest.state().copy_rows(), forest.given_labels()
    given[forest.index_of(ids)] = label
    before, tree = state.model.cost, as_tree(state.model.parent, state.model.weight)
    state = state._replace(model=TreeModel.of_labels(given, state.rows.dtype))
    spread = SeededForest.from_state(SeededForest.complete(state, tree))
    counts["prototypes_gained"] += (given != UNLABELED).sum() - forest.n_seeds
    counts["reconquered"] += (spread.storage.costs() != before).sum()
    return spread
