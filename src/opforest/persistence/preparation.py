"""Serialize a ``Preparation``."""

from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.utils.validation import check_is_fitted

from opforest.estimators.preparation import CHOICES, Preparation
from opforest.persistence.container import require
from opforest.persistence.transformers import dump_transformer, restore_transformer


def dump_preparation(preparation: Preparation) -> dict[str, Any]:
    """Return a fitted preparation as data for JSON."""
    check_is_fitted(preparation, "transformer_")
    parameters = preparation.get_params()
    if parameters["unknown"] == "error":  # as 0.2 wrote it, which had no other way
        del parameters["unknown"]
    chosen = {"chosen_scale": preparation.scale_} if preparation.scale == "auto" else {}
    return {
        "kind": "Preparation", **parameters, **chosen,
        "columns": preparation.columns_, "n_features": preparation.n_features_in_,
        "categorical": preparation.categorical_,
        "transformer": dump_transformer(preparation.transformer_),
    }  # fmt: skip


def restore_preparation(data: Any) -> Preparation:
    """Return the preparation that was dumped; raise a ``ValueError`` if ``data`` is invalid."""
    is_preparation = isinstance(data, dict) and data.get("kind") == "Preparation"
    require(is_preparation, "it is not a preparation.")
    parameters = {name: data.get(name) for name in ("encode", "missing", "scale")}
    parameters["unknown"] = data.get("unknown", "error")  # files of 0.2 have none
    are_strings = all(type(value) is str for value in parameters.values())
    require(are_strings, "the parameters of a preparation must be strings.")
    preparation = Preparation(**parameters)
    preparation.check_parameters()
    n, names, text = data.get("n_features"), data.get("columns"), data.get("categorical")
    require(type(n) is int and 0 < n <= 10**6, "its number of columns is out of range.")
    are_columns = isinstance(text, list) and all(type(k) is int and 0 <= k < n for k in text)
    require(are_columns and sorted(set(text)) == text, "its columns of text are invalid.")
    require(not text or preparation.encode != "error", "its columns of text cannot be encoded.")
    are_strings = isinstance(names, list) and all(type(name) is str for name in names)
    are_names = are_strings and len(names) == n == len(set(names))
    require(names is None or are_names, "the names of its columns are invalid.")
    transformer = restore_transformer(data.get("transformer"))
    scale = data.get("chosen_scale") if preparation.scale == "auto" else preparation.scale
    is_choice = preparation.scale != "auto" or scale in CHOICES
    require(is_choice, f"the scale that it has chosen must be one of {list(CHOICES)}.")
    expected = preparation.make_transformer(n, text, scale)
    is_same = not isinstance(transformer, str) and _shape(transformer) == _shape(expected)
    require(is_same, "its transformer does not match its parameters.")
    n_inside = n - len(text) if preparation.encode == "drop" or not text else n
    has_all = data["transformer"]["n_features"] == n_inside
    require(has_all, "its transformer has other columns.")
    preparation.columns_, preparation.categorical_, preparation.n_features_in_ = names, text, n
    preparation.scale_, preparation.transformer_ = scale, transformer
    return preparation


def _shape(transformer: Any) -> Any:
    """Return types, parameters and columns of a transformer and its parts."""
    if hasattr(transformer, "steps"):
        return [_shape(step) for _, step in transformer.steps]
    if isinstance(transformer, ColumnTransformer):
        parts = getattr(transformer, "transformers_", transformer.transformers)
        return [(name, _shape(part), columns) for name, part, columns in parts]
    if isinstance(transformer, str):
        return transformer
    parameters = {name: value for name, value in transformer.get_params().items()
                  if name not in ("categories", "dtype", "missing_values")}  # fmt: skip
    return type(transformer), parameters
