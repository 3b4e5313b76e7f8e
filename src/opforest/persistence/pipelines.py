"""Pipelines in model files: what comes before the model, as data."""

from itertools import pairwise
from typing import Any

from opforest.errors import ModelFileError
from opforest.persistence.container import require

#: Steps before the model, at the most.
MANY_STEPS = 20


def split_pipeline(model: Any) -> tuple[Any, dict[str, Any] | None]:
    """Return the last step of a pipeline, and the others as data; None if there are none."""
    if not hasattr(model, "steps"):
        return model, None
    from sklearn.pipeline import Pipeline

    if not isinstance(model, Pipeline):
        return model, None
    *before, (name, last) = model.steps
    return last, {"steps": steps_to_data(before), "last": name}


def steps_to_data(steps: Any) -> list[Any]:
    """Return what comes before a model as data; a ``ValueError`` says what cannot be saved."""
    from opforest.estimators.preparation import Preparation
    from opforest.persistence.preparation import dump_preparation
    from opforest.persistence.transformers import to_data

    if len(steps) > MANY_STEPS:
        raise ValueError(f"a pipeline of more than {MANY_STEPS} steps cannot be saved.")
    saved = []
    for title, step in steps:
        plain = "passthrough" if step is None else step
        data = dump_preparation(plain) if type(plain) is Preparation else to_data(plain)
        if data == "drop":
            raise ValueError("a step of a pipeline cannot be 'drop'.")
        saved.append([title, data])
    return saved


def steps_from_data(steps: Any) -> list[tuple[str, Any]]:
    """Return the steps that ``steps_to_data`` was given, or say in a ``ValueError`` why not."""
    from opforest.persistence.preparation import restore_preparation
    from opforest.persistence.transformers import from_data

    proper = isinstance(steps, list) and len(steps) <= MANY_STEPS
    require(proper, "its preparation has no steps.")
    made = []
    for step in steps:
        proper = isinstance(step, list) and len(step) == 2 and type(step[0]) is str
        require(proper, "a step of its preparation is invalid.")
        title, data = step
        is_ours = isinstance(data, dict) and data.get("kind") == "Preparation"
        made.append((title, restore_preparation(data) if is_ours else from_data(data)))
    dropped = any(step == "drop" for _, step in made if isinstance(step, str))
    require(not dropped, "a step of its preparation is invalid.")
    return made


def join_pipeline(model: Any, header: dict[str, Any]) -> Any:
    """Return the model of a file, with what the header says comes before it."""
    if "columns" in header:
        model.columns_ = _check_columns(header["columns"], model)
    if "preparation" not in header:
        return model
    from opforest.estimators.pipeline import Pipeline

    entry = header["preparation"]
    proper = isinstance(entry, dict) and type(entry.get("last")) is str
    require(proper, "its preparation has no steps.")
    made = steps_from_data(entry.get("steps"))
    check_widths([step for _, step in made if not isinstance(step, str)], model)
    return Pipeline([*made, (entry["last"], model)])


def check_widths(steps: list[Any], model: Any) -> None:
    """Raise an error unless each step gives what the next one takes."""
    for step, following in pairwise([*steps, model]):
        given, taken = len(step.get_feature_names_out()), getattr(following, "n_features_in_", None)
        require(taken in (None, given),
               f"its preparation gives {given} features where {taken} are taken.")  # fmt: skip


def _check_columns(columns: Any, model: Any) -> dict[str, Any]:
    match columns:
        case {
            "width": int(width), "features": [*features], "label": label, "label_name": name, **rest
        }:  # fmt: skip
            numbers = [*features, *([] if label is None else [label])]
            proper = all(type(k) is int and 0 < k <= width for k in numbers)
            if (
                proper and len(set(numbers)) == len(numbers) and _are_cells(rest, len(features))
                and (name is None or type(name) is str) and type(width) is int
            ):  # fmt: skip
                return dict(columns)
    raise ModelFileError("what it says of the columns of its data cannot be.")


def _are_cells(rest: dict[Any, Any], n_features: int) -> bool:
    """Tell whether nothing more is said of columns than how their cells are read."""
    from opforest._utils.numerals import Cells

    try:
        Cells.from_data(rest.get("cells", {}), n_features)
    except ValueError:
        return False
    return set(rest) <= {"cells"}
