"""Costs of a forest in cells.

A path between cells goes through ports, the ends of the edges that join fragments. Each cell finds
the costs from its own prototypes, and the largest edge on the path between any two of its ports,
which a small forest of ports keeps. In that forest and the joining edges, the costs of all ports
are found, and from them each cell finds those of all its examples. Costs are minima of maxima of
weights, so they are bit for bit those of one tree.
"""

from typing import NamedTuple

import numpy as np

from opforest.core.disjoint_set import find_group
from opforest.core.jit import borrow, kernel
from opforest.core.mst.boruvka import root_tree
from opforest.core.parts.cell import find_places
from opforest.core.parts.links import Pool
from opforest.core.tree_costs import spread_costs


class Ports(NamedTuple):
    """The ports of all cells, in the order of their ids."""

    id: np.ndarray
    label: np.ndarray
    is_prototype: np.ndarray  #: whether a joining edge leads to another class
    cost: np.ndarray


class PortForest(NamedTuple):
    """What a cell tells of its ports."""

    port: np.ndarray  #: the ports that are in this cell
    cost: np.ndarray  #: of each, from the prototypes of the cell
    edges: Pool  #: between ports of the cell, as indices of ``port``
    has_prototypes: bool


class CellCosts(NamedTuple):
    """The costs of the examples of a cell, by number."""

    cost: np.ndarray
    is_prototype: np.ndarray
    first: np.ndarray  #: by node: the place of the cheapest point, the earliest of them


def label_ports(forest, ids):
    """Return which of these ids are in a cell, and their labels."""
    here, number = find_places(forest, ids)
    return here, forest.label[number]


def reduce_to_ports(forest, ports) -> PortForest:
    """Return the costs of ports from the prototypes of their cell, and the paths between them."""
    port, number = find_places(forest, ports.id)
    cost, is_prototype = _find_costs(forest, number, ports.is_prototype[port], np.inf)
    n = len(port)
    edges = Pool(np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, cost.dtype))
    m = _join_ports(forest.certain, forest.label, number, edges)
    return PortForest(port, cost[number], edges.select(slice(m)), bool(is_prototype.any()))


def connect_ports(ports, joined, reduced) -> Ports:
    """Return the ports with their costs; ``joined`` are edges between their ids."""
    ends = np.searchsorted(ports.id, joined.u), np.searchsorted(ports.id, joined.v)
    pools = [Pool(*ends, joined.weight)]
    cost = np.full(len(ports.id), np.inf, joined.weight.dtype)
    for part in reduced:
        cost[part.port] = part.cost
        pools.append(part.edges._replace(u=part.port[part.edges.u], v=part.port[part.edges.v]))
    if not any(part.has_prototypes for part in reduced):  # one class: the first example is one
        ports.is_prototype[0], cost[0] = True, 0
    tree = root_tree(len(cost), *Pool.concatenate(pools))
    return ports._replace(cost=spread_costs(tree, cost, ports.label).cost)


def find_cell_costs(forest, ports) -> CellCosts:
    """Return the costs of the examples of a cell, given those of all ports."""
    port, number = find_places(forest, ports.id)
    cost, is_prototype = _find_costs(forest, number, ports.is_prototype[port], ports.cost[port])
    first = np.empty(len(forest.tree.nodes), np.int32)
    _find_first_of_nodes(forest.tree.nodes, forest.tree.vertex, cost, first)
    return CellCosts(cost, is_prototype, first)


def _find_costs(forest, number, is_prototype_port, cost_of_port):
    """Return costs and prototypes, by number."""
    u, v, weight = forest.certain
    label, n = forest.label, len(forest.label)
    is_prototype = np.zeros(n, np.bool_)
    is_cut = label[u] != label[v]
    is_prototype[u[is_cut]] = is_prototype[v[is_cut]] = True
    is_prototype[number[is_prototype_port]] = True
    cost = np.full(n, np.inf, weight.dtype)
    cost[number] = cost_of_port
    cost[is_prototype] = 0
    return spread_costs(root_tree(n, u, v, weight), cost, label).cost, is_prototype


@kernel
def _join_ports(edges, label, number, joined):
    """Write edges between ports that keep the largest edges between them; return how many.

    Edges are in ascending order, as in Kruskal's algorithm. ``number`` is that of each port.
    """
    u, v, weight = borrow(edges)
    first, second, length = borrow(joined)
    group, leader = np.arange(label.shape[0]), np.full(label.shape[0], -1)
    for p in range(number.shape[0]):
        leader[number[p]] = p
    m = 0
    for e in range(u.shape[0]):
        if label[u[e]] != label[v[e]]:
            continue
        a, b = find_group(group, np.int64(u[e])), find_group(group, np.int64(v[e]))
        if leader[a] >= 0 and leader[b] >= 0:
            first[m], second[m], length[m] = leader[a], leader[b], weight[e]
            m += 1
        group[max(a, b)] = min(a, b)
        leader[min(a, b)] = max(leader[a], leader[b])
    return m


@kernel
def _find_first_of_nodes(nodes, vertex, cost, first):
    """Write the place of the smallest (cost, vertex) below each node."""
    for node in range(nodes.shape[0] - 1, -1, -1):
        below = nodes[node].child
        if below >= 0:
            begin, other = np.int64(first[below]), np.int64(first[below + 1])
            end = begin + 1
        else:
            begin, end = nodes[node].begin, nodes[node].end
            other = begin
        best = begin
        for i in range(begin, end):
            if cost[i] < cost[best] or (cost[i] == cost[best] and vertex[i] < vertex[best]):
                best = i
        if cost[other] < cost[best] or (cost[other] == cost[best] and vertex[other] < vertex[best]):
            best = other
        first[node] = best
