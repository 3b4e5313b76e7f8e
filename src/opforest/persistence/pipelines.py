"""Serialize pipelines: the steps before the model, and the layout of its data files."""

from itertools import pairwise
from typing import Any

from opforest._utils.numerals import Cells
from opforest.errors import ModelFileError
from opforest.persistence.container import require

#: The most steps before the model.
MAX_STEPS = 20


def split_pipeline(model: Any) -> tuple[Any, dict[str, Any] | None]:
    """Return the last step of a pipeline, and the others as data; None if there are none."""
    if not hasattr(model, "steps"):
        return model, None
    from sklearn.pipeline import Pipeline

    if not isinstance(model, Pipeline):
        return model, None
    *before, (name, last) = model.steps
    return last, {"steps": dump_steps(before), "last": name}


def dump_steps(steps: Any) -> list[Any]:
    """Return the steps before a model as data; raise a ``ValueError`` if one cannot be saved."""
    from opforest.estimators.preparation import Preparation
    from opforest.persistence.preparation import dump_preparation
    from opforest.persistence.transformers import dump_transformer

    if len(steps) > MAX_STEPS:
        raise ValueError(f"a pipeline of more than {MAX_STEPS} steps cannot be saved.")
    saved = []
    for name, step in steps:
        if type(step) is Preparation:
            data: Any = dump_preparation(step)
        else:
            data = dump_transformer("passthrough" if step is None else step)
        if data == "drop":
            raise ValueError("a step of a pipeline cannot be 'drop'.")
        saved.append([name, data])
    return saved


def restore_steps(steps: Any) -> list[tuple[str, Any]]:
    """Return the steps that were dumped; raise a ``ValueError`` if the data are invalid."""
    from opforest.persistence.preparation import restore_preparation
    from opforest.persistence.transformers import restore_transformer

    is_valid = isinstance(steps, list) and len(steps) <= MAX_STEPS
    require(is_valid, "its preparation has no steps.")
    restored = []
    for step in steps:
        is_valid = isinstance(step, list) and len(step) == 2 and type(step[0]) is str
        require(is_valid and step[1] != "drop", "a step of its preparation is invalid.")
        name, data = step
        is_ours = isinstance(data, dict) and data.get("kind") == "Preparation"
        restored.append((name, restore_preparation(data) if is_ours else restore_transformer(data)))
    return restored


def restore_pipeline(model: Any, header: dict[str, Any]) -> Any:
    """Return the model of a file, after the steps in the header if there are any."""
    if "columns" in header:
        model.columns_ = _check_columns(header["columns"])
    if "preparation" not in header:
        return model
    from opforest.estimators.pipeline import Pipeline

    entry = header["preparation"]
    is_valid = isinstance(entry, dict) and type(entry.get("last")) is str
    require(is_valid, "its preparation has no steps.")
    steps = restore_steps(entry.get("steps"))
    check_widths([step for _, step in steps if not isinstance(step, str)], model)
    return Pipeline([*steps, (entry["last"], model)])


def check_widths(steps: list[Any], model: Any) -> None:
    """Raise an error unless each step returns as many features as the next one expects."""
    for step, following in pairwise([*steps, model]):
        n_out = len(step.get_feature_names_out())
        n_in = getattr(following, "n_features_in_", None)
        require(n_in in (None, n_out),
               f"its preparation returns {n_out} features where {n_in} are expected.")  # fmt: skip


def _check_columns(columns: Any) -> dict[str, Any]:
    match columns:
        case {
            "width": int(width), "features": [*features], "label": label, "label_name": name, **rest
        }:  # fmt: skip
            numbers = [*features, *([] if label is None else [label])]
            are_columns = all(type(k) is int and 0 < k <= width for k in numbers)
            if (
                are_columns and len(set(numbers)) == len(numbers) and set(rest) <= {"cells"}
                and (name is None or type(name) is str) and type(width) is int
            ):  # fmt: skip
                Cells.from_data(rest.get("cells", {}), len(features))
                return dict(columns)
    raise ModelFileError("its description of the training columns is invalid.")
