"""Compare accuracy and probabilities with other classifiers on all data sets available.

Five folds, standardized features, at most 4000 examples of each set. It prints every set, losses
too, and writes results/accuracy.json. Names of sets as arguments select some.
"""

import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from benchmarks.common import Row, main, print_markdown
from benchmarks.quality.calibration import calibration_error
from benchmarks.quality.sets import sets
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from opforest import OPFClassifier, Preparation

FOLDS, MOST = 5, 4000


def contestants() -> dict[str, Any]:
    neighbors = {"n_neighbors": [1, 3, 5, 7, 10, 15, 22, 33, 50]}
    return {
        "OPF": OPFClassifier(),
        "auto": OPFClassifier(voters="auto"),
        "auto, scale": Pipeline(
            [("prepare", Preparation(scale="auto")), ("model", OPFClassifier(voters="auto"))]
        ),
        "1-NN": KNeighborsClassifier(1),
        "k-NN": GridSearchCV(KNeighborsClassifier(), neighbors, cv=5),
        "forest": RandomForestClassifier(200, random_state=0, n_jobs=1),
        "boosted": HistGradientBoostingClassifier(random_state=0),
    }


def samples() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield names, some examples, and codes of the classes that have one in each fold."""
    for name, X, y in sets():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        some = np.random.default_rng(0).permutation(len(X))[:MOST]
        X, y = X[some].astype(float), y[some]
        labels, counts = np.unique(y, return_counts=True)
        is_frequent = np.isin(y, labels[counts >= FOLDS])
        yield name, X[is_frequent], np.unique(y[is_frequent], return_inverse=True)[1]


def measure_set(X: np.ndarray, code: np.ndarray) -> dict[str, tuple[float, float, float, float]]:
    """Return accuracy in percent, log loss, calibration error and seconds of each contestant."""
    classes = np.unique(code)
    found = {name: np.zeros((len(X), len(classes))) for name in contestants()}
    seconds = dict.fromkeys(found, 0.0)
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, code):
        scaler = StandardScaler().fit(X[train])
        learned, queries = scaler.transform(X[train]), scaler.transform(X[test])
        for name, model in contestants().items():
            start = time.perf_counter()
            fitted = model.fit(learned, code[train])
            known = fitted.classes_
            found[name][np.ix_(test, known)] = fitted.predict_proba(queries)
            seconds[name] += time.perf_counter() - start
    results = {}
    for name, proba in found.items():
        is_right = proba.argmax(axis=1) == code
        clipped = np.clip(proba, 1e-6, 1)
        loss = log_loss(code, clipped / clipped.sum(axis=1, keepdims=True), labels=classes)
        error = calibration_error(proba, code)
        results[name] = 100 * is_right.mean(), loss, error, seconds[name]
    return results


def measure() -> list[Row]:
    results = {}
    print_markdown("set", *(f"{name}: accuracy, log loss" for name in contestants()))
    print(f"|---|{'---:|' * len(contestants())}")
    for name, X, code in samples():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results[name] = measure_set(X, code)
        print_markdown(name, *(f"{a:.1f}, {loss:.3f}" for a, loss, _, _ in results[name].values()))
    table = np.array([[*found.values()] for found in results.values()])
    mean = table.mean(axis=0)
    print_markdown("mean", *(f"{a:.2f}, {loss:.3f}" for a, loss, _, _ in mean))
    print_markdown("calibration error", *(f"{error:.3f}" for error in mean[:, 2]))
    print_markdown("seconds", *(f"{s:.1f}" for s in table[:, :, 3].sum(axis=0)))
    place = {name: i for i, name in enumerate(contestants())}
    one, auto, scaled, forest = (place[name] for name in ("OPF", "auto", "auto, scale", "forest"))
    worst = (table[:, auto, 0] - table[:, one, 0]).argmin()
    return [
        Row("accuracy of auto above one voter", mean[auto, 0] - mean[one, 0], "points", 2.5),
        Row("accuracy of auto below a random forest", mean[forest, 0] - mean[auto, 0], "points",
            1.2, "at most"),
        Row("the same with scale=auto", mean[forest, 0] - mean[scaled, 0], "points"),
        Row("log loss of auto below one voter", mean[one, 1] - mean[auto, 1], "", 0.03),
        Row(f"auto below one voter at worst: {[*results][worst]}",
            table[worst, one, 0] - table[worst, auto, 0], "points", 1.5, "at most"),
    ]  # fmt: skip


if __name__ == "__main__":
    remark = "Means over all sets available; every set counts once."
    main(measure, remark, "Accuracy and log loss over five folds.")
