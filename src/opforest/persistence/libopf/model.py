"""Read and write models of LibOPF and of opf-incremental."""

import os
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from opforest._utils.atomic import open_atomic
from opforest.core.density.forest import MAX_DENSITY, DensityArrays
from opforest.core.metrics.distances import measure_edges
from opforest.core.metrics.registry import resolve
from opforest.core.metrics.types import Array, SquaredEuclidean
from opforest.core.records import PrototypeTrees
from opforest.estimators.classifier import OPFClassifier
from opforest.estimators.clustering import OPFClustering
from opforest.estimators.knn_classifier import OPFKNNClassifier
from opforest.forest.approximate import as_approximate
from opforest.forest.density import DensityForest, DensityForestState
from opforest.forest.forest import BaseForest
from opforest.forest.state import ForestState, TreeModel
from opforest.persistence.checks import build_checked, find_roots
from opforest.persistence.container import require
from opforest.persistence.density import check_density_arrays
from opforest.persistence.libopf.nodes import Nodes, read_nodes
from opforest.persistence.libopf.source import kind_of_binary, open_source

#: LibOPF's distance: 1e5 ln(1 + Σ (a − b)²).
METRIC = "log_squared_euclidean"
SCALE = 1e5


def read_model(
    source: str | os.PathLike[str] | bytes,
) -> OPFClassifier | OPFClustering | OPFKNNClassifier:
    """Read a model of LibOPF (``classifier.opf``) or of opf-incremental.

    A model of LibOPF does not contain its spanning tree, so a classifier is trained on its
    examples. If that has the same prototypes and costs, it is returned, and continues to learn
    exactly. Otherwise, because edges tie or the model is incremental, the paths of the file are
    kept, and the model learns with ``update="opfi"``. If ties require it, its examples are then in
    LibOPF's order by cost.

    Models of ``opf_cluster`` and ``opfknn_train`` keep their densities and paths. Clusters are
    numbered by their roots, not as in the file. ``normalized_cuts_`` and ``accuracies_``, which are
    not in the file, are empty.

    Parameters
    ----------
    source : path or bytes
        The file, or its content.

    Returns
    -------
    OPFClassifier, OPFClustering or OPFKNNClassifier
        The model, with the metric ``"log_squared_euclidean"``: an ``OPFClustering`` from
        ``opf_cluster``, an ``OPFKNNClassifier`` from ``opfknn_train``.

    Raises
    ------
    DataFileError
        If the file is not such a model; or if its costs are not those of its paths, as after
        ``opf_train`` with distances, or ``opf_includenew``. ``read_dataset`` still reads it.

    Examples
    --------
    >>> import tempfile
    >>> from opforest import OPFClassifier
    >>> from opforest.io.libopf import read_model, write_model
    >>> clf = OPFClassifier().fit([[0.0], [1.0], [3.0], [4.5]], [1, 1, 2, 2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_model(f"{folder}/classifier.opf", clf)
    ...     read_model(f"{folder}/classifier.opf").predict([[0.4], [2.2]])
    array([1, 2])
    """
    opened = open_source(source)
    kind = kind_of_binary(opened)
    if kind not in ("model", "incremental model"):
        found = f"it is a LibOPF {kind} file" if kind else opened.explain_size()
        raise opened.error(f"it is not a LibOPF model: {found}.")
    nodes, header = read_nodes(opened, kind), opened.head[12:32]
    try:
        if kind == "model" and (any(header[4:8]) or nodes.density.any()):
            return _make_density_model(nodes, header)
        if kind == "model":
            trained = OPFClassifier(METRIC).fit(nodes.X.astype(np.float64), nodes.truth)
            if _is_same_model(nodes, trained.forest_):
                return trained
        return _keep_paths(_sort_by_rank(nodes))
    except ValueError as error:
        raise opened.error(f"the model is inconsistent: {error}") from error


