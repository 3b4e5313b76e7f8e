"""Density models, which LibOPF's programs opf_cluster and opfknn_train write."""

import numpy as np

from opforest.core.density.forest import MAX_DENSITY, DensityArrays
from opforest.core.metrics.registry import resolve
from opforest.estimators.clustering import OPFClustering
from opforest.estimators.knn_classifier import OPFKNNClassifier
from opforest.forest.density import DensityForest, DensityForestState
from opforest.persistence.checks import find_roots
from opforest.persistence.container import require
from opforest.persistence.density import check_density_arrays
from opforest.persistence.libopf.nodes import Nodes


def make_density_model(
    nodes: Nodes, header: bytes, metric: str
) -> OPFClustering | OPFKNNClassifier:
    """Return the estimator of a density model.

    ``header`` follows the counts in the file: the longest arc, k, the unit of distances, and the
    smallest and the largest density before they were scaled. The labels of opf_cluster are
    clusters, which begin at 0; classes are positive.
    """
    k, scale = int(np.frombuffer(header, "<i4")[1]), np.frombuffer(header, "<f4")[2:]
    density, n = nodes.density.astype(np.float64), len(nodes.X)
    clipped = np.clip(density, 1, MAX_DENSITY)
    require(np.allclose(clipped, density, 1e-6, 0), "a density is not from 1 to 1000.")
    arrays = DensityArrays(
        clipped, nodes.cost.astype(np.float64), find_roots(nodes.pred), nodes.pred
    )
    check_density_arrays(arrays, scale.astype(np.float64), n, k)
    is_constant = np.array_equal(nodes.label, nodes.label[arrays.root])
    require(is_constant, "a label differs from that of its root.")
    rows = nodes.X.astype(np.float64)
    state = DensityForestState(k, arrays, scale.astype(np.float64))
    forest = DensityForest(resolve(metric), rows, None, "auto", state)
    model: OPFClustering | OPFKNNClassifier
    if nodes.label.min() == 0:
        model = OPFClustering(k, k_min=k, allow_single_cluster=True, metric=metric)
        model.set_forest(forest, np.empty(0))
        require(len(np.unique(nodes.label)) == len(model.roots_), "two roots have one label.")
    else:
        model = OPFKNNClassifier(k, metric=metric)
        classes, code = np.unique(nodes.label, return_inverse=True)
        model.set_forest(forest, classes, code, np.empty(0))
    model.n_features_in_ = rows.shape[1]
    return model
