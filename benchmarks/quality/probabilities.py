"""Measure the cost of probabilities: of estimating the exponent, of using it, and in a stream."""

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from benchmarks.common import DATA, Row, as_stream, best_of, cpu_seconds, load, main, strips
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

from opforest import OPFClassifier
from opforest.forest.probabilities import CostCalibration, find_calibration

REPEATS = 15
QUERIES = 1000
SETS = ("digits", "base1", "ntl", "CTG", "SpamBase2", "strips 100000")
STREAMS = ("Phishing", "ImageSegments", "Bananas")

#: Largest ratios: estimating to ``class_costs`` of 1000 queries; using the exponent to normalized
#: inverse costs, in batches and in a stream.
FIND_BAR, USE_BAR, STREAM_BAR = 1.1, 1.05, 1.2

#: The probabilities of version 0.1.0, computed by today's kernel.
INVERSE = CostCalibration(1.0, 0.0, 0, 0)


def measure() -> list[Row]:
    rows = []
    for name in SETS:
        data = read(name)
        if data is None:
            note = f"no {DATA / name}.opf"
            rows.append(Row(f"{name}, estimate", bar=FIND_BAR, sense="at most", note=note))
        else:
            rows += batch(name, *data)
    return rows + streams()


def read(name: str) -> tuple[np.ndarray, np.ndarray] | None:
    if name == "digits":
        X, y = load_digits(return_X_y=True)
    elif name.startswith("strips"):
        X, y = strips(int(name.split()[1]))
    elif (data := load(name)) is not None:
        X, y = data
    else:
        return None
    order = np.random.default_rng(0).permutation(len(X))
    return StandardScaler().fit_transform(X[order]), y[order]


def batch(name: str, X: np.ndarray, y: np.ndarray) -> list[Row]:
    """Compare with class costs and with normalized inverse costs of held-out examples."""
    queries = X[-QUERIES:]
    clf = OPFClassifier().fit(X[:-QUERIES], y[:-QUERIES])
    forest = clf.forest_
    best = best_of(
        REPEATS,
        find=lambda: cpu_seconds(lambda: find_calibration(forest.queries)),
        class_costs=lambda: cpu_seconds(lambda: clf.class_costs(queries)),
        proba=lambda: cpu_seconds(lambda: clf.predict_proba(queries)),
        inverse=lambda: cpu_seconds(lambda: clf._probabilities(queries, False, INVERSE)),
    )
    find = {key: best[key] for key in ("find", "class_costs")}
    use = {key: best[key] for key in ("proba", "inverse")}
    return [
        Row(f"{name}, estimate / class_costs", find["find"] / find["class_costs"], "×", FIND_BAR,
            "at most", find, f"e = {clf.exponent_:.2f}"),
        Row(f"{name}, predict_proba / 1 ÷ c", use["proba"] / use["inverse"], "×", USE_BAR,
            "at most", use),
    ]  # fmt: skip


def streams() -> list[Row]:
    if find_spec("river") is None:
        return [Row("streams", bar=STREAM_BAR, note="river is not installed")]
    from river import datasets

    found = {name: list(getattr(datasets, name)()) for name in STREAMS}
    found["strips 8000 × 2"] = as_stream(*strips(8000))
    found["strips 4000 × 50"] = as_stream(*strips(4000, 50))
    return [in_stream(name, stream) for name, stream in found.items()]


def in_stream(name: str, stream: list[Any]) -> Row:
    """Compare the time of ``predict_proba_one``, including all estimates, over a whole stream."""
    predict_all(stream[:1500], find_calibration)  # compile first
    best = best_of(
        2,
        proba=partial(predict_all, stream, find_calibration),
        inverse=partial(predict_all, stream, never),
    )
    note = f"{len(stream)} examples, each predicted, then learned"
    ratio = best["proba"] / best["inverse"]
    return Row(f"{name}, predict_proba_one", ratio, "×", STREAM_BAR, "at most", best, note)


def never(*_: Any) -> CostCalibration:
    return INVERSE._replace(changes=2**60)


def predict_all(stream: list[Any], find: Callable[..., CostCalibration]) -> float:
    """Return the processor time of all predictions in a stream."""
    import opforest.forest.forest
    from opforest.river import OPFClassifier as StreamClassifier

    model, seconds = StreamClassifier(), 0.0
    opforest.forest.forest.find_calibration = find
    try:
        for x, y in stream:
            seconds += cpu_seconds(lambda x=x: model.predict_proba_one(x))
            model.learn_one(x, y)
    finally:
        opforest.forest.forest.find_calibration = find_calibration
    return seconds


if __name__ == "__main__":
    main(
        measure,
        f"One thread, processor time. {QUERIES} examples are held out, all others are known."
        f" Best of {REPEATS} in turn.\nThe estimate is compared with class_costs of the held-out"
        " examples; predict_proba with a known\nexponent, and all calls of predict_proba_one in a"
        " stream, including estimates, with normalized\ninverse costs.",
    )
