"""Measure the time of the import and of first calls, with and without cached kernels."""

import json
import tempfile

from benchmarks.common import Row, best_of, in_fresh_process, main

IMPORT_BAR = 1
WARM_BAR = 1

#: Times of the calls below in version 0.1.0 (commit 42845d8), in units of the processor time to
#: compile the reference kernel. The bar is a fraction of them.
BEFORE = {"fit and predict": 4.81, "partial_fit": 4.79, "all": 27.1}
FRACTION = 0.5

LIST_SKLEARN = """
import json, sys
import opforest
print(json.dumps([name for name in sys.modules if name.split(".")[0] == "sklearn"]))
"""

IMPORT = """
import importlib, json, sys, time

for name in json.loads(sys.argv[1]):  # scikit-learn and its dependencies
    importlib.import_module(name)
start = time.perf_counter()
import opforest
print(json.dumps(time.perf_counter() - start))
"""

FIRST_USE = """
import json, time
import numpy as np
from opforest import OPFClassifier

X = np.random.default_rng(0).random((5000, 2))
y = (4 * X[:, 0]).astype(int) % 2
start = time.perf_counter()
OPFClassifier().fit(X, y).predict(X)
print(json.dumps(time.perf_counter() - start))
"""

FIRST_CALLS = """
import json, time
import numba
import numpy as np
from opforest import OPFClassifier

OPFClassifier  # the import happens here, at first use
X = np.random.default_rng(0).random((5000, 2))
y = (4 * X[:, 0]).astype(int) % 2
more, labels = X[:10] + 0.01, y[:10]
seconds = {}

def first(name, call):
    start = time.process_time()
    result = call()
    seconds[name] = time.process_time() - start
    return result

@numba.njit
def walk(table, low, high):
    best, at = np.inf, -1
    for i in range(table.shape[0]):
        total = 0.0
        for k in range(table.shape[1]):
            total += (table[i, k] - low[k]) * (high[k] - table[i, k])
        if total < best:
            best, at = total, i
    return best, at

@numba.njit
def reference(table, low, high, parent, order):
    found = np.empty(table.shape[0], np.int64)
    for i in range(table.shape[0]):
        best, at = walk(table[i:], low, high)
        found[i] = at
        while parent[i] >= 0 and order[parent[i]] < i:
            found[parent[i]] = max(found[i], found[parent[i]])
            i = parent[i]
    return np.sort(found)

links = np.arange(-1, 4)
first("reference", lambda: reference(X[:5].copy(), X[0], X[1], links, links + 1))
model = first("fit", lambda: OPFClassifier().fit(X, y))
first("predict", lambda: model.predict(X))
first("partial_fit", lambda: model.partial_fit(more, labels))
first("forget", lambda: model.forget([1, 2]))
model = OPFClassifier(update="opfi").fit(X, y)
first("opfi", lambda: model.partial_fit(more, labels))
model = first("fit with a k-d tree", lambda: OPFClassifier(algorithm="kd_tree").fit(X, y))
first("predict with a k-d tree", lambda: model.predict(X))
first("partial_fit with a k-d tree", lambda: model.partial_fit(more, labels))
first("forget with a k-d tree", lambda: model.forget([1, 2]))
print(json.dumps(seconds))
"""


def measure() -> list[Row]:
    with tempfile.TemporaryDirectory() as cache:
        env = {"OPFOREST_CACHE": "1", "NUMBA_CACHE_DIR": cache}
        in_fresh_process(FIRST_USE, **env)
        warm = best_of(3, seconds=lambda: in_fresh_process(FIRST_USE, **env))["seconds"]
        names = json.dumps(in_fresh_process(LIST_SKLEARN, **env))
        imports = best_of(3, seconds=lambda: in_fresh_process(IMPORT, names, **env))["seconds"]
    return [
        Row("import, without scikit-learn", imports, "s", IMPORT_BAR, "at most"),
        Row("first fit and predict, cached kernels", warm, "s", WARM_BAR, "at most"),
        *cold_rows(),
    ]


def cold_rows() -> list[Row]:
    """Return the compile times of first calls relative to the reference kernel; best of 3."""
    runs = []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as cache:
            env = {"OPFOREST_CACHE": "1", "NUMBA_CACHE_DIR": cache}
            runs.append(in_fresh_process(FIRST_CALLS, **env))
    seconds = {name: min(run[name] for run in runs) for name in runs[0]}
    reference = seconds.pop("reference")
    seconds["fit and predict"] = seconds["fit"] + seconds["predict"]
    seconds["all"] = sum(value for name, value in seconds.items() if name != "fit and predict")
    rows = []
    for name, value in seconds.items():
        bar = FRACTION * BEFORE[name] if name in BEFORE else None
        note = f"{value:.2f} s against {reference:.2f} s"
        if bar is not None:
            note += f"; {BEFORE[name]:g} × before"
        rows.append(
            Row(f"first {name}, nothing compiled", value / reference, "×", bar, "at most", {}, note)
        )
    return rows


if __name__ == "__main__":
    main(
        measure,
        "Import and first use with cached kernels: wall time in fresh processes; best of 3.\n"
        "Modules of scikit-learn that opforest imports are imported before the clock starts;\n"
        "Numba is not. With nothing compiled: processor time of consecutive calls in a fresh\n"
        "process with an empty cache, relative to the time to compile a fixed kernel there.\n"
        "The bars are half the times of version 0.1.0 for the same calls.",
    )
