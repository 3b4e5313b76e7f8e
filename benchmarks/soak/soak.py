"""Compare a million insertions on data like Skin with ``fit`` at 20 checkpoints, then forget.

This takes some minutes and is not part of ``run.py``: ``python -m benchmarks.soak.soak``. The
number of insertions is optional: ``python -m benchmarks.soak.soak 50000``.
"""

import sys
import time

import numpy as np
from benchmarks.common import Row, cpu_seconds, main, skin

from opforest import OPFClassifier
from opforest.forest.forest import Forest

START = 1000
INSERTIONS = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
CHECKPOINTS = 20
BATCH = 2000
REMOVALS = INSERTIONS // 100  #: few enough to be removed one by one
BYTES_BAR = 800  #: per example, including spare capacity


def measure() -> list[Row]:
    begin, (X, y) = time.perf_counter(), examples(START + INSERTIONS)
    fit(X[:START], y[:START]).partial_fit(X[:1], y[:1]).forget([0])  # compile first
    model = fit(X[:START], y[:START])
    mismatches = inserting = 0
    for end in np.linspace(START, len(X), CHECKPOINTS + 1).astype(int)[1:]:
        inserting += cpu_seconds(lambda end=end: insert(model, X, y, end))
        mismatches += differs(model.forest_, X[:end], y[:end])
    n_bytes = model.forest_.n_bytes / len(model.forest_)
    removed = np.random.default_rng(1).choice(len(X), REMOVALS, replace=False)
    forgetting = cpu_seconds(lambda: model.forget(removed))
    mismatches += differs(model.forest_, np.delete(X, removed, axis=0), np.delete(y, removed))
    return [
        Row("checkpoints that differ from fit", mismatches, "", 0, "at most"),
        Row("insertion", 1e6 * inserting / INSERTIONS, "µs"),
        Row("forgetting", 1e6 * forgetting / REMOVALS, "µs"),
        Row("bytes per example", n_bytes, "", BYTES_BAR, "at most"),
        Row("total", time.perf_counter() - begin, "s"),
    ]


def fit(X: np.ndarray, y: np.ndarray) -> OPFClassifier:
    return OPFClassifier(algorithm="kd_tree").fit(X, y)


def examples(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return n examples in random order: Skin repeatedly, with a little noise on repetitions."""
    _, X, y = skin()
    rng = np.random.default_rng(0)
    chosen = np.arange(n) % len(X)
    noise = rng.integers(-2, 3, (n, X.shape[1])) * (np.arange(n) >= len(X))[:, None]
    order = rng.permutation(n)
    return (X[chosen] + noise)[order], y[chosen][order]


def insert(model: OPFClassifier, X: np.ndarray, y: np.ndarray, end: int) -> None:
    """Learn the examples up to ``end``, in batches too small for ``partial_fit`` to refit."""
    begin = len(model.forest_)
    while begin < end:
        stop = min(end, begin + min(BATCH, begin // 10))
        model.partial_fit(X[begin:stop], y[begin:stop])
        begin = stop


def differs(grown: Forest, X: np.ndarray, y: np.ndarray) -> bool:
    """Return whether a forest differs from a trained one, and print the differences."""
    trained = fit(X, y).forest_
    names = ("edges", "cost", "prototypes")
    wrong = [
        name for name in names if not np.array_equal(getattr(grown, name), getattr(trained, name))
    ]
    print(f"{len(X)} examples: {', '.join(wrong) or 'nothing'} differs", flush=True)
    return bool(wrong)


if __name__ == "__main__":
    main(
        measure,
        f"One thread. {INSERTIONS} examples after the first {START}, in batches of at most {BATCH}"
        " (a tenth of those known);\nSkin in random order, repeated with noise of -2 to 2."
        f" {CHECKPOINTS} equally spaced checkpoints compare edges,\ncosts and prototypes with"
        f" those of a fresh fit, and one more after {REMOVALS} random examples have been\n"
        "forgotten. Processor time per example, without the checkpoints.",
        __doc__.splitlines()[0],
    )
