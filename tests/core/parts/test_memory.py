"""Minimum spanning trees by cells of space, edge for edge those of the other algorithms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import forest as oracle
from tests.support.comparison import assert_same_model
from tests.support.parts import draw_points
from tests.support.strategies import learning_problems
from tests.support.trees import ends
from tests.support.tuning import tune, tuned

from opforest import OPFClassifier
from opforest._utils.progress import report_to
from opforest.core.kdtree.static import build_kdtree
from opforest.core.mst.prim import span
from opforest.core.parts.memory import span_by_cells
from opforest.metrics import resolve

#: Metrics with bounds on distances to boxes, and a precision for each.
METRICS = {
    "euclidean": (oracle.squared_euclidean, np.float64),
    "manhattan": (oracle.manhattan, np.float32),
    "chebyshev": (oracle.chebyshev, np.float64),
    "minkowski": (oracle.minkowski_3, np.float32),
}


def by_cells(X, metric, size, n_jobs=1):
    return span_by_cells(X, build_kdtree(X, np.arange(len(X)), n_jobs), metric, n_jobs, size)


def assert_same_tree(X, metric, size, n_jobs=1):
    """Compare edges and weights with those of Prim's algorithm."""
    found, wanted = by_cells(X, metric, size, n_jobs), span(X, metric)
    assert ends(found) == ends(wanted)
    assert np.array_equal(np.sort(found.weight), np.sort(wanted.weight))
    assert sorted(found.order) == list(range(len(X)))
    assert found.order[0] == 0
    place = np.argsort(found.order)
    assert (place[found.parent[1:]] < place[1:]).all()


@pytest.mark.parametrize("metric", METRICS)
@settings(max_examples=60)
@given(data=st.data(), size=st.integers(1, 40), n_jobs=st.sampled_from([1, 2]))
def test_edges_are_those_of_kruskal(metric, data, size, n_jobs):
    distance, dtype = METRICS[metric]
    X, _, Q = data.draw(learning_problems(max_n=40, max_d=8, dtypes=(dtype,)))
    X = np.vstack((X, Q))
    kernel = resolve(metric, {"p": 3} if metric == "minkowski" else None).kernel
    with tuned(few_for_threads=1), np.errstate(under="ignore"):
        tree = by_cells(X, kernel, size, n_jobs)
        table = oracle.table(X, distance)
        if tree is None:  # distinct points at distance 0
            same = (X[:, None] == X[None]).all(axis=2)
            assert ((table == 0) & ~same).any()
        else:
            assert ends(tree) == oracle.kruskal(table)
            child = np.flatnonzero(tree.parent >= 0)
            assert np.array_equal(tree.weight[child], table[child, tree.parent[child]])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("d", range(1, 9))
@pytest.mark.parametrize(
    "kind", ["lattice", "duplicates", "far", "far lattices", "line", "heavy", "uniform"]
)
def test_all_kinds_of_points(kind, d, dtype):
    """Cells of a leaf, of some leaves, and one cell; ties lie across the borders of cells."""
    X = draw_points(kind, 700, d, seed=d).astype(dtype)
    tune(few_for_threads=1)
    for size, n_jobs in ((1, 2), (30, 1), (200, 2), (1000, 1)):
        assert_same_tree(X, resolve("euclidean").kernel, size, n_jobs)


@pytest.mark.parametrize("n", [1, 2, 3, 30])
def test_equal_points(n):
    tree = by_cells(np.full((n, 2), 0.5), resolve("euclidean").kernel, 1)
    assert ends(tree) == [(0, i) for i in range(1, n)]
    assert tree.weight.max() == 0


def test_zeros_of_both_signs_are_equal():
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [2.0, 0.0], [2.0, -0.0]])
    assert ends(by_cells(X, resolve("euclidean").kernel, 1, 2)) == [(0, 1), (0, 2), (2, 3)]


def test_distances_that_underflow():
    X = np.array([[0.0], [1e-200], [1e-200], [0.0], [5.0]] * 20)
    assert by_cells(X, resolve("euclidean").kernel, 10) is None


@pytest.mark.parametrize("n_jobs", [1, 2])
@settings(max_examples=40)
@given(problem=learning_problems(max_n=60, max_d=3), size=st.integers(1, 40))
def test_models_are_those_of_all_other_algorithms(n_jobs, problem, size):
    X, y, Q = problem
    brute = OPFClassifier(algorithm="brute").fit(X, y)
    with tuned(many_for_cells=1, points_per_cell=size, few_for_threads=1):
        cells = OPFClassifier(algorithm="kd_tree", n_jobs=n_jobs).fit(X, y)
    cells.forest_.check()
    assert_same_model(cells, brute, Q)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_auto_chooses_cells_for_few_features_and_many_points(n_jobs, monkeypatch):
    asked = []

    def spy(rows, *rest):
        asked.append(rows.shape[1])
        return span_by_cells(rows, *rest)

    monkeypatch.setattr("opforest.core.select.mst.span_by_cells", spy)
    rng = np.random.default_rng(0)
    for n, d in ((9000, 2), (9000, 5), (8100, 2)):
        X = rng.random((n, d)) * 10.0 ** -np.arange(d)  # hardly more than two dimensions
        tune(many_for_cells=8500, points_per_cell=1000)
        OPFClassifier(n_jobs=n_jobs).fit(X, X[:, 0] > 0.5)
    assert asked == ([2] if n_jobs == 1 else [2, 5])


def test_progress_rises_to_the_end_of_the_cells():
    class Listener:
        phases, fractions = (), ()

        def begin(self, name, size=None):
            self.phases += (name,)

        def advance(self, fraction):
            self.fractions += (fraction,)

    X = np.random.default_rng(0).random((2000, 2))
    tune(many_for_cells=1, points_per_cell=100)
    with report_to(listener := Listener()):
        OPFClassifier(algorithm="kd_tree").fit(X, X[:, 0] > 0.5)
    assert list(listener.fractions) == sorted(listener.fractions)
    assert 0 < listener.fractions[0] < 0.2
    assert listener.fractions[-1] <= 1
