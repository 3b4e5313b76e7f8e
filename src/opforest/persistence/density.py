"""Serializers of the estimators that learn densities."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from opforest.core.density.forest import MAX_DENSITY, DensityArrays
from opforest.core.metrics.types import Array
from opforest.estimators.validation import check_algorithm
from opforest.forest.density import DensityForest, DensityForestState
from opforest.persistence.checks import check_numbers, find_roots
from opforest.persistence.container import require
from opforest.persistence.header import (
    EstimatorState,
    Reader,
    check_metric_unchanged,
    dump_classes,
    dump_feature_names,
    resolve_silently,
    to_json,
)

#: The arrays of ``DensityArrays`` in files.
ARRAYS = ("density", "value", "root", "predecessor")


def _dump(model: Any, entries: dict[str, Any], arrays: dict[str, Array]) -> EstimatorState:
    forest: DensityForest = model.density_forest_
    check_metric_unchanged(model, forest.metric)
    k, own_arrays, scale = forest.state
    own = {"rows": forest.rows, **dict(zip(ARRAYS, own_arrays, strict=True)), "scale": scale}
    if forest.vectors is not None:
        own["vectors"] = forest.vectors
    return EstimatorState({**dump_feature_names(model), "k": k, **entries}, own | arrays)


def _restore(model: Any, file: Reader) -> DensityForest:
    metric = resolve_silently(model.metric, model.metric_params)
    check_algorithm(model.algorithm, metric)
    rows, vectors = file.pop("rows"), file.arrays.pop("vectors", None)
    n, k = len(rows), file.get("k", int)
    check_numbers(metric, rows, vectors)
    require(n, "it has no examples.")
    arrays, scale = DensityArrays(*map(file.pop, ARRAYS)), file.pop("scale")
    check_density_arrays(arrays, scale, n, k)
    width = (rows if vectors is None else vectors).shape[1]
    model.n_features_in_ = metric.count_features(width)
    file.restore_feature_names(model)
    state = DensityForestState(k, arrays, scale)
    return DensityForest(metric, rows, vectors, model.algorithm, state)


def check_density_arrays(arrays: DensityArrays, scale: Array, n: int, k: int) -> None:
    """Raise a ``ModelFileError`` unless these can be the trees of n examples."""
    for name, array in zip(ARRAYS, arrays, strict=True):
        expected = np.int64 if name in ("root", "predecessor") else np.float64
        is_valid = array.shape == (n,) and array.dtype == expected
        require(is_valid, f"array {name!r} has the wrong shape or dtype.")
    require(0 <= k < max(n, 1) and (k > 0 or n == 1), f"its number of neighbors cannot be {k}.")
    is_scale = scale.shape == (3,) and scale.dtype == np.float64 and np.isfinite(scale).all()
    require(is_scale and scale[0] >= 0 and scale[1] <= scale[2], "its scale is invalid.")
    density, value, root, before = arrays
    most = MAX_DENSITY * (1 + 1e-9)  # because of rounding
    require(((density >= 1) & (density <= most)).all(), "a density is not from 1 to 1000.")
    require(((value >= 0) & (value <= most)).all(), "a value is out of range.")
    require(((before >= -1) & (before < n)).all(), "a predecessor is not an example.")
    require(np.array_equal(root, find_roots(before)), "a root is not the last ancestor.")


def dump_clustering(model: Any) -> EstimatorState:
    """Return the fitted state of a clustering."""
    check_is_fitted(model, "density_forest_")
    return _dump(model, {}, {"cuts": model.normalized_cuts_})


def restore_clustering(model: Any, file: Reader) -> None:
    """Give a clustering the state in a file."""
    cuts = file.pop("cuts")
    require(cuts.ndim == 1 and cuts.dtype == np.float64, "its cuts are not numbers.")
    model.set_forest(_restore(model, file), cuts)


def dump_knn(model: Any) -> EstimatorState:
    """Return the fitted state of a classifier by densities."""
    check_is_fitted(model, "density_forest_")
    entries, arrays = dump_classes(model.classes_)
    own = {"code": model.codes_, "accuracies": model.accuracies_}
    return _dump(model, entries, arrays | own)


def restore_knn(model: Any, file: Reader) -> None:
    """Give a classifier by densities the state in a file."""
    classes, code, accuracies = file.classes(), file.pop("code"), file.pop("accuracies")
    forest = _restore(model, file)
    require(code.shape == (len(forest),) and code.dtype == np.int64, "its labels are invalid.")
    require(((code >= 0) & (code < len(classes))).all(), "the class of an example is unknown.")
    require(accuracies.ndim == 1 and accuracies.dtype == np.float64, "its accuracies are invalid.")
    model.set_forest(forest, classes, code, accuracies)


def dump_outlier(model: Any) -> EstimatorState:
    """Return the fitted state of an outlier detector."""
    check_is_fitted(model, "density_forest_")
    return _dump(model, {"offset": to_json(model.offset_, "offset")}, {})


def restore_outlier(model: Any, file: Reader) -> None:
    """Give an outlier detector the state in a file."""
    offset = float(file.get("offset", int, float))
    model.set_forest(_restore(model, file), offset)
