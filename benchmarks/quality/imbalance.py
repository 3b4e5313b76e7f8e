"""Measure what helps where some classes are rare: votes, other priors, fewer frequent examples.

Five folds, standardized features, at most 4000 examples of each set whose most frequent class has
at least three times the examples of the rarest. "priors" are probabilities divided by the
frequencies of the classes: those that would hold if all classes were equally frequent. "fewer" is
trained on as many examples of each class as the rarest one has, but on at least 20, drawn at
random. It prints balanced accuracy, the mean recall of the classes, and plain accuracy, of every
set, and writes results/imbalance.json.
"""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from benchmarks.common import Row, main, print_markdown
from benchmarks.quality.accuracy import FOLDS, samples
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from opforest import OPFClassifier

RATIO, FEWEST = 3, 20
METHODS = ("OPF", "OPF, priors", "OPF, fewer", "auto", "auto, priors", "auto, fewer")


def unbalanced_sets() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield names, examples and codes of the sets in which some classes are rare."""
    for name, X, code in samples():
        counts = np.bincount(code)
        if len(counts) > 1 and counts.max() >= RATIO * counts.min():
            yield name, X, code


def choose_fewer(code: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return rows with as many examples of each class as the rarest has, at least 20."""
    most = max(FEWEST, int(np.bincount(code).min()))
    rows = [rng.permutation(np.flatnonzero(code == k))[:most] for k in range(code.max() + 1)]
    return np.sort(np.concatenate(rows))


def predict_all(X: np.ndarray, code: np.ndarray, queries: np.ndarray) -> dict[str, np.ndarray]:
    """Return the predictions of each method."""
    found: dict[str, Any] = {}
    fewer = choose_fewer(code, np.random.default_rng(0))
    for name, voters in (("OPF", 1), ("auto", "auto")):
        model = OPFClassifier(voters=voters).fit(X, code)
        found[name] = model.predict(queries)
        found[f"{name}, priors"] = model.predict(queries, priors="balanced")
        found[f"{name}, fewer"] = (
            OPFClassifier(voters=voters).fit(X[fewer], code[fewer]).predict(queries)
        )
    return found


def measure() -> list[Row]:
    results = []
    print_markdown("set", "largest / smallest class", *METHODS)
    print(f"|---|---:|{'---:|' * len(METHODS)}")
    for name, X, code in unbalanced_sets():
        predicted = {method: np.zeros_like(code) for method in METHODS}
        for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, code):
            scaler = StandardScaler().fit(X[train])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                answers = predict_all(
                    scaler.transform(X[train]), code[train], scaler.transform(X[test])
                )
            for method in METHODS:
                predicted[method][test] = answers[method]
        scores = [(100 * balanced_accuracy_score(code, predicted[method]),
                   100 * float((predicted[method] == code).mean()))
                  for method in METHODS]  # fmt: skip
        results.append(scores)
        counts = np.bincount(code)
        cells = [f"{balanced:.1f} ({plain:.1f})" for balanced, plain in scores]
        print_markdown(name, f"{counts.max() / counts.min():.0f}", *cells)
    mean = np.mean(results, axis=0)
    print_markdown("mean", "", *(f"{balanced:.2f} ({plain:.2f})" for balanced, plain in mean))
    return [
        Row(f"balanced accuracy of {method} above {METHODS[base]}", mean[i, 0] - mean[base, 0],
            "points")
        for base in (0, 3)
        for i, method in enumerate(METHODS)
        if i in (base + 1, base + 2)
    ]  # fmt: skip


if __name__ == "__main__":
    remark = "Means over all unbalanced sets available; every set counts once."
    main(measure, remark, "Balanced accuracy (accuracy) where some classes are rare.")
