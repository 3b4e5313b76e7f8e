"""Measure the time to learn one more example without an index, as the number of examples grows."""

import copy
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from benchmarks.common import (
    RESULTS,
    Row,
    best_of,
    cpu_seconds,
    main,
    numpy_pass,
    quadrants,
    strips,
)

from opforest import OPFClassifier

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)
FEATURES = (2, 16, 64)
UPDATES = ("exact", "opfi", "dift")
BATCH = 200
PARTS, PART = 31, 20  #: batches, and examples in each of them
REPEATS = 3

#: ``fit`` is also timed up to this number of examples.
LARGEST_FIT = 30_000

SLOPE_BAR = 1.05
UPPER_PART = 10_000  #: above this, fixed costs are negligible, but data exceed the fast caches

#: The bars for this number of examples, by number of features, as fractions of a NumPy pass.
NUMPY_SIZE = 100_000
NUMPY_BARS = {
    "exact": {2: 0.02, 4: 0.04, 6: 0.12, 8: 0.12, 10: 0.12, 16: 0.13, 32: 0.13, 64: 0.2},
    "opfi": {2: 0.05, 10: 0.09},
}
SMALL_SIZE, SMALL_BAR = 30_000, 0.17  #: the same with 64 features
FIT_BAR = 1000  #: the speed relative to ``fit`` on ``FIT_SIZE`` examples
FIT_SIZE = 20_000

Line = dict[int, float]  #: seconds by number of examples


class Scene(NamedTuple):
    """A classifier, its training examples, and batches of new examples."""

    model: OPFClassifier
    known: tuple[np.ndarray, np.ndarray]
    batches: list[tuple[np.ndarray, np.ndarray]]

    def by(self, *updates: str) -> dict[str, OPFClassifier]:
        """Return classifiers that share the forest and use these updates."""
        return {name: copy.copy(self.model).set_params(update=name) for name in updates}


def measure() -> list[Row]:
    for dtype in (np.float32, np.float64):
        scene = set_up(1000, 2, dtype)
        per_example(scene, scene.by(*UPDATES))  # compile first
    rows, lines = [], {}
    for d in FEATURES:
        lines[d] = against_size(d)
        rows += [slope_row(f"{d} features, {name}", line) for name, line in lines[d].items()]
    plot(lines)
    for d in NUMPY_BARS["exact"]:
        rows += against_numpy(NUMPY_SIZE, d, {u: bars.get(d) for u, bars in NUMPY_BARS.items()})
    return [*rows, *against_numpy(SMALL_SIZE, 64, {"exact": SMALL_BAR}), against_fit()]


def set_up(
    n: int, d: int, dtype: type, algorithm: str = "brute", batch: int = BATCH, later: int = 1
) -> Scene:
    end = n + (1 + later) * batch
    X, y = strips(end, d, dtype)
    batches = [(X[i : i + batch], y[i : i + batch]) for i in range(n, end, batch)]
    known = X[:n], y[:n]
    return Scene(fit(*known, algorithm), known, batches)


def fit(X: np.ndarray, y: np.ndarray, algorithm: str = "brute") -> OPFClassifier:
    return OPFClassifier(algorithm=algorithm).fit(X, y)


