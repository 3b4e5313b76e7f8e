"""Runs the missing jobs of the experiment, the longest first, in several processes."""

import json
import os
import platform
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import islice
from multiprocessing import active_children, get_context, parent_process
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

import opforest
from opforest.apps.reproduce import METHODS, sets, store
from opforest.apps.reproduce.protocol import evaluate, split, warm_up
from opforest.apps.reproduce.store import Job
from opforest.core.select.mst import FEW
from opforest.datasets import PUBLISHED
from opforest.datasets.published import proper_name

Run = dict[str, Any]


@dataclass(frozen=True)
class Settings:
    """The settings of an experiment. Invalid values raise a ``ValueError``.

    Attributes
    ----------
    datasets, methods : sequence of str
        Names, in the order of the report.
    repeats : int
        Number of repetitions.
    seed : int
        Random seed, from which the seeds of repetitions and data sets are derived.
    jobs : int
        Number of processes. Results do not depend on it.
    out : Path
        Folder for results.
    data_home : str or None
        Folder with data, as for ``opforest.datasets.load_published``.

    Examples
    --------
    >>> from opforest.apps.reproduce import Settings
    >>> Settings(datasets=["saturn"], repeats=1).datasets
    ('Saturn',)
    """

    datasets: Sequence[str] = tuple(PUBLISHED)
    methods: Sequence[str] = METHODS
    repeats: int = 10
    seed: int = 0
    jobs: int = 1
    out: Path = Path("results")
    data_home: str | None = None

    def __post_init__(self) -> None:
        datasets = tuple(dict.fromkeys(map(proper_name, self.datasets)))
        methods = tuple(dict.fromkeys(method.lower() for method in self.methods))
        object.__setattr__(self, "datasets", datasets)
        object.__setattr__(self, "methods", methods)
        unknown = [method for method in methods if method not in METHODS]
        if unknown:
            raise ValueError(f"methods must be among {list(METHODS)}, got {unknown[0]!r}.")
        if not datasets or not methods:
            raise ValueError("at least one data set and one method must be named, got none.")
        for name, low, high in (("repeats", 1, 1000), ("jobs", 1, 1000), ("seed", 0, 2**63)):
            value = getattr(self, name)
            if not low <= value <= high:
                raise ValueError(f"{name} must be from {low} to {high}, got {value}.")
        known = store.seed_of(Path(self.out))
        if known not in (None, self.seed):
            raise ValueError(
                f"{self.out} holds results of seed {known}, not of {self.seed}. Name another "
                "folder, or that seed."
            )


@dataclass(frozen=True)
class Progress:
    """The progress of an experiment."""

    done: int
    total: int
    running: tuple[str, ...]
    seconds_left: float | None  #: None until there is an estimate
    last: str = ""  #: the job that was just finished
    note: str = ""  #: a message before the first job


def run(settings: Settings, notify: Callable[[Progress], None] = lambda progress: None) -> Run:
    """Run the jobs that have no results yet, and return all results.

    Parameters
    ----------
    settings : Settings
        Settings of the experiment.
    notify : callable, optional
        Called with the progress.

    Returns
    -------
    dict
        The content of ``results.json`` in the folder ``settings.out``: settings, versions,
        machine, data sets and runs.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from opforest.apps.reproduce import Settings, run
    >>> with tempfile.TemporaryDirectory() as folder:  # doctest: +SKIP
    ...     results = run(Settings(["Saturn"], repeats=1, out=Path(folder)))
    """
    store.prepare(settings.out)
    sources, missing = sets.find_sources(settings.datasets, settings.data_home)
    skipped = {name: missing[name] for name in missing if name not in sets.GENERATORS}
    if not sources:
        raise ValueError(f"none of the data sets is available. {' '.join(skipped.values())}")
    described = {source.name: sets.describe(source) for source in sources}
    tasks = {
        job: _Task(settings.out, job, source, _conditions(settings.seed, job, source))
        for source in sources
        for repetition in range(settings.repeats)
        for job in (Job(source.name, repetition, method) for method in settings.methods)
    }
    runs = {job: _find_result(task, missing) for job, task in tasks.items()}
    weight = {job: _weight(job.method, described[job.dataset]) for job in tasks}
    left = sorted((job for job in tasks if runs[job] is None), key=lambda job: -weight[job])
    tracker = _ProgressTracker(len(tasks), {job: weight[job] for job in left}, notify)
    for name, reason in missing.items():
        state = "skipped" if name in skipped else "generated"
        tracker.notify(note=f"{name} is {state}: {reason}")
    runs.update(_run_all([tasks[job] for job in left], settings.jobs, tracker))
    names = ("datasets", "methods", "repeats", "seed")
    results = {
        "settings": {name: getattr(settings, name) for name in names},
        "versions": {"python": platform.python_version(), "opforest": opforest.__version__}
        | {name: version(name) for name in ("numpy", "numba", "scikit-learn")},
        "machine": {**_describe_machine(), "processes": settings.jobs},
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "datasets": described,
        "skipped": skipped,
        "runs": list(runs.values()),
    }
    store.write(settings.out / store.RESULTS, json.dumps(results) + "\n")
    return store.read(settings.out)


