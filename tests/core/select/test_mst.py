"""Selection of the algorithm for spanning trees, all of which find the same tree."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import forest as oracle
from tests.support.strategies import learning_problems
from tests.support.trees import pairs

from opforest import OPFClassifier
from opforest.core.kdtree.dynamic import DynamicKDTree
from opforest.core.mst.kruskal import list_edges, merge_forests
from opforest.core.records import NoIndex
from opforest.core.select.mst import probe, span_best, span_between
from opforest.metrics import resolve


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
@settings(max_examples=60)
@given(
    problem=learning_problems(max_n=40),
    cuts=st.lists(st.integers(1, 45), max_size=5),
    scale=st.sampled_from([1, 1e-200]),
)
def test_all_pairs_of_blocks_hold_the_whole_tree(algorithm, problem, cuts, scale):
    """If squares underflow (1e-200), a k-d tree is useless."""
    X = np.vstack(problem[::2]).astype(np.float64) * scale
    metric = resolve("euclidean")
    blocks = [
        b for b in np.split(np.arange(len(X)), sorted(c for c in cuts if c < len(X))) if len(b)
    ]
    forests = []
    for i, a in enumerate(blocks):
        forests.append(list_edges(span_best(X[a], metric, probe(X[a], metric, algorithm), 1), a))
        for b in blocks[i + 1 :]:
            rows = X[np.append(a, b)]
            tree = span_between(rows, len(a), metric, probe(rows, metric, algorithm))
            forests.append(list_edges(tree, np.append(a, b)))
    with np.errstate(under="ignore"):
        assert pairs(merge_forests(forests)) == oracle.kruskal(
            oracle.table(X, oracle.squared_euclidean)
        )


def test_auto_probes():
    rng = np.random.default_rng(0)
    flat, cube = rng.random((3000, 2)), rng.random((3000, 30))
    clusters = rng.normal(size=(60, 30))[rng.integers(0, 60, 3000)] + 0.001 * cube
    kinds = {
        name: type(OPFClassifier().fit(X, X[:, 0] > 0.5).forest_.storage.fields.index)
        for name, X in (("flat", flat), ("cube", cube), ("clusters", clusters))
    }
    assert kinds == {"flat": DynamicKDTree, "cube": NoIndex, "clusters": DynamicKDTree}
    euclidean = resolve("euclidean")
    assert probe(flat, euclidean, "brute").visited_fraction == 1
    assert probe(flat[:100], euclidean, "auto").visited_fraction == 1
    assert probe(flat, resolve("canberra"), "auto").visited_fraction == 1
    assert probe(flat, euclidean, "auto").visited_fraction < 0.02


def test_errors():
    with pytest.raises(ValueError, match=r"one of \['auto', 'brute', 'kd_tree'\], got 'ball'"):
        OPFClassifier(algorithm="ball").fit([[0.0]], [0])
    with pytest.raises(ValueError, match="does not support metric 'canberra'"):
        OPFClassifier("canberra", algorithm="kd_tree").fit([[0.0]], [0])
