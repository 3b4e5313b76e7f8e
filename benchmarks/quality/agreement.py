"""Count LibOPF's predictions on Letter that differ from ours, and from its own in another order.

Run it by hand: ``LIBOPF=/path/to/libopf/bin python -m benchmarks.quality.agreement``.
About two minutes.
"""

import sys
from itertools import combinations

import numpy as np
from benchmarks.common import LETTER, letter
from benchmarks.peers import NO_LIBOPF, LibOPF, libopf

from opforest import OPFClassifier

HALF, ORDERS = 10_000, 4
NOISE = 0.05  #: the standard deviation of the noise that breaks ties between integers


def predictions(peer: LibOPF, X: np.ndarray, y: np.ndarray, queries: np.ndarray) -> list:
    """Return LibOPF's and our labels of the queries."""
    peer.write("training.dat", X, y)
    peer.write("testing.dat", queries, np.ones(len(queries), int))
    peer.seconds("opf_train", "training.dat")
    peer.seconds("opf_classify", "testing.dat")
    return [peer.labels("testing.dat"), OPFClassifier().fit(X, y).predict(queries)]


def compare(name: str, peer: LibOPF, X: np.ndarray, y: np.ndarray) -> None:
    """Print the fractions of labels that differ, for several orders of the training file."""
    orders = [np.random.default_rng(seed).permutation(HALF) for seed in range(ORDERS)]
    orders[0] = np.arange(HALF)
    found = [predictions(peer, X[order], y[order], X[HALF:]) for order in orders]
    differing = [100 * np.mean(theirs != mine) for theirs, mine in found]
    among = [100 * np.mean(a[0] != b[0]) for a, b in combinations(found, 2)]
    ours = f"{min(differing):.2f} to {max(differing):.2f} %"
    own = f"{min(among):.2f} to {max(among):.2f} %"
    print(
        f"{name}: of LibOPF's labels, {ours} differ from ours, {own} from its own in other orders"
    )


if __name__ == "__main__":
    with libopf() as peer:
        data = letter()
        if peer is None or data is None:
            sys.exit(NO_LIBOPF if peer is None else f"{LETTER} does not exist")
        X, y = data[0].astype(np.float32), 1 + np.unique(data[1], return_inverse=True)[1]
        compare("integers", peer, X, y)
        noisy = X + np.random.default_rng(0).normal(0, NOISE, X.shape).astype(np.float32)
        compare("with a little noise", peer, noisy, y)
