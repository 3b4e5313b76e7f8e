"""Compare accuracy and probabilities with other classifiers on all data sets available.

Five folds, standardized features, at most 4000 examples of each set. It prints every set, losses
too, and writes results/accuracy.json. Names of sets as arguments select some.
"""

import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import pandas as pd
from common import LETTER, Row, load, main, print_markdown
from scipy.io.arff import loadarff
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_moons
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from opforest import OPFClassifier, Preparation

FOLDS, MOST, BINS = 5, 4000, 10
WILD = LETTER.parent
PAPER = {
    "C-vs-G": "CircleGaussian", "Lithuanian": "L", "Cone-Torus": "cone-torus", "Saturn": "saturn",
    "CTG": "CTG", "NTL": "ntl", "Parkinsons": "parkinsons", "Produce": "produce",
    "SpamBase": "SpamBase2", "MPEG7-BAS": "mpeg7_BAS", "MPEG7-Fourier": "mpeg7_FOURIER",
    "Base1": "base1", "Base2": "base2",
}  # fmt: skip

#: Files of tables: how pandas reads them, the label, and columns to leave out.
TABLES: dict[str, tuple[str, dict[str, Any], Any, list[Any]]] = {
    "Glass": ("glass.data", {"header": None}, 10, [0]),
    "Ecoli": ("ecoli.data", {"header": None, "sep": r"\s+"}, 8, [0]),
    "Heart": ("heart.csv", {}, "label", ["id"]),
    "Segmentation": ("segmentation.data", {"header": None, "skiprows": 5}, 0, []),
    "Wisconsin": ("breast-cancer-wisconsin.data", {"header": None, "na_values": "?"}, 10, [0]),
    "Votes": ("house-votes-84.data", {"header": None}, 0, []),
    "Occupancy": ("occupancy_datatest.txt", {}, "Occupancy", ["sno", "date"]),
    "Penguins": ("penguins.csv", {}, "species", []),
    "Titanic": ("titanic_seaborn.csv", {}, "survived", ["alive", "deck", "class", "embark_town"]),
    "Telco churn": ("telco_churn.csv", {"na_values": " "}, "Churn", ["customerID"]),
    "Wine quality": ("winequality-red.csv", {"sep": ";"}, "quality", []),
    "Abalone sex": ("abalone.data", {"header": None}, 0, []),
    "Optdigits": ("optdigits.tra", {"header": None, "comment": "#"}, 64, []),
    "Letter": ("letter-recognition.data", {"header": None}, 0, []),
    "Credit": ("credit-g.arff", {}, "class", []),
}


def read_table(name: str, options: dict[str, Any], label: Any, dropped: list[Any]) -> Any:
    """Return the examples of a file, with a column for each category, and their labels."""
    if name.endswith(".arff"):
        table = pd.DataFrame(loadarff(WILD / name)[0])
    else:
        table = pd.read_csv(WILD / name, **options).dropna()
    columns = pd.get_dummies(table.drop(columns=[label, *dropped]), dtype=float)
    return columns.to_numpy(float), table[label].astype(str).to_numpy()


def sets() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield names, examples and labels of all available data sets."""
    ours = {"Wine": load_wine, "Iris": load_iris, "Breast cancer": load_breast_cancer,
            "Digits": load_digits}  # fmt: skip
    for name, read in ours.items():
        yield name, *read(return_X_y=True)
    yield "Moons, noise .35", *make_moons(1000, noise=0.35, random_state=0)
    for name, file in PAPER.items():
        found = load(file)
        if found is not None:
            yield name, *found
    for name, (file, *how) in TABLES.items():
        if (WILD / file).exists():
            yield name, *read_table(file, *how)


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


def calibration_error(proba: np.ndarray, is_right: np.ndarray) -> float:
    """Return the mean difference of confidence and accuracy over bins of equal width."""
    confidence = proba.max(axis=1)
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    differences = [abs((confidence - is_right)[bins == b].sum()) for b in range(BINS)]
    return float(np.sum(differences) / len(proba))


def measure_set(X: np.ndarray, y: np.ndarray) -> dict[str, tuple[float, float, float, float]]:
    """Return accuracy in percent, log loss, calibration error and seconds of each contestant."""
    classes, code = np.unique(y, return_inverse=True)
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
        loss = log_loss(
            code, clipped / clipped.sum(axis=1, keepdims=True), labels=range(len(classes))
        )
        error = calibration_error(proba, is_right)
        results[name] = 100 * is_right.mean(), loss, error, seconds[name]
    return results


def measure() -> list[Row]:
    results = {}
    print_markdown("set", *(f"{name}: accuracy, log loss" for name in contestants()))
    print(f"|---|{'---:|' * len(contestants())}")
    for name, X, y in sets():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        some = np.random.default_rng(0).permutation(len(X))[:MOST]
        X, y = X[some], y[some]
        frequent = np.isin(
            y, [k for k, n in zip(*np.unique(y, return_counts=True), strict=True) if n >= FOLDS]
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results[name] = measure_set(X[frequent].astype(float), y[frequent])
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
    main("accuracy", "Accuracy and log loss over five folds.", measure,
         "Means over all sets available; every set counts once.")  # fmt: skip
