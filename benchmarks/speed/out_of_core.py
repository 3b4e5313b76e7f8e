"""Measure the time and the memory of a fit out of core.

With ``--large``, also of 100,000,000 examples, which takes ten minutes and 25 GB of disk space.
"""

import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from benchmarks.common import Row, in_fresh_process, main

D, PIECE = 3, 1_000_000
N, LARGE = 10_000_000, 100_000_000

CPU_BAR = 1.2  #: relative to a fit in memory on one thread
MEMORY_BAR, LARGE_MEMORY_BAR = 0.8, 4.0  #: GB
LARGE_TIME_BAR = 1.5  #: per example, relative to N examples
DISK_PER_EXAMPLE = 250  #: bytes of data, working files and model

FIT = """
import contextlib, json, os, sys, threading, time
import numpy as np
from opforest import OPFClassifier, out_of_core

data, folder, how, n_jobs, max_bytes = sys.argv[1:]

def fit(X, y, name):
    if how == "memory":
        return OPFClassifier(n_jobs=int(n_jobs)).fit(X, y)
    options = {"n_jobs": int(n_jobs), "max_bytes": float(max_bytes)}
    return out_of_core.fit(X, os.path.join(folder, name), y, **options)

def status(field):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1e6

def watch():
    while True:
        for field in peaks:
            peaks[field] = max(peaks[field], status(field))
        time.sleep(0.02)

rng = np.random.default_rng(0)
small = rng.random((500_000, 3))
fit(small, (small[:, 0] > 0.5).astype(np.int8), f"small-{n_jobs}")  # load the kernels
del small
X, y = (np.load(os.path.join(data, f"{name}.npy"), mmap_mode="r") for name in "Xy")
if how == "memory":
    X, y = np.array(X), np.array(y)
peaks = dict.fromkeys(("RssAnon", "RssFile"), 0.0)
threading.Thread(target=watch, daemon=True).start()
with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as reset:
    reset.write("5")  # resets the peak; if that is forbidden, the result can only be too large
cpu, wall = time.process_time(), time.perf_counter()
fit(X, y, "model")
cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
print(json.dumps({"cpu": cpu, "wall": wall, "peak": status("VmHWM"), **peaks}))
"""


def measure() -> list[Row]:
    if not Path("/proc/self/status").exists():
        return [Row(f"{N}×{D}", note="needs Linux's /proc")]
    with tempfile.TemporaryDirectory() as place:
        env = {"OPFOREST_CACHE": "1", "NUMBA_CACHE_DIR": str(Path(place) / "cache")}
        rows, seconds = at_ten_million(Path(place), env)
        if "--large" in sys.argv:
            rows += at_hundred_million(Path(place), env, seconds)
    return rows


def at_ten_million(place: Path, env: dict[str, str]) -> tuple[list[Row], float]:
    """Return rows, and the wall time with two threads."""
    note = check_disk(place, N)
    if note:
        return [Row(f"{N}×{D}", bar=CPU_BAR, sense="at most", note=note)], 0.0
    few = place / "few"
    few.mkdir()
    generate(few, 1000)
    generate(place, N)
    for how in ("memory", "disk"):
        run(few, how, 1, 1e9, env)  # compile first
    local = run(place, "memory", 1, 0, env)
    ours, shared = (run(place, "disk", jobs, 8e8, env) for jobs in (1, 2))
    seconds = {"opforest": ours["cpu"], "in memory": local["cpu"]}
    ratio = ours["cpu"] / local["cpu"]
    return [
        Row(f"{N}×{D}, processor time, out of core / in memory", ratio, "×", CPU_BAR, "at most",
            seconds, f"in memory, the peak is {local['peak']:.2f} GB"),
        Row(f"{N}×{D}, peak memory", ours["peak"], "GB", MEMORY_BAR, "at most",
            note=describe(ours)),
        Row(f"{N}×{D}, two threads, peak memory", shared["peak"], "GB", MEMORY_BAR, "at most",
            note=describe(shared)),
    ], shared["wall"]  # fmt: skip


def at_hundred_million(place: Path, env: dict[str, str], seconds: float) -> list[Row]:
    case = f"{LARGE}×{D}, two threads"
    note = check_disk(place, LARGE) or ("" if seconds else "nothing to compare with")
    if note:
        return [Row(case, bar=LARGE_TIME_BAR, sense="at most", note=note)]
    generate(place, LARGE)
    found = run(place, "disk", 2, 3.8e9, env)
    ratio = found["wall"] / LARGE / (seconds / N)
    return [
        Row(f"{case}, time per example / {N} examples", ratio, "×", LARGE_TIME_BAR, "at most",
            note=f"{found['wall']:.0f} s, {found['cpu']:.0f} s of processor time"),
        Row(f"{case}, peak memory", found["peak"], "GB", LARGE_MEMORY_BAR, "at most",
            note=describe(found)),
    ]  # fmt: skip


def run(
    place: Path, how: str, jobs: int, max_bytes: float, env: dict[str, str]
) -> dict[str, float]:
    with tempfile.TemporaryDirectory(dir=place) as folder:
        arguments = str(place), folder, how, str(jobs), str(max_bytes)
        return in_fresh_process(FIT, *arguments, **env)


def describe(found: dict[str, float]) -> str:
    return f"{found['RssAnon']:.2f} GB of its own, {found['RssFile']:.2f} GB of files"


def check_disk(place: Path, n: int) -> str:
    """Return why there is too little space, or nothing."""
    needed, free = DISK_PER_EXAMPLE * n, shutil.disk_usage(place).free
    return (
        "" if free > needed else f"needs {needed / 1e9:.0f} GB of disk space, has {free / 1e9:.0f}"
    )


def generate(place: Path, n: int) -> None:
    """Write uniform points and stripes of two classes, piece by piece."""
    X = np.lib.format.open_memmap(place / "X.npy", "w+", np.float64, (n, D))
    y = np.lib.format.open_memmap(place / "y.npy", "w+", np.int8, (n,))
    rng = np.random.default_rng(0)
    for begin in range(0, n, PIECE):
        part = rng.random((min(PIECE, n - begin), D))
        X[begin : begin + PIECE] = part
        y[begin : begin + PIECE] = (4 * part[:, 0]).astype(int) % 2


if __name__ == "__main__":
    main(
        measure,
        "Uniform float64 from memory maps, each fit in a process of its own. The peak includes the"
        " program\nitself, about 0.3 GB, and pages of mapped files; max_bytes is 0.8 GB, with"
        " --large 3.8 GB.",
    )
