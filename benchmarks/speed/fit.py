"""Compare the speed of ``fit`` with LibOPF and OPFython."""

from functools import partial

import numpy as np
from benchmarks.common import Row, best_of, cpu_seconds, main, strips, versus
from benchmarks.peers import NO_LIBOPF, NO_OPFYTHON, libopf, opfython_fit, opfython_python

from opforest import OPFClassifier

#: By number of features: the speed relative to LibOPF with 20000 examples.
LIBOPF_BARS = {2: 12, 64: 6}
OPFYTHON_BAR = 500

#: ``brute`` visits all pairs; ``auto`` uses Borůvka's algorithm and a k-d tree if a probe shows
#: that they are worthwhile.
ALGORITHMS = ("brute", "auto")


def measure() -> list[Row]:
    for dtype in (np.float32, np.float64):
        for algorithm in ALGORITHMS:
            fit_seconds(*strips(2000, 2, dtype), algorithm)  # compile first
    rows = [row for d, bar in LIBOPF_BARS.items() for row in against_libopf(d, bar)]
    return [*rows, against_opfython()]


def fit_seconds(X: np.ndarray, y: np.ndarray, algorithm: str = "brute") -> float:
    return cpu_seconds(lambda: OPFClassifier(algorithm=algorithm).fit(X, y))


def against_libopf(d: int, bar: float) -> list[Row]:
    X, y = strips(20_000, d)
    double = X.astype(np.float64)
    with libopf() as peer:
        if peer is None:
            return [Row(f"20000×{d} vs LibOPF", bar=bar, note=NO_LIBOPF)]
        peer.write("training.dat", X, y)
        best = best_of(
            2,
            LibOPF=lambda: peer.seconds("opf_train", "training.dat"),
            **{f"float32 {name}": partial(fit_seconds, X, y, name) for name in ALGORITHMS},
            **{f"float64 {name}": partial(fit_seconds, double, y, name) for name in ALGORITHMS},
        )
    return [
        versus(f"20000×{d} {case}", best[case], "LibOPF", best["LibOPF"], bar)
        for case in best
        if case != "LibOPF"
    ]


def against_opfython() -> Row:
    python = opfython_python()
    if python is None:
        return Row("5000×2 vs OPFython", bar=OPFYTHON_BAR, note=NO_OPFYTHON)
    X, y = strips(5_000, 2, np.float64)
    ours = best_of(5, opforest=lambda: fit_seconds(X, y))["opforest"]
    theirs, version = opfython_fit(python, X, y)
    note = f"OPFython {version}"
    return versus("5000×2 float64", ours, "OPFython", theirs, OPFYTHON_BAR, note)


if __name__ == "__main__":
    main(
        measure,
        "One thread, processor time. Uniform data in four strips; LibOPF always uses float32."
        "\nBest of 2 in turn; for OPFython our best of 5, theirs once. Compiling is excluded.",
    )
