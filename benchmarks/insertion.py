"""Time to learn one more example without an index, against the number of examples known."""

import copy
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from common import RESULTS, Row, best_of, cpu_seconds, main, numpy_pass, strips
from large_forests import fit_roughly

from opforest import OPFClassifier

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 200_000)
FEATURES = (2, 16, 64)
UPDATES = ("exact", "opfi", "dift")
BATCH = 200
REPEATS = 3

#: Up to this many examples ``fit`` itself makes the forest.
LARGEST_FIT = 30_000

SLOPE_BAR = 1.05
UPPER_PART = 10_000  #: where fixed costs no longer count, but the data leave the fast caches
NUMPY_BAR = 0.5  #: of a pass by NumPy over as many examples as this:
NUMPY_SIZE = 100_000
FIT_BAR = 1000  #: times cheaper than ``fit`` with as many examples as this:
FIT_SIZE = 20_000

Line = dict[int, float]  #: seconds by number of examples


class Scene(NamedTuple):
    """A classifier, what it knows, and batches of what it does not know yet."""

    model: OPFClassifier
    known: tuple[np.ndarray, np.ndarray]
    batches: list[tuple[np.ndarray, np.ndarray]]

    def by(self, *updates: str) -> dict[str, OPFClassifier]:
        """Return classifiers that share the forest and learn by these updates."""
        return {name: copy.copy(self.model).set_params(update=name) for name in updates}


def measure() -> list[Row]:
    for dtype in (np.float32, np.float64):
        scene = set_up(1000, 2, dtype)
        per_example(scene, scene.by(*UPDATES))  # compiles
    rows, lines = [], {}
    for d in FEATURES:
        lines[d] = against_size(d)
        rows += [slope_row(f"{d} features, {name}", line) for name, line in lines[d].items()]
    plot(lines)
    for dtype in (np.float32, np.float64):
        rows += [row for d in FEATURES for row in against_numpy(d, dtype)]
    return [*rows, against_fit(), *(rough_against_true(d) for d in FEATURES)]


def set_up(
    n: int, d: int, dtype: type, algorithm: str = "brute", batch: int = BATCH, later: int = 1
) -> Scene:
    end = n + (1 + later) * batch
    X, y = strips(end, d)
    X = X.astype(dtype)
    batches = [(X[i : i + batch], y[i : i + batch]) for i in range(n, end, batch)]
    known = X[:n], y[:n]
    too_large = algorithm == "brute" and n > LARGEST_FIT
    return Scene(fit_roughly(*known) if too_large else fit(*known, algorithm), known, batches)


def fit(X: np.ndarray, y: np.ndarray, algorithm: str = "brute") -> OPFClassifier:
    return OPFClassifier(algorithm=algorithm).fit(X, y)


def per_example(
    scene: Scene,
    models: dict[str, OPFClassifier],
    repeats: int = REPEATS,
    **others: Callable[[], float],
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the seconds per example of the first batch after training, and of later ones.

    The first makes room for itself and the others; ``others`` run in turn with it.
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
    """Return the lines of all updates, and of training anew."""
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
    """Return the power of n that fits best."""
    return float(np.polyfit(np.log(list(line)), np.log(list(line.values())), 1)[0])


def slope_row(case: str, line: Line) -> Row:
    seconds = {f"n = {n}": value for n, value in line.items()}
    bar = None if "retraining" in case else SLOPE_BAR
    upper = {n: value for n, value in line.items() if n >= UPPER_PART}
    note = f"{slope(upper):.3g} from {UPPER_PART} on"
    return Row(f"slope, {case}", slope(line), "", bar, "at most", seconds, note)


def against_numpy(d: int, dtype: type) -> list[Row]:
    scene = set_up(NUMPY_SIZE, d, dtype)
    models = scene.by("exact", "opfi")
    best, _ = per_example(scene, models, numpy=partial(numpy_pass, scene.known[0]))
    return [
        Row(
            f"of a NumPy pass, {NUMPY_SIZE}×{d} {np.dtype(dtype)}, {name}",
            value=best[name] / best["numpy"],
            bar=NUMPY_BAR,
            sense="at most",
            note=f"{1e6 * best[name]:.0f} of {1e6 * best['numpy']:.0f} µs",
        )
        for name in models
    ]


def against_fit() -> Row:
    scene = set_up(FIT_SIZE, 2, np.float32)
    train = partial(fit, *scene.known)
    best, _ = per_example(scene, scene.by("exact"), fit=lambda: cpu_seconds(train))
    note = f"{1e6 * best['exact']:.0f} µs against {1e3 * best['fit']:.0f} ms"
    case = f"cheaper than fit, {FIT_SIZE}×2 float32, exact"
    return Row(case, best["fit"] / best["exact"], bar=FIT_BAR, note=note)


def rough_against_true(d: int) -> Row:
    """Say what it costs an exact insertion that a large forest's tree is not the minimum."""
    scene = set_up(FIT_SIZE, d, np.float32)
    models = {"true": scene.model, "rough": fit_roughly(*scene.known)}
    _, best = per_example(scene, models, 3 * REPEATS)
    note = f"{1e6 * best['rough']:.0f} against {1e6 * best['true']:.0f} µs"
    case = f"rough forest against true one, {FIT_SIZE}×{d}"
    return Row(case, best["rough"] / best["true"], note=note)


def plot(lines: dict[int, dict[str, Line]]) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("There is no plot, for matplotlib is not installed.\n")
        return
    figure = Figure(figsize=(12, 4), layout="constrained")
    panels = figure.subplots(1, len(lines), sharey=True)
    for axes, (d, by_name) in zip(panels, lines.items(), strict=True):
        for name, line in by_name.items():
            label = f"{name}, slope {slope(line):.2f}"
            axes.loglog(list(line), list(line.values()), "o-", label=label)
        axes.set(title=f"{d} features", xlabel="examples known")
        axes.legend()
    panels[0].set(ylabel="seconds per new example", ylim=(1e-6, 1e3))
    RESULTS.mkdir(exist_ok=True)
    figure.savefig(RESULTS / "insertion.png", dpi=120)


if __name__ == "__main__":
    main(
        "insertion",
        __doc__,
        measure,
        f"One thread, processor time per example in a batch of {BATCH} through partial_fit; best of"
        f" {REPEATS} in turn.\nUniform data in four strips; algorithm='brute'. Slopes are those of"
        " log time against log n over all\nsizes, in float32, for the second batch after training,"
        " which finds room to grow; against NumPy and\nfit the first batch counts, with making room"
        " and all else. A NumPy pass is ((X - z) ** 2).sum(1).\nRetraining is a fit for every"
        f" example. Forests of more than {LARGEST_FIT} examples have a tree that is\nnot quite the"
        " minimum (large_forests.py); the last lines say what that does to the time of an exact\n"
        "insertion. The plot is results/insertion.png.",
    )