def write_model(
    path: str | os.PathLike[str], model: OPFClassifier, *, incremental: bool = False
) -> None:
    """Write a classifier as a model of LibOPF, atomically.

    ``opf_classify`` makes the same predictions, except where distances differ by less than LibOPF's
    rounding to float32. Examples are rounded to float32. Labels that are positive integers are
    kept; others are numbered from 1 in the order of ``classes_``.

    Parameters
    ----------
    path : path
        The file.
    model : OPFClassifier
        The classifier, with a metric of the Euclidean family.
    incremental : bool, default=False
        Whether to write it for opf-incremental, with pairs and neighbors.

    Examples
    --------
    >>> import tempfile
    >>> from opforest import OPFClassifier
    >>> from opforest.io.libopf import looks_like, write_model
    >>> clf = OPFClassifier().fit([[0.0], [1.0], [3.0], [4.5]], ["a", "a", "b", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_model(f"{folder}/classifier.opf", clf)
    ...     looks_like(f"{folder}/classifier.opf")
    'model'
    """
    check_is_fitted(model, "forest_")
    forest = model.forest_
    metric = forest.metric
    if not isinstance(metric.kernel, SquaredEuclidean) or metric.embedding is not np.asarray:
        raise ValueError(
            f"LibOPF measures {METRIC!r}, which orders distances differently from the model's "
            f"metric {metric.name!r}. Write the data set and its distances instead."
        )
    with np.errstate(over="ignore", invalid="ignore"):
        X = np.ascontiguousarray(forest.points, "<f4")
    label = _to_positive_labels(model.classes_)[forest.label]
    pred = forest.predecessor
    cost = _costs_along(pred, _arc_weights(X, pred))
    if len(X) == 0 or not np.isfinite(cost).all():
        raise ValueError("LibOPF needs examples, and distances between them that fit into float32.")
    order = np.lexsort((forest.cost, cost))
    counts = np.array([len(X), label.max(), X.shape[1]], "<i4").tobytes()
    numbers = np.column_stack((forest.ids, label, pred, label, cost.view("<i4"), np.zeros(len(X))))
    numbers, features = numbers.astype("<i4"), X.view("<i4")
    if incremental:
        pair = as_approximate(forest, forest.grown_by or "opfi").pair
        content = counts + bytes(16) + _pack_incremental(numbers, pair, pred, features)
    else:
        density = np.zeros((len(X), 1), "<i4")
        content = counts + bytes(20) + np.hstack((numbers, density, features)).tobytes()
    with open_atomic(path) as stream:
        stream.write(content + order.astype("<i4").tobytes())


def _pack_incremental(numbers: Array, pair: Array, pred: Array, features: Array) -> bytes:
    """Return nodes with their pairs and their neighbors: predecessor and children."""
    lists: list[list[int]] = [[] if p < 0 else [p] for p in pred.tolist()]
    for v, p in enumerate(pred.tolist()):
        if p >= 0:
            lists[p].append(v)
    rows = zip(numbers, pair.tolist(), lists, features, strict=True)
    return b"".join(
        own.tobytes() + np.array([paired, len(near), *near], "<i4").tobytes() + row.tobytes()
        for own, paired, near, row in rows
    )


def _to_positive_labels(classes: Array) -> Array:
    if classes.dtype.kind in "iu" and classes.min() >= 1 and classes.max() < 2**31:
        return classes.astype(np.int64)
    return np.arange(1, len(classes) + 1)


def _arc_weights(X: Array, pred: Array) -> Array:
    """Return LibOPF's distance from each node to its predecessor, bit for bit; 0 for roots.

    It sums in float32, and takes the logarithm in double precision.
    """
    total = np.zeros(len(X), np.float32)
    before = np.where(pred < 0, np.arange(len(X)), pred)
    for k in range(X.shape[1]):
        with np.errstate(over="ignore"):
            difference = X[:, k] - X[before, k]
            total += difference * difference
    return (SCALE * np.log((total + np.float32(1)).astype(np.float64))).astype(np.float32)


def _costs_along(pred: Array, weight: Array) -> Array:
    """Return the largest weight on the path from each node to its root."""
    n, cost = len(pred), weight
    far = np.where(pred < 0, np.arange(n), pred)
    for _ in range(n.bit_length()):  # k rounds make 2^k steps
        cost, far = np.maximum(cost, cost[far]), far[far]
    return cost


