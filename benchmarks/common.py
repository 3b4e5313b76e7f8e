"""Shared by all benchmarks: timing, tables, JSON files, fresh processes and data."""

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
DATA = HERE.parent.parent / "shared" / "data" / "opfi"
SKIN = DATA.parent / "uci" / "Skin_NonSkin.txt"
LETTER = DATA.parent / "wild" / "letter-recognition.data"

LIBRARIES = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMBA")
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in LIBRARIES}

# Numba's disk cache does not detect edits in called files; a benchmark must not run stale kernels.
# opforest reads the variable when it is imported, after this module.
os.environ["OPFOREST_CACHE"] = "0"


@dataclass(frozen=True)
class Row:
    """One line of a table."""

    case: str
    value: float | None = None  #: compared with the bar; None if it could not be measured
    unit: str = "×"
    bar: float | None = None
    sense: str = "at least"  #: or "at most"
    seconds: dict[str, float] = field(default_factory=dict)  #: by contestant
    note: str = ""

    @property
    def verdict(self) -> str:
        """Return "pass", "FAIL", "skipped", or "" if there is no bar."""
        if self.value is None:
            return "skipped"
        if self.bar is None:
            return ""
        met = self.value >= self.bar if self.sense == "at least" else self.value <= self.bar
        return "pass" if met else "FAIL"

    def cells(self, contestants: list[str]) -> list[str]:
        """Return the cells of a line."""
        sign = "≥" if self.sense == "at least" else "≤"
        return [
            self.case,
            *(f"{self.seconds[c]:.4g} s" if c in self.seconds else "" for c in contestants),
            "" if self.value is None else f"{_three_digits(self.value)} {self.unit}",
            "" if self.bar is None else f"{sign} {self.bar:g} {self.unit}",
            self.verdict,
            self.note,
        ]


def versus(
    case: str, ours: float, peer: str, theirs: float, bar: float | None = None, note: str = ""
) -> Row:
    """Return a row with our speed relative to a peer."""
    seconds = {"opforest": ours, peer: theirs}
    return Row(f"{case} vs {peer}", theirs / ours, bar=bar, seconds=seconds, note=note)


def cpu_seconds(call: Callable[[], object]) -> float:
    """Return the processor time of one call, in all threads of this process."""
    start = time.process_time()
    call()
    return time.process_time() - start


