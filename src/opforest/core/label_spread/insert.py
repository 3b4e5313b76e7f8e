"""Insert vertices exactly into a forest of seeds, and label vertices that it already contains."""

from opforest.core.dynamic.bottleneck_bound import extend
from opforest.core.dynamic.dispatch import find_candidates, has_room, insert_into_index
from opforest.core.jit import borrow, helper, kernel
from opforest.core.label_spread.batch import UNLABELED
from opforest.core.label_spread.index_summaries import update_summaries
from opforest.core.label_spread.seed_paths import add_seed, follow, offer_edge, redirect
from opforest.core.rooted_tree import add_edge, isolate, link, update_longest
from opforest.core.vertex_list import add, members, new_list


@kernel
def insert_seeded(arrays, index, bound, end, measured, metric, report):
    """Insert vertices as ``insert_exactly`` does; their labels may be ``UNLABELED``."""
    arrays, index, bound = borrow(arrays), borrow(index), borrow(bound)
    for z in range(arrays.counters[0].size, end):
        if not has_room(index):
            return
        _insert(arrays, index, bound, z, measured, metric, report[0])
        measured = False


@helper
def _insert(arrays, index, bound, z, measured, metric, report):
    vertices, cost, counters = arrays.vertices, arrays.cost, arrays.counters[0]
    near, distances, m = find_candidates(arrays, index, bound, z, measured, metric)
    extend(bound, z, near[0], distances[0])
    n_seeds, is_seed = counters.prototypes, vertices[z].label != UNLABELED
    changed = add(new_list(), z)
    isolate(vertices, z)
    link(vertices, z, near[0], distances[0])
    arrays.seed_parent[z] = -1
    if is_seed and n_seeds > 0:
        vertices[z].cuts = 1
        cost[z] = 0
        counters.prototypes += 1
        changed = offer_edge(arrays, z, near[0], changed)
    elif n_seeds > 0:
        arrays.seed_parent[z] = near[0]
        cost[z] = max(cost[near[0]], distances[0])
        vertices[z].label = vertices[near[0]].label
    counters.longest = max(counters.longest, distances[0])
    longest_left = False
    for i in range(1, m):
        p = near[i]
        x, y, weight = add_edge(vertices, counters, z, p, distances[i])
        if x == z and y == p:
            continue
        longest_left |= weight == counters.longest
        if n_seeds > 0:
            changed = _exchange(arrays, z, p, x, y, changed)
    if longest_left:
        update_longest(vertices, counters, z + 1)
    if n_seeds == 0:
        cost[z] = 0
        if is_seed:
            changed = add_seed(arrays, z, changed)
        else:
            vertices[z].label = 0
    insert_into_index(index, bound, z, arrays)
    update_summaries(index, members(changed), arrays)
    counters.size = z + 1
    counters.version += 1
    report.learned += 1
    report.prototypes_gained += is_seed
    report.reconquered += changed[0]


@helper
def _exchange(arrays, z, p, x, y, changed):
    """Adapt the paths to a tree in which the edge zp has replaced xy."""
    seed_parent = arrays.seed_parent
    if seed_parent[x] != y and seed_parent[y] != x:
        return offer_edge(arrays, z, p, changed)
    # A path led over xy, the largest edge of a cycle; now it leads over zp. Of z and p, the one
    # that is now a child of the other is on the side of x.
    near, far = z, p
    if arrays.vertices[z].parent != p:
        near, far = p, z
    last = x
    if seed_parent[x] != y:
        near, far, last = far, near, y
    redirect(arrays, near, last, far)
    return follow(arrays, near, changed)


@kernel
def label_exactly(arrays, index, chosen, labels, report):
    """Label vertices that were not labeled."""
    arrays, index = borrow(arrays), borrow(index)
    for i in range(chosen.shape[0]):
        arrays.vertices[chosen[i]].label = labels[i]
        changed = add_seed(arrays, chosen[i], new_list())
        update_summaries(index, members(changed), arrays)
        report[0].prototypes_gained += 1
        report[0].reconquered += changed[0]
    arrays.counters[0].version += 1
