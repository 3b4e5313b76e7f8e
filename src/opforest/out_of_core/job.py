"""Fit a forest in a folder, in bounded memory."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs

from opforest._utils.atomic import DISK_FULL
from opforest._utils.progress import print_progress
from opforest.core.metrics.metric import Metric
from opforest.core.metrics.types import Array
from opforest.core.parts.cell import UnderflowError
from opforest.errors import ModelFileError
from opforest.estimators.parts import PartsClassifier
from opforest.estimators.validation import warn_about_scales
from opforest.forest.parts import train_parts
from opforest.out_of_core.cells import deal_examples
from opforest.out_of_core.plan import choose_jobs, make_plan, require_memory
from opforest.out_of_core.source import ArraySource, ExampleRows, FileSource, open_source
from opforest.persistence.executor import SUFFIX, FolderExecutor
from opforest.persistence.header import dump_parameters
from opforest.persistence.part_checks import ModelSize
from opforest.persistence.parts import (
    MANIFEST,
    PartFiles,
    claim_folder,
    dump_labels,
    find_current,
    load_parts,
    remove_others,
    remove_partial,
    write_manifest,
)

#: The version of working files: a fit continues only with those of the same version.
FORMAT = 1

#: The default of ``max_bytes``.
TWO_GB = 2_000_000_000


class Settings(NamedTuple):
    """Options of a fit."""

    metric: str = "euclidean"
    metric_params: Mapping[str, Any] | None = None
    max_bytes: float = TWO_GB
    n_jobs: int | None = None

    def make_model(self) -> PartsClassifier:
        """Return a classifier with this metric."""
        return PartsClassifier(self.metric, metric_params=self.metric_params)


def fit(
    source: Any,
    folder: str | os.PathLike[str],
    y: Any = None,
    *,
    metric: str = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    max_bytes: float = TWO_GB,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> PartsClassifier:
    """Fit a forest of more examples than fit into memory; the model is a folder.

    The forest is that of ``OPFClassifier.fit``, bit for bit: edges, costs, prototypes and
    predictions. If the call is stopped or killed, the same call continues where it was, and ends
    with the same files. Called with other examples or options, it starts again.

    Parameters
    ----------
    source : array, memory map or path
        The examples: an array of shape (n_samples, n_features), such as
        ``np.load("X.npy", mmap_mode="r")``; or a data file with a label column: Parquet, Arrow,
        CSV, NumPy and others, which is read in chunks. Features must be numbers, and none may be
        missing.
    folder : path
        The folder of the model. It needs free disk space: about 100 bytes and three times the
        features for each example. A model that is there is replaced when the new one is complete.
    y : array-like of shape (n_samples,), or str or int
        The labels; for a data file, the name or number of the label column, if not obvious.
    metric, metric_params
        As for ``OPFClassifier``, for a metric that a k-d tree supports.
    max_bytes : float, default=2e9
        About how much memory to use, to which a data file adds up to 200 MB while it is read. If
        that is too little, an error says how much is needed.
    n_jobs : int, default=None
        The number of threads; −1 means all processors. The model does not depend on it, except for
        the number of its parts.
    verbose : int, default=0
        Whether to print phases and times.

    Returns
    -------
    PartsClassifier
        The classifier, whose parts stay in the folder. ``opforest.load`` loads it again.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> import opforest
    >>> from opforest import out_of_core
    >>> X, y = load_iris(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = out_of_core.fit(X[::2], f"{folder}/iris", y[::2])
    ...     print(opforest.load(f"{folder}/iris").score(X[1::2], y[1::2]))
    0.96
    """
    settings = Settings(metric, metric_params, max_bytes, n_jobs)
    with print_progress("out_of_core.fit", verbose):
        return fit_source(open_source(source, y), os.fspath(folder), settings)


def fit_source(
    source: ArraySource | FileSource, folder: str, settings: Settings
) -> PartsClassifier:
    """Fit the examples of a source, or continue a fit that was stopped."""
    metric, n_jobs = require_bounds(settings), effective_n_jobs(settings.n_jobs)
    require_memory(settings.max_bytes)

    def check_memory(n: int, X: Array) -> None:
        width = metric.embed(X[:1]).shape[1]
        make_plan(n, width, X.dtype, settings.max_bytes, n_jobs, is_all=False)

    with claim_folder(folder), _explain_full_disk(folder):
        name = f"parts-{_identify_job(source, settings)[:16]}"
        target, current = os.path.join(folder, name), find_current(folder)
        if name == current:
            with suppress(ModelFileError):  # damaged: fit again
                finished = load_parts(folder)
                _remove_working_files(folder, name)
                return finished
            os.remove(os.path.join(folder, MANIFEST))
            shutil.rmtree(target)
        remove_others(folder, name, current)
        for place in (folder, target):
            remove_partial(place)
        work = os.path.join(target, "work")
        os.makedirs(work, exist_ok=True)
        try:
            examples = source.read(work, check_memory)
            dump_labels(examples.classes)  # raises an error now, not after the fit
            model, files = _fit_in(work, target, examples, metric, settings)
        except (ModelFileError, ValueError):
            # The same call would fail again, so there is nothing to continue.
            shutil.rmtree(target, ignore_errors=True)
            raise
        write_manifest(model, folder, name, files)
        _remove_working_files(folder, name)
        return model


def _remove_working_files(folder: str, name: str) -> None:
    """Remove what a finished model does not need, and the model that it has replaced."""
    target = os.path.join(folder, name)
    shutil.rmtree(os.path.join(target, "work"), ignore_errors=True)
    with suppress(FileNotFoundError):
        os.remove(os.path.join(target, f"ports{SUFFIX}"))
    remove_others(folder, name)


def require_bounds(settings: Settings) -> Metric:
    """Return the metric, or raise a ``ValueError`` unless it has bounds on distances to boxes."""
    metric = settings.make_model().resolve_metric()
    if not metric.is_indexable:
        raise ValueError(
            f"metric {metric.name!r} cannot be used out of core: cells of space need bounds on "
            "distances. Use a metric of the Euclidean family, 'seuclidean', 'mahalanobis', "
            "'haversine', 'cosine', 'correlation', 'squared_chord', 'manhattan', 'chebyshev', or "
            "'minkowski' with p >= 1."
        )
    return metric


def _identify_job(source: ArraySource | FileSource, settings: Settings) -> str:
    """Return a checksum that identifies a call."""
    parameters = dump_parameters(settings.make_model(), ())
    resources = float(settings.max_bytes), effective_n_jobs(settings.n_jobs)
    text = json.dumps([FORMAT, source.identify(), parameters, resources], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _fit_in(
    work: str, target: str, examples: ExampleRows, metric: Metric, settings: Settings
) -> tuple[PartsClassifier, PartFiles]:
    """Fit the examples, and return the model and its files."""
    remedy = "divide each by its standard deviation before the fit"
    warn_about_scales(examples.sample(1000), metric.name, examples.feature_names, remedy)
    n_coordinates = examples.embed(0, 1, metric).shape[1]
    n_jobs = effective_n_jobs(settings.n_jobs)
    plan = make_plan(examples.n, n_coordinates, examples.dtype, settings.max_bytes, n_jobs)
    cells = deal_examples(examples, metric, plan, work)
    n_jobs = choose_jobs(plan, [one.n for one in cells.files], n_jobs)
    size = ModelSize(examples.n, len(examples.classes), n_coordinates, examples.dtype)
    executor = FolderExecutor(target, size, n_jobs)
    try:
        parts = train_parts(executor, cells.files, cells.boxes, metric)
    except UnderflowError:
        raise ValueError(
            "some examples differ so little that their distance is 0 in "
            f"{examples.dtype}, because it is lost to rounding. Rescale the features, for example "
            f"to standard deviation 1{', or use float64' if examples.dtype == np.float32 else ''}."
        ) from None
    executor.remember("map", lambda: parts.map)
    model = settings.make_model()
    model.set_parts(executor, parts, examples.classes, examples.n, examples.n_features)
    if examples.feature_names is not None:
        model.feature_names_in_ = np.array(examples.feature_names, object)
    if examples.layout is not None:
        model.columns_ = examples.layout
    shared = executor.files["joined"], executor.files["map"]
    return model, PartFiles(list(parts.forests), list(parts.costs), *shared)


@contextmanager
def _explain_full_disk(folder: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in DISK_FULL:
            raise
        raise OSError(
            error.errno,
            "the disk is full. What is finished stays in the folder: make room, and make the same "
            "call again to continue, or delete the folder",
            folder,
        ) from error
