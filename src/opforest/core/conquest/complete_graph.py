"""Find optimum paths on the complete graph, in the order of the original algorithm.

The costs are the same as along the spanning tree. Vertices are processed in the order of (cost,
index) among those reached so far, and the predecessor of a vertex is the first that offers it its
final cost. Paths have as few steps as those of the original algorithm.
"""

import numpy as np

from opforest.core.heap import pop, push
from opforest.core.jit import kernel
from opforest.core.metrics.distances import between

#: The predecessor of a vertex that has not been conquered yet.
UNCONQUERED = -2


@kernel
def trace_arcs(rows, cost, label, predecessor, order, metric):
    """Write the predecessors, and all vertices in the order in which they make offers.

    Before the call, predecessors are −1 for prototypes and ``UNCONQUERED`` for others.
    """
    n = cost.shape[0]
    keys, waiting = np.empty(16, cost.dtype), np.empty(16, np.int64)
    left = np.empty(n, np.int64)
    m = n_left = 0
    for v in range(n):
        if predecessor[v] == -1:
            keys, waiting, m = push(keys, waiting, m, cost[v], v)
        else:
            left[n_left] = v
            n_left += 1
    done = 0
    while m > 0:
        u = waiting[0]
        m = pop(keys, waiting, m)
        order[done] = u
        done += 1
        n_staying = 0
        for i in range(n_left):
            v = left[i]
            may_conquer = label[v] == label[u] and cost[u] <= cost[v]
            if may_conquer and between(u, v, rows, metric) <= cost[v]:
                predecessor[v] = u
                keys, waiting, m = push(keys, waiting, m, cost[v], v)
            else:
                left[n_staying] = v
                n_staying += 1
        n_left = n_staying
