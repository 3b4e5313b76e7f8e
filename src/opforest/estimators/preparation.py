"""Preprocessing of mixed columns into numeric features, with scikit-learn's transformers."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt
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

Array = npt.NDArray[Any]

ENCODE = ("error", "onehot", "ordinal", "drop")
MISSING = ("error", "drop", "median")
SCALES: dict[str, Any] = {
    "none": None, "standard": StandardScaler, "robust": RobustScaler, "minmax": MinMaxScaler,
}  # fmt: skip


class Preparation(TransformerMixin, BaseEstimator):
    """Prepare a table for a metric: encode categories, fill in missing values, scale.

    It is learned on training data and kept with the model. In front of a classifier, in a
    ``Pipeline``, it can be saved by ``opforest.save``.

    Parameters
    ----------
    encode : {"error", "onehot", "ordinal", "drop"}, default="error"
        What becomes of columns of text: a column for each category; the number of the category, in
        alphabetical order; nothing. By default they are an error that names all of them.
    missing : {"error", "drop", "median"}, default="error"
        What becomes of missing cells. ``"median"`` fills in the median of the column, in a column
        of categories the most frequent one. ``"drop"`` is for whoever calls: ``is_complete`` tells
        which rows can be used; the others are an error.
    scale : {"none", "standard", "robust", "minmax"}, default="none"
        How columns of numbers are scaled: to mean 0 and deviation 1; to median 0 and quartile
        distance 1; to the range from 0 to 1. Columns of categories, unless ``"ordinal"``, are not.

    Attributes
    ----------
    columns_ : list of str or None
        The names of the columns, where they have names.
    n_features_in_ : int
        Their number.
    categorical_ : list of int
        The columns of text.
    transformer_ : transformer
        What scikit-learn's transformers have learned.

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
    transformer_: Any

    def __init__(
        self, encode: str = "error", missing: str = "error", scale: str = "none"
    ) -> None:  # fmt: skip
        self.encode = encode
        self.missing = missing
        self.scale = scale

    @property
    def is_needed(self) -> bool:
        """Whether it does anything."""
        return (self.encode, self.missing, self.scale) != ("error", "error", "none")

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn categories, medians and scales.

        Parameters
        ----------
        X : data frame (pandas, polars) or array-like of shape (n_samples, n_features)
            The table. Text makes a column one of categories; ``None`` and NaN are missing.
        y : ignored
            Labels do not matter.

        Returns
        -------
        Preparation
            The preparation itself.
        """
        self.check_parameters()
        names, cells = _columns_of(X)
        if not cells or not len(cells[0]):
            raise ValueError("a preparation is learned on a table that has rows and columns.")
        text = [k for k, column in enumerate(cells) if column.dtype == object]
        called = [str(k + 1) if names is None else repr(names[k]) for k in range(len(cells))]
        if text and self.encode == "error":
            listed = ", ".join(called[k] for k in text)
            raise ValueError(
                f"columns of text need encode='onehot', 'ordinal' or 'drop': {listed}."
            )
        self._check_complete(cells, called, text)
        empty = [called[k] for k, column in enumerate(cells) if bool(_is_missing(column).all())]
        if empty:
            raise ValueError(f"all cells are missing in {', '.join(empty)}: leave these out.")
        transformer = self.make_transformer(len(cells), text)
        transformer.fit(self._matrix(cells, text))
        self.columns_, self.categorical_, self.n_features_in_ = names, text, len(cells)
        self.transformer_ = transformer
        return self

    def transform(self, X: Any) -> Array:
        """Return the numbers.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            A table with the columns that were learned; others are ignored if columns have names.

        Returns
        -------
        array of shape (n_samples, n_features_out)
            The features, as float64.
        """
        check_is_fitted(self, "transformer_")
        names, cells = _columns_of(X)
        cells = self._matching(names, cells)
        for k in self.categorical_:
            if cells[k].dtype != object and np.isnan(cells[k]).all():
                cells[k] = cells[k].astype(object)  # nothing in it, so it may be text
        called = [str(k + 1) if self.columns_ is None else repr(self.columns_[k])
                  for k in range(len(cells))]  # fmt: skip
        for k, column in enumerate(cells):
            if (column.dtype == object) != (k in self.categorical_) and len(column):
                was, now = ("text", "numbers") if k in self.categorical_ else ("numbers", "text")
                raise ValueError(f"column {called[k]} held {was} in training, and now {now}.")
        self._check_complete(cells, called, self.categorical_)
        self._check_categories(cells, called)
        if len(cells[0]) == 0:
            return np.empty((0, len(self.get_feature_names_out())))
        matrix = self.transformer_.transform(self._matrix(cells, self.categorical_))
        return np.ascontiguousarray(matrix, np.float64)

    def is_complete(self, X: Any) -> Array:
        """Tell of each row whether no cell of it is missing."""
        _, cells = _columns_of(X)
        complete = np.ones(len(cells[0]), bool)
        for k, column in enumerate(cells):
            if self.encode != "drop" or column.dtype != object or k not in self.__dict__.get(
                "categorical_", [k] if column.dtype == object else []
            ):  # fmt: skip
                complete &= ~_is_missing(column)
        return complete

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the features that come out."""
        check_is_fitted(self, "transformer_")
        names = self.columns_ or [f"x{k + 1}" for k in range(self.n_features_in_)]
        if not self.categorical_ or self.encode == "drop":
            kept = [name for k, name in enumerate(names) if k not in self.categorical_]
            return np.array(kept, object)
        out = [names[k] for k in range(self.n_features_in_) if k not in self.categorical_]
        encoder = self.transformer_.named_transformers_["categories"].steps
        for step in (step for _, step in encoder if isinstance(step, OneHotEncoder)):
            for k, categories in zip(self.categorical_, step.categories_, strict=True):
                out += [f"{names[k]}={category}" for category in categories]
        if self.encode == "ordinal":
            out += [names[k] for k in self.categorical_]
        return np.array(out, object)

    # Within.

    def check_parameters(self) -> None:
        """Raise a ``ValueError`` unless each parameter is one of its choices."""
        for name, choices in (("encode", ENCODE), ("missing", MISSING), ("scale", tuple(SCALES))):
            if getattr(self, name) not in choices:
                raise ValueError(
                    f"{name} must be one of {list(choices)}, got {getattr(self, name)!r}."
                )

    def make_transformer(self, n: int, text: list[int]) -> Any:
        """Return the transformer, which has learned nothing."""
        scaler = SCALES[self.scale]
        fill = [SimpleImputer(strategy="median")] if self.missing == "median" else []
        plain = StandardScaler(with_mean=False, with_std=False)  # changes nothing
        scalers = [scaler()] if scaler else [] if fill else [plain]
        numbers = make_pipeline(*fill, *scalers)
        if not text or self.encode == "drop":
            return numbers
        modes = [SimpleImputer(strategy="most_frequent")] if self.missing == "median" else []
        if self.encode == "onehot":
            encoders = [OneHotEncoder(sparse_output=False, handle_unknown="error")]
        else:
            encoders = [OrdinalEncoder(), *([scaler()] if scaler else [])]
        others = [k for k in range(n) if k not in set(text)]
        parts = [("numbers", numbers, others)] if others else []
        return ColumnTransformer([*parts, ("categories", make_pipeline(*modes, *encoders), text)],
                                 sparse_threshold=0)  # fmt: skip

    def _matrix(self, cells: list[Array], text: list[int]) -> Array:
        """Return the columns side by side."""
        dropped = set(text) if self.encode == "drop" else set()
        kept = [column for k, column in enumerate(cells) if k not in dropped]
        if not kept:
            raise ValueError("no column is left: all of them hold text, and encode='drop'.")
        matrix = np.empty((len(kept[0]), len(kept)), object if set(text) - dropped else np.float64)
        for k, column in enumerate(kept):
            matrix[:, k] = column
        return matrix

    def _matching(self, names: list[str] | None, cells: list[Array]) -> list[Array]:
        if names is not None and self.columns_ is not None:
            place = {name: k for k, name in enumerate(names)}
            missing = [name for name in self.columns_ if name not in place]
            if missing:
                raise ValueError(f"columns that were there in training are missing: {missing}.")
            return [cells[place[name]] for name in self.columns_]
        if len(cells) != self.n_features_in_:
            raise ValueError(f"there must be {self.n_features_in_} columns, got {len(cells)}.")
        return cells

    def _check_complete(self, cells: list[Array], called: list[str], text: list[int]) -> None:
        if self.missing == "median":
            return
        dropped = set(text) if self.encode == "drop" else set()
        wanting = {called[k]: int(missing.argmax()) for k, column in enumerate(cells)
                   if k not in dropped and (missing := _is_missing(column)).any()}  # fmt: skip
        if wanting:
            raise MissingCellError(", ".join(wanting), min(wanting.values()))

    def _check_categories(self, cells: list[Array], called: list[str]) -> None:
        """Say which categories are new, all of them."""
        if self.encode == "drop" or not self.categorical_:
            return
        steps = self.transformer_.named_transformers_["categories"].steps
        encoder = next(step for _, step in steps if hasattr(step, "categories_"))
        for k, known in zip(self.categorical_, encoder.categories_, strict=True):
            column = cells[k]
            unknown = ~np.isin(column.astype(str), known.astype(str)) & ~_is_missing(column)
            if unknown.any():
                raise UnknownCategoryError(
                    f"column {called[k]} has {str(column[unknown][0])!r}, which was not there in "
                    f"training: {', '.join(map(str, known[:8]))}{' …' if len(known) > 8 else ''}.",
                    int(unknown.argmax()), k,
                )  # fmt: skip


