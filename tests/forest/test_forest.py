"""The whole way from examples to predictions, against oracles, by equality."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import forest as oracle
from tests.support.measurement import PARAMS, REDUCED
from tests.support.strategies import learning_problems

from opforest import OPFClassifier
from opforest.core.metrics.distances import TILE
from opforest.metrics import resolve


def assert_equals_oracle(clf, D, y, DQ, Q):
    """Compare a fitted classifier with the oracle's forest on the (reduced) distances D."""
    forest = clf.forest_
    forest.check()
    tree = oracle.kruskal(D)
    roots = oracle.prototypes(tree, y)
    cost = oracle.costs(D, roots)
    predecessor, root = oracle.paths(D, tree, y, roots)
    assert [tuple(edge) for edge in forest.edges.tolist()] == tree
    assert forest.prototypes.tolist() == roots
    assert np.array_equal(forest.storage.arrays.cost, cost)
    assert forest.predecessor.tolist() == predecessor
    assert forest.root.tolist() == root

    index, offer = oracle.conquerors(cost, DQ)
    found, found_offer = clf.conquerors(Q)
    assert found.tolist() == index
    assert np.array_equal(found_offer, forest.to_units(offer))
    assert np.array_equal(clf.predict(Q), clf.classes_[y[index]])
    expected = oracle.class_costs(cost, y, DQ, len(clf.classes_))
    assert np.array_equal(clf.class_costs(Q), forest.to_units(expected))
    proba = clf.predict_proba(Q)
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)
    assert np.array_equal(clf.classes_[proba.argmax(axis=1)], clf.predict(Q))


@settings(max_examples=150)
@given(problem=learning_problems(), algorithm=st.sampled_from(["brute", "kd_tree"]))
def test_euclidean_forest_equals_oracle(problem, algorithm):
    X, y, Q = problem
    clf = OPFClassifier(algorithm=algorithm).fit(X, y)
    distance = oracle.squared_euclidean
    assert_equals_oracle(clf, oracle.table(X, distance), y, oracle.table(X, distance, Q), Q)
    assert np.array_equal(clf.forest_.cost, np.sqrt(clf.forest_.storage.arrays.cost))


@pytest.mark.parametrize("name", [name for name in REDUCED if name != "sqeuclidean"])
@settings(max_examples=40)
@given(problem=learning_problems(non_negative=True))
def test_forest_equals_oracle_for_each_kernel(name, problem):
    X, y, Q = problem
    clf = OPFClassifier(name, metric_params=PARAMS.get(name)).fit(X, y)
    distance = REDUCED[name]
    assert_equals_oracle(clf, oracle.table(X, distance), y, oracle.table(X, distance, Q), Q)


@pytest.mark.parametrize("name", ["cosine", "correlation", "squared_chord"])
@settings(max_examples=40)
@given(problem=learning_problems(non_negative=True))
def test_forest_equals_oracle_for_each_embedding(name, problem):
    X, y, Q = problem
    extra = np.arange(1, 3, dtype=X.dtype)  # no zero vectors, no constant ones
    scale = max(X.max(), Q.max(), 1)
    X = np.hstack((X / scale, np.tile(extra, (len(X), 1))))
    Q = np.hstack((Q / scale, np.tile(extra, (len(Q), 1))))
    metric = resolve(name)
    P, PQ = metric.embed(X), metric.embed(Q)
    clf = OPFClassifier(name).fit(X, y)
    distance = oracle.squared_euclidean
    assert_equals_oracle(clf, oracle.table(P, distance), y, oracle.table(P, distance, PQ), Q)


@settings(max_examples=60)
@given(problem=learning_problems())
def test_precomputed_forest_equals_oracle(problem):
    X, y, Q = problem
    D, DQ = oracle.table(X, oracle.manhattan), oracle.table(X, oracle.manhattan, Q)
    clf = OPFClassifier("precomputed").fit(D, y)
    assert_equals_oracle(clf, D, y, DQ, DQ)


@settings(max_examples=60)
@given(problem=learning_problems())
def test_only_the_order_of_distances_matters(problem):
    X, y, Q = problem
    plain = OPFClassifier().fit(X, y)
    for name in ("sqeuclidean", "log_squared_euclidean", "gaussian"):
        other = OPFClassifier(name).fit(X, y)
        assert np.array_equal(other.forest_.edges, plain.forest_.edges)
        assert np.array_equal(other.forest_.root, plain.forest_.root)
        assert np.array_equal(other.conquerors(Q)[0], plain.conquerors(Q)[0])


@pytest.mark.parametrize("seed", range(20))
def test_training_error_is_zero_where_distances_differ(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 3, 40)
    clf = OPFClassifier().fit(X, y)
    assert clf.score(X, y) == 1
    assert np.array_equal(clf.conquerors(X)[1], clf.forest_.cost)


@pytest.mark.parametrize(
    ("d", "dtype"),
    [(1, np.float64), (2, np.float64), (17, np.float64), (40, np.float64), (2, np.float32)],
)
def test_many_tiles_equal_oracle(d, dtype):
    """Several tiles, the last one partly filled, with ties across tiles."""
    rng = np.random.default_rng(d)
    n = 2 * TILE + 37
    X = rng.integers(0, 6 if d < 17 else 2, (n, d)).astype(dtype)
    y = rng.integers(0, 3, n)
    Q = rng.integers(0, 6 if d < 17 else 2, (50, d)).astype(dtype)
    D = ((X[:, None] - X) ** 2).sum(axis=2)  # sums of small integers: exact in any order
    DQ = ((Q[:, None] - X) ** 2).sum(axis=2)
    clf = OPFClassifier().fit(X, y)
    tree = oracle.kruskal(D)
    assert [tuple(edge) for edge in clf.forest_.edges.tolist()] == tree
    roots = oracle.prototypes(tree, y)
    cost = oracle.costs(D, roots)
    assert np.array_equal(clf.forest_.storage.arrays.cost, cost)
    assert clf.conquerors(Q)[0].tolist() == oracle.conquerors(cost, DQ)[0]
    clf.forest_.check()


def test_hand_made_forest():
    """Two classes on a line; the gap between them makes the prototypes."""
    clf = OPFClassifier().fit([[0.0], [1.0], [3.0], [6.0], [10.0], [12.0]], [0, 0, 0, 1, 1, 1])
    forest = clf.forest_
    assert forest.edges.tolist() == [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]]
    assert forest.prototypes.tolist() == [2, 3]
    assert forest.cost.tolist() == [2, 2, 0, 0, 4, 4]
    assert forest.predecessor.tolist() == [1, 2, -1, -1, 3, 4]
    assert forest.root.tolist() == [2, 2, 2, 3, 3, 3]
    assert forest.ids.tolist() == [0, 1, 2, 3, 4, 5]
    assert len(forest) == 6
    assert repr(forest) == "<Forest of 6 examples, 2 of them prototypes>"
    for array in (forest.cost, forest.root, forest.predecessor, forest.edges, forest.ids):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
