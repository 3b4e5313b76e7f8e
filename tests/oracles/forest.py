"""Slow and obvious reference implementations, which share no code with the library."""

import math
from itertools import combinations

import numpy as np


# Distances, one feature after another in the data's own precision, in reduced units.
def add_up(terms, dtype):
    total = dtype.type(0)
    for term in terms:
        total = total + term
    return total


def squared_euclidean(x, y):
    return add_up(((a - b) * (a - b) for a, b in zip(x, y, strict=True)), x.dtype)


def manhattan(x, y):
    return add_up((abs(a - b) for a, b in zip(x, y, strict=True)), x.dtype)


def chebyshev(x, y):
    return max(abs(a - b) for a, b in zip(x, y, strict=True))


def canberra(x, y):
    pairs = [(a, b) for a, b in zip(x, y, strict=True) if a != 0 or b != 0]
    return add_up((abs(a - b) / (abs(a) + abs(b)) for a, b in pairs), x.dtype)


def hamming(x, y):
    return x.dtype.type(sum(a != b for a, b in zip(x, y, strict=True)))


def chi_squared(x, y):
    pairs = [(a, b) for a, b in zip(x, y, strict=True) if a + b > 0]
    return add_up(((a - b) * ((a - b) / (a + b)) for a, b in pairs), x.dtype)


def bray_curtis(x, y):
    if (x == y).all():
        return x.dtype.type(0)
    pairs = list(zip(x, y, strict=True))
    size = add_up((abs(a + b) for a, b in pairs), x.dtype)
    return add_up((abs(a - b) for a, b in pairs), x.dtype) / size


def minkowski_3(x, y):
    return x.dtype.type(sum(math.pow(abs(a - b), 3.0) for a, b in zip(x, y, strict=True)))


def table(X, distance, Q=None):
    """Distances from each row of Q (default: X) to each row of X."""
    Q = X if Q is None else Q
    return np.array([[distance(x, q) for x in X] for q in Q], X.dtype).reshape(len(Q), len(X))


# Forests.
def kruskal(D):
    """The edges of the minimum spanning tree under (weight, smaller index, larger index)."""
    rows = D.tolist()
    return spanning_forest([(rows[u][v], u, v) for u, v in combinations(range(len(D)), 2)])


def spanning_forest(edges):
    """The minimum spanning forest of edges (weight, smaller index, larger index)."""
    group = {end: end for _, u, v in edges for end in (u, v)}
    forest = []
    for _, u, v in sorted(edges):
        if group[u] != group[v]:
            old, new = group[v], group[u]
            group = {end: new if g == old else g for end, g in group.items()}
            forest.append((u, v))
    return sorted(forest)


def minimax(D):
    """Floyd–Warshall: the smallest possible largest step between any two vertices."""
    M = D.copy()
    np.fill_diagonal(M, 0)
    for k in range(len(D)):
        M = np.minimum(M, np.maximum(M[:, k : k + 1], M[k : k + 1, :]))
    return M


def prototypes(tree, y):
    return sorted({end for u, v in tree if y[u] != y[v] for end in (u, v)}) or [0]


def costs(D, roots):
    """Bellman–Ford: the smallest possible largest step on a path from any root."""
    cost = np.full(len(D), np.inf, D.dtype)
    cost[roots] = 0
    while True:
        offer = np.maximum(cost[:, None], D).min(axis=0)
        if (offer >= cost).all():
            return cost
        cost = np.minimum(cost, offer)


def paths(D, tree, y, roots):
    """Predecessors and roots: cheapest, then fewest steps since the cost rose, then smallest."""
    neighbors = {v: [] for v in range(len(D))}
    for u, v in tree:
        if y[u] == y[v]:
            neighbors[u].append(v)
            neighbors[v].append(u)
    best = {v: (0, 0) if v in roots else (math.inf, 0) for v in range(len(D))}

    def offer(u, v):
        cost, level = best[u]
        return (D[u, v], 0) if D[u, v] > cost else (cost, level + 1)

    changed = True
    while changed:
        changed = False
        for v in range(len(D)):
            for u in neighbors[v]:
                if offer(u, v) < best[v]:
                    best[v] = offer(u, v)
                    changed = True
    predecessor = [
        -1 if v in roots else min(u for u in neighbors[v] if offer(u, v) == best[v])
        for v in range(len(D))
    ]
    root = list(range(len(D)))
    for v in range(len(D)):
        while predecessor[root[v]] >= 0:
            root[v] = predecessor[root[v]]
    return predecessor, root


def conquerors(cost, DQ):
    """A full scan: the smallest offer, then the smaller cost, then the smaller index."""
    best = [
        min((max(c, d), c, i) for i, (c, d) in enumerate(zip(cost, row, strict=True))) for row in DQ
    ]
    return [b[2] for b in best], np.array([b[0] for b in best], cost.dtype)


def class_costs(cost, y, DQ, n_classes):
    offers = np.maximum(cost, DQ)
    return np.array(
        [
            [row[y == c].min() if (y == c).any() else np.inf for c in range(n_classes)]
            for row in offers
        ],
        cost.dtype,
    )


def opf_accuracy(y_true, y_pred):
    classes = sorted(set(y_true))
    n = len(y_true)
    total = 0.0
    for c in classes:
        own = sum(t == c for t in y_true)
        missed = sum(t == c and p != c for t, p in zip(y_true, y_pred, strict=True))
        taken = sum(t != c and p == c for t, p in zip(y_true, y_pred, strict=True))
        total += missed / own + (taken / (n - own) if n > own else 0)
    return 1 - total / (2 * len(classes))


# Forests of seeds.
def seeded(D, given):
    """Kruskal's algorithm without joins of two seeds: label, seed, cost, parent of each vertex."""
    n = len(D)
    component = [{v} for v in range(n)]
    kept = []
    for _, u, v in sorted((D[u, v], u, v) for u, v in combinations(range(n), 2)):
        a, b = component[u], component[v]
        if a is b or (any(given[i] >= 0 for i in a) and any(given[i] >= 0 for i in b)):
            continue
        kept.append((u, v))
        for i in b:
            component[i] = a
        a |= b
    seed = [next((i for i in sorted(component[v]) if given[i] >= 0), -1) for v in range(n)]
    cost = [0.0 if given[v] >= 0 else math.inf for v in range(n)]
    parent = [-1] * n
    for _ in range(n):
        for u, v in [*kept, *((v, u) for u, v in kept)]:
            if cost[u] < math.inf and cost[v] == math.inf:
                cost[v], parent[v] = max(cost[u], D[u, v]), u
    return [given[s] if s >= 0 else -1 for s in seed], seed, np.array(cost, D.dtype), parent
