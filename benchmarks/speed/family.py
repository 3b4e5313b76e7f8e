"""Compare semi-supervised forests with classifiers, and clustering with LibOPF and HDBSCAN."""

import copy
from functools import partial
from importlib.util import find_spec

import numpy as np
from benchmarks.common import Row, best_of, cpu_seconds, main, numpy_pass, strips, wall_seconds
from benchmarks.peers import libopf

from opforest import OPFClassifier, OPFClustering, OPFSemiSupervised

SIZE = 100_000
LABELED = 0.05  #: the fraction of examples with a label
COUNT = 300
REPEATS = 3


def measure() -> list[Row]:
    rng = np.random.default_rng(0)
    X, y = strips(SIZE, 2, np.float64)
    given = np.where(rng.random(SIZE) < LABELED, y, -1)
    warm_up(X[:20_000], y[:20_000], given[:20_000])
    return [*semi_supervised(X, y, given), *clustering(rng)]


def warm_up(X: np.ndarray, y: np.ndarray, given: np.ndarray) -> None:
    """Compile all kernels."""
    OPFClassifier().fit(X, y).partial_fit(X[:3] + 0.1, y[:3])
    clf = OPFSemiSupervised().fit(X, given).partial_fit(X[:3] + 0.1, given[:3])
    free = np.flatnonzero(given < 0)[0]
    clf.label(free, y[free])
    OPFClustering(5).fit(X)
    OPFClustering(5).fit(X[:2000])


def semi_supervised(X: np.ndarray, y: np.ndarray, given: np.ndarray) -> list[Row]:
    best = best_of(
        REPEATS,
        classifier=lambda: cpu_seconds(lambda: OPFClassifier().fit(X, y)),
        seeds=lambda: cpu_seconds(lambda: OPFSemiSupervised().fit(X, given)),
    )
    name = f"{SIZE}×2, {LABELED:.0%} labeled"
    rows = [Row(f"fit, of OPFClassifier.fit, {name}", best["seeds"] / best["classifier"], bar=1.2,
                sense="at most", seconds=best)]  # fmt: skip
    new = np.random.default_rng(1).permutation(SIZE)[:COUNT]
    more, labels = X[new] + 1e-3, y[new]
    some = np.where(np.arange(COUNT) % 20 == 0, labels, -1)
    models = {
        "classifier": (OPFClassifier().fit(X, y), labels),
        "seeds": (OPFSemiSupervised().fit(X, given), some),
    }

    def insert(kind: str) -> float:
        model, label = copy.deepcopy(models[kind][0]), models[kind][1]
        model.partial_fit(more[:1], label[:1])  # allocates space to grow
        return cpu_seconds(
            lambda: [model.partial_fit(more[i : i + 1], label[i : i + 1]) for i in range(COUNT)]
        )

    best = best_of(REPEATS, **{kind: partial(insert, kind) for kind in models})
    rows.append(Row(f"partial_fit of one, of the classifier's, {name}",
                    best["seeds"] / best["classifier"], bar=1.5, sense="at most",
                    note=f"{1e6 * best['seeds'] / COUNT:.0f} µs"))  # fmt: skip
    return [*rows, *labeling(models["seeds"][0], X, y, given, name)]


def labeling(
    model: OPFSemiSupervised, X: np.ndarray, y: np.ndarray, given: np.ndarray, name: str
) -> list[Row]:
    model = copy.deepcopy(model)
    plain = best_of(REPEATS, numpy=partial(numpy_pass, X))["numpy"]
    free = np.random.default_rng(2).permutation(np.flatnonzero(given < 0))[:2000]
    times, changed = [], []
    for i in free:
        times.append(cpu_seconds(partial(model.label, i, y[i])))
        changed.append(model.update_report_.reconquered)
    values = {
        "median": (float(np.median(times)), float(np.median(changed))),
        "mean": (float(np.mean(times)), float(np.mean(changed))),
        "largest": (max(times), changed[int(np.argmax(times))]),
    }
    rows = [
        Row(
            f"label of one, {what} of 2000, of a NumPy pass, {name}",
            value / plain,
            bar=None if what == "largest" else 1.0,
            sense="at most",
            note=f"{1e6 * value:.0f} of {1e6 * plain:.0f} µs; {count:.0f} examples change",
        )
        for what, (value, count) in values.items()
    ]
    within = float(np.mean(np.array(times) <= plain))
    return [*rows, Row(f"labels within a NumPy pass, {name}", 100 * within, "%")]


def clustering(rng: np.random.Generator) -> list[Row]:
    X = rng.normal(size=(4000, 2)) + rng.integers(0, 4, (4000, 1)) * 3
    rows = [against_libopf(X, None), against_libopf(X, -1)]
    X = rng.normal(size=(SIZE, 2)) + rng.integers(0, 8, (SIZE, 1)) * 2
    ours = wall_seconds(lambda: OPFClustering(20, n_jobs=-1).fit(X))
    from sklearn.cluster import HDBSCAN

    theirs = wall_seconds(lambda: HDBSCAN(min_cluster_size=20, n_jobs=-1, copy=True).fit(X))
    rows.append(Row(f"clustering {SIZE}×2, k_max = 20, of scikit-learn's HDBSCAN", ours / theirs,
                    bar=1.0, sense="at most", note=f"{ours:.2f} of {theirs:.2f} s"))  # fmt: skip
    fast = None
    if find_spec("fast_hdbscan"):
        import fast_hdbscan

        fast_hdbscan.HDBSCAN(min_cluster_size=20).fit(X[:5000])  # compile first
        fast = wall_seconds(lambda: fast_hdbscan.HDBSCAN(min_cluster_size=20).fit(X))
    rows.append(Row(f"clustering {SIZE}×2, k_max = 20, of fast_hdbscan",
                    None if fast is None else ours / fast, bar=3.0, sense="at most",
                    note="" if fast is None else f"{ours:.2f} of {fast:.2f} s"))  # fmt: skip
    return rows


def against_libopf(X: np.ndarray, n_jobs: int | None) -> Row:
    """Compare our wall time with LibOPF's processor time; reading its file takes no time."""
    name = f"clustering 4000×2, k_max = 100, {'one thread' if n_jobs is None else 'all cores'}, "
    name += "faster than opf_cluster"
    bar = None if n_jobs is None else 20.0
    with libopf() as programs:
        if programs is None or not (programs.programs / "opf_cluster").is_file():
            return Row(name, bar=bar, note="LIBOPF does not name a folder with opf_cluster")
        programs.write("x.dat", X, np.ones(len(X), int))
        best = best_of(
            2 * REPEATS,
            opforest=lambda: wall_seconds(lambda: OPFClustering(100, n_jobs=n_jobs).fit(X)),
            libopf=lambda: programs.seconds("opf_cluster", "x.dat", "100", "0", "0"),
        )
    return Row(name, best["libopf"] / best["opforest"], bar=bar, seconds=best)


if __name__ == "__main__":
    main(measure, "Clusterings use all cores, unless stated otherwise.")
