"""Measure the memory that ``fit`` needs beyond the data, and the size of models.

``--large`` also fits 10,000,000 examples, which takes 4 GB and two minutes.
"""

import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from benchmarks.common import Row, as_stream, in_fresh_process, main, strips

from opforest import OPFClassifier

MB_BAR = 100

#: Bytes per example at the peak of a large fit.
LARGE_BAR, LARGE_SIZE = 200, 10_000_000

#: Bytes per example of a model with an index: fitted, and after growing in batches.
KEPT_BAR, KEPT_SIZE = 400, 100_000
GROWN_BAR, GROWTH, BATCH = 800, 50_000, 5000

WINDOW = 10_000
WINDOW_BAR = 1.01  #: the peak between 4 and 5 windows, relative to that between 2 and 3

FIT = """
import contextlib, json, sys
import numpy as np
from opforest import OPFClassifier

def megabytes(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field)) / 1024

X = np.random.default_rng(0).random((int(sys.argv[1]), int(sys.argv[2])))
y = (4 * X[:, 0]).astype(int) % 2
OPFClassifier().fit(X[:100], y[:100])  # load the kernels
with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as reset:
    reset.write("5")  # resets the peak; if that is forbidden, the result can only be too large
before = megabytes("VmRSS")
OPFClassifier().fit(X, y)
print(json.dumps([before, megabytes("VmHWM")]))
"""


def measure() -> list[Row]:
    large = [large_peak()] if "--large" in sys.argv else []
    return [fit_peak(), *large, *kept(), window()]


def fit_peak() -> Row:
    peak, note = measure_fit(50_000, 2)
    return Row("50000×2 float64", peak, "MB", MB_BAR, "at most", note=note)


def large_peak() -> Row:
    peak, note = measure_fit(LARGE_SIZE, 3)
    bytes_each = None if peak is None else peak * 2**20 / LARGE_SIZE
    case = f"bytes per example, fit of {LARGE_SIZE}×3 float64"
    return Row(case, bytes_each, "", LARGE_BAR, "at most", note=note)


def measure_fit(n: int, d: int) -> tuple[float | None, str]:
    """Return the megabytes that a fit needs beyond the data, or None, and a note."""
    if not Path("/proc/self/status").exists():
        return None, "needs Linux's /proc"
    with tempfile.TemporaryDirectory() as cache:
        env = {"OPFOREST_CACHE": "1", "NUMBA_CACHE_DIR": cache}
        in_fresh_process(FIT, str(min(n, 200_000)), str(d), **env)  # compile first
        before, peak = in_fresh_process(FIT, str(n), str(d), **env)
    return peak - before, f"{before:.0f} MB before, {peak:.0f} MB at the peak"


def kept() -> list[Row]:
    """Measure the size of a model after training, and after growing in batches."""
    X, y = strips(KEPT_SIZE + GROWTH, 2, np.float64)
    model = OPFClassifier().fit(X[:KEPT_SIZE], y[:KEPT_SIZE])
    after_fit = model.forest_.n_bytes / len(model.forest_)
    for begin in range(KEPT_SIZE, len(X), BATCH):
        model.partial_fit(X[begin : begin + BATCH], y[begin : begin + BATCH])
    grown = model.forest_.n_bytes / len(model.forest_)
    cases = {
        f"bytes per example, {KEPT_SIZE}×2 float64, fitted": (after_fit, KEPT_BAR),
        f"bytes per example, with {GROWTH} more": (grown, GROWN_BAR),
    }
    note = type(model.forest_.storage.fields.index).__name__
    return [Row(case, value, "", bar, "at most", note=note) for case, (value, bar) in cases.items()]


def window() -> Row:
    """Compare the peak sizes of a window early and late in a stream."""
    case = f"window of {WINDOW}, growth of its peak"
    if find_spec("river") is None:
        note = "river is not installed"
        return Row(case, bar=WINDOW_BAR, sense="at most", note=note)
    from opforest.river import OPFClassifier

    model, n_bytes = OPFClassifier(window_size=WINDOW), []
    for x, y in as_stream(*strips(5 * WINDOW)):
        model.learn_one(x, y)
        n_bytes.append(model.forest.n_bytes)
    early, late = max(n_bytes[2 * WINDOW : 3 * WINDOW]), max(n_bytes[4 * WINDOW :])
    note = f"{early / WINDOW:.0f} and {late / WINDOW:.0f} bytes per example"
    return Row(case, late / early, "×", WINDOW_BAR, "at most", note=note)


if __name__ == "__main__":
    main(
        measure,
        "In a fresh process: the peak of resident memory (VmHWM, reset right before fit) minus the"
        "\nresident memory right before fit. By then the data, the imports and the kernels, loaded"
        "\nfrom a warm cache by a fit on 100 examples, are in memory; they do not count. Bytes per"
        "\nexample are forest_.n_bytes, including data and spare capacity. A window's peaks are"
        f"\nthose of examples {2 * WINDOW} to {3 * WINDOW} and {4 * WINDOW} to {5 * WINDOW} of a"
        " stream.",
    )
