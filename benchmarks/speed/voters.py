"""Compare predictions by several voters with those by one, and with nearest neighbors."""

import copy

import numpy as np
from benchmarks.common import Row, best_of, cpu_seconds, main
from sklearn.neighbors import KNeighborsClassifier

from opforest import OPFClassifier
from opforest.forest.probabilities import find_calibration

QUERIES, REPEATS, VOTERS = 2000, 5, 10


def data(n: int, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return noisy examples of two classes, and queries."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + QUERIES, d))
    y = (X[:, 0] + rng.normal(size=n + QUERIES) > 0).astype(int)
    return X[:n], y[:n], X[n:]


def measure() -> list[Row]:
    return [row for n, d, bar in ((100_000, 2, 2.0), (20_000, 64, 1.3)) for row in race(n, d, bar)]


def race(n: int, d: int, bar: float) -> list[Row]:
    X, y, queries = data(n, d)
    one = OPFClassifier().fit(X, y)
    many = copy.copy(one).set_params(voters=VOTERS)  # the same forest, so that caches are fair
    neighbors = KNeighborsClassifier(VOTERS).fit(X, y)
    for clf in (one, many):
        clf.predict(queries)  # compile, calibrate, and rank
    find_calibration(many.forest_.queries, None, "auto")
    seconds = best_of(
        REPEATS,
        one=lambda: cpu_seconds(lambda: one.predict(queries)),
        many=lambda: cpu_seconds(lambda: many.predict(queries)),
        neighbors=lambda: cpu_seconds(lambda: neighbors.predict(queries)),
        exponent=lambda: cpu_seconds(lambda: find_calibration(one.forest_.queries)),
        auto=lambda: cpu_seconds(lambda: find_calibration(one.forest_.queries, None, "auto")),
    )
    case = f"{n}×{d}"
    return [
        Row(f"{case}: {VOTERS} voters against one", seconds["many"] / seconds["one"], bar=bar,
            sense="at most", seconds={"one voter": seconds["one"], "voters": seconds["many"]}),
        Row(f"{case}: {VOTERS} voters against k-NN", seconds["many"] / seconds["neighbors"], bar=1,
            sense="at most", seconds={"k-NN": seconds["neighbors"], "voters": seconds["many"]}),
        Row(f"{case}: finding auto against the exponent", seconds["auto"] / seconds["exponent"],
            bar=3, sense="at most",
            seconds={"exponent": seconds["exponent"], "auto": seconds["auto"]}),
    ]  # fmt: skip


if __name__ == "__main__":
    remark = f"Processor time on one thread, {QUERIES} queries, best of {REPEATS} in turn."
    main(measure, remark)
