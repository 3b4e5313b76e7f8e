"""The bound of largest edges, against true minimax distances, after every step."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import forest as oracle
from tests.support.strategies import learning_problems
from tests.support.tuning import tuned

from opforest import OPFClassifier
from opforest.core.dynamic.bottleneck_bound import Bound, find_bound_error, make_bound
from opforest.core.metrics.types import SquaredEuclidean
from opforest.core.mst.prim import span


def bounds_of(bound):
    landmark, height, table = bound
    return np.maximum(
        np.maximum(height[:, None], height[None]), table[landmark[:, None], landmark[None]]
    )


def bound_of(forest):
    """The bound of a forest's examples, in their order."""
    examples = forest.storage
    vertex = examples.vertices_of(examples.ids)
    landmark, height, table = examples.fields.bound
    return Bound(landmark[vertex], height[vertex], table)


def assert_bounded(forest):
    X = np.asarray(forest.points)
    minimax = oracle.minimax(oracle.table(X, oracle.squared_euclidean))
    apart = ~np.eye(len(X), dtype=bool)
    assert (minimax <= bounds_of(bound_of(forest)))[apart].all()


@settings(max_examples=60)
@given(problem=learning_problems(max_n=40, max_d=12))
def test_a_new_bound(problem):
    X = problem[0]
    tree = span(X, SquaredEuclidean())
    bound = make_bound(tree.parent, tree.weight)
    minimax = oracle.minimax(oracle.table(X, oracle.squared_euclidean))
    apart = ~np.eye(len(X), dtype=bool)
    assert (minimax <= bounds_of(bound))[apart].all()
    assert not find_bound_error(bound, tree.parent, tree.weight)


@settings(max_examples=60)
@given(problem=learning_problems(max_n=30, max_d=3), data=st.data())
def test_errors_are_found(problem, data):
    """Whatever is changed, ``find_bound_error`` agrees with a check of all pairs."""
    X = problem[0]
    tree = span(X, SquaredEuclidean())
    landmark, height, table = make_bound(tree.parent, tree.weight)
    m = len(table)
    landmark = data.draw(st.permutations(landmark.tolist()))
    scale = data.draw(st.sampled_from([0.0, 0.5, 1.0, 2.0]))
    bound = Bound(np.array(landmark), height * X.dtype.type(scale), table)
    minimax = oracle.minimax(oracle.table(X, oracle.squared_euclidean))
    apart = ~np.eye(len(X), dtype=bool)
    is_right = (minimax <= bounds_of(bound))[apart].all()
    assert bool(find_bound_error(bound, tree.parent, tree.weight)) != is_right
    assert m <= max(1, len(X) // 8)


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
@settings(max_examples=25)
@given(
    problem=learning_problems(max_n=40, max_d=12),
    n=st.integers(1, 12),
    gone=st.lists(st.integers(0, 39), max_size=12),
    jitter=st.sampled_from([0.0, 2.0**-40]),
)
def test_it_lasts_through_learning_and_forgetting(algorithm, problem, n, gone, jitter):
    X, y, _ = problem
    X = X + (np.arange(len(X))[:, None] % 3 * jitter).astype(X.dtype)  # near-duplicates
    n = min(n, len(X))
    with tuned(refit_fraction=np.inf, refit_fraction_to_forget=np.inf):
        clf = OPFClassifier(algorithm=algorithm).fit(X[:n], y[:n])
        for i in range(n, len(X)):
            clf.partial_fit(X[i : i + 1], y[i : i + 1])
            assert_bounded(clf.forest_)
        for i in gone:
            if i in clf.forest_.ids and len(clf.forest_) > 1:
                clf.forget(i)
                assert_bounded(clf.forest_)
                clf.forest_.check()


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
@pytest.mark.parametrize("values", [1, 3, 10])
def test_the_oldest_of_many_duplicates_is_forgotten(algorithm, values):
    """It is the center of a star; the others join the next one."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, values, (400, 2)).astype(float)
    y = rng.integers(0, 3, 400)
    clf = OPFClassifier(algorithm=algorithm).fit(X, y)
    for _ in range(30):
        _, first = np.unique(clf.forest_.points, axis=0, return_index=True)
        clf.forget(clf.forest_.ids[rng.choice(first)])
        clf.forest_.check()
        ids = clf.forest_.ids
        fresh = OPFClassifier(algorithm=algorithm).fit(X[ids], y[ids])
        for name in ("edges", "cost", "root", "predecessor"):
            assert np.array_equal(getattr(clf.forest_, name), getattr(fresh.forest_, name))
