"""Preprocessing of mixed columns into numeric features, with scikit-learn's transformers."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils.validation import check_is_fitted

from opforest._utils.text import count
from opforest.core.metrics.types import Array
from opforest.estimators.inverse_columns import undo
from opforest.estimators.relevance import RelevanceScaler, choose_scaler

ENCODE = ("error", "onehot", "ordinal", "drop")
MISSING = ("error", "drop", "median")
UNKNOWN = ("error", "ignore")
SCALES: dict[str, Any] = {
    "none": None, "standard": StandardScaler, "robust": RobustScaler, "minmax": MinMaxScaler,
    "relevance": RelevanceScaler,
}  # fmt: skip

#: The types of ``None``, of NumPy's masked cells and of pandas' ``NA``.
MISSING_TYPES = ("NoneType", "MaskedConstant", "NAType")

#: The values of ``scale`` that learn from labels, and those that ``"auto"`` chooses from.
SUPERVISED, CHOICES = ("relevance", "auto"), ("standard", "relevance")


class Preparation(TransformerMixin, BaseEstimator):
    """Prepare a table for a metric: encode categories, fill in missing values, scale.

    As a step of a ``Pipeline`` it is saved with the model by ``opforest.save``.

    Parameters
    ----------
    encode : {"error", "onehot", "ordinal", "drop"}, default="error"
        How to encode columns of text: as a column for each category; as the number of the
        category, in alphabetical order; not at all. By default they are an error.
    missing : {"error", "drop", "median"}, default="error"
        How to handle missing cells. ``"median"`` fills in the median of the column, or the most
        frequent category. With ``"drop"``, the caller drops the rows that ``is_complete`` rejects.
    scale : {"none", "standard", "robust", "minmax", "relevance", "auto"}, default="none"
        How to scale columns of numbers: to mean 0 and deviation 1; to median 0 and quartile
        distance 1; to the range from 0 to 1; by how much they tell about the label, as
        ``RelevanceScaler`` does; as ``"standard"`` or ``"relevance"``, whichever makes the labels
        more likely, each judged by the votes of the other examples. The last two need labels. Of
        categories, only ``"ordinal"`` ones are scaled.
    unknown : {"error", "ignore"}, default="error"
        How to handle a category that the training table did not have. ``"ignore"`` encodes it as
        none of the known ones: all columns of ``"onehot"`` are 0, the number of ``"ordinal"`` is
        −1.

    Attributes
    ----------
    columns_ : list of str or None
        The names of the columns, if they have names.
    n_features_in_ : int
        Their number.
    categorical_ : list of int
        The columns of text.
    scale_ : str
        How columns of numbers are scaled: ``scale``, or what ``"auto"`` has chosen.
    transformer_ : transformer
        The fitted transformers.

    Examples
    --------
    >>> import numpy as np
    >>> from opforest import Preparation
    >>> table = np.array([[1.0, "red"], [3.0, "blue"]], object)
    >>> Preparation(encode="onehot", scale="minmax").fit_transform(table)
    array([[0., 0., 1.],
           [1., 1., 0.]])
    """

    columns_: list[str] | None
    categorical_: list[int]
    scale_: str
    transformer_: Any

    def __init__(
        self,
        encode: str = "error",
        missing: str = "error",
        scale: str = "none",
        unknown: str = "error",
    ) -> None:
        self.encode = encode
        self.missing = missing
        self.scale = scale
        self.unknown = unknown

    @property
    def is_needed(self) -> bool:
        """Whether it does anything."""
        return (self.encode, self.missing, self.scale) != ("error", "error", "none")

    @property
    def needs_labels(self) -> bool:
        """Whether it learns from labels."""
        return self.scale in SUPERVISED

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: labels are required if the scale depends on them."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.needs_labels
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn categories, medians and scales.

        Parameters
        ----------
        X : data frame (pandas, polars) or array-like of shape (n_samples, n_features)
            The table. Text makes a column one of categories; ``None`` and NaN are missing.
        y : array-like of shape (n_samples,), default=None
            The labels, ``None`` or NaN where there is none. Only ``scale="relevance"`` and
            ``"auto"`` need and use them.
        """
        self.check_parameters()
        if self.needs_labels and y is None:
            raise ValueError(
                f"scale={self.scale!r} learns from labels, but y is None: pass y, or choose "
                "scale='standard', 'robust' or 'minmax'."
            )
        names, cells = _split_columns(X)
        if not cells or not len(cells[0]):
            raise ValueError("a preparation needs a table that has rows and columns.")
        text = [k for k, column in enumerate(cells) if column.dtype == object]
        shown = _name_columns(names, len(cells))
        if text and self.encode == "error":
            listed = ", ".join(shown[k] for k in text)
            raise ValueError(
                f"columns of text need encode='onehot', 'ordinal' or 'drop': {listed}."
            )
        self._check_complete(cells, shown, text)
        empty = [shown[k] for k, column in enumerate(cells) if bool(_is_missing(column).all())]
        if empty:
            raise ValueError(f"all cells are missing in {', '.join(empty)}: leave them out.")
        y = y if self.needs_labels else None
        scale = self._choose_scale(cells, text, y) if self.scale == "auto" else self.scale
        transformer = self.make_transformer(len(cells), text, scale)
        transformer.fit(self._stack_columns(cells, text), y)
        self.columns_, self.categorical_, self.n_features_in_ = names, text, len(cells)
        self.scale_, self.transformer_ = scale, transformer
        return self

    def _choose_scale(self, cells: list[Array], text: list[int], y: Any) -> str:
        """Return the better one of ``CHOICES`` for the columns that are scaled."""
        plain = self.make_transformer(len(cells), text, "none")
        matrix = plain.fit_transform(self._stack_columns(cells, text))
        n_scaled = len(cells) if self.encode == "ordinal" else len(cells) - len(text)
        if n_scaled == 0:
            return CHOICES[0]
        # Columns of numbers come first, then those of categories.
        return choose_scaler(np.ascontiguousarray(matrix[:, :n_scaled], np.float64), y)

    def transform(self, X: Any) -> Array:
        """Return the features of a table, as float64.

        It must have the columns of the training table; if columns have names, others are ignored.
        """
        check_is_fitted(self, "transformer_")
        names, cells = _split_columns(X)
        cells = self._match_columns(names, cells)
        for k in self.categorical_:
            if cells[k].dtype != object and np.isnan(cells[k]).all():
                cells[k] = cells[k].astype(object)  # an empty column may be text
        shown = _name_columns(self.columns_, len(cells))
        for k, column in enumerate(cells):
            if (column.dtype == object) != (k in self.categorical_) and len(column):
                was, now = ("text", "numbers") if k in self.categorical_ else ("numbers", "text")
                raise ValueError(f"column {shown[k]} held {was} in training, and now {now}.")
        self._check_complete(cells, shown, self.categorical_)
        self._check_categories(cells, shown)
        if len(cells[0]) == 0:
            return np.empty((0, len(self.get_feature_names_out())))
        matrix = self.transformer_.transform(self._stack_columns(cells, self.categorical_))
        return np.ascontiguousarray(matrix, np.float64)

    def is_complete(self, X: Any) -> Array:
        """Return, for each row, whether no cell of it is missing."""
        _, cells = _split_columns(X)
        known = getattr(self, "categorical_", range(len(cells)))
        text = [k for k, column in enumerate(cells) if column.dtype == object and k in known]
        missing = [_is_missing(cells[k]) for k in self._list_kept(len(cells), text)]
        return ~np.any(missing, axis=0) if missing else np.ones(len(cells[0]), bool)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the features that ``transform`` returns."""
        check_is_fitted(self, "transformer_")
        names = self.columns_ or [f"x{k + 1}" for k in range(self.n_features_in_)]
        out = [name for k, name in enumerate(names) if k not in self.categorical_]
        if self.encode == "ordinal":
            out += [names[k] for k in self.categorical_]
        if self.encode == "onehot":
            for k, categories in self._list_categories():
                out += [f"{names[k]}={category}" for category in categories]
        return np.array(out, object)

    def inverse_transform(self, X: Any) -> Array:
        """Return the table of features that ``transform`` returned, up to rounding.

        Cells of columns that it dropped, and categories that it did not know, are ``None``; a
        missing cell is what was filled in.
        """
        return self.undo(X)[0]

    def undo(self, X: Any) -> tuple[Array, Array]:
        """Return ``inverse_transform(X)``, and the column that each feature comes from."""
        check_is_fitted(self, "transformer_")
        found = undo(self.transformer_, np.asarray(X, np.float64))
        if found is None:
            raise ValueError(f"X must be features from transform, got shape {np.shape(X)}.")
        table = np.full((len(found[0]), self.n_features_in_), None, object)
        kept = np.array(self._list_kept(self.n_features_in_, self.categorical_))
        table[:, kept] = found[0]
        return table, kept[found[1]]

    def _list_categories(self) -> list[tuple[int, Array]]:
        """Return the encoded columns and their categories."""
        if self.encode == "drop" or not self.categorical_:
            return []
        # A scaler for all columns may follow the transformer of single columns.
        columns = getattr(self.transformer_, "steps", [("columns", self.transformer_)])[0][1]
        steps = columns.named_transformers_["categories"].steps
        encoder = next(step for _, step in steps if hasattr(step, "categories_"))
        return list(zip(self.categorical_, encoder.categories_, strict=True))

    def check_parameters(self) -> None:
        """Raise a ``ValueError`` unless each parameter is one of its choices."""
        scales = *SCALES, "auto"
        parameters = {"encode": ENCODE, "missing": MISSING, "scale": scales, "unknown": UNKNOWN}
        for name, choices in parameters.items():
            if getattr(self, name) not in choices:
                raise ValueError(
                    f"{name} must be one of {list(choices)}, got {getattr(self, name)!r}."
                )

    def make_transformer(self, n: int, text: list[int], scale: str) -> Any:
        """Return the unfitted transformer of n columns, given those of text and how to scale."""
        scaler = SCALES[scale]
        fill = [SimpleImputer(strategy="median")] if self.missing == "median" else []
        plain = StandardScaler(with_mean=False, with_std=False)  # changes nothing
        has_columns = bool(text) and self.encode != "drop"
        # The relevance of a column is relative to that of all others that are scaled.
        is_last = has_columns and scale == "relevance" and self.encode == "ordinal"
        inner = [scaler()] if scaler and not is_last else []
        numbers = make_pipeline(*fill, *(inner or ([] if fill else [plain])))
        if not has_columns:
            return numbers
        modes = [SimpleImputer(strategy="most_frequent")] if self.missing == "median" else []
        if self.encode == "onehot":
            encoders = [OneHotEncoder(sparse_output=False, handle_unknown=self.unknown)]
        else:
            known = {"handle_unknown": "use_encoded_value", "unknown_value": -1}
            ordinal = OrdinalEncoder(**(known if self.unknown == "ignore" else {}))
            encoders = [ordinal, *([scaler()] if inner else [])]
        others = [k for k in range(n) if k not in set(text)]
        parts = [("numbers", numbers, others)] if others else []
        parts.append(("categories", make_pipeline(*modes, *encoders), text))
        columns = ColumnTransformer(parts, sparse_threshold=0)
        return make_pipeline(columns, scaler()) if is_last else columns

    def _list_kept(self, n: int, text: list[int]) -> list[int]:
        """Return which of n columns are not dropped, given those of text."""
        dropped = set(text) if self.encode == "drop" else set()
        return [k for k in range(n) if k not in dropped]

    def _stack_columns(self, cells: list[Array], text: list[int]) -> Array:
        """Return the columns side by side."""
        kept = [cells[k] for k in self._list_kept(len(cells), text)]
        if not kept:
            raise ValueError("no column is left: all hold text, and encode='drop'.")
        return np.column_stack(kept)

    def _match_columns(self, names: list[str] | None, cells: list[Array]) -> list[Array]:
        if names is not None and self.columns_ is not None:
            place = {name: k for k, name in enumerate(names)}
            missing = [name for name in self.columns_ if name not in place]
            if missing:
                raise ValueError(f"columns of the training table are missing: {missing}.")
            return [cells[place[name]] for name in self.columns_]
        if len(cells) != self.n_features_in_:
            wanted = count(self.n_features_in_, "column")
            raise ValueError(f"there must be {wanted}, got {len(cells)}.")
        return cells

    def _check_complete(self, cells: list[Array], shown: list[str], text: list[int]) -> None:
        if self.missing == "median":
            return
        first = {shown[k]: int(missing.argmax()) for k in self._list_kept(len(cells), text)
                 if (missing := _is_missing(cells[k])).any()}  # fmt: skip
        if first:
            raise MissingCellError(", ".join(first), min(first.values()))

    def _check_categories(self, cells: list[Array], shown: list[str]) -> None:
        if self.unknown == "ignore":
            return
        for k, known in self._list_categories():
            column = cells[k]
            unknown = ~np.isin(column.astype(str), known.astype(str)) & ~_is_missing(column)
            if unknown.any():
                raise UnknownCategoryError(
                    f"column {shown[k]} has {str(column[unknown][0])!r}, which is not in the "
                    f"training data: {', '.join(map(str, known[:8]))}"
                    f"{' …' if len(known) > 8 else ''}. Fit with unknown='ignore' (train "
                    "--unknown ignore) to accept such cells.",
                    int(unknown.argmax()), k,
                )  # fmt: skip


class MissingCellError(ValueError):
    """Cells are missing in ``columns``, the first one in ``row``, and ``missing="error"``."""

    def __init__(self, columns: str, row: int) -> None:
        super().__init__(f"cells are missing in {columns}: missing='median' fills them in.")
        self.columns, self.row = columns, row


class UnknownCategoryError(ValueError):
    """The category at ``row`` and ``column`` was not in the training table."""

    def __init__(self, reason: str, row: int, column: int) -> None:
        super().__init__(reason)
        self.row, self.column = row, column


def _name_columns(names: list[str] | None, n: int) -> list[str]:
    """Return how messages call n columns: by name or by number."""
    return [str(k + 1) for k in range(n)] if names is None else list(map(repr, names))


def _is_missing(column: Array) -> Array:
    return np.asarray(column != column, bool)  # NaN, which ``_convert_column`` has put there


def _split_columns(X: Any) -> tuple[list[str] | None, list[Array]]:
    """Return the columns of a table: float64, or objects where there is text."""
    if hasattr(X, "columns"):
        names = [str(name) for name in X.columns]
        return names, [_convert_column(X[name].to_numpy()) for name in X.columns]
    table = np.asarray(X)
    if table.ndim != 2:
        raise ValueError(f"a table must have two dimensions, got an array of shape {table.shape}.")
    return None, [_convert_column(column) for column in table.T]


def _convert_column(cells: Array) -> Array:
    if cells.dtype.kind in "biuf":
        return cells.astype(np.float64)
    plain = np.array([np.nan if type(cell).__name__ in MISSING_TYPES else cell
                      for cell in cells.tolist()], object)  # fmt: skip
    if any(isinstance(cell, str) for cell in plain):
        return np.array([cell if cell != cell else str(cell) for cell in plain], object)
    try:
        return plain.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError("columns must hold numbers or text.") from None
