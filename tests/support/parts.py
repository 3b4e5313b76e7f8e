"""Models in parts for tests: cells of a few examples, and comparison with one machine."""

import numpy as np

from opforest import OPFClassifier


def assert_parts_equal(model, X, y, queries):
    """Compare a model in parts with a fit in memory: edges, costs, prototypes, predictions."""
    local = OPFClassifier(model.metric, metric_params=model.metric_params).fit(X, y)
    forest = local.forest_
    cost, is_prototype = np.empty(len(X), forest.dtype), np.zeros(len(X), bool)
    ends = [np.stack(model.parts_.joined[:2], axis=1)]
    fetch, parts = model.executor_.fetch, model.parts_
    for cell, costs in zip(*(fetch(lambda part: part, kept) for kept in parts[:2]), strict=True):
        cost[cell.id], is_prototype[cell.id] = (array[cell.number] for array in costs[:2])
        name = np.empty(len(cell.id), np.int64)
        name[cell.number] = cell.id
        ends.append(np.stack([name[cell.certain.u], name[cell.certain.v]], axis=1))
    ends = np.sort(np.concatenate(ends), axis=1)
    assert np.array_equal(ends[np.lexsort(ends.T[::-1])], forest.edges)
    assert np.array_equal(cost, forest.storage.costs())
    assert np.array_equal(np.flatnonzero(is_prototype), forest.prototypes)
    queries = queries.astype(X.dtype)
    for ours, theirs in zip(model.conquerors(queries), local.conquerors(queries), strict=True):
        assert np.array_equal(ours, theirs)
    assert np.array_equal(model.predict(queries), local.predict(queries))
    return local
