"""Maintain the paths from vertices to their seeds as edges and seeds change.

Paths consist of edges of the spanning tree. With one additional vertex above all seeds, they form a
minimum spanning tree themselves: a new edge closes a cycle, and the largest edge of the cycle is
removed.
"""

import numpy as np

from opforest.core.edge_order import precedes
from opforest.core.heap import append
from opforest.core.jit import helper


@helper
def step(vertices, u, v):
    """Return the length of the tree's edge between two neighbors."""
    return vertices[u].weight if vertices[u].parent == v else vertices[v].weight


@helper
def _larger(vertices, way, best, v):
    """Return which of two vertices has the larger edge before it on its way; −1 is none."""
    if best < 0:
        return v
    after, other = np.int64(way[best]), np.int64(way[v])
    length, other_length = step(vertices, best, after), step(vertices, v, other)
    return v if precedes(length, best, after, other_length, v, other) else best


@helper
def largest_ahead(vertices, way, v, top):
    """Return the vertex before the largest edge from v to ``top``, or to its seed; −1 if at it."""
    best = np.int64(-1)
    while v != top and way[v] >= 0:
        best = _larger(vertices, way, best, v)
        v = np.int64(way[v])
    return best


@helper
def _largest_of_circle(vertices, way, mine, u, v):
    """Return the vertices before the largest edges from u and from v to where their ways meet.

    Both ways are followed in turn until one reaches a vertex of the other, or both reach seeds.
    """
    yours = mine + 1
    at_u, at_v = u, v
    before_u, before_v = np.int64(-1), np.int64(-1)
    vertices[u].mark = mine
    vertices[v].mark = yours
    while way[at_u] >= 0 or way[at_v] >= 0:
        if way[at_u] >= 0:
            before_u = _larger(vertices, way, before_u, at_u)
            at_u = np.int64(way[at_u])
            if vertices[at_u].mark == yours:
                return before_u, largest_ahead(vertices, way, v, at_u)
            vertices[at_u].mark = mine
        if way[at_v] >= 0:
            before_v = _larger(vertices, way, before_v, at_v)
            at_v = np.int64(way[at_v])
            if vertices[at_v].mark == mine:
                return largest_ahead(vertices, way, u, at_v), before_v
            vertices[at_v].mark = yours
    return before_u, before_v


@helper
def redirect(vertices, counters, way, u, last, target):
    """Redirect the way of u to ``target``, and reverse its old way up to ``last``.

    The vertices redirected are marked with the tally's stamp.
    """
    counters.stamp += 2
    v = u
    while True:
        after = np.int64(way[v])
        way[v] = target
        vertices[v].mark = counters.stamp
        if v == last:
            return
        target, v = v, after


@helper
def follow(vertices, cost, counters, way, u, changed, m):
    """Bring labels and costs up to date at u, whose way was redirected, and behind it.

    Returns
    -------
    changed, m : array, int
        The list, extended by the vertices whose label or cost has changed, and its length.
    """
    stamp = counters.stamp
    after = np.int64(way[u])
    if after < 0:
        cost[u] = 0
    else:
        cost[u] = max(cost[after], step(vertices, u, after))
        vertices[u].label = vertices[after].label
    changed = append(changed, m, u)
    i = m
    m += 1
    while i < m:
        v = changed[i]
        i += 1
        label = vertices[v].label
        t, length = np.int64(vertices[v].parent), vertices[v].weight
        next_one = np.int64(vertices[v].child)
        while True:
            if t >= 0 and way[t] == v:
                value = max(cost[v], length)
                differs = value != cost[t] or label != vertices[t].label
                if differs or vertices[t].mark == stamp:
                    cost[t] = value
                    vertices[t].label = label
                    changed = append(changed, m, t)
                    m += 1
            if next_one < 0:
                break
            t, length = next_one, vertices[next_one].weight
            next_one = np.int64(vertices[next_one].after)
    return changed, m


@helper
def follow_first(vertices, cost, way, seed, changed, m):
    """Spread the label of the first seed over a tree that had none."""
    way[seed] = -1
    first = m
    changed = append(changed, m, seed)
    m += 1
    i = first
    while i < m:
        v = changed[i]
        i += 1
        t = np.int64(vertices[v].parent)
        next_one = np.int64(vertices[v].child)
        while True:
            if t >= 0 and t != way[v]:
                way[t] = v
                changed = append(changed, m, t)
                m += 1
            if next_one < 0:
                break
            t = next_one
            next_one = np.int64(vertices[next_one].after)
    for i in range(first, m):
        v = changed[i]
        vertices[v].label = vertices[seed].label
        cost[v] = 0 if v == seed else max(cost[way[v]], step(vertices, v, np.int64(way[v])))
    return changed, m


@helper
def plant(vertices, cost, counters, way, v, changed, m):
    """Make v, which already has its label, a seed: the largest edge on its way leaves."""
    vertices[v].cuts = 1
    counters.prototypes += 1
    if counters.prototypes == 1:
        return follow_first(vertices, cost, way, v, changed, m)
    last = largest_ahead(vertices, way, v, np.int64(-1))
    redirect(vertices, counters, way, v, last, np.int64(-1))
    return follow(vertices, cost, counters, way, v, changed, m)


@helper
def offer_edge(vertices, cost, counters, way, u, v, changed, m):
    """Let ways use a new edge of the tree, unless it is the largest of its cycle."""
    length = step(vertices, u, v)
    if length > cost[u] and length > cost[v]:
        return changed, m
    counters.stamp += 2
    before_u, before_v = _largest_of_circle(vertices, way, counters.stamp, u, v)
    turned, fixed, last = u, v, before_u
    if before_u < 0 or (before_v >= 0 and _larger(vertices, way, before_u, before_v) == before_v):
        turned, fixed, last = v, u, before_v
    if last < 0:
        return changed, m
    after = np.int64(way[last])
    if precedes(step(vertices, last, after), last, after, length, u, v):
        return changed, m
    redirect(vertices, counters, way, turned, last, fixed)
    return follow(vertices, cost, counters, way, turned, changed, m)