def per_example(
    scene: Scene,
    models: dict[str, OPFClassifier],
    repeats: int = REPEATS,
    **others: Callable[[], float],
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the seconds per example of the first batch after training, and of later ones.

    The first batch allocates space for all; ``others`` run in turn with it.
    """

    def learn(name: str, i: int) -> float:
        if i == 0:
            latest[name] = copy.deepcopy(models[name])
        batches = scene.batches[1:] if i else scene.batches[:1]
        seconds = cpu_seconds(lambda: [latest[name].partial_fit(*batch) for batch in batches])
        return seconds / sum(len(X) for X, _ in batches)

    latest: dict[str, OPFClassifier] = {}
    runs = {f"{name} {i}": partial(learn, name, i) for name in models for i in (0, 1)}
    best = best_of(repeats, **runs, **others)
    first = {name: best[f"{name} 0"] for name in models} | {name: best[name] for name in others}
    return first, {name: best[f"{name} 1"] for name in models}


def against_size(d: int) -> dict[str, Line]:
    """Return the lines of all updates, and of refitting."""
    lines: dict[str, Line] = {name: {} for name in (*UPDATES, "retraining")}
    for n in SIZES:
        scene = set_up(n, d, np.float32)
        _, seconds = per_example(scene, scene.by(*UPDATES))
        if n <= LARGEST_FIT:
            seconds["retraining"] = cpu_seconds(partial(fit, *scene.known))
        for name, value in seconds.items():
            lines[name][n] = value
    return lines


def slope(line: Line) -> float:
    """Return the exponent of the power of n that fits best."""
    return float(np.polyfit(np.log(list(line)), np.log(list(line.values())), 1)[0])


def slope_row(case: str, line: Line) -> Row:
    seconds = {f"n = {n}": value for n, value in line.items()}
    bar = None if "retraining" in case else SLOPE_BAR
    upper = {n: value for n, value in line.items() if n >= UPPER_PART}
    note = f"{slope(upper):.3g} above {UPPER_PART}"
    return Row(f"slope, {case}", slope(line), "", bar, "at most", seconds, note)


def against_numpy(n: int, d: int, bars: dict[str, float | None]) -> list[Row]:
    """Learn normal data, in classes by quadrant, with ``algorithm="auto"``."""
    X = np.random.default_rng(0).standard_normal((n + PARTS * PART, d))
    y = quadrants(X)
    model = OPFClassifier().fit(X[:n], y[:n])
    rows = []
    for update, bar in bars.items():
        if bar is None:
            continue
        grown = copy.deepcopy(model).set_params(update=update)
        numpy = numpy_pass(X[:n])
        parts = np.array([
            cpu_seconds(partial(grown.partial_fit, X[i : i + PART], y[i : i + PART])) / PART
            for i in range(n, len(X), PART)
        ])  # fmt: skip
        numpy = min(numpy, numpy_pass(X[:n]))
        usual, worst = np.median(parts[1:]), parts[1:].max()
        rows.append(
            Row(
                f"of a NumPy pass, normal {n}×{d}, {update}",
                value=usual / numpy,
                bar=bar,
                sense="at most",
                note=f"{1e6 * usual:.0f} of {1e6 * numpy:.0f} µs; worst {worst / numpy:.2g} ×, "
                f"first after training {parts[0] / numpy:.2g} ×",
            )
        )
    return rows


def against_fit() -> Row:
    scene = set_up(FIT_SIZE, 2, np.float32)
    train = partial(fit, *scene.known)
    best, _ = per_example(scene, scene.by("exact"), fit=lambda: cpu_seconds(train))
    note = f"{1e6 * best['exact']:.0f} µs against {1e3 * best['fit']:.0f} ms"
    case = f"cheaper than fit, {FIT_SIZE}×2 float32, exact"
    return Row(case, best["fit"] / best["exact"], bar=FIT_BAR, note=note)


def plot(lines: dict[int, dict[str, Line]]) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("No plot: matplotlib is not installed.\n")
        return
    figure = Figure(figsize=(12, 4), layout="constrained")
    panels = figure.subplots(1, len(lines), sharey=True)
    for axes, (d, by_name) in zip(panels, lines.items(), strict=True):
        for name, line in by_name.items():
            label = f"{name}, slope {slope(line):.2f}"
            axes.loglog(list(line), list(line.values()), "o-", label=label)
        axes.set(title=f"{d} features", xlabel="known examples")
        axes.legend()
    panels[0].set(ylabel="seconds per new example", ylim=(1e-6, 1e3))
    RESULTS.mkdir(exist_ok=True)
    figure.savefig(RESULTS / "insertion.png", dpi=120)


if __name__ == "__main__":
    main(
        measure,
        f"One thread, processor time per example in a batch of {BATCH} through partial_fit; best of"
        f" {REPEATS} in turn.\nSlopes: uniform data in four strips, algorithm='brute', float32, log"
        " time against log n for the second\nbatch after training. Retraining is a fit for every"
        f" example. NumPy: normal data in four quadrants,\nalgorithm='auto', the median of"
        f" {PARTS - 1} batches of {PART} after the first, and the worst. A NumPy\npass is"
        " ((X - z) ** 2).sum(1). The plot is results/insertion.png.",
    )
