"""Data for hypothesis: grids where ties are everywhere, and continuous data at all scales."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

DTYPES = (np.float64, np.float32)


@st.composite
def learning_problems(draw, max_n=24, max_d=4, non_negative=False, queries=6, dtypes=DTYPES):
    """Return X, y, Q: examples, their labels from 0, and queries of the same kind.

    Pass one precision where all metrics are tried, each of which takes long to compile;
    ``test_metrics`` compares their distances in both.
    """
    n = draw(st.integers(1, max_n))
    d = draw(st.integers(1, max_d))
    dtype = draw(st.sampled_from(dtypes))
    low = 0 if non_negative else -3
    grid = st.integers(low, 3).map(float)
    continuous = st.floats(low, 3, width=32)
    elements = draw(st.sampled_from([grid, continuous]))
    # Powers of two, so that a scaled grid keeps its ties.
    scale = dtype(2.0) ** draw(st.sampled_from([0, 0, -27, 27]))
    X = draw(arrays(dtype, (n + queries, d), elements=elements)) * scale
    y = draw(arrays(np.int64, n, elements=st.integers(0, draw(st.integers(0, 3)))))
    _, y = np.unique(y, return_inverse=True)
    return X[:n], y, X[n:]
