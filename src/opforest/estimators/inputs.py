"""Helpers that read input: convert sparse matrices, reject text and labels of mixed kinds."""

import os
from collections.abc import Callable, Iterator
from functools import wraps
from numbers import Number
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_X_y
from sklearn.utils.validation import validate_data

from opforest._utils import tuning
from opforest.core.metrics.types import Array
from opforest.estimators.validation import PRECISIONS

Method = TypeVar("Method", bound=Callable[..., Any])


def read_examples(estimator: Any, X: Any, *y: Any, **options: Any) -> Any:
    """Validate and return examples, and labels if they are given, as scikit-learn does.

    ``options`` are those of ``validate_data``; ``grows=True`` accepts any number of columns.
    """
    check = check_X_y if options.pop("grows", False) else None
    if y and y[0] is not None:
        check_label_kinds(y[0])
    if issparse(X):
        X = _to_dense(X, _is_pairwise(estimator), options.get("dtype", PRECISIONS))
    try:
        if check is not None:
            return check(X, *y, estimator=estimator, **options)
        return validate_data(estimator, X, *y, **options)
    except ValueError as error:
        found = _find_text(X)
        if found is None:
            raise
        name, cell = found
        raise ValueError(
            f"X must hold numbers, but column {name} holds text, such as {cell!r:.60}. Put a "
            "Preparation in front, which encodes columns of text: opforest.make_pipeline("
            f"opforest.Preparation(encode='onehot'), {type(estimator).__name__}())."
        ) from error


def check_label_kinds(y: Any) -> None:
    """Raise a ``ValueError`` if labels are missing or mix text and numbers.

    Only lists, tuples and arrays of objects can hold such labels. NumPy would make them all text.
    """
    if not isinstance(y, list | tuple) and str(getattr(y, "dtype", "")) != "object":
        return
    first: dict[type, int] = {}
    for i, label in enumerate(y):
        first.setdefault(type(label), i)
    cells = list(y)
    missing = [i for i, label in enumerate(cells) if label is None] if type(None) in first else []
    if missing:
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise ValueError(
            f"y must have a label for each example, but that of row {missing[0]} is None{more}. "
            "Leave such examples out, or use OPFSemiSupervised, which learns from them, too."
        )
    text = [i for kind, i in first.items() if issubclass(kind, str)]
    numbers = [i for kind, i in first.items() if issubclass(kind, Number | np.bool_)]
    if any(cells[i] != cells[i] for i in numbers):
        return  # scikit-learn has an error for NaN
    if text and numbers:
        i, j = text[0], numbers[0]
        raise ValueError(
            f"labels must all be text or all be numbers, but that of row {i} is {cells[i]!r:.60} "
            f"and that of row {j} is {cells[j]!r}. Convert them first: [str(label) for label in y]."
        )


def by_blocks(method: Method) -> Method:
    """Let a query method accept sparse matrices: it is called for dense blocks of their rows.

    The forest does not change between the calls.
    """

    @wraps(method)
    def call(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not issparse(X) or not hasattr(self, "forest_") or X.shape[0] == 0:
            return method(self, X, *args, **kwargs)
        _reject_table(_is_pairwise(self))
        with self.fitted_forest().read():
            parts = [method(self, part, *args, **kwargs)
                     for part in _split_rows(X, self.forest_.dtype)]  # fmt: skip
        if isinstance(parts[0], tuple):
            return tuple(map(np.concatenate, zip(*parts, strict=True)))
        return np.concatenate(parts)

    return call  # type: ignore[return-value]


def _is_pairwise(estimator: Any) -> bool:
    return bool(estimator.__sklearn_tags__().input_tags.pairwise)


def _reject_table(is_pairwise: bool) -> None:
    if is_pairwise:
        raise ValueError(
            "metric='precomputed' needs all distances, but X is a sparse matrix: entries that it "
            "does not have would be distances of 0. Pass X.toarray() if they are."
        )


def _to_dense(X: Any, is_pairwise: bool, dtype: Any) -> Array:
    """Return a sparse matrix as an array, converted in blocks of rows."""
    _reject_table(is_pairwise)
    if X.ndim != 2:
        return np.asarray(X.toarray())  # scikit-learn has an error for it
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported: X must hold real numbers.")
    wanted = dtype if isinstance(dtype, tuple) else (dtype,)
    kind = np.dtype(X.dtype if X.dtype in wanted else wanted[0])
    size = X.shape[0] * X.shape[1] * kind.itemsize
    reason = (
        f"X is a sparse matrix of shape {X.shape}, and a forest keeps examples with all their "
        f"features, which takes {size / 1e9:.3g} GB in {kind}. Pass fewer examples, or fewer "
        "features: TruncatedSVD of scikit-learn makes some hundred of them from a sparse matrix."
    )
    if size > _count_bytes_of_memory():
        raise MemoryError(reason)
    try:
        dense = np.empty(X.shape, kind)
        begin = 0
        for part in _split_rows(X, kind):
            dense[begin : begin + len(part)] = part
            begin += len(part)
    except MemoryError as error:
        raise MemoryError(reason) from error
    return dense


def _split_rows(X: Any, dtype: np.dtype[Any]) -> Iterator[Array]:
    """Yield dense blocks of rows of a sparse matrix."""
    rows, (n, d) = X.tocsr(), X.shape
    step = max(1, tuning.values.sparse_block // max(1, d * dtype.itemsize))
    for begin in range(0, n, step):
        yield rows[begin : begin + step].toarray().astype(dtype, copy=False)


def _count_bytes_of_memory() -> float:
    """Return the memory of the machine; infinity where it is unknown."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):  # Windows has no sysconf
        return float("inf")


def _find_text(X: Any) -> tuple[str, str] | None:
    """Return the name or number of the first column that holds text, and some of the text."""
    if hasattr(X, "columns") and hasattr(X, "__getitem__"):
        columns = [(repr(str(name)), X[name]) for name in X.columns]
    else:
        try:
            table = np.asarray(X, object)
        except ValueError:  # rows of different lengths
            return None
        if table.ndim != 2:
            return None
        columns = [(str(k), column) for k, column in enumerate(table.T)]
    for name, column in columns:
        for cell in np.asarray(column, object).tolist():
            if isinstance(cell, str) and not _is_numeral(cell):
                return name, cell
    return None


def _is_numeral(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
