"""A ``Preparation`` as data that JSON can hold, and back, with everything checked."""

from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.utils.validation import check_is_fitted

from opforest.estimators.preparation import Preparation
from opforest.persistence.transformers import from_data, to_data


def dump_preparation(preparation: Preparation) -> dict[str, Any]:
    """Return a fitted preparation as data that JSON can hold."""
    check_is_fitted(preparation, "transformer_")
    return {
        "kind": "Preparation", **preparation.get_params(), "columns": preparation.columns_,
        "n_features": preparation.n_features_in_, "categorical": preparation.categorical_,
        "transformer": to_data(preparation.transformer_),
    }  # fmt: skip


def restore_preparation(data: Any) -> Preparation:
    """Return the preparation that ``dump_preparation`` was given.

    Raise a ``ValueError`` that says what is wrong, whatever ``data`` is.
    """
    if not isinstance(data, dict) or data.get("kind") != "Preparation":
        raise ValueError("it is not a preparation.")
    chosen = {name: data.get(name) for name in ("encode", "missing", "scale")}
    if not all(type(value) is str for value in chosen.values()):
        raise ValueError("the parameters of a preparation must be strings.")
    one = Preparation(**chosen)  # type: ignore[arg-type]
    one.check_parameters()
    n, names, text = data.get("n_features"), data.get("columns"), data.get("categorical")
    if type(n) is not int or not 0 < n <= 10**6:
        raise ValueError(f"a preparation cannot have {str(n)[:50]} columns.")
    if not isinstance(text, list) or not all(type(k) is int and 0 <= k < n for k in text):
        raise ValueError("its columns of text are not among its columns.")
    named = isinstance(names, list) and all(type(name) is str for name in names)
    if names is not None and not (named and len(names) == n == len(set(names))):
        raise ValueError("the names of its columns are invalid.")
    if sorted(set(text)) != text or (text and one.encode == "error"):
        raise ValueError("its columns of text cannot be encoded.")
    transformer = from_data(data.get("transformer"))
    wanted, shape = one.make_transformer(n, text), data["transformer"]
    if isinstance(transformer, str) or _shape(transformer) != _shape(wanted):
        raise ValueError("its transformer does not match its parameters.")
    inside = n - len(text) if one.encode == "drop" or not text else n
    if shape["n_features"] != inside:
        raise ValueError("its transformer has other columns.")
    one.columns_, one.categorical_, one.n_features_in_ = names, text, n
    one.transformer_ = transformer
    return one


def _shape(transformer: Any) -> Any:
    """Return what a transformer is made of."""
    if hasattr(transformer, "steps"):
        return [_shape(step) for _, step in transformer.steps]
    if isinstance(transformer, ColumnTransformer):
        fitted = getattr(transformer, "transformers_", transformer.transformers)
        return [(name, _shape(part), columns) for name, part, columns in fitted]
    if isinstance(transformer, str):
        return transformer
    parameters = {name: value for name, value in transformer.get_params().items()
                  if name not in ("categories", "dtype", "missing_values")}  # fmt: skip
    return type(transformer), parameters
