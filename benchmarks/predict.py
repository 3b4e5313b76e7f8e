"""Speed of ``predict`` against LibOPF, with scikit-learn's nearest neighbour beside it."""

import numpy as np
from common import DATA, Row, best_of, cpu_seconds, load, main, versus
from peers import NO_LIBOPF, LibOPF, libopf
from sklearn.neighbors import KNeighborsClassifier

from opforest import OPFClassifier

#: How many times faster than LibOPF.
LIBOPF_BARS = {"base1": 5, "SpamBase2": 1.5}
REPEATS = 7


def measure() -> list[Row]:
    rows = []
    for name, bar in LIBOPF_BARS.items():
        data = load(name)
        if data is None:
            rows.append(Row(f"{name} vs LibOPF", bar=bar, note=f"no {DATA / name}.opf"))
            continue
        X, y = data
        if name == "SpamBase2":
            X = z_scores(X)
        order = np.random.default_rng(0).permutation(len(X))
        rows += on_halves(name, X[order], y[order], bar)
    return rows


def z_scores(X: np.ndarray) -> np.ndarray:
    """Standardise as LibOPF does: over the whole set, with the population's deviation."""
    X = X.astype(np.float64)
    deviation = X.std(axis=0)
    deviation[deviation == 0] = 1
    return ((X - X.mean(axis=0)) / deviation).astype(np.float32)


def on_halves(name: str, X: np.ndarray, y: np.ndarray, bar: float) -> list[Row]:
    """Train on the first half and predict the second."""
    half = len(X) // 2
    with libopf() as peer:
        if peer is not None:
            peer.write("training.dat", X[:half], y[:half])
            peer.write("test.dat", X[half:], y[half:])
            peer.seconds("opf_train", "training.dat")
        rows = []
        for dtype in ("float32", "float64"):
            train, test = X[:half].astype(dtype), X[half:].astype(dtype)
            rows += race(f"{name} {dtype}", train, y[:half], test, peer, bar)
    return rows


def race(
    case: str, X: np.ndarray, y: np.ndarray, test: np.ndarray, peer: LibOPF | None, bar: float
) -> list[Row]:
    ours = OPFClassifier().fit(X, y)
    nearest = KNeighborsClassifier(1).fit(X, y)
    predicted = ours.predict(test)  # compiles
    contestants = {
        "opforest": lambda: cpu_seconds(lambda: ours.predict(test)),
        "1-NN": lambda: cpu_seconds(lambda: nearest.predict(test)),
    }
    if peer is not None:
        contestants["LibOPF"] = lambda: peer.seconds("opf_classify", "test.dat")
    best = best_of(REPEATS, **contestants)

    against_nearest = versus(case, best["opforest"], "1-NN", best["1-NN"])
    if peer is None:
        return [Row(f"{case} vs LibOPF", bar=bar, note=NO_LIBOPF), against_nearest]
    differ = (peer.labels("test.dat") != predicted).sum()
    note = f"{differ} of {len(test)} labels differ"
    return [versus(case, best["opforest"], "LibOPF", best["LibOPF"], bar, note), against_nearest]


if __name__ == "__main__":
    main(
        "predict",
        __doc__,
        measure,
        "One thread, processor time. Trained on a random half, the other half predicted; SpamBase2"
        f"\nin z-scores. LibOPF always works in float32. Best of {REPEATS} in turn. 1-NN is"
        "\nKNeighborsClassifier(1), for orientation; it answers another question.",
    )
