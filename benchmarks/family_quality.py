"""How good the family is: 5 % labelled on the paper's sets, and clusters of standard shapes.

Run it by hand: python benchmarks/family_quality.py. It prints the tables of docs/family.md.
"""

import warnings

import numpy as np
from common import load
from sklearn.cluster import HDBSCAN
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelPropagation, LabelSpreading

from opforest import OPFClassifier, OPFClustering, OPFSemiSupervised

SETS = ("saturn", "CircleGaussian", "cone-torus", "L", "base1", "parkinsons")
RUNS = 20


def semi_supervised() -> None:
    print("| set | OPFSemiSupervised | its seeds=prototypes | OPFClassifier | LabelSpreading | "
          "LabelPropagation |\n|---|---|---|---|---|---|")  # fmt: skip
    for name in SETS:
        data = load(name)
        if data is None:
            continue
        X, y = data
        X, y = StandardScaler().fit_transform(X), np.unique(y, return_inverse=True)[1]
        scores = np.array([one_run(X, y, np.random.default_rng(seed)) for seed in range(RUNS)])
        means = 100 * scores.mean(axis=0)
        cells = [f"**{m:.1f}**" if m == means.max() else f"{m:.1f}" for m in means]
        print(f"| {name} | {' | '.join(cells)} |")


def split(
    X: np.ndarray, y: np.ndarray, rng: np.random.Generator, share: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return one half to train on, the other, and the labels of which a share is given."""
    order = rng.permutation(len(X))
    test, train = order[: len(X) // 2], order[len(X) // 2 :]
    known = np.concatenate([rng.choice(np.flatnonzero(y[train] == c), max(1, int(
        share * (y[train] == c).sum())), replace=False) for c in np.unique(y[train])])  # fmt: skip
    given = np.full(len(train), -1)
    given[known] = y[train][known]
    return train, test, given


def one_run(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> list[float]:
    train, test, given = split(X, y, rng, 0.05)
    known = given >= 0
    answers = [
        OPFSemiSupervised().fit(X[train], given),
        OPFSemiSupervised(seeds="prototypes").fit(X[train], given),
        OPFClassifier().fit(X[train][known], given[known]),
        LabelSpreading(kernel="knn", n_neighbors=7).fit(X[train], given),
        LabelPropagation(kernel="knn", n_neighbors=7).fit(X[train], given),
    ]
    return [float((model.predict(X[test]) == y[test]).mean()) for model in answers]


def calibration() -> None:
    """Print log loss and calibration error of probabilities with 5 % and 20 % labelled."""
    print("| set, labelled | OPFSemiSupervised | OPFClassifier on the labelled | LabelSpreading |\n"
          "|---|---|---|---|")  # fmt: skip
    for name in SETS:
        data = load(name)
        if data is None:
            continue
        X, y = data
        X, y = StandardScaler().fit_transform(X), np.unique(y, return_inverse=True)[1]
        for share in (0.05, 0.2):
            runs = [probabilities(X, y, np.random.default_rng(seed), share) for seed in range(RUNS)]
            means = np.array(runs).mean(axis=0)
            cells = [f"{loss:.2f}, {error:.2f}" for loss, error in means]
            print(f"| {name}, {share:.0%} | {' | '.join(cells)} |")


def probabilities(
    X: np.ndarray, y: np.ndarray, rng: np.random.Generator, share: float
) -> list[tuple[float, float]]:
    train, test, given = split(X, y, rng, share)
    known = given >= 0
    models = [
        OPFSemiSupervised().fit(X[train], given),
        OPFClassifier().fit(X[train][known], given[known]),
        LabelSpreading(kernel="knn", n_neighbors=7).fit(X[train], given),
    ]
    return [judge(np.nan_to_num(model.predict_proba(X[test])), y[test]) for model in models]


def judge(share: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """Return the log loss, and the expected calibration error by ten bins."""
    loss = -np.log(np.clip(share[np.arange(len(truth)), truth], 1e-15, 1)).mean()
    sure, right = share.max(axis=1), share.argmax(axis=1) == truth
    bins = np.minimum((10 * sure).astype(int), 9)
    error = sum(abs((sure - right)[bins == b].sum()) for b in range(10)) / len(truth)
    return float(loss), float(error)


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


def clusters() -> None:
    import fast_hdbscan

    print("| shape | OPFClustering(k_max=100) | its best k_max | HDBSCAN | fast_hdbscan |\n"
          "|---|---|---|---|---|")  # fmt: skip
    for name, (X, y) in shapes().items():
        X = StandardScaler().fit_transform(X)
        found = {k: OPFClustering(k).fit_predict(X) for k in (20, 50, 100, 200)}
        score = {k: adjusted_rand_score(y, labels) for k, labels in found.items()}
        best = max(score, key=lambda k: score[k])
        rivals = (
            HDBSCAN(min_cluster_size=15, copy=True),
            fast_hdbscan.HDBSCAN(min_cluster_size=15),
        )
        others = [adjusted_rand_score(y, model.fit_predict(X)) for model in rivals]
        print(f"| {name} | {score[100]:.2f} | {score[best]:.2f} ({best}) | {others[0]:.2f} | "
              f"{others[1]:.2f} |")  # fmt: skip


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for table in (semi_supervised, calibration, clusters):
        table()
        print()