class _Task(NamedTuple):
    """Everything a process needs for a job."""

    out: Path
    job: Job
    source: sets.DataSource
    conditions: dict[str, Any]

    def run(self) -> Run:
        X, y = sets.load(self.source)
        with threadpool_limits(1):
            warm_up(self.job.method, len(y) >= 2 * FEW)
            begin = monotonic()
            parts = split(y, self.conditions["n_subsets"], self.conditions["split_seed"])
            curve = evaluate(self.job.method, X, y, parts)
        return store.save(self.out, self.job, self.conditions, curve, monotonic() - begin)


class _ProgressTracker:
    """Tracks running jobs, and estimates the remaining time."""

    def __init__(
        self, total: int, weight: dict[Job, float], notify: Callable[[Progress], None]
    ) -> None:
        self.total, self.weight, self.callback = total, weight, notify
        self.left, self.running, self.begun = dict(weight), list[Job](), monotonic()
        self.notify()

    def begin(self, job: Job) -> None:
        self.running.append(job)
        self.notify()

    def end(self, job: Job) -> None:
        self.running.remove(job)
        del self.left[job]
        self.notify(str(job))

    def notify(self, last: str = "", note: str = "") -> None:
        left = sum(self.left.values())
        done = sum(self.weight.values()) - left
        seconds = (monotonic() - self.begun) * left / done if done > 0 else None
        running = tuple(map(str, self.running))
        finished = self.total - len(self.left)
        self.callback(Progress(finished, self.total, running, seconds, last, note))


def _find_result(task: _Task, missing: dict[str, str]) -> Run | None:
    """Return the earlier result of a job under the same conditions, or None.

    Raise a ``ValueError`` if generated data would replace a result on published data.
    """
    run = store.find(task.out, task.job)
    if run is None or run["conditions"] == task.conditions:
        return run
    if task.source.is_generated and run["conditions"].get("data") != "generated":
        raise ValueError(
            f"{task.out} holds results of the published {task.job.dataset}, which is not available "
            f"now: {missing[task.job.dataset]} Or name another folder for results."
        )
    return None


def _conditions(seed: int, job: Job, source: sets.DataSource) -> dict[str, Any]:
    """Return everything the result of a job depends on; all methods share the seed of a split."""
    entropy = np.random.SeedSequence([seed, job.repetition, *job.dataset.encode()])
    return {
        "seed": seed,
        "split_seed": int(entropy.generate_state(1)[0]),
        "n_subsets": PUBLISHED[job.dataset].n_subsets,
        "data": source.origin,
        "opforest": opforest.__version__,
    }


def _weight(method: str, described: dict[str, Any]) -> float:
    """Return a rough estimate of the time of a job, in arbitrary units."""
    n, d = described["n_samples"] / 2, described["n_features"]
    by_method = {"opfi": 4.0, "original": 2.0, "exact": 2.0, "dift": 1.0, "1nn": 1.0}
    return float(by_method[method] * described["n_subsets"] * n**1.3 * min(d, 20))


def _run_all(tasks: list[_Task], jobs: int, tracker: _ProgressTracker) -> Iterator[tuple[Job, Run]]:
    """Start tasks in order, and yield results as they arrive."""
    if jobs > 1 and len(tasks) > 1:
        yield from _run_in_pool(tasks, jobs, tracker)
        return
    for task in tasks:
        tracker.begin(task.job)
        run = task.run()
        tracker.end(task.job)
        yield task.job, run


def _run_in_pool(
    tasks: list[_Task], jobs: int, tracker: _ProgressTracker
) -> Iterator[tuple[Job, Run]]:
    others = set(active_children())
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), _exit_with_parent)
    waiting, running = iter(tasks), dict[Future[Run], Job]()
    try:
        while True:
            for task in islice(waiting, jobs - len(running)):
                running[pool.submit(task.run)] = task.job
                tracker.begin(task.job)
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                job = running.pop(future)
                run = future.result()
                tracker.end(job)
                yield job, run
    except BrokenProcessPool as error:
        raise ChildProcessError(
            "a process was killed, perhaps for lack of memory. Finished runs are saved; the same "
            "command continues from there."
        ) from error
    except BaseException:
        for process in set(active_children()) - others:
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _exit_with_parent() -> None:
    """Let this process end when its parent ends, even if the parent is killed."""

    def watch() -> None:
        parent = parent_process()
        if parent is not None:
            parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _describe_machine() -> dict[str, Any]:
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        name = next(line.partition(":")[2].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        pass
    return {"system": platform.system(), "processor": name, "processors": os.cpu_count()}
