"""Results on disk: a file for each finished run of a method, and one for all of them."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from opforest.experiments.protocol import Course
from opforest.io.atomic import replacing

RESULTS = "results.json"
PARTS = {"settings", "versions", "machine", "finished", "datasets", "skipped", "runs"}


@dataclass(frozen=True)
class Job:
    """One method, in one repetition, on one data set."""

    dataset: str
    repetition: int
    method: str

    def __str__(self) -> str:
        """Return what a progress display calls it."""
        return f"{self.dataset} #{self.repetition + 1} {self.method}"

    def path(self, out: Path) -> Path:
        """Return where its result is saved."""
        return out / "runs" / f"{self.dataset}-{self.repetition:03d}-{self.method}.json"


def save(
    out: Path, job: Job, conditions: dict[str, Any], course: Course, elapsed: float
) -> dict[str, Any]:
    """Save what became of a job, and in how many seconds, and return it."""
    run = {**asdict(job), "conditions": conditions, "elapsed": elapsed, **asdict(course)}
    write(job.path(out), json.dumps(run) + "\n")
    return run


def find(out: Path, job: Job, conditions: dict[str, Any]) -> dict[str, Any] | None:
    """Return what became of a job earlier under the same conditions, or None."""
    try:
        run: dict[str, Any] = json.loads(job.path(out).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return run if run.get("conditions") == conditions else None


def read(out: Path) -> dict[str, Any]:
    """Return the results that a folder holds; refuse with a ``ValueError`` if it holds none."""
    path = out / RESULTS
    try:
        results: dict[str, Any] = json.loads(path.read_text("utf-8"))
        missing = PARTS - set(results)
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"{path} must hold the results of an experiment: {error}") from error
    if missing:
        raise ValueError(f"{path} must hold the results of an experiment, but has no {missing}.")
    return results


def seed_of(out: Path) -> int | None:
    """Return the seed of the results that a folder holds, None if it holds none."""
    for path in sorted((out / "runs").glob("*.json")):
        try:
            return int(json.loads(path.read_text("utf-8"))["conditions"]["seed"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return None


def write(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as stream:
        stream.write(content.encode() if isinstance(content, str) else content)
