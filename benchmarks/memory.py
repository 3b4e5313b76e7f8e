"""Memory that ``fit`` needs beside the data."""

import tempfile
from pathlib import Path

from common import Row, in_fresh_process, main

MB_BAR = 100

FIT = """
import contextlib, json, sys
import numpy as np
from opforest import OPFClassifier

def megabytes(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field)) / 1024

X = np.random.default_rng(0).random((int(sys.argv[1]), 2))
y = (4 * X[:, 0]).astype(int) % 2
OPFClassifier().fit(X[:100], y[:100])  # loads the kernels
with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as reset:
    reset.write("5")  # the peak; where that is forbidden, the result can only be too large
before = megabytes("VmRSS")
OPFClassifier().fit(X, y)
print(json.dumps([before, megabytes("VmHWM")]))
"""


def measure() -> list[Row]:
    case = "50000×2 float64"
    if not Path("/proc/self/status").exists():
        return [Row(case, unit="MB", bar=MB_BAR, sense="at most", note="needs Linux's /proc")]
    with tempfile.TemporaryDirectory() as cache:
        env = {"OPFOREST_CACHE": "1", "NUMBA_CACHE_DIR": cache}
        in_fresh_process(FIT, "100", **env)  # compiles
        before, peak = in_fresh_process(FIT, "50000", **env)
    note = f"{before:.0f} MB before, {peak:.0f} MB at the peak"
    return [Row(case, peak - before, "MB", MB_BAR, "at most", note=note)]


if __name__ == "__main__":
    main(
        "memory",
        __doc__,
        measure,
        "In a fresh process: the peak of resident memory (VmHWM, reset right before fit) minus the"
        "\nresident memory right before fit. By then the data, the imports and the kernels, loaded"
        "\nfrom a warm cache by a fit on 100 examples, are in memory; they do not count.",
    )
