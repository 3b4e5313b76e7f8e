"""Spanning trees by the sieve and by Prim's algorithm are identical."""

import warnings
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import forest as oracle
from tests.support.comparison import assert_same_model
from tests.support.strategies import learning_problems
from tests.support.trees import ends
from tests.support.tuning import tune, tuned

from opforest import OPFClassifier
from opforest._utils.progress import report_to
from opforest.core.kdtree.static import build_kdtree
from opforest.core.metrics.types import SquaredEuclidean
from opforest.core.mst import sieve
from opforest.core.mst.prim import span
from opforest.core.mst.sieve import span_by_sieve
from opforest.core.select import mst as selection

SQUARED = SquaredEuclidean()

#: Many blocks, and parts of blocks, of few points; estimates are never too rough.
SMALL = {
    "sieve_block": 16,
    "sieve_columns": 6,
    "sieve_sample": 5,
    "sieve_neighbors": 4,
    "sieve_rough": np.inf,
}


def sift(X, n_jobs=1, **sizes):
    """Return the tree by the sieve; the k-d tree is known if there are threads."""
    kdtree = build_kdtree(X, np.arange(len(X))) if n_jobs > 1 else None
    with tuned(**sizes), warnings.catch_warnings():
        warnings.simplefilter("error")
        return span_by_sieve(X, kdtree, SQUARED, n_jobs)


def assert_same_as_prim(tree, X):
    dense = span(X, SQUARED)
    assert np.array_equal(tree.weight, dense.weight)
    assert np.array_equal(tree.parent, dense.parent)
    position = np.argsort(tree.order)
    assert all(position[p] < position[v] for v, p in enumerate(tree.parent) if p >= 0)


def has_merged_points(X):
    """Return whether distinct points are at distance 0."""
    tree = span(X, SQUARED)
    child = np.flatnonzero(tree.parent >= 0)
    is_zero = tree.weight[child] == 0
    return (is_zero & (X[child] != X[tree.parent[child]]).any(axis=1)).any()


@settings(max_examples=60)
@given(
    problem=learning_problems(max_n=40, max_d=6, queries=1),
    block=st.integers(1, 20),
    columns=st.integers(1, 20),
    n_jobs=st.sampled_from([1, 2]),
)
def test_the_tree_is_that_of_the_oracle(problem, block, columns, n_jobs):
    X = problem[0]
    tree = sift(X, n_jobs, **SMALL | {"sieve_block": block, "sieve_columns": columns})
    if tree is None:
        assert has_merged_points(X)
    else:
        assert ends(tree) == oracle.kruskal(oracle.table(X, oracle.squared_euclidean))


@settings(max_examples=80)
@given(
    problem=learning_problems(max_n=60, max_d=70, queries=1),
    offset=st.sampled_from([0, 0, 1e3, 1e6, 1e9]),
    scale=st.sampled_from([1, 1, 1e-19, 1e-23, 1e-40, 1e-160, 1e-310, 1e8, 1e140]),
    n_jobs=st.sampled_from([1, 2]),
)
def test_tiny_and_huge_values(problem, offset, scale, n_jobs):
    X = problem[0]
    if X.dtype == np.float64:
        X = X * scale + offset
    tree = sift(X, n_jobs, **SMALL)
    if tree is None:
        assert has_merged_points(X)
    else:
        assert_same_as_prim(tree, X)


def make_points(kind, d, rng):
    n = 700
    X = rng.normal(size=(n, d))
    cluster = rng.integers(0, 9, n)
    return {
        "one cloud": X,
        "clusters": 20 * X[cluster] + 0.5 * X,
        "two far clusters": X + 1e7 * (cluster > 4)[:, None],
        "copies": np.round(X[rng.integers(0, 200, n)]),
        "lattice": rng.integers(0, 3, (n, d)).astype(float),
        "one point": np.ones((n, d)),
        "heavy tails": rng.standard_cauchy((n, d)),
        "scales": X * np.exp(3 * rng.normal(size=(n, 1))),
        "offset": X + 1e8,
    }[kind]


