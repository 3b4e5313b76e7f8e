"""Operations on examples: splitting, merging, standardizing."""

from collections.abc import Sequence
from dataclasses import replace

from opforest._utils.text import count
from opforest.apps.cli.lazy_modules import np, table
from opforest.errors import DataFileError


def assign_stratified(
    y: "table.Array | None", n: int, weights: Sequence[float], seed: int
) -> "table.Array":
    """Return a random part of each example, with the same fractions of each class.

    What does not divide goes to the parts with the largest remainders, the first of equals.
    """
    rng = np.random.default_rng(seed)
    fraction = np.array(weights) / sum(weights)
    part = np.empty(n, np.int64)
    for members in _by_class(y, n):
        exact = fraction * len(members)
        count = np.floor(exact + 1e-9).astype(np.int64)
        left = len(members) - int(count.sum())
        has_enough = len(members) >= len(fraction)
        order = np.lexsort((-fraction, count - exact) if has_enough else (-fraction,))
        count[order[:left]] += 1
        part[rng.permutation(members)] = np.repeat(np.arange(len(fraction)), count)
    return part


def assign_folds(y: "table.Array | None", n: int, parts: int, seed: int) -> "table.Array":
    """Return a random part of each example: dealt like cards, one class after another."""
    rng = np.random.default_rng(seed)
    order = np.concatenate([rng.permutation(members) for members in _by_class(y, n)])
    part = np.empty(n, np.int64)
    part[order] = np.arange(n) % parts
    return part


def _by_class(y: "table.Array | None", n: int) -> list["table.Array"]:
    if y is None:
        return [np.arange(n)]
    return [np.flatnonzero(y == label) for label in np.unique(y)]


def merge_parts(parts: Sequence["table.Data"], names: Sequence[str]) -> "table.Data":
    """Return the examples of all parts, or raise an error if the columns of one differ."""
    first = parts[0]
    for part, name in zip(parts[1:], names[1:], strict=True):
        _check_features(first, part, names[0], name)
        if (part.y is None) != (first.y is None):
            reason = f"only one of {names[0]} and {name} has labels; --label names their column"
            raise DataFileError(reason, name)
        if part.y is not None and first.y is not None and part.y.dtype.kind != first.y.dtype.kind:
            raise DataFileError(f"labels are not of the same kind as in {names[0]}", name)
    merged = table.join(_unify_types(parts, names))
    if merged.ids is not None and len(np.unique(merged.ids)) < len(merged.ids):
        merged = replace(merged, ids=None)
    return merged


def _unify_types(parts: Sequence["table.Data"], names: Sequence[str]) -> Sequence["table.Data"]:
    """Return the parts with features in arrays of one type; in data frames if some are text."""
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
            here, there = ("numbers", "text") if known[0][0] else ("text", "numbers")
            reason = f"feature {k + 1} holds {here}, but {there} in {known[0][1]}"
            raise DataFileError(reason, other[0])
    return [replace(part, X=frame) for part, frame in zip(parts, frames, strict=True)]


def _check_features(first: "table.Data", part: "table.Data", first_name: str, name: str) -> None:
    """Raise an error unless two parts have the same features."""
    if part.X.shape[1] != first.X.shape[1]:
        features = count(part.X.shape[1], "feature")
        verb = "is" if part.X.shape[1] == 1 else "are"
        reason = f"there {verb} {features}, but {first.X.shape[1]} in {first_name}"
        raise DataFileError(reason, name)
    if first.feature_names is None or part.feature_names is None:
        return
    for k, names in enumerate(zip(first.feature_names, part.feature_names, strict=True), 1):
        if names[0] != names[1]:
            reason = f"feature {k} must be {names[0]!r}, as in {first_name}, got {names[1]!r}"
            raise DataFileError(reason, name)


def standardize(
    examples: "table.Data", reference: "table.Data", path: str, single: bool
) -> "table.Data":
    """Return z-scores by the means and deviations of a reference; ``single`` is for 32 bits."""
    _check_features(reference, examples, "the file of --by", path)
    X = reference.X.astype(np.float64)
    deviation = X.std(axis=0)
    deviation[deviation == 0] = 1
    z = (examples.X - X.mean(axis=0)) / deviation
    return replace(examples, X=z.astype(np.float32 if single else examples.X.dtype))
