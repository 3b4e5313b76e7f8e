"""Where to draw the vertices of a tree, so that every edge has its true length."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

#: Larger trees are drawn as they are laid out at first: opening takes time quadratic in n.
MOST_TO_OPEN = 10_000

#: How often branches are turned apart; more changes little.
ROUNDS = 2

CIRCLE = 2 * np.pi


class _Order(NamedTuple):
    """Vertices in an order in which every subtree is one slice."""

    vertex: Array
    parent: Array  #: its place in the order; −1 for the first of a tree
    length: Array  #: of the edge to it
    size: Array  #: of the subtree
    leaves: Array  #: how many the subtree has


def lay_out(n: int, edges: Array, length: Array) -> Array:
    """Return a place in the plane for each vertex of a forest.

    Every edge has its true length. At first each subtree has a sector as wide as its share of the
    leaves, so that no two edges cross ("equal angle", as phylogenies are drawn). Then the branches
    at each vertex are turned until the gaps between them are equal ("equal daylight"), which fills
    the plane and makes hardly any edges cross. Separate trees are placed in a circle.
    The result depends on the arguments alone.

    Parameters
    ----------
    n : int
        The number of vertices.
    edges : array of shape (m, 2)
        Pairs of vertices, without cycles.
    length : array of shape (m,)
        The length of each edge.

    Returns
    -------
    array of shape (n, 2)
        The places.

    Examples
    --------
    >>> import numpy as np
    >>> lay_out(3, np.array([[0, 1], [1, 2]]), np.array([1.0, 2.0])).round(6) + 0.0
    array([[ 0., -1.],
           [ 0.,  0.],
           [ 0.,  2.]])
    """
    joined: list[list[tuple[int, float]]] = [[] for _ in range(n)]
    for (u, v), far in zip(edges.tolist(), length.tolist(), strict=True):
        joined[u].append((v, far))
        joined[v].append((u, far))
    if n == 0:
        return np.empty((0, 2))
    start = _join(joined)
    order = _walk(joined, [start])
    place = _equal_angles(order)
    if n <= MOST_TO_OPEN:
        children = _children(order.parent)
        for _ in range(ROUNDS):
            for i, below in enumerate(children):
                _open(place, order, i, below)
    result = np.empty_like(place)
    result[order.vertex] = place
    return result[:n]


def _join(joined: list[list[tuple[int, float]]]) -> int:
    """Return where to begin: in the middle of the tree, or at a hub that joins several trees."""
    order = _walk(joined, range(len(joined)))
    centers = _centers(order)
    if len(centers) == 1:
        return centers[0]
    order = _walk(joined, centers)
    depth = np.zeros(len(order.vertex))
    for i, before in enumerate(order.parent.tolist()):
        if before >= 0:
            depth[i] = depth[before] + order.length[i]
    radius = float(depth.mean()) * len(centers) / 5  # enough for a circle of all trees
    for center in centers:
        joined[center].append((len(joined), radius))
    joined.append([(center, radius) for center in centers])
    return len(joined) - 1


def _walk(joined: list[list[tuple[int, float]]], starts: Any) -> _Order:
    """Return the order in which a walk that turns back at leaves meets the vertices."""
    n = len(joined)
    met = [False] * n
    vertex: list[int] = []
    parent: list[int] = []
    length: list[float] = []
    for start in starts:
        waiting = [] if met[start] else [(start, -1, 0.0)]
        while waiting:
            v, before, far = waiting.pop()
            met[v] = True
            i = len(vertex)
            vertex.append(v)
            parent.append(before)
            length.append(far)
            waiting += [(w, i, d) for w, d in joined[v] if not met[w]]
    size, leaves = [1] * n, [0] * n
    for i in range(n - 1, -1, -1):
        leaves[i] = max(1, leaves[i])
        if parent[i] >= 0:
            size[parent[i]] += size[i]
            leaves[parent[i]] += leaves[i]
    return _Order(*(np.array(column) for column in (vertex, parent, length, size, leaves)))


def _children(parent: Array) -> list[list[int]]:
    children: list[list[int]] = [[] for _ in parent]
    for i, before in enumerate(parent.tolist()):
        if before >= 0:
            children[before].append(i)
    return children


def _centers(order: _Order) -> list[int]:
    """Return the vertex of each tree that leaves the smallest largest part."""
    largest = np.zeros(len(order.vertex), np.int64)
    inner = order.parent >= 0
    np.maximum.at(largest, order.parent[inner], order.size[inner])
    first = np.flatnonzero(~inner)
    which = np.searchsorted(first, np.arange(len(inner)), side="right") - 1
    largest = np.maximum(largest, order.size[first][which] - order.size)
    ranked = np.lexsort((np.arange(len(inner)), largest, which))
    centers: list[int] = order.vertex[ranked[first]].tolist()
    return centers


def _equal_angles(order: _Order) -> Array:
    """Return places by sectors in proportion to leaves."""
    n = len(order.vertex)
    place, begin, width, given = np.zeros((n, 2)), np.zeros(n), np.zeros(n), np.zeros(n)
    width[0] = CIRCLE
    for i, before in enumerate(order.parent.tolist()[1:], 1):
        width[i] = width[before] * order.leaves[i] / order.leaves[before]
        begin[i] = begin[before] + given[before]
        given[before] += width[i]
        angle = begin[i] + width[i] / 2
        place[i] = place[before] + order.length[i] * np.array((np.cos(angle), np.sin(angle)))
    return place


def _open(place: Array, order: _Order, i: int, below: list[int]) -> None:
    """Turn the branches at one vertex until the gaps between them are equal."""
    slices = [np.s_[k : k + order.size[k]] for k in below]
    is_inner = order.parent[i] >= 0
    if len(below) + is_inner < 3:
        return
    arcs = [_arc(place[some] - place[i], place[k] - place[i])
            for k, some in zip(below, slices, strict=True)]  # fmt: skip
    fixed = arcs[0]
    if is_inner:  # the branch that leads back stays where it is
        others = np.concatenate((place[:i], place[i + order.size[i] :]))
        fixed = _arc(others - place[i], place[order.parent[i]] - place[i])
    else:
        arcs, slices = arcs[1:], slices[1:]
    light = CIRCLE - fixed[1] - sum(width for _, width in arcs)
    if light <= 0:
        return
    gap, edge = light / (len(arcs) + 1), fixed[0] + fixed[1]
    for begin, width, some in sorted(
        ((begin - fixed[0]) % CIRCLE, width, k) for k, (begin, width) in enumerate(arcs)
    ):
        turn = edge + gap - (begin + fixed[0])
        edge += gap + width
        cos, sin = np.cos(turn), np.sin(turn)
        rotation = np.array(((cos, sin), (-sin, cos)))
        place[slices[some]] = (place[slices[some]] - place[i]) @ rotation + place[i]


def _arc(around: Array, towards: Array) -> tuple[float, float]:
    """Return where the arc under which points are seen begins, and how wide it is."""
    middle = np.arctan2(towards[1], towards[0])
    angle = np.arctan2(around[:, 1], around[:, 0]) - middle
    angle = (angle + np.pi) % CIRCLE - np.pi
    return float(middle + angle.min()), float(angle.max() - angle.min())
