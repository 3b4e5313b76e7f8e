"""Measure the time to learn one more example with an index, in few dimensions."""

from functools import partial
from importlib.util import find_spec

import numpy as np
from benchmarks.common import Row, as_stream, best_of, cpu_seconds, main, numpy_pass, strips
from benchmarks.speed.insertion import BATCH, REPEATS, Line, per_example, set_up, slope

SIZE = 100_000
LATER = 10  #: batches after the first one

#: By number of features: the speed relative to a NumPy pass over ``SIZE`` examples.
NUMPY_BARS = {2: 50, 3: 30}
LEARN_ONE_BAR = 0.1  #: as a fraction of such a pass
LEARN_ONE_CALLS = 2000

SLOPE_SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
SLOPE_BATCH = 1000
SLOPE_BARS = {2: 0.25, 3: 0.25, 6: 0.5}  #: by number of features


def measure() -> list[Row]:
    for dtype in (np.float32, np.float64):
        scene = set_up(2000, 2, dtype, "kd_tree")
        per_example(scene, scene.by("exact"))  # compile first
    rows = [
        row
        for d, bar in NUMPY_BARS.items()
        for dtype in (np.float32, np.float64)
        for row in against_numpy(d, dtype, bar)
    ]
    return [*rows, learn_one(), *(against_size(d) for d in SLOPE_BARS)]


def against_numpy(d: int, dtype: type, bar: float) -> list[Row]:
    scene = set_up(SIZE, d, dtype, "auto", later=LATER)
    first, later = per_example(scene, scene.by("exact"), numpy=partial(numpy_pass, scene.known[0]))
    case, numpy = f"{SIZE}×{d} {np.dtype(dtype)}", first["numpy"]
    return [
        Row(
            f"cheaper than a NumPy pass, {case}, {batch}",
            numpy / seconds,
            bar=bar,
            note=f"{1e6 * seconds:.1f} against {1e6 * numpy:.0f} µs",
        )
        for batch, seconds, bar in (
            ("first batch", first["exact"], None),
            ("later ones", later["exact"], bar),
        )
    ]


def against_size(d: int) -> Row:
    """Measure how the time per example in the second batch after training grows."""
    line: Line = {}
    for n in SLOPE_SIZES:
        scene = set_up(n, d, np.float64, "kd_tree", SLOPE_BATCH)
        _, seconds = per_example(scene, scene.by("exact"))
        line[n] = seconds["exact"]
    seconds = {f"n = {n}": value for n, value in line.items()}
    return Row(f"slope, {d} features", slope(line), "", SLOPE_BARS[d], "at most", seconds)


def learn_one() -> Row:
    """Learn examples, without predicting them first, through the adapter for river."""
    case = f"learn_one, of a NumPy pass, {SIZE}×2"
    if find_spec("river") is None or find_spec("pandas") is None:
        note = "river or pandas is not installed"
        return Row(case, bar=LEARN_ONE_BAR, sense="at most", note=note)
    import pandas as pd

    from opforest.river import OPFClassifier

    X, y = strips(SIZE + (1 + REPEATS) * LEARN_ONE_CALLS, 2, np.float64)
    model = OPFClassifier()
    model.learn_many(pd.DataFrame(X[:SIZE]), pd.Series(y[:SIZE]))
    fresh = iter(as_stream(X[SIZE:], y[SIZE:]))

    def learn() -> float:
        examples = [next(fresh) for _ in range(LEARN_ONE_CALLS)]
        return cpu_seconds(lambda: [model.learn_one(*example) for example in examples])

    learn()  # to compile and allocate
    best = best_of(REPEATS, learn=learn, numpy=partial(numpy_pass, X[:SIZE]))
    seconds = best["learn"] / LEARN_ONE_CALLS
    note = f"{1e6 * seconds:.1f} of {1e6 * best['numpy']:.0f} µs"
    return Row(case, seconds / best["numpy"], "×", LEARN_ONE_BAR, "at most", note=note)


if __name__ == "__main__":
    main(
        measure,
        f"One thread, processor time per example in batches of {BATCH} through partial_fit with"
        f" algorithm='auto';\nbest of {REPEATS} in turn. Uniform data in four strips. The first"
        " batch after training allocates\nspace; the bar is for the mean of the next"
        f" {LATER}. A NumPy pass is ((X - z) ** 2).sum(1), with X in C\norder. learn_one: the mean"
        f" of {LEARN_ONE_CALLS} calls, in float64. Slopes are of log time against log n for\n"
        f"the second of two batches of {SLOPE_BATCH}, in float64, with algorithm='kd_tree'.",
    )
