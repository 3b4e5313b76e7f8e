"""Layout of a tree in the plane, in which every edge has its true length."""

from typing import Any, NamedTuple

import numpy as np

from opforest.core.metrics.types import Array

#: Larger trees keep the first layout: spreading branches takes time quadratic in n.
MAX_SPREAD = 10_000

#: How often branches are spread; more changes little.
ROUNDS = 2

FULL_TURN = 2 * np.pi


class _Preorder(NamedTuple):
    """Vertices in preorder: every subtree is one slice."""

    vertex: Array
    parent: Array  #: its index in this order; −1 for the root of a tree
    length: Array  #: of the edge to it
    size: Array  #: of the subtree
    leaves: Array  #: the number of leaves of the subtree


def make_layout(n: int, edges: Array, length: Array) -> Array:
    """Return the coordinates, of shape (n, 2), of the vertices of a forest with these edges.

    First, each subtree gets a sector in proportion to its leaves, so that no two edges cross
    ("equal angle", as in phylogenetic trees). Then the branches at each vertex are rotated until
    the angles between them are equal ("equal daylight"), which fills the plane and makes hardly any
    edges cross. Separate trees are placed in a circle.

    Examples
    --------
    >>> import numpy as np
    >>> make_layout(3, np.array([[0, 1], [1, 2]]), np.array([1.0, 2.0])).round(6) + 0.0
    array([[ 0., -1.],
           [ 0.,  0.],
           [ 0.,  2.]])
    """
    neighbors: list[list[tuple[int, float]]] = [[] for _ in range(n)]
    for (u, v), far in zip(edges.tolist(), length.tolist(), strict=True):
        neighbors[u].append((v, far))
        neighbors[v].append((u, far))
    if n == 0:
        return np.empty((0, 2))
    start = _find_start(neighbors)
    order = _traverse(neighbors, [start])
    place = _equal_angle_layout(order)
    if n <= MAX_SPREAD:
        for _ in range(ROUNDS):
            for i in range(len(place)):
                _spread_branches(place, order, i)
    result = np.empty_like(place)
    result[order.vertex] = place
    return result[:n]


def split_edges(edges: Array, label: Array) -> tuple[Array, Array]:
    """Return the edges within classes, and those between classes, which are cut."""
    is_cut = label[edges[:, 0]] != label[edges[:, 1]]
    return edges[~is_cut], edges[is_cut]


def _find_start(neighbors: list[list[tuple[int, float]]]) -> int:
    """Return the center of the tree, or a new vertex that connects the centers of several trees."""
    order = _traverse(neighbors, range(len(neighbors)))
    centers = _centers(order)
    if len(centers) == 1:
        return centers[0]
    order = _traverse(neighbors, centers)
    depth = np.zeros(len(order.vertex))
    for i, before in enumerate(order.parent.tolist()):
        if before >= 0:
            depth[i] = depth[before] + order.length[i]
    radius = float(depth.mean()) * len(centers) / 5  # large enough for a circle of all trees
    for center in centers:
        neighbors[center].append((len(neighbors), radius))
    neighbors.append([(center, radius) for center in centers])
    return len(neighbors) - 1


def _traverse(neighbors: list[list[tuple[int, float]]], starts: Any) -> _Preorder:
    """Traverse the trees that contain these vertices, depth first."""
    n = len(neighbors)
    seen = [False] * n
    vertex: list[int] = []
    parent: list[int] = []
    length: list[float] = []
    for start in starts:
        stack = [] if seen[start] else [(start, -1, 0.0)]
        while stack:
            v, before, far = stack.pop()
            seen[v] = True
            i = len(vertex)
            vertex.append(v)
            parent.append(before)
            length.append(far)
            stack += [(w, i, d) for w, d in neighbors[v] if not seen[w]]
    size, leaves = [1] * n, [0] * n
    for i in reversed(range(n)):
        leaves[i] = max(1, leaves[i])
        if parent[i] >= 0:
            size[parent[i]] += size[i]
            leaves[parent[i]] += leaves[i]
    return _Preorder(*(np.array(column) for column in (vertex, parent, length, size, leaves)))


def _centers(order: _Preorder) -> list[int]:
    """Return the centroid of each tree: without it, the largest part is smallest."""
    largest = np.zeros(len(order.vertex), np.int64)
    inner = order.parent >= 0
    np.maximum.at(largest, order.parent[inner], order.size[inner])
    first = np.flatnonzero(~inner)
    which = np.searchsorted(first, np.arange(len(inner)), side="right") - 1
    largest = np.maximum(largest, order.size[first][which] - order.size)
    ranked = np.lexsort((np.arange(len(inner)), largest, which))
    centers: list[int] = order.vertex[ranked[first]].tolist()
    return centers


def _equal_angle_layout(order: _Preorder) -> Array:
    """Return the coordinates by sectors in proportion to leaves."""
    n = len(order.vertex)
    place, begin, width, given = np.zeros((n, 2)), np.zeros(n), np.zeros(n), np.zeros(n)
    width[0] = FULL_TURN
    for i, before in enumerate(order.parent.tolist()[1:], 1):
        width[i] = width[before] * order.leaves[i] / order.leaves[before]
        begin[i] = begin[before] + given[before]
        given[before] += width[i]
        angle = begin[i] + width[i] / 2
        place[i] = place[before] + order.length[i] * np.array((np.cos(angle), np.sin(angle)))
    return place


def _spread_branches(place: Array, order: _Preorder, i: int) -> None:
    """Rotate the branches at a vertex until the angles between them are equal."""
    slices, end, parent = list[slice](), i + 1, order.parent[i]
    while end < i + order.size[i]:
        slices.append(np.s_[end : end + order.size[end]])
        end += order.size[end]
    if len(slices) + (parent >= 0) < 3:
        return
    arcs = [_angular_extent(place[some] - place[i]) for some in slices]
    if parent >= 0:  # its branch stays
        others = np.concatenate((place[[parent]], place[:i], place[end:]))
        fixed = _angular_extent(others - place[i])
    else:
        fixed, arcs, slices = arcs[0], arcs[1:], slices[1:]
    free = FULL_TURN - fixed[1] - sum(width for _, width in arcs)
    if free <= 0:
        return
    gap, edge = free / (len(arcs) + 1), fixed[0] + fixed[1]
    for begin, width, some in sorted(
        ((begin - fixed[0]) % FULL_TURN, width, k) for k, (begin, width) in enumerate(arcs)
    ):
        turn = edge + gap - (begin + fixed[0])
        edge += gap + width
        cos, sin = np.cos(turn), np.sin(turn)
        rotation = np.array(((cos, sin), (-sin, cos)))
        place[slices[some]] = (place[slices[some]] - place[i]) @ rotation + place[i]


def _angular_extent(around: Array) -> tuple[float, float]:
    """Return the first angle and the width of the sector of points around the first one."""
    angle = np.arctan2(around[:, 1], around[:, 0])
    turn = (angle - angle[0] + np.pi) % FULL_TURN - np.pi
    return float(angle[0] + turn.min()), float(turn.max() - turn.min())
