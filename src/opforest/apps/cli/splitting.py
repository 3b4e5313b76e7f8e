"""What the tools do with examples: dealt into parts, merged, standardized."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from opforest.errors import DataFileError
from opforest.io.columns.table import Array, Data, join


def deal(y: Array | None, n: int, weights: Sequence[float], seed: int) -> Array:
    """Return the part of each example: at random, each class in the same shares.

    What does not divide goes to the parts with the largest remainders, the first of equals.
    """
    rng = np.random.default_rng(seed)
    share = np.array(weights) / sum(weights)
    part = np.empty(n, np.int64)
    for members in _by_class(y, n):
        exact = share * len(members)
        count = np.floor(exact + 1e-9).astype(np.int64)
        left = len(members) - int(count.sum())
        order = (
            np.lexsort((-share, count - exact))
            if len(members) >= len(share)
            else np.lexsort((-share,))
        )
        count[order[:left]] += 1
        part[rng.permutation(members)] = np.repeat(np.arange(len(share)), count)
    return part


def deal_evenly(y: Array | None, n: int, parts: int, seed: int) -> Array:
    """Return the part of each example: at random, like cards, one class after another."""
    rng = np.random.default_rng(seed)
    order = np.concatenate([rng.permutation(members) for members in _by_class(y, n)])
    part = np.empty(n, np.int64)
    part[order] = np.arange(n) % parts
    return part


def _by_class(y: Array | None, n: int) -> list[Array]:
    if y is None:
        return [np.arange(n)]
    return [np.flatnonzero(y == label) for label in np.unique(y)]


def merge_parts(parts: Sequence[Data], names: Sequence[str]) -> Data:
    """Return the examples of all parts, or say which has other columns than the first."""
    first = parts[0]
    for part, name in zip(parts[1:], names[1:], strict=True):
        if part.X.shape[1] != first.X.shape[1]:
            reason = f"there are {part.X.shape[1]} features, but {first.X.shape[1]} in {names[0]}"
            raise DataFileError(reason, name)
        if None not in (first.feature_names, part.feature_names):
            _check_names(first, part, name)
        if (part.y is None) != (first.y is None):
            reason = f"only one of {names[0]} and {name} has labels; --label names their column"
            raise DataFileError(reason, name)
        if part.y is not None and first.y is not None and part.y.dtype.kind != first.y.dtype.kind:
            raise DataFileError(f"labels are not of the same kind as in {names[0]}", name)
    merged = join(_alike(parts, names))
    if merged.ids is not None and len(np.unique(merged.ids)) < len(merged.ids):
        merged = replace(merged, ids=None)
    return merged


def _alike(parts: Sequence[Data], names: Sequence[str]) -> Sequence[Data]:
    """Return the parts with features in arrays of one type; in data frames, if some are text."""
    if not any(hasattr(part.X, "columns") for part in parts):
        dtype = np.result_type(*(part.X.dtype for part in parts))
        return [replace(part, X=part.X.astype(dtype, copy=False)) for part in parts]
    import polars as pl

    frames = [part.X if hasattr(part.X, "columns") else pl.DataFrame(part.X).fill_nan(None)
              for part in parts]  # fmt: skip
    for k in range(frames[0].width):
        known = [(frame.to_series(k).dtype == pl.String, name)
                 for frame, name in zip(frames, names, strict=True)
                 if frame.to_series(k).null_count() < len(frame)]  # fmt: skip
        if other := [name for is_text, name in known if is_text != known[0][0]]:
            has, had = ("numbers", "text") if known[0][0] else ("text", "numbers")
            reason = f"feature {k + 1} holds {has}, and {had} in {known[0][1]}"
            raise DataFileError(reason, other[0])
    return [replace(part, X=frame) for part, frame in zip(parts, frames, strict=True)]


def _check_names(first: Data, part: Data, name: str) -> None:
    pairs = zip(first.feature_names or (), part.feature_names or (), strict=True)
    for k, (wanted, found) in enumerate(pairs, 1):
        if wanted != found:
            raise DataFileError(f"feature {k} must be {wanted!r}, as before, got {found!r}", name)


def standardize(examples: Data, reference: Data, path: str, single: bool) -> Data:
    """Return z-scores; ``single`` is for formats with numbers of 32 bits."""
    if reference.X.shape[1] != examples.X.shape[1]:
        raise DataFileError(
            f"there are {examples.X.shape[1]} features, but {reference.X.shape[1]} in the file "
            "that --by names",
            path,
        )
    if None not in (reference.feature_names, examples.feature_names):
        _check_names(reference, examples, path)
    X = reference.X.astype(np.float64)
    deviation = X.std(axis=0)
    deviation[deviation == 0] = 1
    z = (examples.X - X.mean(axis=0)) / deviation
    return replace(examples, X=z.astype(np.float32 if single else examples.X.dtype))
