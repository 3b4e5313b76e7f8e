"""The nodes of models of LibOPF and of opf-incremental."""

from typing import NamedTuple

import numpy as np

from opforest.core.metrics.types import Array
from opforest.persistence.libopf.source import Source, find_nodes


class Nodes(NamedTuple):
    """The nodes of a model of LibOPF."""

    position: Array
    truth: Array  #: the label of the example
    label: Array  #: of its prototype
    pred: Array  #: the predecessor, −1 for a prototype
    cost: Array  #: in a density model, the value
    pair: Array  #: of prototypes in an incremental model; −1 for none
    X: Array
    order: Array  #: by ascending cost, in which LibOPF looks for conquerors
    density: Array  #: 0 except in a density model


def read_nodes(source: Source, kind: str) -> Nodes:
    """Return the nodes of a model of this kind; raise an error if one is invalid."""
    n, n_labels, d = source.counts
    raw = np.frombuffer(source.content(), "<i4")
    if kind == "model":
        numbers, order = raw[8 : 8 + n * (7 + d)].reshape(n, 7 + d), raw[-n:]
        features, pair, density = numbers[:, 7:], np.full(n, -1), _to_floats(numbers[:, 6])
    else:
        begin, order = find_nodes(source), raw[-n:]
        if begin is None:
            raise source.error("its lists of neighbors do not fit into it.")
        numbers = raw[begin[:, None] + np.arange(8)]
        features = raw[(begin + 8 + numbers[:, 7])[:, None] + np.arange(d)]
        pair = np.where(numbers[:, 2] < 0, numbers[:, 6], -1).astype(np.int64)
        density = np.zeros(n, np.float32)
    position, truth, pred, label = numbers[:, :4].T.astype(np.int64)
    cost, X = _to_floats(numbers[:, 4]), _to_floats(features)
    # opf_cluster writes the number of clusters in place of the number of classes.
    source.check_samples(X, truth, truth.max() if density.any() else n_labels)
    source.check_samples(X, label, n_labels)
    if not ((cost >= 0) & np.isfinite(cost)).all():
        raise source.error("a cost is negative or not finite.")
    if not ((pred >= -1) & (pred < n)).all():
        raise source.error("a predecessor is not a node.")
    if not np.array_equal(np.sort(order), np.arange(n)):
        raise source.error(
            "its order by cost does not contain each node once. LibOPF writes such models when "
            "it is trained on a single class."
        )
    if not ((pair >= -1) & (pair < n)).all():
        raise source.error("the pair of a prototype is not a node.")
    return Nodes(position, truth, label, pred, cost, pair, X, order.astype(np.int64), density)


def _to_floats(numbers: Array) -> Array:
    return np.ascontiguousarray(numbers).view("<f4").astype(np.float32)
