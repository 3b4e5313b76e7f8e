"""Remove small domes from densities.

A dome is a connected set of vertices above some density. Vertices are processed in decreasing order
of density, and a small dome is lowered to the density of the vertex that connects it with others.
"""

import numpy as np

from opforest.core.disjoint_set import find_group
from opforest.core.jit import kernel


@kernel
def flatten_small_peaks(near, k, density, order, size, by_volume, level):
    """Write the densities after leveling all domes of at most this size into ``level``.

    The size of a dome is the number of its vertices or, ``by_volume``, the sum of their densities
    above the cut. ``order`` are the vertices by decreasing density; ties by increasing index.
    """
    n = near.shape[0]
    first = np.zeros(n + 2, np.int64)  # backward arcs make the graph undirected
    for u in range(n):
        for slot in range(k):
            first[near[u, slot] + 2] += 1
    for v in range(n):
        first[v + 2] += first[v + 1]
    back = np.empty(n * k, np.int64)
    for u in range(n):
        for slot in range(k):
            v = near[u, slot]
            back[first[v + 1]] = u
            first[v + 1] += 1
    group, count, total = np.arange(n), np.ones(n, np.int64), density.copy()
    seen, is_small = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    above = np.full(n, -1)  # the vertex that a dome was joined to
    for p in order:
        seen[p] = True
        for i in range(k + first[p + 1] - first[p]):
            q = near[p, i] if i < k else back[first[p] + i - k]
            if not seen[q]:
                continue
            dome = find_group(group, q)
            if dome == p:
                continue
            attribute = float(count[dome])
            if by_volume:
                attribute = total[dome] - count[dome] * density[p]
            is_small[dome] = attribute <= size
            above[dome] = p
            group[dome] = p
            count[p] += count[dome]
            total[p] += total[dome]
    for i in range(n - 1, -1, -1):
        v = order[i]
        level[v] = level[above[v]] if is_small[v] else density[v]
