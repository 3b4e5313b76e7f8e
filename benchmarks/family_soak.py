"""A hundred thousand changes of a semi-supervised forest, compared with training now and then.

Run it by hand: python benchmarks/family_soak.py [steps]
"""

import sys

import numpy as np

from opforest import OPFSemiSupervised
from opforest.updates import exact, seeded

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
EVERY = 50
SIZE = 60


def main() -> None:
    exact.WORTH_TRAINING = exact.WORTH_TRAINING_TO_FORGET = seeded.WORTH_SPREADING = np.inf
    rng = np.random.default_rng(0)
    classes = [0, 1, 2]
    models = [OPFSemiSupervised(algorithm=name) for name in ("kd_tree", "brute")]
    X, y, ids, seen = np.empty((0, 2)), np.empty(0, int), np.empty(0, int), 0
    for step in range(STEPS):
        free = np.flatnonzero(y < 0)
        kind = rng.integers(3)
        if len(ids) < 2 or (kind == 0 and len(ids) < SIZE):
            x = rng.integers(0, 8, (1, 2)).astype(float)
            label = np.array([rng.integers(3) if rng.random() < 0.2 else -1])
            for model in models:
                model.partial_fit(x, label, classes=classes)
            X, y = np.vstack((X, x)), np.append(y, label)
            ids, seen = np.append(ids, seen), seen + 1
        elif kind == 1 and len(free) and rng.random() < 0.3:
            place, label = rng.choice(free), rng.integers(3)
            for model in models:
                model.label(ids[place], label)
            y[place] = label
        else:
            place = rng.integers(len(ids))
            for model in models:
                model.forget(ids[place])
            X, y, ids = (np.delete(array, place, axis=0) for array in (X, y, ids))
        if step % EVERY == 0:
            compare(models, X, y, classes)
    compare(models, X, y, classes)
    print(f"{STEPS} steps: always equal to training")


def compare(models: list[OPFSemiSupervised], X: np.ndarray, y: np.ndarray, classes: list) -> None:
    fresh = OPFSemiSupervised().partial_fit(X, y, classes=classes).forest_
    for model in models:
        model.forest_.check()
        for name in ("edges", "prototypes", "cost", "predecessor", "root", "label"):
            assert np.array_equal(getattr(model.forest_, name), getattr(fresh, name)), name


if __name__ == "__main__":
    main()
