"""Compare ``fit`` with many features with dense Prim, and two threads with one for 2 to 64."""

import os

import numpy as np
from benchmarks.common import (
    Row,
    best_of,
    cpu_seconds,
    dense_prim,
    letter,
    main,
    versus,
    wall_seconds,
)

from opforest import OPFClassifier

#: By kind of data, examples and features: the speed relative to dense Prim on one thread.
PRIM_BARS = {
    ("normal", 100_000, 10): 2.5,
    ("normal", 50_000, 64): 4.5,
    ("blobs", 50_000, 64): 5,
    ("Letter", 20_000, 16): 1.3,
}

#: By examples and features, normal: the largest time with two threads relative to one.
THREADS_BARS = {
    (1_000_000, 2): 0.58,
    (1_000_000, 3): 0.58,
    (100_000, 10): 0.6,
    (50_000, 16): 0.6,
    (30_000, 64): 0.6,
}
REPEATS = 2


def measure() -> list[Row]:
    X, y = make("normal", 20_000, 16)
    prim_seconds(X, y)  # compile first
    OPFClassifier().fit(X, y)
    against_prim = [row for case, bar in PRIM_BARS.items() for row in on(*case, bar)]
    return [*against_prim, *(by_threads(*size, bar) for size, bar in THREADS_BARS.items())]


def make(kind: str, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return normal data, or 100 clusters of different widths, and two classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    if kind == "blobs":
        cluster = rng.integers(0, 100, n)
        width = np.geomspace(0.001, 0.03, 100)[cluster]
        X = rng.random((100, d))[cluster] + X * width[:, None]
    return X, X[:, 0] > np.median(X[:, 0])


def prim_seconds(X: np.ndarray, y: np.ndarray) -> float:
    with dense_prim():
        return cpu_seconds(lambda: OPFClassifier(algorithm="brute").fit(X, y))


def on(kind: str, n: int, d: int, bar: float) -> list[Row]:
    case = f"{kind} {n}×{d}"
    data = letter(n) if kind == "Letter" else make(kind, n, d)
    if data is None:
        return [Row(f"{case} vs dense Prim", bar=bar, note="the file is missing")]
    X, y = data
    model = OPFClassifier()
    best = best_of(
        REPEATS,
        opforest=lambda: cpu_seconds(lambda: model.fit(X, y)),
        prim=lambda: prim_seconds(X, y),
    )
    with dense_prim():
        dense = OPFClassifier(algorithm="brute").fit(X, y)
    assert np.array_equal(model.forest_.edges, dense.forest_.edges), "the trees differ"
    return [versus(case, best["opforest"], "dense Prim", best["prim"], bar)]


def by_threads(n: int, d: int, bar: float) -> Row:
    X, y = make("normal", n, d)
    best = best_of(
        2 * REPEATS,
        one=lambda: wall_seconds(lambda: OPFClassifier(n_jobs=1).fit(X, y)),
        two=lambda: wall_seconds(lambda: OPFClassifier(n_jobs=2).fit(X, y)),
    )
    seconds = {"one thread": best["one"], "two threads": best["two"]}
    case = f"normal {n}×{d}, two threads / one"
    note = "" if (os.cpu_count() or 1) > 1 else "this machine has one processor"
    ratio = best["two"] / best["one"]
    return Row(case, ratio, bar=bar, sense="at most", seconds=seconds, note=note)


if __name__ == "__main__":
    main(
        measure,
        f"float64. Against dense Prim: one thread, processor time, best of {REPEATS} in turn; both"
        f" must give the same\ntree. Threads: wall time, best of {2 * REPEATS} in turn, on an idle"
        " machine. Compiling is excluded.",
    )
