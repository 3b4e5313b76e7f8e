"""Comparison of models in parts with a fit in memory."""

import numpy as np

from opforest import OPFClassifier
from tests.support.parts import merge_parts


def assert_parts_equal(model, X, y, queries):
    """Compare edges, costs, prototypes and predictions; return the model of a fit in memory."""
    local = OPFClassifier(model.metric, metric_params=model.metric_params).fit(X, y)
    forest, fetch = local.forest_, model.executor_.fetch
    forests, costs = (fetch(lambda part: part, handles) for handles in model.parts_[:2])
    edges, cost, prototypes = merge_parts(model.parts_._replace(forests=forests, costs=costs))
    assert edges == sorted(map(tuple, forest.edges.tolist()))
    assert np.array_equal(cost, forest.storage.costs())
    assert prototypes == forest.prototypes.tolist()
    queries = queries.astype(X.dtype)
    for ours, theirs in zip(model.conquerors(queries), local.conquerors(queries), strict=True):
        assert np.array_equal(ours, theirs)
    assert np.array_equal(model.predict(queries), local.predict(queries))
    return local
