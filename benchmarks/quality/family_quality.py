"""Compare the estimators of the family with others: the tables of docs/family.md.

Run it by hand, completely or in part:
``python -m benchmarks.quality.family_quality [--sets NAME ...] [TABLE ...]``.
Tables are semi, probabilities, clusters, knn, smaller, active, outliers. The data are the paper's
sets, standardized. Missing sets are skipped.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from benchmarks.common import load, print_markdown
from benchmarks.quality.calibration import calibration_error
from sklearn.cluster import HDBSCAN
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.ensemble import IsolationForest
from sklearn.metrics import adjusted_rand_score, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier, LocalOutlierFactor
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelPropagation, LabelSpreading

from opforest import (
    OPFClassifier,
    OPFClustering,
    OPFKNNClassifier,
    OPFOutlier,
    OPFSemiSupervised,
    active,
    learn_from_errors,
    prune,
)

SMALL = ("saturn", "CircleGaussian", "cone-torus", "L", "parkinsons")
SETS = (*SMALL, "CTG", "produce", "mpeg7_BAS", "ntl", "SpamBase2", "base1", "base2", "base3")
RUNS = 20

#: The number of labels in active learning.
LABELS = 32


def table(
    sets: tuple[str, ...],
    columns: tuple[str, ...],
    run: Callable[[np.ndarray, np.ndarray, int], list[float]],
    best: int = 0,
    form: str = "{:.1f}",
) -> None:
    """Print the mean results of all runs on each set; the best of the first few is bold."""
    print_markdown("set", *columns)
    print(f"|{'---|' * (len(columns) + 1)}")
    rows = []
    for name, X, y in data(sets):
        rows.append(np.mean([run(X, y, seed) for seed in range(RUNS)], axis=0))
        print_markdown(name, *cells(rows[-1], best, form))
    print_markdown("mean", *cells(np.mean(rows, axis=0), best, form))
    print()


def cells(values: np.ndarray, best: int, form: str) -> list[str]:
    texts = [form.format(value) for value in values]
    largest = max(texts[:best], key=float) if best else None
    return [f"**{text}**" if i < best and text == largest else text for i, text in enumerate(texts)]


def data(sets: tuple[str, ...]) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    for name in sets:
        found = load(name)
        if found is not None:
            X, y = found
            yield name, StandardScaler().fit_transform(X), np.unique(y, return_inverse=True)[1]


def accuracy(model: object, X: np.ndarray, y: np.ndarray) -> float:
    return 100 * float((model.predict(X) == y).mean())  # type: ignore[attr-defined]


# Semi-supervised.


def semi(sets: tuple[str, ...]) -> None:
    names = ("OPFSemiSupervised", "seeds=prototypes", "OPFClassifier", "LabelSpreading",
             "LabelPropagation")  # fmt: skip
    table(sets, names, semi_run, best=5)


def split(
    X: np.ndarray, y: np.ndarray, rng: np.random.Generator, fraction: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a training half, a test half, and the training labels, a fraction of them given."""
    order = rng.permutation(len(X))
    test, train = order[: len(X) // 2], order[len(X) // 2 :]
    by_class = [np.flatnonzero(y[train] == c) for c in np.unique(y[train])]
    known = np.concatenate(
        [rng.choice(rows, max(1, int(fraction * len(rows))), replace=False) for rows in by_class]
    )
    given = np.full(len(train), -1)
    given[known] = y[train][known]
    return train, test, given


def semi_run(X: np.ndarray, y: np.ndarray, seed: int) -> list[float]:
    train, test, given = split(X, y, np.random.default_rng(seed), 0.05)
    known = given >= 0
    models = [
        OPFSemiSupervised().fit(X[train], given),
        OPFSemiSupervised(seeds="prototypes").fit(X[train], given),
        OPFClassifier().fit(X[train][known], given[known]),
        LabelSpreading(kernel="knn", n_neighbors=7).fit(X[train], given),
        LabelPropagation(kernel="knn", n_neighbors=7).fit(X[train], given),
    ]
    return [accuracy(model, X[test], y[test]) for model in models]


def probabilities(sets: tuple[str, ...]) -> None:
    """Print log losses, then calibration errors, with 5 % labeled and with 20 %."""
    models = ("OPFSemiSupervised", "OPFClassifier", "LabelSpreading")
    columns = (*(f"loss of {name}" for name in models), *(f"error of {name}" for name in models))
    for fraction in (0.05, 0.2):
        print(f"{fraction:.0%} labeled")
        table(sets, columns, partial(probabilities_run, fraction=fraction), form="{:.2f}")


def probabilities_run(X: np.ndarray, y: np.ndarray, seed: int, fraction: float) -> list[float]:
    train, test, given = split(X, y, np.random.default_rng(seed), fraction)
    known = given >= 0
    models = [
        OPFSemiSupervised().fit(X[train], given),
        OPFClassifier().fit(X[train][known], given[known]),
        LabelSpreading(kernel="knn", n_neighbors=7).fit(X[train], given),
    ]
    found = [np.nan_to_num(model.predict_proba(X[test])) for model in models]
    losses = [-np.log(np.clip(p[np.arange(len(p)), y[test]], 1e-15, 1)).mean() for p in found]
    return [*losses, *(calibration_error(p, y[test], np.arange(p.shape[1])) for p in found)]


# Clusters.


def shapes() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    n, rng = 1500, np.random.default_rng(0)
    blobs = make_blobs(n, random_state=8)
    stretched = make_blobs(n, random_state=170)
    spiral = np.sqrt(rng.random(n)) * 3 * np.pi
    side = rng.integers(0, 2, n)
    points = np.column_stack((np.cos(spiral + np.pi * side), np.sin(spiral + np.pi * side)))
    return {
        "circles": make_circles(n, factor=0.5, noise=0.05, random_state=30),
        "moons": make_moons(n, noise=0.05, random_state=30),
        "blobs": blobs,
        "blobs of several widths": make_blobs(n, cluster_std=[1.0, 2.5, 0.5], random_state=170),
        "stretched blobs": (stretched[0] @ [[0.6, -0.6], [-0.4, 0.8]], stretched[1]),
        "spirals": (points * spiral[:, None] + rng.normal(0, 0.15, (n, 2)), side),
    }


def clusters(_: tuple[str, ...]) -> None:
    import fast_hdbscan

    print_markdown("shape", "OPFClustering(100)", "its best k_max", "HDBSCAN", "fast_hdbscan")
    print("|---|---|---|---|---|")
    for name, (X, y) in shapes().items():
        X = StandardScaler().fit_transform(X)
        found = {k: OPFClustering(k).fit_predict(X) for k in (20, 50, 100, 200)}
        score = {k: adjusted_rand_score(y, labels) for k, labels in found.items()}
        best = max(score, key=lambda k: score[k])
        rivals = (
            HDBSCAN(min_cluster_size=15, copy=True),
            fast_hdbscan.HDBSCAN(min_cluster_size=15),
        )
        others = [f"{adjusted_rand_score(y, model.fit_predict(X)):.2f}" for model in rivals]
        print_markdown(name, f"{score[100]:.2f}", f"{score[best]:.2f} ({best})", *others)


# The others.


def knn(sets: tuple[str, ...]) -> None:
    table(sets, ("OPFKNNClassifier", "1-NN", "OPFClassifier", "k"), knn_run, best=3)


def knn_run(X: np.ndarray, y: np.ndarray, seed: int) -> list[float]:
    train, test = halves(X, y, seed)
    mine = OPFKNNClassifier().fit(X[train], y[train])
    models = (mine, KNeighborsClassifier(1), OPFClassifier())
    return [*(accuracy(m.fit(X[train], y[train]), X[test], y[test]) for m in models), mine.k_]


def halves(X: np.ndarray, y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    train, test = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=seed)
    return train, test


def smaller(sets: tuple[str, ...]) -> None:
    """Print accuracies of learn_from_errors and prune, trained and evaluated on a third each."""
    columns = ("a third", "learn_from_errors", "two thirds", "prune", "kept by prune, %")
    table(sets, columns, smaller_run)


def smaller_run(X: np.ndarray, y: np.ndarray, seed: int) -> list[float]:
    rows = np.arange(len(y))
    train, rest = train_test_split(rows, train_size=1 / 3, stratify=y, random_state=seed)
    evaluation, test = train_test_split(rest, test_size=0.5, stratify=y[rest], random_state=seed)
    clf = OPFClassifier().fit(X[train], y[train])
    better, _ = learn_from_errors(clf, X[evaluation], y[evaluation], random_state=seed)
    both = OPFClassifier().fit(X[np.append(train, evaluation)], y[np.append(train, evaluation)])
    pruned, _ = prune(clf, X[evaluation], y[evaluation])
    scores = [accuracy(model, X[test], y[test]) for model in (clf, better, both, pruned)]
    return [*scores, 100 * len(pruned.forest_) / len(train)]


def active_learning(sets: tuple[str, ...]) -> None:
    """Print accuracies after labeling examples selected at random, and by margin."""
    columns = ("at random", "one by one", "four at once", "four, diverse")
    table(sets, columns, active_learning_run, best=4)


def active_learning_run(X: np.ndarray, y: np.ndarray, seed: int) -> list[float]:
    train, test = halves(X, y, seed)
    X, y, X_test, y_test = X[train], y[train], X[test], y[test]
    rng = np.random.default_rng(seed)
    first = [rng.choice(np.flatnonzero(y == c)) for c in np.unique(y)]
    scores = []
    for size, diverse in ((0, False), (1, False), (4, False), (4, True)):
        given = np.full(len(y), -1)
        given[first] = y[first]
        clf = OPFSemiSupervised().fit(X, given)
        free = np.setdiff1d(np.arange(len(y)), first)
        while (left := LABELS - (len(y) - len(free))) > 0:
            if size == 0:
                queried = rng.choice(free, left, replace=False)
            else:
                queried = free[active.query(clf, X[free], min(size, left), diverse=diverse)]
            clf.label(queried, y[queried])
            free = np.setdiff1d(free, queried)
        scores.append(accuracy(clf, X_test, y_test))
    return scores


def outliers(sets: tuple[str, ...]) -> None:
    """Print areas under the ROC curve: the largest class, and a twentieth as many outliers."""
    columns = ("OPFOutlier", "LocalOutlierFactor", "IsolationForest")
    table(sets, columns, outliers_run, best=3, form="{:.3f}")


def outliers_run(X: np.ndarray, y: np.ndarray, seed: int) -> list[float]:
    rng = np.random.default_rng(seed)
    is_usual = y == np.bincount(y).argmax()
    usual, others = np.flatnonzero(is_usual), np.flatnonzero(~is_usual)
    some = rng.choice(others, min(len(others), max(1, len(usual) // 20)), replace=False)
    X, truth = X[np.append(usual, some)], np.repeat([1, 0], [len(usual), len(some)])
    return [
        float(roc_auc_score(truth, OPFOutlier().fit(X).score_samples(X))),
        float(roc_auc_score(truth, LocalOutlierFactor().fit(X).negative_outlier_factor_)),
        float(roc_auc_score(truth, IsolationForest(random_state=seed).fit(X).score_samples(X))),
    ]


TABLES = {"semi": semi, "probabilities": probabilities, "clusters": clusters, "knn": knn,
          "smaller": smaller, "active": active_learning, "outliers": outliers}  # fmt: skip

#: Active learning updates the model after each label, so it uses only small sets.
SETS_OF = {"active": SMALL}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(TABLES))
    parser.add_argument("--sets", nargs="+")
    options = parser.parse_args()
    for name in options.tables or TABLES:
        print(f"{name}\n")
        TABLES[name](tuple(options.sets or SETS_OF.get(name, SETS)))