def _is_same_model(nodes: Nodes, forest: BaseForest) -> bool:
    return (
        np.array_equal(nodes.truth, nodes.label)
        and np.array_equal(np.flatnonzero(nodes.pred < 0), forest.prototypes)
        and _has_costs_of(nodes, forest.predecessor)
    )


def _has_costs_of(nodes: Nodes, pred: Array) -> bool:
    """Return whether costs are those of these paths, up to the rounding of another compiler."""
    cost = _costs_along(pred, _arc_weights(nodes.X, pred))
    rounding = float(np.finfo(np.float32).eps) * (nodes.X.shape[1] + 8)
    return bool(np.allclose(cost, nodes.cost, rtol=rounding, atol=SCALE * rounding))


def _sort_by_rank(nodes: Nodes) -> Nodes:
    """Sort nodes so that the smaller index wins the same ties as the file's order."""
    if (nodes.cost[nodes.order] != np.sort(nodes.cost)).any():
        raise ValueError("its order is not by cost.")
    if np.array_equal(nodes.order, np.argsort(nodes.cost, kind="stable")):
        return nodes
    place = np.argsort(nodes.order)
    pred, pair = (np.where(link < 0, -1, place[link]) for link in (nodes.pred, nodes.pair))
    moved = nodes._replace(pred=pred, pair=pair, order=place)
    return Nodes(*(array[nodes.order] for array in moved))


def _keep_paths(nodes: Nodes) -> OPFClassifier:
    """Return a classifier with the paths of the file."""
    root = find_roots(nodes.pred)
    if not _has_costs_of(nodes, nodes.pred):
        raise ValueError(
            "its costs are not the largest arc weights on its paths, by LibOPF's distance. Read "
            "its examples with read_dataset, and train on them."
        )
    classes, label = np.unique(nodes.label, return_inverse=True)
    metric, rows = resolve(METRIC), nodes.X.astype(np.float64)
    weight: Any = measure_edges(rows, nodes.pred, metric.kernel)
    cuts = np.zeros(len(rows), np.int64)
    model = TreeModel(label, nodes.pred, weight, cuts, _costs_along(nodes.pred, weight))
    parts = ForestState(
        metric, rows, model, np.arange(len(rows)), 0,
        prototype_trees=PrototypeTrees(root, nodes.pair), grown_by="opfi",
    )  # fmt: skip
    classifier = OPFClassifier(METRIC, update="opfi")
    classifier.set_forest(build_checked(parts, len(classes)), classes)
    return classifier


def _make_density_model(nodes: Nodes, header: bytes) -> OPFClustering | OPFKNNClassifier:
    """Return the estimator of a model of opf_cluster or opfknn_train.

    ``header`` follows the counts in the file: the longest arc, k, the unit of distances, and the
    smallest and the largest density before they were scaled. The labels of opf_cluster are
    clusters, which begin at 0; classes are positive.
    """
    k = int(np.frombuffer(header, "<i4")[1])
    scale = np.frombuffer(header, "<f4")[2:].astype(np.float64)
    rows, density = nodes.X.astype(np.float64), nodes.density.astype(np.float64)
    clipped = np.clip(density, 1, MAX_DENSITY)
    require(np.allclose(clipped, density, 1e-6, 0), "a density is not from 1 to 1000.")
    arrays = DensityArrays(
        clipped, nodes.cost.astype(np.float64), find_roots(nodes.pred), nodes.pred
    )
    check_density_arrays(arrays, scale, len(rows), k)
    is_constant = np.array_equal(nodes.label, nodes.label[arrays.root])
    require(is_constant, "a label differs from that of its root.")
    state = DensityForestState(k, arrays, scale)
    forest = DensityForest(resolve(METRIC), rows, None, "auto", state)
    model: OPFClustering | OPFKNNClassifier
    if nodes.label.min() == 0:
        model = OPFClustering(k, k_min=k, allow_single_cluster=True, metric=METRIC)
        model.set_forest(forest, np.empty(0))
        require(len(np.unique(nodes.label)) == len(model.roots_), "two roots have one label.")
    else:
        model = OPFKNNClassifier(k, metric=METRIC)
        classes, code = np.unique(nodes.label, return_inverse=True)
        model.set_forest(forest, classes, code, np.empty(0))
    model.n_features_in_ = rows.shape[1]
    return model
