"""Models as commands use them: made, loaded, and what they expect of data."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opforest.apps.cli.options import How
    from opforest.estimators.classifier import OPFClassifier
    from opforest.io.columns.table import Array, Data, InputSchema, ReadOptions


#: What stands for a label that is not there.
NO_LABEL = ("", "?", "nan", "NaN")


def make_model(
    metric: str | None,
    params: Mapping[str, Any] | None,
    update: str | None,
    jobs: int | None = None,
) -> "OPFClassifier":
    """Return a model that has learned nothing, or say which option makes no sense."""
    from opforest.core.metrics.registry import resolve
    from opforest.estimators.classifier import OPFClassifier

    check_jobs(jobs)
    resolve(metric or "euclidean", params)
    return OPFClassifier(
        metric or "euclidean", metric_params=params, update=str(update or "exact"), n_jobs=jobs
    )


def make_semi_supervised(model: "OPFClassifier") -> "OPFClassifier":
    """Return a model that learns from examples without labels, too, and has learned nothing."""
    from opforest.estimators.semi_supervised import OPFSemiSupervised

    return OPFSemiSupervised(model.metric, metric_params=model.metric_params, n_jobs=model.n_jobs)


def load_to_predict(path: str, jobs: int | None = None) -> Any:
    """Load a model file of any kind that predicts."""
    from opforest.estimators.density_base import DensityEstimator

    check_jobs(jobs)
    model = _load(path)
    if not isinstance(classifier_of(model), DensityEstimator):
        return _checked(model, path, jobs)
    classifier_of(model).n_jobs = jobs
    return model


def check_jobs(jobs: int | None) -> None:
    """Raise an error if there cannot be so many threads."""
    if jobs == 0:
        raise ValueError("--jobs must be 1 or more, or negative for all processors, got 0.")


def require_no_data(path: str) -> None:
    """Raise an error if a model would be written over a file that holds something else."""
    if os.path.isfile(path) and os.path.getsize(path) and kind_of_model(path) is None:
        raise ValueError(f"{path} is there and is not a model: remove it, or name another file.")


def load_model(path: str, jobs: int | None = None) -> Any:
    """Load a model file, ours or LibOPF's: a classifier, or a pipeline that ends with one."""
    check_jobs(jobs)
    return _checked(_load(path), path, jobs)


def _load(path: str) -> Any:
    from opforest.errors import DataFileError, ModelFileError
    from opforest.io.libopf import read_model
    from opforest.persistence.files import load

    try:
        return read_model(path) if kind_of_model(path) == "LibOPF" else load(path)
    except DataFileError as error:
        raise ModelFileError(str(error)) from error


def _checked(model: Any, path: str, jobs: int | None) -> Any:
    """Return the model, if it is a classifier that has learned."""
    from opforest.errors import ModelFileError
    from opforest.estimators.classifier import OPFClassifier

    classifier = classifier_of(model)
    if not isinstance(classifier, OPFClassifier):
        if type(classifier).__module__ == "opforest.river.classifier":
            raise ModelFileError(f"{path}: it is a model of opforest.river, which Python can load.")
        raise ModelFileError(f"{path}: it is an {type(classifier).__name__}, and no OPFClassifier.")
    if not hasattr(classifier, "forest_"):
        raise ModelFileError(f"{path}: it has learned nothing; train it first.")
    classifier.n_jobs = jobs
    return model


def classifier_of(model: Any) -> Any:
    """Return the last step of a pipeline, or a model that is none."""
    return model.steps[-1][1] if hasattr(model, "steps") else model


def preparation_of(model: Any) -> Any:
    """Return the preparation that a model begins with; None if it has none of ours."""
    if not hasattr(model, "steps"):
        return None
    from opforest.estimators.preparation import Preparation

    first = model.steps[0][1]
    return first if isinstance(first, Preparation) else None


def prepared(classifier: Any, encode: Any, missing: Any, scale: Any) -> Any:
    """Return a model that prepares its data, or the estimator if there is nothing to do."""
    if not (encode or missing or scale):
        return classifier
    from opforest.estimators.pipeline import Pipeline
    from opforest.estimators.preparation import Preparation

    chosen = Preparation(str(encode or "error"), str(missing or "error"), str(scale or "none"))
    if not chosen.is_needed:
        return classifier
    return Pipeline([("prepare", chosen), ("classify", classifier)])


def reading_for(model: Any, how: "How", *, needs_label: bool = False) -> "ReadOptions":
    """Return how to read data for a model, which knows what it was trained on, or what it wants."""
    preparation = preparation_of(model)
    known = hasattr(classifier_of(model), "n_features_in_")
    expected = expected_of(model) if known else None
    is_pipeline = hasattr(model, "steps")
    return how.reading(
        allow_missing=is_pipeline and (preparation is None or preparation.missing != "error"),
        expected=expected,
        categories=is_pipeline and (preparation is None or preparation.encode != "error"),
        needs_label=needs_label,
    )


def complete_rows(model: Any, data: "Data", path: str, *, may_drop: bool) -> "Data":
    """Return the rows that a model can use: all, or without those in which cells are missing."""
    preparation = preparation_of(model)
    if preparation is None or preparation.missing != "drop":
        return data
    complete = preparation.is_complete(data.X)
    if complete.all():
        return data
    if not may_drop:
        i = int(complete.argmin())
        reason = "cells are missing, and the model was trained with --missing drop, so it has no "
        raise replace(data, label_column=None).error_at(
            i, f"{reason}answer; train it with --missing median", path
        )
    return data.take(complete.nonzero()[0])


