"""Models that learn densities, in files: taken apart, and put together after all was checked."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from opforest.core.density.forest import MAX_DENSITY, DensityArrays
from opforest.core.metrics.types import Array
from opforest.estimators.validation import check_algorithm
from opforest.forest.density import DensityForest, DensityForestState
from opforest.persistence.checks import check_numbers
from opforest.persistence.container import require
from opforest.persistence.header import (
    EstimatorState,
    Reader,
    check_unchanged,
    give_names,
    read_classes,
    resolved,
    take,
    take_classes,
    take_names,
    to_json,
)


def _take(model: Any) -> EstimatorState:
    """Return what all of these models have learned."""
    check_is_fitted(model, "density_forest_")
    forest: DensityForest = model.density_forest_
    check_unchanged(model, forest.metric)
    k, hills, scale = forest.state
    arrays = {"rows": forest.rows, **hills._asdict(), "scale": scale}
    if forest.vectors is not None:
        arrays["vectors"] = forest.vectors
    return EstimatorState(None, {**take_names(model), "k": k}, arrays)


def _read(model: Any, header: Reader, arrays: dict[str, Array]) -> DensityForest:
    """Return the forest of a file, if it is one."""
    metric = resolved(model.metric, model.metric_params)
    check_algorithm(model.algorithm, metric)
    rows, vectors = take(arrays, "rows"), arrays.pop("vectors", None)
    n, k = len(rows), header.get("k", int)
    check_numbers(metric, rows, vectors)
    require(n, "it has no examples.")
    hills, scale = (
        DensityArrays(*(take(arrays, name) for name in DensityArrays._fields)),
        take(arrays, "scale"),
    )
    check_hills(hills, scale, n, k)
    model.n_features_in_ = (rows if vectors is None else vectors).shape[1]
    give_names(model, header)
    own = tuple(np.require(array, requirements=("C", "W")) for array in hills)
    rows = np.require(rows, requirements=("C", "W"))
    return DensityForest(
        metric, rows, vectors, model.algorithm, DensityForestState(k, DensityArrays(*own), scale)
    )


def check_hills(hills: DensityArrays, scale: Array, n: int, k: int) -> None:
    """Raise a ``ModelFileError`` unless these could be the hills of n examples."""
    for name, array in hills._asdict().items():
        expected = np.int64 if name in ("root", "predecessor") else np.float64
        require(array.shape == (n,) and array.dtype == expected, f"array {name!r} is none of its.")
    require(0 <= k < max(n, 1) and (k > 0 or n == 1), f"it cannot be by {k} neighbors.")
    proper = scale.shape == (3,) and scale.dtype == np.float64 and np.isfinite(scale).all()
    require(proper and scale[0] >= 0 and scale[1] <= scale[2], "its scale is invalid.")
    density, value, root, before = hills
    most = MAX_DENSITY * (1 + 1e-9)  # by rounding
    require(((density >= 1) & (density <= most)).all(), "a density is not from 1 to 1000.")
    require(((value >= 0) & (value <= most)).all(), "a value is out of range.")
    require(((root >= 0) & (root < n)).all(), "a root is not an example.")
    require(((before >= -1) & (before < n)).all(), "a predecessor is not an example.")
    require((root[root] == root).all(), "a root has another root.")
    require((root[before[before >= 0]] == root[before >= 0]).all(), "a path leaves its tree.")
    require(np.array_equal(before < 0, root == np.arange(n)), "roots are not where paths begin.")


def take_clustering(model: Any) -> EstimatorState:
    """Return what a clustering has learned."""
    taken = _take(model)
    return taken._replace(arrays={**taken.arrays, "cuts": model.normalized_cuts_})


def make_clustering(model: Any, header: Reader, arrays: dict[str, Array], _: Any) -> None:
    """Make a clustering one that has learned what a file says."""
    cuts = take(arrays, "cuts")
    require(cuts.ndim == 1 and cuts.dtype == np.float64, "its cuts are not numbers.")
    model.set_forest(_read(model, header, arrays), cuts)


def take_knn(model: Any) -> EstimatorState:
    """Return what a classifier by densities has learned."""
    taken = _take(model)
    entries, arrays = take_classes(model.classes_)
    more = {"code": model.codes_, "accuracies": model.accuracies_}
    return taken._replace(
        entries={**taken.entries, **entries}, arrays={**taken.arrays, **arrays, **more}
    )


def make_knn(model: Any, header: Reader, arrays: dict[str, Array], _: Any) -> None:
    """Make a classifier by densities one that has learned what a file says."""
    classes = read_classes(header, arrays)
    code, accuracies = take(arrays, "code"), take(arrays, "accuracies")
    forest = _read(model, header, arrays)
    require(code.shape == (len(forest),) and code.dtype == np.int64, "its labels are invalid.")
    require(((code >= 0) & (code < len(classes))).all(), "an example is of no class.")
    require(accuracies.ndim == 1 and accuracies.dtype == np.float64, "its accuracies are invalid.")
    model.set_forest(forest, classes, code, accuracies)


def take_outlier(model: Any) -> EstimatorState:
    """Return what a detector of outliers has learned."""
    taken = _take(model)
    return taken._replace(entries={**taken.entries, "offset": to_json(model.offset_, "offset")})


def make_outlier(model: Any, header: Reader, arrays: dict[str, Array], _: Any) -> None:
    """Make a detector of outliers one that has learned what a file says."""
    offset = header.get("offset", int, float)
    model.set_forest(_read(model, header, arrays), float(offset))
