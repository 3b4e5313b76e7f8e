"""Models of commands: how they are made, loaded and replaced."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import opforest
from opforest.apps.cli.lazy_modules import libopf, np, table
from opforest.errors import DataFileError, ModelFileError
from opforest.io.formats import SQLITE
from opforest.io.source import STANDARD

if TYPE_CHECKING:
    from opforest.apps.cli.options import MetricOptions, PreparationOptions


def make_classifier(
    options: "MetricOptions",
    update: str | None,
    jobs: int | None = None,
    voters: int | str | None = None,
) -> "opforest.OPFClassifier":
    """Return a new classifier, or raise a ValueError if an option is invalid."""
    from opforest.core.metrics.registry import resolve

    check_jobs(jobs)
    metric, params = options.metric or "euclidean", options.metric_params
    resolve(metric, params)
    update = str(update or "exact")
    return opforest.OPFClassifier(
        metric, metric_params=params, voters=voters or 1, update=update, n_jobs=jobs
    )


def add_preparation(estimator: Any, options: "PreparationOptions") -> Any:
    """Return a pipeline that prepares data for an estimator; the estimator if none is needed."""
    preparation = options.make()
    if not preparation.is_needed:
        return estimator
    return opforest.Pipeline([("prepare", preparation), ("classify", estimator)])


def load_model(path: str, jobs: int | None = None, *, may_be_parts: bool = False) -> Any:
    """Load a model of any kind that predicts, ours or LibOPF's; it may be a pipeline."""
    from opforest.estimators.density_base import DensityEstimator

    check_jobs(jobs)
    if is_store(path):
        raise ModelFileError(
            f"{path} is a store, not a model: `opforest store predict`, `learn` and `forget` take "
            f"it, and `opforest store export {path} NAME.opforest` writes its model to a file."
        )
    kind = kind_of_model(path)
    if kind == "parts":
        if not may_be_parts:
            raise ModelFileError(
                f"{path}: it is a model in parts, made by train --out-of-core, which predict, "
                "evaluate and info use; no other command can. To change it, train it again."
            )
        model = opforest.load(path)
        model.executor_.n_jobs = jobs
        return model
    try:
        model = libopf.read_model(path) if kind == "LibOPF" else opforest.load(path)
    except DataFileError as error:
        raise ModelFileError(str(error)) from error
    last = classifier_of(model)
    if not isinstance(last, DensityEstimator):
        _require_classifier(last, path)
    last.n_jobs = jobs
    return model


def load_classifier(path: str) -> Any:
    """Load an ``OPFClassifier``, or a pipeline that ends with one."""
    model = load_model(path)
    _require_classifier(classifier_of(model), path)
    return model


def load_to_update(path: str) -> Any:
    """Load a classifier that an updated one will replace."""
    if kind_of_model(path) == "LibOPF":
        raise ValueError(
            f"{path} is a LibOPF model, which would be overwritten in another format. "
            f"`opforest convert {path} NAME.opforest` makes it a model that can be updated."
        )
    return load_classifier(path)


def _require_classifier(estimator: Any, path: str) -> None:
    name = type(estimator).__name__
    if type(estimator).__module__ == "opforest.river.classifier":
        raise ModelFileError(f"{path}: it is a model of opforest.river, which Python can load.")
    if not isinstance(estimator, opforest.OPFClassifier):
        raise ModelFileError(f"{path}: it is an {name}, not an OPFClassifier.")


def check_jobs(jobs: int | None) -> None:
    """Raise an error if the number of threads is invalid."""
    if jobs == 0:
        raise ValueError("--jobs must be 1 or more, or negative for all processors, got 0.")


def kind_of_model(path: str) -> str | None:
    """Return the kind of a model by its first bytes: "opforest", "LibOPF" or None.

    The kind of a folder with a model is "parts".
    """
    from opforest.persistence.container import MAGIC

    if path != STANDARD and os.path.isdir(path):
        from opforest.persistence.parts import is_parts_folder

        return "parts" if is_parts_folder(path) else None

    if path == STANDARD or (os.path.exists(path) and not os.path.isfile(path)):
        return None  # a pipe can be read only once
    with open(path, "rb") as stream:
        if stream.read(4) == MAGIC[:4]:
            return "opforest"
    return "LibOPF" if libopf.looks_like(path) in ("model", "incremental model") else None


def is_store(path: str) -> bool:
    """Return whether a file is an SQLite database, by its first bytes."""
    if path == STANDARD or not os.path.isfile(path):
        return False
    with open(path, "rb") as stream:
        return stream.read(len(SQLITE)) == SQLITE


def classifier_of(model: Any) -> Any:
    """Return the last step of a pipeline; any other model itself."""
    return model.steps[-1][1] if hasattr(model, "steps") else model


def preparation_of(model: Any) -> Any:
    """Return the ``Preparation`` that a pipeline begins with, or None."""
    if not hasattr(model, "steps"):
        return None
    first = model.steps[0][1]
    return first if isinstance(first, opforest.Preparation) else None


