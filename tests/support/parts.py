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
