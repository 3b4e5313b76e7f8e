"""Insert vertices exactly into a forest of seeds, and label vertices that it already contains."""

import numpy as np

from opforest.core.dynamic.bottleneck_bound import extend
from opforest.core.dynamic.dispatch import enter, find_candidates, has_room
from opforest.core.jit import borrow, helper, kernel
from opforest.core.label_spread.batch import UNLabeled
from opforest.core.label_spread.index_summaries import refresh
from opforest.core.label_spread.seed_paths import follow, offer_edge, plant, redirect
from opforest.core.rooted_tree import add_edge, hang, isolate


@kernel
def insert_seeded(state, index, bound, end, measured, metric, report):
    """Insert the vertices from ``tally.size`` to ``end``, whose rows and labels are in place.

    A label may be ``UNLabeled``. Insertion stops early if the index has no room left. The
    parameters are those of ``insert_exactly``.
    """
    state, index, bound = borrow(state), borrow(index), borrow(bound)
    for z in range(state.counters[0].size, end):
        if not has_room(index):
            return
        _insert(state, index, bound, z, measured, metric, report[0])
        measured = False


@helper
def _insert(state, index, bound, z, measured, metric, report):
    vertices, cost, way, counters = state.vertices, state.cost, state.way, state.counters[0]
    near, gaps, m = find_candidates(state, index, bound, z, measured, metric)
    extend(bound, z, near[0], gaps[0])
    prototypes, is_seed = counters.prototypes, vertices[z].label != UNLabeled
    changed = np.empty(16, np.int64)
    changed[0] = z
    n_changed = 1
    isolate(vertices, z)
    hang(vertices, z, near[0], gaps[0])
    way[z] = -1
    if is_seed and prototypes > 0:
        vertices[z].cuts = 1
        cost[z] = 0
        counters.prototypes += 1
        changed, n_changed = offer_edge(
            vertices, cost, counters, way, z, near[0], changed, n_changed
        )
    elif prototypes > 0:
        way[z] = near[0]
        cost[z] = max(cost[near[0]], gaps[0])
        vertices[z].label = vertices[near[0]].label
    counters.longest = max(counters.longest, gaps[0])
    longest_left = False
    for i in range(1, m):
        p = near[i]
        x, y, weight = add_edge(vertices, counters, z, p, gaps[i])
        if x == z and y == p:
            continue
        longest_left |= weight == counters.longest
        if prototypes > 0:
            changed, n_changed = _exchange(
                vertices, cost, counters, way, z, p, x, y, changed, n_changed
            )
    if longest_left:
        counters.longest = 0
        for v in range(z + 1):
            counters.longest = max(counters.longest, vertices[v].weight)
    if prototypes == 0:
        cost[z] = 0
        if is_seed:
            changed, n_changed = plant(vertices, cost, counters, way, z, changed, n_changed)
        else:
            vertices[z].label = 0
    enter(index, bound, z, state.rows, vertices, cost)
    refresh(index, changed, n_changed, vertices, cost, counters)
    counters.size = z + 1
    counters.version += 1
    report.learned += 1
    report.prototypes_gained += is_seed
    report.reconquered += n_changed


@helper
def _exchange(vertices, cost, counters, way, z, p, x, y, changed, m):
    """Adapt the ways to a tree in which the edge zp has replaced xy."""
    if way[x] != y and way[y] != x:
        return offer_edge(vertices, cost, counters, way, z, p, changed, m)
    # A way led over xy, the largest edge of a cycle; now it leads over zp. Of z and p, the one that
    # now hangs below the other is on the side of x.
    turned, fixed = z, p
    if vertices[z].parent != p:
        turned, fixed = p, z
    last = x
    if way[x] != y:
        turned, fixed, last = fixed, turned, y
    redirect(vertices, counters, way, turned, last, fixed)
    return follow(vertices, cost, counters, way, turned, changed, m)


@kernel
def label_exactly(state, index, chosen, labels, report):
    """Give labels to vertices that have none of their own."""
    state, index = borrow(state), borrow(index)
    vertices, cost, way, counters = state.vertices, state.cost, state.way, state.counters[0]
    for i in range(chosen.shape[0]):
        v = chosen[i]
        vertices[v].label = labels[i]
        changed, n_changed = plant(vertices, cost, counters, way, v, np.empty(16, np.int64), 0)
        refresh(index, changed, n_changed, vertices, cost, counters)
        report[0].prototypes_gained += 1
        report[0].reconquered += n_changed
    counters.version += 1
