"""Blocks of examples and of their labels, on the workers."""

import warnings
from typing import Any, NamedTuple

import dask.array as da
import distributed
import numpy as np
from dask.base import is_dask_collection
from dask.delayed import Delayed, delayed
from sklearn.utils import check_array, check_consistent_length, check_X_y

from opforest.core.metrics.metric import Metric
from opforest.core.metrics.types import Array
from opforest.dask.cluster import compute, persist, send, submit
from opforest.estimators.inputs import check_label_kinds
from opforest.estimators.validation import PRECISIONS, check_labels, encode

#: A Dask collection: an array, a data frame or a series.
Collection = Any


class Blocks(NamedTuple):
    """Blocks of examples on the workers, none of which is empty."""

    points: list[Any]
    labels: list[Any]  #: of each block, as indices of the classes
    sizes: list[int]
    classes: Array

    @property
    def begin(self) -> list[int]:
        """The id of the first example of each block."""
        return [0, *np.cumsum(self.sizes[:-1]).tolist()]


def to_matrix(X: Collection) -> da.Array:
    """Return a collection as a matrix whose blocks contain whole rows."""
    matrix = X.to_dask_array() if hasattr(X, "to_dask_array") else X
    if not isinstance(matrix, da.Array):
        raise TypeError(
            f"X must be a Dask array or data frame, got {type(X).__name__}. Use "
            "opforest.OPFClassifier for data in memory, or dask.array.from_array."
        )
    if matrix.ndim != 2:
        raise ValueError(f"X must have two dimensions, got shape {matrix.shape}.")
    if np.isnan(matrix.shape[1]):
        matrix = matrix.copy().compute_chunk_sizes()
    return matrix.rechunk({1: -1})  # type: ignore[no-any-return]


def empty_table(X: Collection, matrix: da.Array) -> Any:
    """Return an empty table with the features of X and their names."""
    return X._meta if hasattr(X, "columns") else np.empty((0, matrix.shape[1]))


def embed_blocks(X: da.Array, metric: Metric, dtype: Any = PRECISIONS) -> list[Delayed]:
    """Return tasks that check the blocks of a matrix and embed their examples."""
    options = {"ensure_min_samples": 0, "ensure_min_features": 0}
    found = check_array(X._meta, dtype=dtype, **options).dtype
    empty = np.empty((0, X.shape[1]), found)
    embed, blocks = delayed(opforest_embed, pure=False), X.to_delayed().ravel()
    names = _name_blocks(X.chunks[0])
    return [embed(block, name, empty, metric) for block, name in zip(blocks, names, strict=True)]


def _name_blocks(sizes: tuple[float, ...]) -> list[str]:
    """Return names of blocks for error messages; sizes may be unknown (NaN)."""
    if np.isnan(sizes).any():
        return [f"block {i} of X" for i in range(len(sizes))]
    first = np.cumsum((0, *sizes[:-1]))
    return [f"block {i} of X, which begins with row {row}" for i, row in enumerate(first)]


def opforest_embed(block: Any, name: str, empty: Array, metric: Metric) -> Array:
    """Check a block of examples and return its points; ``empty`` if it has no rows."""
    if len(block) == 0:
        return empty
    try:
        points = metric.embed(check_array(block, dtype=empty.dtype, input_name="X"))
        metric.check_function(points)
        return points
    except (ValueError, TypeError) as error:  # TypeError for pandas' NA
        raise ValueError(f"{error}\nThis is {name}; rows are counted from there.") from None


def load_blocks(points: list[Delayed], y: Collection, client: distributed.Client | None) -> Blocks:
    """Compute blocks of points and labels, and leave them on the workers."""
    tasks = _list_label_blocks(y)
    kept = persist([*points, *tasks], client)  # together: both may be read from one file
    points, tasks = kept[: len(points)], kept[len(points) :]
    sizes = compute([delayed(len)(block) for block in points], client)
    if sum(sizes) == 0:
        raise ValueError("X must have at least one row, got none.")
    found = compute([delayed(opforest_count, pure=False)(block) for block in tasks], client)
    if tasks and all(values is not None for _, values in found):
        classes, labels = _encode_blocks(tasks, found, sizes)
    else:
        if is_dask_collection(y):
            (y,) = compute([delayed(y)], client)
        classes, labels = _encode_array(y, sizes)
    kept = [i for i, size in enumerate(sizes) if size]
    labels = submit([labels[i] for i in kept], client)
    return Blocks([points[i] for i in kept], labels, [sizes[i] for i in kept], classes)


def _list_label_blocks(y: Collection) -> list[Delayed]:
    """Return the blocks of a vector of labels; none if it is not a Dask vector."""
    if not is_dask_collection(y) or getattr(y, "ndim", 0) != 1:
        return []
    return [delayed(np.asarray)(block) for block in np.ravel(y.to_delayed())]


def opforest_count(labels: Array) -> tuple[int, Array | None]:
    """Return the number of labels and the different ones, or None if they cannot be compared."""
    try:
        return len(labels), np.unique(labels)
    except TypeError:  # text and numbers, or missing labels
        return len(labels), None


def _encode_blocks(
    tasks: list[Delayed], found: list[tuple[int, Array]], sizes: list[int]
) -> tuple[Array, list[Delayed]]:
    """Return the classes, and tasks whose results are the labels of blocks of these sizes."""
    counts = [count for count, _ in found]
    check_consistent_length(range(sum(sizes)), range(sum(counts)))
    values = np.concatenate([values for _, values in found])
    _, values = check_X_y(np.zeros((len(values), 1)), values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # many classes: there is one label for each
        check_labels(values)
    classes, _ = encode(values, values[:0])
    end, shared = np.cumsum(counts), send(classes)
    labels, take = [], delayed(opforest_encode, pure=False)
    for last, size in zip(np.cumsum(sizes).tolist(), sizes, strict=True):
        first = last - size
        near = range(
            int(np.searchsorted(end, first, side="right")), int(np.searchsorted(end, last)) + 1
        )
        skipped = first - (int(end[near.start - 1]) if near.start else 0)
        labels.append(take([tasks[i] for i in near if size], skipped, size, shared))
    return classes, labels


def opforest_encode(blocks: list[Array], skipped: int, size: int, classes: Array) -> Array:
    """Return a block of labels as indices of the classes, given the blocks that contain it."""
    if size == 0:
        return np.empty(0, np.int32)
    labels = np.concatenate(blocks)[skipped : skipped + size]
    return np.searchsorted(classes, labels).astype(np.int32)


def _encode_array(y: Any, sizes: list[int]) -> tuple[Array, list[Delayed]]:
    """Return the classes, and the labels of blocks of these sizes."""
    check_label_kinds(y)
    check_consistent_length(range(sum(sizes)), y)
    _, y = check_X_y(np.zeros((sum(sizes), 1)), y)  # X has been checked block by block
    check_labels(y)
    classes, label = encode(y, y[:0])
    parts = np.split(label.astype(np.int32), np.cumsum(sizes[:-1]))
    return classes, [send(part) for part in parts]
