"""Speed of ``fit`` against LibOPF and OPFython."""

import numpy as np
from common import Row, best_of, cpu_seconds, main, strips, versus
from peers import NO_LIBOPF, NO_OPFYTHON, libopf, opfython_fit, opfython_python

from opforest import OPFClassifier

#: By number of features: how many times faster than LibOPF with 20000 examples.
LIBOPF_BARS = {2: 12, 64: 6}
OPFYTHON_BAR = 500


def measure() -> list[Row]:
    small, label = strips(100)
    for dtype in (np.float32, np.float64):
        fit_seconds(small.astype(dtype), label)  # compiles
    rows = [row for d, bar in LIBOPF_BARS.items() for row in against_libopf(d, bar)]
    return [*rows, against_opfython()]


def fit_seconds(X: np.ndarray, y: np.ndarray) -> float:
    return cpu_seconds(lambda: OPFClassifier().fit(X, y))


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
            float32=lambda: fit_seconds(X, y),
            float64=lambda: fit_seconds(double, y),
        )
    return [
        versus(f"20000×{d} {dtype}", best[dtype], "LibOPF", best["LibOPF"], bar)
        for dtype in ("float32", "float64")
    ]


def against_opfython() -> Row:
    python = opfython_python()
    if python is None:
        return Row("5000×2 vs OPFython", bar=OPFYTHON_BAR, note=NO_OPFYTHON)
    X, y = strips(5_000)
    X = X.astype(np.float64)
    ours = best_of(5, opforest=lambda: fit_seconds(X, y))["opforest"]
    theirs, version = opfython_fit(python, X, y)
    note = f"OPFython {version}"
    return versus("5000×2 float64", ours, "OPFython", theirs, OPFYTHON_BAR, note)


if __name__ == "__main__":
    main(
        "fit",
        __doc__,
        measure,
        "One thread, processor time. Uniform data in four strips; LibOPF always works in float32."
        "\nBest of 2 in turn; against OPFython our best of 5, theirs once. Compiling is left out.",
    )
