"""Check that ``auto`` chooses well on data that are difficult for one of the algorithms."""

import copy
from collections.abc import Callable
from functools import partial

import numpy as np
from benchmarks.common import Row, best_of, cpu_seconds, letter, main, quadrants

from opforest import OPFClassifier

#: The largest time of ``auto`` relative to the better algorithm.
BAR = 1.3
ALGORITHMS = ("auto", "kd_tree", "brute")
REPEATS = 3
BATCH, QUERIES = 200, 1000

#: The time to forget the first of many duplicates, as a fraction of that of ``fit``.
DUPLICATES, DUPLICATES_BAR = (12_000, 48_000), 0.1
CALLS = 50

Data = tuple[np.ndarray, np.ndarray]


def normal(n: int, d: int) -> Data:
    X = np.random.default_rng(0).standard_normal((n, d))
    return X, quadrants(X)


def blobs(n: int, d: int) -> Data:
    rng = np.random.default_rng(0)
    group = rng.integers(30, size=n)
    return rng.normal(0, 10, (30, d))[group] + rng.standard_normal((n, d)), group % 5


def heavy_tailed(n: int, d: int) -> Data:
    X = np.random.default_rng(0).standard_cauchy((n, d))
    return X, (X[:, 0] > 0) * 1


def letters(n: int) -> Data:
    found = letter(n)
    if found is not None:
        return found
    X, y = blobs(n, 16)
    return np.clip(np.rint(X / 3 + 8), 0, 15), y


def duplicates(n: int) -> Data:
    X, y = normal(n, 3)
    chosen = np.random.default_rng(1).integers(n // 5, size=n)
    return X[chosen], y[chosen]


def ordered(n: int) -> Data:
    X, y = normal(n, 3)
    order = np.argsort(X[:, 0])
    return X[order], y[order]


def near_duplicates(n: int) -> Data:
    X, y = duplicates(n)
    return X + np.random.default_rng(2).normal(0, 1e-9, X.shape), y


def decades(n: int) -> Data:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 2)) * 10 ** rng.uniform(-100, 100, (n, 1))
    return X, (X[:, 0] > 0) * 1


CASES: dict[str, Callable[[], Data]] = {
    **{f"normal 30000×{d}": partial(normal, 30_600, d) for d in (2, 4, 6, 8, 10, 16, 64)},
    "letters 10000×16": partial(letters, 10_600),
    "blobs 100000×20": partial(blobs, 100_600, 20),
    "Cauchy 30000×6": partial(heavy_tailed, 30_600, 6),
    "duplicates, 80 %, 30000×3": partial(duplicates, 30_600),
    "sorted 30000×3": partial(ordered, 30_600),
    "near duplicates 30000×3": partial(near_duplicates, 30_600),
    "200 decades 30000×2": partial(decades, 30_600),
}


def measure() -> list[Row]:
    for algorithm in ALGORITHMS:
        X, y = normal(12_000, 2)
        OPFClassifier(algorithm=algorithm).fit(X, y).partial_fit(X[:9] + 1, y[:9]).predict(X)
    rows = [row for case, make in CASES.items() for row in choice(case, *make())]
    return [*rows, *(forget_first(n, values) for n in DUPLICATES for values in (1, 10, 100))]


def choice(case: str, X: np.ndarray, y: np.ndarray) -> list[Row]:
    """Compare ``auto`` with both algorithms, for fit, insert and predict."""
    n = len(X) - 600
    rng = np.random.default_rng(3)
    queries = X[rng.integers(n, size=QUERIES)] + rng.normal(0, 1e-3, (QUERIES, X.shape[1]))
    repeats = 1 if n * n * X.shape[1] > 2e10 else REPEATS
    models: dict[str, OPFClassifier] = {}

    def fit(algorithm: str) -> float:
        models[algorithm] = OPFClassifier(algorithm=algorithm)
        return cpu_seconds(lambda: models[algorithm].fit(X[:n], y[:n]))

    def insert(algorithm: str) -> float:
        grown = copy.deepcopy(models[algorithm])
        grown.partial_fit(X[n : n + BATCH], y[n : n + BATCH])
        return cpu_seconds(lambda: grown.partial_fit(X[n + BATCH :], y[n + BATCH :]))

    def predict(algorithm: str) -> float:
        return cpu_seconds(lambda: models[algorithm].predict(queries))

    rows = []
    for name, run, per in (("fit", fit, 1), ("insert", insert, 400), ("predict", predict, QUERIES)):
        times = best_of(
            repeats if name == "fit" else REPEATS, **{a: partial(run, a) for a in ALGORITHMS}
        )
        better = min(times["kd_tree"], times["brute"])
        note = "  ".join(f"{a} {1e3 * times[a] / per:.3g} ms" for a in ALGORITHMS)
        rows.append(Row(f"{case}, {name}", times["auto"] / better, "×", BAR, "at most", note=note))
    return rows


def forget_first(n: int, values: int) -> Row:
    """Forget the first of many duplicates, to which all the others are linked."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((values, 2))[rng.integers(values, size=n)]
    y = rng.integers(3, size=n)
    model = OPFClassifier()
    fitting = best_of(REPEATS, fit=lambda: cpu_seconds(lambda: model.fit(X, y)))["fit"]
    times = []
    for _ in range(CALLS):
        _, first = np.unique(model.forest_.points, axis=0, return_index=True)
        ids = model.forest_.ids[rng.choice(first)]
        times.append(cpu_seconds(partial(model.forget, ids)))
    usual, worst = np.median(times[1:]), max(times[1:])
    note = f"{1e3 * usual:.2f} of {1e3 * fitting:.1f} ms; worst {worst / fitting:.2g} ×"
    case = f"forgetting the first of its duplicates, {n} points on {values} values, of fit"
    return Row(case, usual / fitting, "×", DUPLICATES_BAR, "at most", note=note)


if __name__ == "__main__":
    main(
        measure,
        "One thread, processor time. auto against the better of kd_tree and brute; insertions: 400"
        " examples after a\nfirst batch that allocates space; predictions of 1000 queries near"
        f" known examples. Duplicates: the median of {CALLS - 1} calls.",
    )