def prepare(model: Any, X: Any) -> Any:
    """Return examples as the last step of a pipeline gets them."""
    return model.prepare(X) if hasattr(model, "steps") else X


def count_learned(model: Any) -> int:
    """Return how many examples a model has learned so far, including forgotten ones."""
    classifier = classifier_of(model)
    return classifier.forest_.next_id if hasattr(classifier, "forest_") else 0


def remember_names(model: Any, data: "table.Data") -> None:
    """Store the columns of the training data in a fitted model."""
    classifier, preparation = classifier_of(model), preparation_of(model)
    if not hasattr(classifier, "columns_") and data.layout is not None:
        classifier.columns_ = data.layout
    if data.feature_names is None:
        return
    if preparation is not None:
        preparation.columns_ = preparation.columns_ or list(data.feature_names)
    elif model is classifier and not hasattr(model, "feature_names_in_"):
        model.feature_names_in_ = np.array(data.feature_names, object)


def copy_names(source: Any, target: Any) -> None:
    """Store the columns of one model in another one of the same kind."""
    old, new = classifier_of(source), classifier_of(target)
    for name in ("columns_", "feature_names_in_"):
        if hasattr(old, name):
            setattr(new, name, getattr(old, name))
    if (preparation := preparation_of(target)) is not None:
        preparation.columns_ = preparation_of(source).columns_


def describe(model: Any) -> dict[str, Any]:
    """Return the facts about a model that commands print."""
    last, preparation = classifier_of(model), preparation_of(model)
    if hasattr(last, "parts_"):
        return _describe_parts(last)
    has_forest = hasattr(last, "forest_")
    steps = [type(step).__name__ for _, step in getattr(model, "steps", ())[:-1]]
    voters = getattr(last, "voters", 1)
    facts = {
        "estimator": None if has_forest else type(last).__name__,
        "examples": len(last.forest_ if has_forest else last.density_),
        "preparation": (steps or None) if preparation is None else _parameters(preparation),
        "columns": getattr(preparation, "n_features_in_", None),
        "features": last.n_features_in_,
        "k": getattr(last, "k_", None),
        "clusters": len(last.roots_) if hasattr(last, "roots_") else None,
        "classes": len(last.classes_) if hasattr(last, "classes_") else None,
        "prototypes": len(last.forest_.prototypes) if has_forest else None,
        "metric": last.metric if isinstance(last.metric, str) else "a function",
        "metric_params": dict(last.metric_params or {}),
        "voters": None if voters == 1 else voters,
        "update": getattr(last, "update", None),
    }
    return {name: fact for name, fact in facts.items() if fact is not None}


def _describe_parts(model: Any) -> dict[str, Any]:
    """Return the facts about a model in parts that commands print."""
    return {
        "estimator": "model in parts",
        "examples": model.n_examples_,
        "features": model.n_features_in_,
        "classes": len(model.classes_),
        "parts": len(model.parts_.forests),
        "metric": model.metric,
        "metric_params": dict(model.metric_params or {}),
    }


def _parameters(preparation: "opforest.Preparation") -> dict[str, Any]:
    """Return what a fitted preparation does, and the scale that it has chosen."""
    chosen = {"chosen_scale": preparation.scale_} if preparation.scale == "auto" else {}
    return active_parameters({**preparation.get_params(), **chosen})


def active_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a preparation that do something: "error" means that it does not."""
    return {name: value for name, value in parameters.items() if value not in ("error", "none")}


def note_preparation(model: Any, remedy: str) -> list[str]:
    """Return a note on the preparation that a model keeps from its first file, if there is one.

    ``remedy`` says what changes it.
    """
    preparation = preparation_of(model)
    if preparation is None:
        note = f"the preparation is still that of the first file ({remedy} it)"
        return [note] if hasattr(model, "steps") else []
    learned = {
        "categories": preparation.encode in ("onehot", "ordinal"),
        "medians": preparation.missing == "median",
        "scales": preparation.scale != "none",
    }
    known = [name for name, is_learned in learned.items() if is_learned]
    if not known:
        return []
    listed = " and ".join(filter(None, (", ".join(known[:-1]), known[-1])))
    return [f"{listed} are still those of the first file ({remedy} them)"]


class ModelFile:
    """A model file as a command last read or wrote it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._seen = self._status()

    def replace(self, model: Any) -> None:
        """Save a model over it, unless another process has changed it."""
        with _lock_folder(os.path.dirname(os.path.realpath(self.path))):
            self.check()
            opforest.save(model, self.path)
            self._seen = self._status()

    def check(self) -> None:
        """Raise an error if another process has changed it."""
        if self._status() != self._seen:
            raise ValueError(
                f"{self.path} has been changed by another process since it was read. Nothing was "
                "written, so that those changes are not lost. Run the command again."
            )

    def _status(self) -> tuple[int, ...] | None:
        try:
            status = os.stat(self.path)
        except FileNotFoundError:
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns


@contextmanager
def _lock_folder(folder: str) -> Iterator[None]:
    """Keep other commands from saving models in a folder, where the system supports it."""
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
