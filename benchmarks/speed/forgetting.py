"""Measure the time to forget an example, and to move a window by one."""

import copy
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec

import numpy as np
from benchmarks.common import Row, as_stream, best_of, cpu_seconds, main, numpy_pass, strips

from opforest import OPFClassifier

SIZE = 100_000
FEATURES = (2, 3)
NUMPY_BAR = 0.5  #: as a fraction of a NumPy pass
COUNT = 200
WINDOW = 10_000
STEPS = 2000
REPEATS = 3


def measure() -> list[Row]:
    one_by_one(OPFClassifier().fit(*strips(20_000, 2, np.float64)), np.arange(5))  # compile first
    rows = [row for d in FEATURES for row in against_numpy(d)]
    return [*rows, *(window_step(d) for d in FEATURES)]


def against_numpy(d: int) -> list[Row]:
    X, y = strips(SIZE, d, np.float64)
    model = OPFClassifier().fit(X, y)
    chosen = np.random.default_rng(1).choice(SIZE, COUNT, replace=False)

    def seconds(forget: Callable[[OPFClassifier, np.ndarray], object]) -> float:
        other = np.setdiff1d(np.arange(COUNT), chosen)[:1]
        twin = copy.deepcopy(model).forget(other)  # allocates its work space
        return cpu_seconds(lambda: forget(twin, chosen)) / COUNT

    methods = {"one call for each": one_by_one, "one call for all": OPFClassifier.forget}
    runs = {name: partial(seconds, forget) for name, forget in methods.items()}
    best = best_of(REPEATS, numpy=partial(numpy_pass, X), **runs)
    return [
        Row(
            f"forgetting, of a NumPy pass, {SIZE}×{d}, {name}",
            best[name] / best["numpy"],
            bar=NUMPY_BAR,
            sense="at most",
            note=f"{1e6 * best[name]:.0f} of {1e6 * best['numpy']:.0f} µs",
        )
        for name in methods
    ]


def one_by_one(model: OPFClassifier, ids: np.ndarray) -> None:
    for i in ids.tolist():
        model.forget(i)


def window_step(d: int) -> Row:
    """Learn one example and forget the oldest one."""
    case = f"learn_one with a window of {WINDOW}, {d} features"
    if find_spec("river") is None:
        return Row(case, unit="µs", note="river is not installed")
    from opforest.river import OPFClassifier

    stream = as_stream(*strips(2 * WINDOW + REPEATS * STEPS, d))
    model, fresh = OPFClassifier(window_size=WINDOW), iter(stream)

    def learn(steps: int) -> float:
        examples = [next(fresh) for _ in range(steps)]
        return cpu_seconds(lambda: [model.learn_one(*example) for example in examples])

    learn(2 * WINDOW)  # fill the window
    seconds = best_of(REPEATS, step=lambda: learn(STEPS) / STEPS)["step"]
    return Row(
        case, 1e6 * seconds, "µs", note=f"{type(model.forest.storage.fields.index).__name__}"
    )


if __name__ == "__main__":
    main(
        measure,
        f"One thread, processor time per example, the mean of {COUNT} random ones (of {STEPS}"
        f" steps of a window);\nbest of {REPEATS} in turn. Uniform data in four strips, float64. A"
        " NumPy pass is ((X - z) ** 2).sum(1),\nwith X in C order.",
    )
