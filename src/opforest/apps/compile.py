"""Compile everything in advance: ``opforest compile`` or ``python -m opforest.apps.compile``."""

import os
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import product
from multiprocessing import get_context
from typing import Any

import numpy as np

from opforest.core.conquest.matmul import find_conquerors_by_matmul
from opforest.core.conquest.scan import rank
from opforest.core.jit import CACHE
from opforest.core.kdtree.static import build_kdtree
from opforest.core.metrics.registry import resolve
from opforest.core.mst.bipartite import span_bipartite
from opforest.core.mst.kruskal import list_edges, merge_forests
from opforest.core.mst.prim import span
from opforest.core.mst.sieve import span_by_sieve
from opforest.core.parts.memory import span_by_cells
from opforest.core.select.mst import FEW
from opforest.estimators.classifier import OPFClassifier
from opforest.estimators.clustering import OPFClustering
from opforest.estimators.label_issues import find_label_issues
from opforest.estimators.model_selection import prune
from opforest.estimators.semi_supervised import OPFSemiSupervised

#: Names of common metrics that differ in their kernels.
METRICS = (
    "euclidean", "manhattan", "chebyshev", "minkowski", "hamming", "canberra", "chi_squared",
    "braycurtis", "precomputed",
)  # fmt: skip

#: Metrics for which semi-supervised forests are compiled.
SEMI_SUPERVISED = ("euclidean", "manhattan", "precomputed")

PRECISIONS = ("float64", "float32")

#: A metric, and the precision of the examples.
Job = tuple[str, str]

JOBS: tuple[Job, ...] = tuple(product(METRICS, PRECISIONS))

#: Width of the progress bar in characters.
WIDTH = 30


def exercise(job: Job) -> Job:
    """Call everything that is compiled, with a few examples."""
    metric, dtype = job
    rng = np.random.default_rng(0)
    X, y = rng.integers(1, 9, (40, 3)).astype(dtype), np.arange(40) % 3
    params = {"p": 3} if metric == "minkowski" else None
    algorithms = ("brute", "kd_tree") if resolve(metric, params).is_indexable else ("brute",)
    new = X[:2] + X.dtype.type(0.5)
    if metric == "precomputed":
        points = np.concatenate((X, new))
        table = np.abs(points[:, None] - points[None]).sum(axis=2)
        X, new = table[: len(X), : len(X)], table[len(X) :]
    for algorithm in algorithms:
        for update in ("exact", "opfi", "dift"):
            model = OPFClassifier(metric, metric_params=params, update=update, algorithm=algorithm)
            _use(model, X, y, new)
        clusters = OPFClustering(3, metric=metric, metric_params=params, algorithm=algorithm)
        clusters.fit(X).predict(X)
        if metric in SEMI_SUPERVISED:
            given = np.where(np.arange(len(X)) % 4 == 0, y, -1)
            _use(OPFSemiSupervised(metric, algorithm=algorithm), X, given, new).label(1, 0)
    if metric == "precomputed":
        OPFClustering(3, merge_by="area", threshold=0.1, metric=metric).fit(X)
        return job
    kernel = resolve(metric, params).kernel
    prune(OPFClassifier(metric, metric_params=params).fit(X, y), new, y[:2])
    merge_forests([list_edges(span_bipartite(X, 20, kernel), np.arange(len(X)))])
    if metric == "euclidean":
        _use_matmul(X, kernel)
    if len(algorithms) > 1:
        many = rng.random((FEW, 2)).astype(dtype)
        OPFClassifier(metric, metric_params=params).fit(many, many[:, 0] > 0.5)
        span_by_cells(many, build_kdtree(many, np.arange(FEW)), kernel, n_jobs=1, size=FEW // 4)
    return job


def _use(model: OPFClassifier, X: Any, y: Any, new: Any) -> Any:
    """Call all methods of a model, and return it."""
    model.fit(X, y)
    model.predict(X)
    model.predict_proba(X)
    model.predict_log_proba(X)
    model.explain(X[0])
    model.set_params(voters="auto").predict(X)
    model.set_params(voters=3).explain(X[0])
    find_label_issues(model)
    model.partial_fit(new, y[:2])
    return model.forget([5]) if model.update == "exact" else model


def _use_matmul(X: Any, kernel: Any) -> None:
    """Call the functions that estimators choose only for many features."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        span_by_sieve(X, None, kernel)
    weight = span(X, kernel).weight
    find_conquerors_by_matmul(X, X, rank(X, np.arange(len(X)), weight, kernel), kernel)


def compile_all(n_jobs: int | None = None, jobs: tuple[Job, ...] = JOBS) -> Iterator[Job]:
    """Compile in parallel processes, and yield each finished job.

    Processes that compile the same function at the same time may overwrite each other's entries in
    the cache, so this process repeats all jobs at the end, which takes seconds.
    """
    with ProcessPoolExecutor(n_jobs or os.cpu_count(), get_context("spawn")) as pool:
        for done in as_completed([pool.submit(exercise, job) for job in jobs]):
            yield done.result()
    for job in jobs:
        exercise(job)


def run(n_jobs: int | None = None) -> None:
    """Compile everything, with a progress bar on a terminal and lines elsewhere."""
    if not CACHE:
        raise ValueError(
            "there is no folder for compiled code, or OPFOREST_CACHE is 0. Set "
            "NUMBA_CACHE_DIR to a writable folder."
        )
    _show(0, "beginning")
    for done, (metric, dtype) in enumerate(compile_all(n_jobs), 1):
        _show(done, f"{metric}, {dtype}")
    _show(len(JOBS), "done")
    sys.stderr.write("\n")


def _show(done: int, text: str) -> None:
    bar = "=" * (WIDTH * done // len(JOBS))
    begin, end = ("\r", "") if sys.stderr.isatty() else ("", "\n")
    sys.stderr.write(f"{begin}compiling [{bar:{WIDTH}}] {done}/{len(JOBS)}  {text:<24}{end}")
    sys.stderr.flush()


if __name__ == "__main__":
    try:
        run()
    except ValueError as error:
        sys.exit(f"opforest compile: {error}")