def wall_seconds(call: Callable[[], object]) -> float:
    """Return the wall time of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def best_of(repeats: int, **contestants: Callable[[], float]) -> dict[str, float]:
    """Return the smallest time that each contestant reports.

    They run in turn, so that a busy moment of the machine affects all of them.
    """
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(repeats):
        for name, run in contestants.items():
            best[name] = min(best[name], run())
    return best


@contextmanager
def dense_prim() -> Iterator[None]:
    """Find spanning trees only by dense Prim, if no k-d tree is used."""
    from opforest._utils import tuning  # after the variable above is set

    saved = tuning.values
    tuning.values = replace(saved, few_to_span=sys.maxsize)
    try:
        yield
    finally:
        tuning.values = saved


def numpy_pass(X: np.ndarray) -> float:
    """Return the processor time of one pass of distances by NumPy over all examples; best of 5."""
    z = X[0].copy()
    return min(cpu_seconds(lambda: ((X - z) ** 2).sum(1)) for _ in range(5))


def in_fresh_process(script: str, *arguments: str, python: str = sys.executable, **env: str) -> Any:
    """Run a script in a new interpreter and return the JSON that it prints."""
    done = subprocess.run(
        [python, "-c", script, *arguments],
        env={**os.environ, **ONE_THREAD, **env},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def main(measure: Callable[[], list[Row]], remark: str, title: str = "") -> None:
    """Measure, print the table, write the JSON file; exit with 1 if a bar is missed.

    The docstring of the script is the default title; the JSON file has the name of the script.
    """
    script = sys.modules[measure.__module__]
    title = title or script.__doc__
    print(f"{title}\n", flush=True)
    with threadpool_limits(1):
        rows = measure()
    print_table(rows)
    print(f"\n{remark}")
    record = {
        "title": title,
        "remark": remark,
        "rows": [asdict(row) | {"verdict": row.verdict} for row in rows],
        "versions": _versions(),
        "machine": _machine(),
        "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(record, indent=1, ensure_ascii=False)
    name = Path(script.__file__).with_suffix(".json").name
    (RESULTS / name).write_text(f"{text}\n", encoding="utf-8")
    from benchmarks import numbers_table  # here, because it imports this module

    numbers_table.write()
    sys.exit(any(row.verdict == "FAIL" for row in rows))


def print_table(rows: list[Row]) -> None:
    """Print rows in aligned columns."""
    contestants = list(dict.fromkeys(name for row in rows for name in row.seconds))
    lines = [["", *contestants, "result", "bar", "", ""]]
    lines += [row.cells(contestants) for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for case, *numbers, verdict, note in lines:
        cells = [f"{case:{widths[0]}}"]
        cells += [f"{cell:>{width}}" for cell, width in zip(numbers, widths[1:], strict=False)]
        print("  ".join([*cells, f"{verdict:{widths[-2]}}", note]).rstrip())


def print_markdown(*cells: str) -> None:
    """Print one row of a Markdown table."""
    print(f"| {' | '.join(cells)} |", flush=True)


def strips(n: int, d: int = 2, dtype: type = np.float32) -> tuple[np.ndarray, np.ndarray]:
    """Return data like base1: four vertical strips, labels 1, 2, 1, 2; ``d`` uniform features."""
    X = np.random.default_rng(0).random((n, d), np.float32)
    return X.astype(dtype), 1 + (4 * X[:, 0]).astype(int) % 2


def quadrants(X: np.ndarray) -> np.ndarray:
    """Return four classes by the signs of the first two features."""
    return (X[:, 0] > 0) + 2 * (X[:, 1] > 0)


def as_stream(X: np.ndarray, y: np.ndarray) -> list[tuple[dict[int, float], int]]:
    """Return examples in river's form."""
    return [(dict(enumerate(x)), label) for x, label in zip(X.tolist(), y.tolist(), strict=True)]


def load(name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Return a data set of the paper, or None if its file is missing."""
    path = DATA / f"{name}.opf"
    if not path.exists():
        return None
    from opforest.io.libopf import read_dataset  # after the variable above is set

    X, y, _ = read_dataset(path)
    return X, y.astype(int)


def letter(n: int | None = None) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the first n examples of Letter, or None if its file is missing."""
    if not LETTER.exists():
        return None
    table = np.loadtxt(LETTER, str, delimiter=",", max_rows=n)
    return table[:, 1:].astype(float), table[:, 0]


def skin() -> tuple[str, np.ndarray, np.ndarray]:
    """Return the name, examples and labels of Skin, or of a similar set, in random order."""
    rng = np.random.default_rng(0)
    if SKIN.exists():
        name, table = "Skin", np.loadtxt(SKIN)
        X, y = table[:, :3], table[:, 3].astype(int)
    else:
        name, (X, y) = "Skin-like", skin_like(245_057, rng)
    order = rng.permutation(len(X))
    return name, X[order], y[order]


def skin_like(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return colors in narrow groups: integers from 0 to 255, with many duplicates."""
    center, group = rng.uniform(0, 255, (100, 3)), rng.integers(100, size=n)
    X = np.clip(np.rint(rng.normal(center[group], 2)), 0, 255)
    return X, 1 + (group % 5 > 0)


def _three_digits(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _versions() -> dict[str, str]:
    packages = ["opforest", "numpy", "numba", "scikit-learn"]
    packages += [
        name for name in ("river", "quitefastmst", "distributed", "hnswlib") if find_spec(name)
    ]
    return {"python": platform.python_version()} | {name: version(name) for name in packages}


def _machine() -> dict[str, Any]:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return {
        "system": platform.platform(),
        "processor": models[0] if models else platform.processor(),
        "cpus": os.cpu_count(),
    }
