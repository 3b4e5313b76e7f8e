"""Compare a semi-supervised forest with training after each of a hundred thousand changes.

After every step a forest with a k-d tree and one without must equal a forest trained on the same
data, pass their checks, and predict the same. This takes about a quarter of an hour.

Run it by hand, completely or in part: python -m benchmarks.soak.family_soak [steps [seed]]
"""

import sys
from dataclasses import replace

import numpy as np

from opforest import OPFSemiSupervised
from opforest._utils import tuning

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 0
SIZE = 60
CLASSES = [0, 1, 2]
MODEL = ("edges", "prototypes", "cost", "predecessor", "root", "label")


def main() -> None:
    never = ("refit_fraction", "refit_fraction_to_forget", "spread_fraction")
    tuning.values = replace(tuning.values, **dict.fromkeys(never, np.inf))
    rng = np.random.default_rng(SEED)
    models = [OPFSemiSupervised(algorithm=name) for name in ("kd_tree", "brute")]
    X, y, ids, seen = np.empty((0, 2)), np.empty(0, int), np.empty(0, int), 0
    counts = {"learned": 0, "labeled": 0, "forgotten": 0, "most": 0}
    for step in range(1, STEPS + 1):
        free = np.flatnonzero(y < 0)
        kind = rng.random()
        if len(ids) < 2 or (kind < 0.5 and len(ids) < SIZE):
            x = rng.integers(0, 8, (1, 2)).astype(float)
            label = np.array([rng.integers(3) if rng.random() < 0.2 else -1])
            for model in models:
                model.partial_fit(x, label, classes=CLASSES)
            X, y = np.vstack((X, x)), np.append(y, label)
            ids, seen = np.append(ids, seen), seen + 1
            counts["learned"] += 1
            counts["most"] = max(counts["most"], len(ids))
        elif kind < 0.65 and len(free):
            place, label = rng.choice(free), rng.integers(3)
            for model in models:
                model.label(ids[place], label)
            y[place] = label
            counts["labeled"] += 1
        else:
            place = rng.integers(len(ids))
            for model in models:
                model.forget(ids[place])
            X, y, ids = (np.delete(array, place, axis=0) for array in (X, y, ids))
            counts["forgotten"] += 1
        compare(models, X, y, step)
    print(f"seed {SEED}: {STEPS} steps {counts}, always equal to training")


def compare(models: list[OPFSemiSupervised], X: np.ndarray, y: np.ndarray, step: int) -> None:
    fresh = OPFSemiSupervised().partial_fit(X, y, classes=CLASSES)
    queries = np.random.default_rng(step).integers(0, 16, (5, 2)) / 2
    for model in models:
        model.forest_.check()
        for name in MODEL:
            known, found = (getattr(each.forest_, name) for each in (fresh, model))
            assert np.array_equal(known, found), (SEED, step, name)
        if (y >= 0).any():
            assert np.array_equal(fresh.class_costs(queries), model.class_costs(queries))
            assert np.array_equal(fresh.predict(queries), model.predict(queries))


if __name__ == "__main__":
    main()