class MissingCellError(ValueError):
    """A cell is missing, and nothing says what to do about it.

    Attributes
    ----------
    columns : str
        The names of all columns in which cells are missing.
    row : int
        Where the first one is.
    """

    def __init__(self, columns: str, row: int) -> None:
        super().__init__(f"cells are missing in {columns}: missing='median' fills them in.")
        self.columns, self.row = columns, row


class UnknownCategoryError(ValueError):
    """A category that was not there in training.

    Attributes
    ----------
    row, column : int
        Where it is.
    """

    def __init__(self, reason: str, row: int, column: int) -> None:
        super().__init__(reason)
        self.row, self.column = row, column


def _is_missing(column: Array) -> Array:
    if column.dtype == object:
        return np.array([cell is None or cell != cell for cell in column], bool)
    return np.isnan(column)


def _columns_of(X: Any) -> tuple[list[str] | None, list[Array]]:
    """Return the columns of a table: float64, or objects where there is text."""
    if hasattr(X, "columns"):
        names = [str(name) for name in X.columns]
        return names, [_column(X[name].to_numpy()) for name in X.columns]
    table = np.asarray(X)
    if table.ndim != 2:
        raise ValueError(f"a table has rows and columns, got an array of shape {table.shape}.")
    return None, [_column(column) for column in table.T]


def _column(cells: Array) -> Array:
    if cells.dtype.kind in "biuf":
        return cells.astype(np.float64)
    plain = np.array([np.nan if cell is None or cell is np.ma.masked else cell
                      for cell in cells.tolist()], object)  # fmt: skip
    if any(isinstance(cell, str) for cell in plain):
        return np.array([cell if cell != cell else str(cell) for cell in plain], object)
    try:
        return plain.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError("columns must hold numbers or text.") from None
