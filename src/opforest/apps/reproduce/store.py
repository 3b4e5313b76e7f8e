"""Results on disk: a file for each finished run of a method, and one for all of them."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from opforest._utils.atomic import open_atomic
from opforest.apps.reproduce.protocol import LearningCurve

RESULTS = "results.json"
LISTS = ("known", "accuracy", "seconds", "prototypes")
ABOUT = {"origin", "n_samples", "n_features", "n_classes", "n_subsets"}
PARTS = {"settings", "versions", "machine", "finished", "datasets", "skipped", "runs"}


@dataclass(frozen=True)
class Job:
    """One method, in one repetition, on one data set."""

    dataset: str
    repetition: int
    method: str

    def __str__(self) -> str:
        """Return its name in a progress display."""
        return f"{self.dataset} #{self.repetition + 1} {self.method}"

    def path(self, out: Path) -> Path:
        """Return the path of its result."""
        return out / "runs" / f"{self.dataset}-{self.repetition:03d}-{self.method}.json"


def prepare(out: Path) -> None:
    """Create a folder for results, or raise an ``OSError``."""
    try:
        (out / "runs").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(f"the folder {out} cannot be created: {error}") from error
    if not os.access(out / "runs", os.W_OK):
        raise OSError(f"the folder {out} is not writable.")


def save(
    out: Path, job: Job, conditions: dict[str, Any], curve: LearningCurve, elapsed: float
) -> dict[str, Any]:
    """Save the result of a job and return it."""
    run = {**asdict(job), "conditions": conditions, "elapsed": elapsed, **asdict(curve)}
    write(job.path(out), json.dumps(run) + "\n")
    return run


def find(out: Path, job: Job) -> dict[str, Any] | None:
    """Return the earlier result of a job, or None if there is none or it is damaged."""
    try:
        run = json.loads(job.path(out).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return run if _is_run(run) and {**run, **asdict(job)} == run else None


def _is_run(run: Any) -> bool:
    """Return whether a value has the form that ``save`` writes."""
    if not isinstance(run, dict) or not isinstance(run.get("conditions"), dict):
        return False
    lists = [run.get(name) for name in LISTS]
    length = run["conditions"].get("n_subsets")
    is_named = all(isinstance(run.get(name), str) for name in ("dataset", "method"))
    is_timed = isinstance(run.get("elapsed"), int | float)
    return is_named and is_timed and all(isinstance(x, list) and len(x) == length for x in lists)


def read(out: Path) -> dict[str, Any]:
    """Return the results in a folder; raise a ``ValueError`` if there are none."""
    path = out / RESULTS
    try:
        results: dict[str, Any] = json.loads(path.read_text("utf-8"))
        missing = PARTS - set(results)
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"{path} must hold the results of an experiment: {error}") from error
    if missing:
        raise ValueError(f"{path} must hold the results of an experiment, but has no {missing}.")
    if not _is_complete(results["settings"], results["datasets"], results["runs"]):
        raise ValueError(f"{path} is damaged. The same command without --report-only repairs it.")
    return results


def _is_complete(settings: Any, datasets: Any, runs: Any) -> bool:
    """Return whether there are runs of every method on every data set."""
    if not (isinstance(settings, dict) and isinstance(datasets, dict) and isinstance(runs, list)):
        return False
    is_described = all(isinstance(d, dict) and d.keys() >= ABOUT for d in datasets.values())
    wanted = {(name, method) for name in datasets for method in settings.get("methods", ())}
    if not (wanted and is_described and all(map(_is_run, runs))):
        return False
    return wanted == {(run["dataset"], run["method"]) for run in runs}


def seed_of(out: Path) -> int | None:
    """Return the seed of the results in a folder, or None if there are none."""
    for path in sorted((out / "runs").glob("*.json")):
        try:
            return int(json.loads(path.read_text("utf-8"))["conditions"]["seed"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return None


def write(path: Path, content: str | bytes) -> None:
    """Write a file completely or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_atomic(path) as stream:
        stream.write(content.encode() if isinstance(content, str) else content)