def load_to_grow(path: str) -> Any:
    """Load a model file that is to be replaced by a larger model."""
    if kind_of_model(path) == "LibOPF":
        raise ValueError(
            f"{path} is a model of LibOPF, which would be overwritten in another format. "
            f"`opforest convert {path} NAME.opforest` makes it one that grows."
        )
    return load_model(path)


class ModelFile:
    """A model file as it was when a command last read or wrote it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._seen = self._look()

    def replace(self, model: "OPFClassifier") -> None:
        """Save a model over it, unless somebody else has done so."""
        from opforest.persistence.files import save

        with _locked(os.path.dirname(os.path.realpath(self.path))):
            self.check()
            save(model, self.path)
            self._seen = self._look()

    def check(self) -> None:
        """Raise an error if somebody else has changed it."""
        if self._look() != self._seen:
            raise ValueError(
                f"{self.path} has been changed by somebody else since it was read; nothing was "
                "written, so that nothing of theirs is lost. Run the command again."
            )

    def _look(self) -> tuple[int, ...] | None:
        try:
            status = os.stat(self.path)
        except FileNotFoundError:
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns


@contextmanager
def _locked(folder: str) -> Iterator[None]:
    """Keep other commands from saving models into a folder, where the system lets us."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def kind_of_model(path: str) -> str | None:
    """Return whose model a file holds, by how it begins: ``"opforest"``, ``"LibOPF"``, or none."""
    from opforest.io.libopf import looks_like
    from opforest.io.source import STANDARD
    from opforest.persistence.container import MAGIC

    if path == STANDARD or (os.path.exists(path) and not os.path.isfile(path)):
        return None  # what comes from a pipe can be read once
    with open(path, "rb") as stream:
        if stream.read(4) == MAGIC[:4]:
            return "opforest"
    return "LibOPF" if looks_like(path) in ("model", "incremental model") else None


def expected_of(model: Any) -> "InputSchema":
    """Return what a model expects of data."""
    from opforest._utils.numerals import Cells
    from opforest.io.columns.table import InputSchema

    classifier, preparation = classifier_of(model), preparation_of(model)
    layout = getattr(classifier, "columns_", None)
    names = getattr(model, "feature_names_in_", None)
    n_features = None
    text: frozenset[int] = frozenset()
    if preparation is not None:
        names, n_features = preparation.columns_, preparation.n_features_in_
        text = frozenset(preparation.categorical_)
    return InputSchema(
        model.n_features_in_ if n_features is None else n_features,
        None if names is None else tuple(map(str, names)),
        not hasattr(classifier, "classes_") or classifier.classes_.dtype.kind in "UO",
        layout,
        text,
        Cells.from_data((layout or {}).get("cells", {})),
    )


def remember_names(model: Any, data: "Data") -> None:
    """Note what the columns are that a model has been fitted to."""
    import numpy as np

    classifier = classifier_of(model)
    if not hasattr(classifier, "columns_") and data.layout is not None:
        classifier.columns_ = data.layout
    preparation = preparation_of(model)
    if preparation is not None and data.feature_names is not None:
        preparation.columns_ = preparation.columns_ or list(data.feature_names)
    if model is not classifier:
        return
    if data.feature_names is not None and not hasattr(model, "feature_names_in_"):
        model.feature_names_in_ = np.array(data.feature_names, object)


def keep_names(model: Any, before: Any) -> None:
    """Give a model that has been fitted anew the names of columns that it had before."""
    fresh, old = classifier_of(model), classifier_of(before)
    for name in ("columns_", "feature_names_in_"):
        if hasattr(old, name):
            setattr(fresh, name, getattr(old, name))
    preparation = preparation_of(model)
    if preparation is not None:
        preparation.columns_ = preparation_of(before).columns_


def notes_of(data: "Data", reading: "ReadOptions", model: Any = None) -> list[str]:
    """Return what was decided about columns without being told, the label if no model knows it."""
    notes = list(data.notes)
    layout = getattr(classifier_of(model), "columns_", None) or {}
    is_told = reading.label is not None or any(one.startswith("the label is") for one in notes)
    if (
        data.y is not None
        and not is_told
        and data.label_name not in (None, layout.get("label_name"))
    ):
        notes.append(f"the label is column {data.label_name!r} (--label names another)")
    return notes


def count_learned(model: Any) -> int:
    """Return how many examples a model has learned in its life."""
    classifier = classifier_of(model)
    return classifier.forest_.next_id if hasattr(classifier, "forest_") else 0


def labels_of(data: "Data", path: str, advice: str = "") -> "Array":
    """Return the labels of examples, all of which must have one; or say so, with advice."""
    import numpy as np

    from opforest.errors import DataFileError

    if data.y is None:
        raise DataFileError("there are no labels; --label names their column", path)
    if data.y.dtype.kind == "U":
        missing = np.isin(data.y, NO_LABEL)
        if missing.any():
            raise data.error_at(int(missing.argmax()), f"the label is missing{advice}", path)
    return data.y
