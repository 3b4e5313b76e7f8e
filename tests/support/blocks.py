"""Dask arrays in blocks of all sizes."""

import numpy as np


def grid(n, d, seed=0, classes=3):
    """Examples full of ties and duplicates, and their labels."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 5, (n, d)).astype(float), rng.integers(0, classes, n)


def in_blocks(array, sizes):
    """A Dask array with this many rows in a block."""
    import dask.array as da

    return da.from_array(array, chunks=(tuple(sizes), *(-1,) * (array.ndim - 1)))


def sizes_from(cuts, n):
    cuts = sorted(min(cut, n) for cut in cuts)
    return np.diff([0, *cuts, n]).tolist()
