"""Labels and names of features in model files, and what a model gives to one."""

from typing import Any, NamedTuple

import numpy as np

from opforest.examples import Parts
from opforest.io.errors import ModelFileError
from opforest.io.header import Reader, names_to_json, take
from opforest.metrics import Array

#: Kinds of NumPy's types of labels that are saved as an array.
PLAIN_LABELS = "biufU"


class Taken(NamedTuple):
    """What a model has learned, for a file."""

    parts: Parts | None  #: of its forest, if it has one
    entries: dict[str, Any]  #: more of the header
    arrays: dict[str, Array]


def take_classes(classes: Array) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return labels as entries and arrays of a file."""
    if classes.dtype.kind in PLAIN_LABELS and classes.dtype.char != "g":
        return {"classes": None}, {"classes": classes}
    if classes.dtype == object:
        return {"classes": names_to_json(classes, "labels")}, {}
    raise ValueError(f"labels of type {classes.dtype} cannot be saved. Convert them first.")


def take_names(model: Any) -> dict[str, Any]:
    """Return the names of features, if there are any, as an entry of a file."""
    if hasattr(model, "feature_names_in_"):
        return {"feature_names": names_to_json(model.feature_names_in_, "feature names")}
    return {"feature_names": None}


def give_names(model: Any, header: Reader) -> None:
    """Give a model the names of its features that a file has."""
    names = header.names("feature_names")
    if names is not None:
        if len(names) != model.n_features_in_ or not all(type(name) is str for name in names):
            raise ModelFileError("its feature names are not those of its features.")
        model.feature_names_in_ = np.array(names, object)


def read_classes(header: Reader, arrays: dict[str, Array]) -> Array:
    """Return the labels in their order."""
    labels = header.names("classes")
    if labels is None:
        classes = take(arrays, "classes")
    else:
        classes = np.empty(len(labels), object)
        classes[:] = labels
    try:
        in_order = classes.ndim == 1 and (classes[:-1] < classes[1:]).all()
    except TypeError:
        in_order = False
    if not in_order or (classes.dtype.kind == "f" and np.isnan(classes).any()):
        raise ModelFileError("its labels are not in order.")
    return classes
