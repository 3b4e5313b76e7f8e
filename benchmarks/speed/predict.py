"""Compare the speed of ``predict`` with LibOPF and scikit-learn's nearest neighbor."""

from functools import partial

import numpy as np
from benchmarks.common import DATA, SKIN, Row, best_of, cpu_seconds, load, main, skin, versus
from benchmarks.peers import NO_LIBOPF, LibOPF, libopf
from sklearn.neighbors import KNeighborsClassifier

from opforest import OPFClassifier
from opforest.apps.reproduce.protocol import standardize

#: The speed relative to LibOPF.
LIBOPF_BARS = {"base1": 5, "SpamBase2": 1.5}

#: The largest time relative to 1-NN.
NEAREST_BARS = {
    "base1": 1, "Skin": 1, "ntl": 1, "SpamBase2": 1.5, "produce": 1.5, "mpeg7_BAS": 1.5,
}  # fmt: skip
ALGORITHMS = ("brute", "kd_tree", "ball_tree", "auto")

REPEATS = 7
TRIAL = 5000  #: queries used to find the best algorithm for 1-NN


def measure() -> list[Row]:
    rows = []
    for name, bar in NEAREST_BARS.items():
        data = skin_or_none() if name == "Skin" else load(name)
        if data is None:
            path = SKIN if name == "Skin" else DATA / f"{name}.opf"
            rows.append(Row(f"{name} / 1-NN", bar=bar, sense="at most", note=f"no {path}"))
            continue
        X, y = data
        if name == "SpamBase2":
            X = standardize(X).astype(np.float32)
        order = np.random.default_rng(0).permutation(len(X))
        rows += on_halves(name, X[order], y[order])
    return rows


def skin_or_none() -> tuple[np.ndarray, np.ndarray] | None:
    if not SKIN.exists():
        return None
    _, X, y = skin()
    return X, y


def on_halves(name: str, X: np.ndarray, y: np.ndarray) -> list[Row]:
    """Train on the first half and predict the second."""
    half = len(X) // 2
    rows = []
    with libopf() as peer:
        if peer is not None and name in LIBOPF_BARS:
            peer.write("training.dat", X[:half], y[:half])
            peer.write("test.dat", X[half:], y[half:])
            peer.seconds("opf_train", "training.dat")
        for dtype in ("float32", "float64"):
            train, test = X[:half].astype(dtype), X[half:].astype(dtype)
            ours = OPFClassifier().fit(train, y[:half])
            ours.predict(test)  # compile first
            case = f"{name} {dtype}"
            if name in LIBOPF_BARS:
                rows.append(against_libopf(case, ours, test, peer, LIBOPF_BARS[name]))
            nearest = best_nearest(train, y[:half], test[:TRIAL])
            rows.append(against_nearest(case, ours, nearest, test, NEAREST_BARS[name]))
    return rows


def seconds(model: OPFClassifier | KNeighborsClassifier, test: np.ndarray) -> float:
    return cpu_seconds(lambda: model.predict(test))


def against_libopf(
    case: str, ours: OPFClassifier, test: np.ndarray, peer: LibOPF | None, bar: float
) -> Row:
    if peer is None:
        return Row(f"{case} vs LibOPF", bar=bar, note=NO_LIBOPF)
    best = best_of(
        REPEATS,
        opforest=partial(seconds, ours, test),
        LibOPF=lambda: peer.seconds("opf_classify", "test.dat"),
    )
    differ = (peer.labels("test.dat") != ours.predict(test)).sum()
    note = f"{differ} of {len(test)} labels differ"
    return versus(case, best["opforest"], "LibOPF", best["LibOPF"], bar, note)


def best_nearest(X: np.ndarray, y: np.ndarray, test: np.ndarray) -> KNeighborsClassifier:
    """Return 1-NN with the algorithm that predicts fastest."""
    models = {a: KNeighborsClassifier(1, algorithm=a).fit(X, y) for a in ALGORITHMS}
    best = best_of(2, **{a: partial(seconds, model, test) for a, model in models.items()})
    return models[min(best, key=best.__getitem__)]


def against_nearest(
    case: str, ours: OPFClassifier, nearest: KNeighborsClassifier, test: np.ndarray, bar: float
) -> Row:
    models = {"opforest": ours, "1-NN": nearest}
    best = best_of(
        REPEATS, **{name: partial(seconds, model, test) for name, model in models.items()}
    )
    note = f"1-NN by {nearest.algorithm}"
    return Row(f"{case} / 1-NN", best["opforest"] / best["1-NN"], "×", bar, "at most", best, note)


if __name__ == "__main__":
    main(
        measure,
        "One thread, processor time. Trained on a random half, the other half predicted; SpamBase2"
        f"\nin z-scores. LibOPF always uses float32. Best of {REPEATS} in turn. 1-NN is"
        "\nKNeighborsClassifier(1) with the fastest algorithm for the data; it solves a different"
        "\nproblem. Its rows show our time divided by its time.",
    )