KINDS = ("one cloud", "clusters", "two far clusters", "copies", "lattice", "one point",
         "heavy tails", "scales", "offset")  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [1, 3, 10, 64, 200])
def test_more_points(dtype, kind, d):
    X = make_points(kind, d, np.random.default_rng(d)).astype(dtype)
    small = SMALL | {"sieve_block": 100, "sieve_columns": 64, "sieve_sample": 30}
    for n_jobs in (1, 2):
        assert_same_as_prim(sift(X, n_jobs, **small), X)


def test_rounds_end_when_many_edges_are_found():
    X = np.random.default_rng(0).normal(size=(500, 8))
    with patch.object(sieve, "merge_forests", wraps=sieve.merge_forests) as merge:
        assert_same_as_prim(sift(X, **SMALL), X)
        few = merge.call_count
        assert_same_as_prim(sift(X, **SMALL, sieve_found=0), X)
    assert merge.call_count - few > 2 * few


def test_rough_estimates_leave_the_tree_to_prim():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 10)) + 1e9 * rng.integers(0, 2, 2000)[:, None]
    for n_jobs in (1, 2):
        assert sift(X, n_jobs, sieve_patience=1) is None


def test_without_room_for_edges_the_tree_is_left_to_prim():
    X = np.random.default_rng(0).normal(size=(500, 8))
    assert sift(X, **SMALL, sieve_room=10) is None


def test_distances_that_underflow_leave_the_tree_to_prim():
    X = np.array([[0.0], [1e-200], [1e-200], [0.0], [5.0]])
    assert sift(X, **SMALL) is None


@pytest.mark.parametrize("metric", ["euclidean", "log_squared_euclidean", "cosine", "canberra"])
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("algorithm", ["auto", "brute"])
def test_models_are_those_of_prim(metric, n_jobs, algorithm):
    rng = np.random.default_rng(0)
    X, y = rng.integers(1, 9, (400, 12)).astype(float), rng.integers(0, 3, 400)
    dense = OPFClassifier(metric, algorithm="brute").fit(X, y)
    tune(few_to_span=100, sieve_bytes=0, sieve_block=64, sieve_columns=50)
    is_sifted = metric != "canberra"
    avoided = "span" if is_sifted else "span_by_sieve"
    with patch.object(selection, avoided, side_effect=AssertionError):
        sifted = OPFClassifier(metric, algorithm=algorithm, n_jobs=n_jobs).fit(X, y)
    assert_same_model(sifted, dense, X[:50] + 0.1)


def test_a_model_is_learned_where_estimates_are_too_rough():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 10)) + 1e9 * rng.integers(0, 2, 500)[:, None]
    y = rng.integers(0, 3, 500)
    dense = OPFClassifier(algorithm="brute").fit(X, y)
    tune(few_to_span=100, sieve_bytes=0, sieve_patience=1)
    assert_same_model(OPFClassifier(algorithm="brute").fit(X, y), dense, X[:50] + 0.1)


class Listener:
    """Records the progress."""

    def __init__(self):
        self.fractions = []

    def begin(self, name, size=None):
        """Ignore phases."""

    def advance(self, fraction):
        self.fractions.append(fraction)


def test_progress_rises_to_the_end():
    listener = Listener()
    X = np.random.default_rng(0).normal(size=(100, 8))
    with report_to(listener):
        sift(X, **SMALL)
    assert listener.fractions == sorted(listener.fractions)
    assert len(listener.fractions) > 10
    assert listener.fractions[-1] == 1


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_leaves_the_model_as_it_was(n_jobs):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 12)), rng.integers(0, 3, 400)
    model = OPFClassifier(n_jobs=n_jobs).fit(X[:90], y[:90])
    tune(few_to_span=100, sieve_bytes=0, sieve_block=64)
    interrupted = patch.object(sieve, "_measure_promising", side_effect=KeyboardInterrupt)
    with interrupted, pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert_same_model(model, OPFClassifier().fit(X[:90], y[:90]), X[90:120])
