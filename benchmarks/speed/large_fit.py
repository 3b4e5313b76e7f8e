"""Measure the speed of ``fit`` with hundreds of thousands of examples in few dimensions."""

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec

import numpy as np
from benchmarks.common import (
    Row,
    best_of,
    cpu_seconds,
    dense_prim,
    main,
    quadrants,
    skin,
    strips,
    versus,
)  # fmt: skip
from benchmarks.peers import NO_LIBOPF, libopf
from benchmarks.speed.fit import fit_seconds

from opforest.core.records import Tree
from opforest.core.select.mst import probe, span_best
from opforest.metrics import resolve

MST_BAR = 3  #: the largest time relative to quitefastmst

#: The same for normal data, by number of examples and features.
NORMAL_BARS = {(250_000, 2): 1.3, (100_000, 6): 1.5, (100_000, 8): 1.5}

#: The speed relative to each of them, measured with fewer examples and extrapolated by n².
PRIM_BAR, PRIM_SIZE = 100, 30_000
LIBOPF_BAR, LIBOPF_SIZE = 2000, 20_000
REPEATS = 3

EUCLIDEAN = resolve("euclidean", None)


def measure() -> list[Row]:
    for algorithm in ("auto", "brute"):
        fit_seconds(*strips(20_000, 2, np.float64), algorithm)  # compile first
    name, *data = skin()
    X, y = strips(250_000)
    rng = np.random.default_rng(1)
    X = X + 2.0**-24 * rng.random(X.shape)  # float64 in all its digits
    rows = [*on(name, *data), *on("uniform", X, y)]
    for (n, d), bar in NORMAL_BARS.items():
        X = rng.standard_normal((n, d))
        rows += against_quitefastmst(f"normal {n}×{d}", X, contestants(X, quadrants(X)), bar)[0]
    return rows


def on(name: str, X: np.ndarray, y: np.ndarray) -> list[Row]:
    """Train on data in random order; slow peers get only its first examples."""
    case = f"{name} {len(X)}×{X.shape[1]}"
    rows, fit = against_quitefastmst(case, X, contestants(X, y), MST_BAR)
    return [*rows, against_prim(case, X, y, fit), against_libopf(case, X, y, fit)]


def contestants(X: np.ndarray, y: np.ndarray) -> dict[str, Callable[[], float]]:
    return {
        "fit": partial(fit_seconds, X, y, "auto"),
        "tree alone": lambda: cpu_seconds(lambda: make_tree(X)),
    }


def make_tree(X: np.ndarray) -> Tree:
    return span_best(X, EUCLIDEAN, probe(X, EUCLIDEAN, "kd_tree"), 1)


def against_quitefastmst(
    case: str, X: np.ndarray, ours: dict[str, Callable[[], float]], bar: float
) -> tuple[list[Row], float]:
    """Return the rows, and the time of our fit."""
    if find_spec("quitefastmst") is None:
        note = "quitefastmst is not installed"
        row = Row(f"{case}, fit / quitefastmst", bar=bar, sense="at most", note=note)
        return [row], best_of(REPEATS, **ours)["fit"]
    import quitefastmst

    quitefastmst.omp_set_num_threads(1)
    span = partial(quitefastmst.mst_euclid, X)
    best = best_of(REPEATS, quitefastmst=lambda: cpu_seconds(span), **ours)
    tree = make_tree(X)
    assert np.isclose(np.sqrt(tree.weight).sum(), span()[0].sum()), "one tree is not minimal"
    rows = [
        Row(
            f"{case}, {key} / quitefastmst",
            best[key] / best["quitefastmst"],
            bar=limit,
            sense="at most",
            seconds={"opforest": best[key], "quitefastmst": best["quitefastmst"]},
        )
        for key, limit in (("fit", bar), ("tree alone", None))
    ]
    return rows, best["fit"]


def against_prim(case: str, X: np.ndarray, y: np.ndarray, ours: float) -> Row:
    with dense_prim():
        seconds = fit_seconds(X[:PRIM_SIZE], y[:PRIM_SIZE], "brute")
    return extrapolated(case, ours, "dense Prim", seconds, len(X) / PRIM_SIZE, PRIM_BAR)


def against_libopf(case: str, X: np.ndarray, y: np.ndarray, ours: float) -> Row:
    with libopf() as peer:
        if peer is None:
            return Row(f"{case} vs LibOPF", bar=LIBOPF_BAR, note=NO_LIBOPF)
        peer.write("training.dat", X[:LIBOPF_SIZE], y[:LIBOPF_SIZE])
        seconds = peer.seconds("opf_train", "training.dat")
    return extrapolated(case, ours, "LibOPF", seconds, len(X) / LIBOPF_SIZE, LIBOPF_BAR)


def extrapolated(
    case: str, ours: float, peer: str, seconds: float, times: float, bar: float
) -> Row:
    """Return a row against a peer measured with fewer examples, whose time grows as n²."""
    note = f"{seconds:.3g} s with 1/{times:.3g} of the examples, × {times**2:.0f}"
    return versus(case, ours, peer, times**2 * seconds, bar, note)


if __name__ == "__main__":
    main(
        measure,
        f"One thread, processor time, float64; best of {REPEATS} in turn. quitefastmst only finds"
        " the Euclidean\nminimum spanning tree; our fit also finds prototypes and costs and builds"
        " the index. Dense Prim\nand LibOPF (float32) are measured once, with"
        f" {PRIM_SIZE} and {LIBOPF_SIZE} examples, and\nextrapolated by n². If Skin is missing, a"
        " similar generated set replaces it.",
    )
