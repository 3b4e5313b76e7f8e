"""Forests in parts, in this process."""

from itertools import pairwise

import numpy as np

from opforest.core.parts.cell import CellExamples, bound_points, sort_by_cell


class InlineExecutor:
    """Call functions at once, and keep their results as they are."""

    def fetch(self, function, *arguments):
        return [function(*values) for values in zip(*arguments, strict=True)]

    hold = fetch

    def store(self, name, function, *arguments):
        return self.fetch(function, *arguments)

    def share(self, value):
        return value

    def remember(self, name, function):
        return function()


def divide_examples(points, label, planes):
    """Return the cells that are not empty, and their boxes."""
    examples = CellExamples(points, np.arange(len(points)), np.asarray(label, np.int32))
    ordered, begin = sort_by_cell(examples, planes)
    parts = [slice(*ends) for ends in pairwise(begin)]
    cells = [CellExamples(*(array[part] for array in ordered)) for part in parts]
    cells = [cell for cell in cells if len(cell.id)]
    return cells, np.stack([bound_points(cell.points) for cell in cells])


def merge_parts(parts):
    """Return the edges, costs and prototypes of all parts, by id."""
    ends = [np.stack((parts.joined.u, parts.joined.v), axis=1)]
    ids, cost, is_prototype = [], [], []
    for forest, costs in zip(parts.forests, parts.costs, strict=True):
        ids.append(forest.id)
        cost.append(costs.cost[forest.number])
        is_prototype.append(costs.is_prototype[forest.number])
        name = np.empty(len(forest.id), np.int64)
        name[forest.number] = forest.id
        ends.append(np.stack((name[forest.certain.u], name[forest.certain.v]), axis=1))
    edges = np.sort(np.concatenate(ends), axis=1)
    order = np.argsort(np.concatenate(ids))
    prototypes = np.flatnonzero(np.concatenate(is_prototype)[order])
    edges = sorted(map(tuple, edges.tolist()))
    return edges, np.concatenate(cost)[order], prototypes.tolist()


def draw_points(kind, n, d, seed):
    """Return points with ties, duplicates or gaps, or in general position."""
    rng = np.random.default_rng(seed)
    if kind == "lattice":
        side = int(np.ceil(n ** (1 / d)))
        chosen = rng.permutation(side**d)[:n]
        return np.stack(np.unravel_index(chosen, (side,) * d), axis=1).astype(float)
    if kind == "duplicates":
        return rng.integers(0, 3, (n, d)).astype(float)
    if kind == "far":
        return rng.normal(size=(n, d)) + 1e6 * rng.integers(0, 2, (n, 1))
    if kind == "far lattices":
        return rng.integers(0, 9, (n, d)) + 1e4 * rng.integers(0, 3, (n, 1))
    if kind == "line":
        return rng.integers(0, n, (n, 1)) * np.ones(d)
    if kind == "heavy":
        return rng.standard_cauchy((n, d)).round(1)
    if kind == "equal":
        return np.full((n, d), 0.5)
    return rng.random((n, d))
