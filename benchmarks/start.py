"""Time of the import, and of the first ``fit`` and ``predict`` in a process."""

import json
import tempfile

from common import Row, best_of, in_fresh_process, main

IMPORT_BAR = 1
WARM_BAR = 1
COLD_BAR = 10

LIST_SKLEARN = """
import json, sys
import opforest
print(json.dumps([name for name in sys.modules if name.split(".")[0] == "sklearn"]))
"""

IMPORT = """
import importlib, json, sys, time

for name in json.loads(sys.argv[1]):  # scikit-learn, with all it needs itself
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


def measure() -> list[Row]:
    with tempfile.TemporaryDirectory() as cache:
        env = {"OPFOREST_CACHE": "1", "NUMBA_CACHE_DIR": cache}
        cold = in_fresh_process(FIRST_USE, **env)
        warm = best_of(3, seconds=lambda: in_fresh_process(FIRST_USE, **env))["seconds"]
        names = json.dumps(in_fresh_process(LIST_SKLEARN, **env))
        imports = best_of(3, seconds=lambda: in_fresh_process(IMPORT, names, **env))["seconds"]
    return [
        Row("import, without scikit-learn's share", imports, "s", IMPORT_BAR, "at most"),
        Row("first fit and predict, kernels in the cache", warm, "s", WARM_BAR, "at most"),
        Row("first fit and predict, empty cache", cold, "s", COLD_BAR, "at most"),
    ]


if __name__ == "__main__":
    main(
        "start",
        __doc__,
        measure,
        "Wall time in fresh processes; best of 3, with an empty cache once. Modules of scikit-learn"
        "\nthat opforest imports are imported before the clock starts; Numba is not.",
    )
