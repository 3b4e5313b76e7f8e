"""Forests in parts: edges, costs, prototypes and conquerors are those of one forest."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import forest as oracle
from tests.support.comparison import assert_same_model
from tests.support.parts import InlineExecutor, divide_examples, draw_points, merge_parts
from tests.support.strategies import learning_problems

from opforest import OPFClassifier
from opforest.core.parts import fragments, rounds
from opforest.core.parts.cell import UnderflowError, grow_cell
from opforest.core.parts.clusters import outline_cell
from opforest.core.parts.planes import Planes, divide_space, find_cells
from opforest.estimators.parts import PartsClassifier
from opforest.forest.parts import find_conquerors, train_parts
from opforest.metrics import resolve

#: Metrics with bounds on distances to boxes, and a precision for each.
METRICS = {
    "euclidean": (oracle.squared_euclidean, np.float64),
    "manhattan": (oracle.manhattan, np.float32),
    "chebyshev": (oracle.chebyshev, np.float64),
    "minkowski": (oracle.minkowski_3, np.float32),
}


def metric_of(name):
    return resolve(name, {"p": 3} if name == "minkowski" else None)


@st.composite
def planes_through(draw, X):
    """Return planes through points, so that points lie on borders and cells may be empty."""
    n_planes = 2 ** draw(st.integers(0, 4)) - 1
    axis = draw(st.lists(st.integers(0, X.shape[1] - 1), min_size=n_planes, max_size=n_planes))
    row = draw(st.lists(st.integers(0, len(X) - 1), min_size=n_planes, max_size=n_planes))
    axis = np.array(axis, np.int64)
    return Planes(axis, X[row, axis].astype(X.dtype))


@pytest.fixture(params=["few", "many"])
def limits(request, monkeypatch):
    """Cells with one box and no scouts, or with many boxes and one scout for each cluster."""
    coarse, scouts, many = {"few": (1, 16, 512), "many": (32, 1, 1)}[request.param]
    monkeypatch.setattr(fragments, "N_COARSE", coarse)
    monkeypatch.setattr(rounds, "SCOUTS", scouts)
    monkeypatch.setattr(rounds, "MANY", many)


@pytest.mark.usefixtures("limits")
@pytest.mark.parametrize("metric", METRICS)
@given(data=st.data())
@settings(max_examples=40)
def test_parts_are_those_of_the_oracle(metric, data):
    distance, dtype = METRICS[metric]
    X, y, Q = data.draw(learning_problems(max_n=40, max_d=8, dtypes=(dtype,)))
    cells, boxes = divide_examples(X, y, data.draw(planes_through(X)))
    with np.errstate(under="ignore"):
        table = oracle.table(X, distance)
        try:
            parts = train_parts(InlineExecutor(), cells, boxes, metric_of(metric))
        except UnderflowError:
            same = (X[:, None] == X[None]).all(axis=2)
            assert ((table == 0) & ~same).any()
            return
        edges, cost, prototypes = merge_parts(parts)
        tree = oracle.kruskal(table)
        assert edges == tree
        assert prototypes == oracle.prototypes(tree, y)
        assert np.array_equal(cost, oracle.costs(table, prototypes))
        offers = find_conquerors(InlineExecutor(), parts, Q, metric_of(metric))
        winner, offer = oracle.conquerors(cost, oracle.table(X, distance, Q))
        assert offers.id.tolist() == winner
        assert np.array_equal(offers.offer, offer)
        assert offers.label.tolist() == y[winner].tolist()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("d", range(1, 9))
@pytest.mark.parametrize("kind", ["lattice", "duplicates", "far", "line", "equal", "uniform"])
def test_a_classifier_in_parts_is_one_forest(kind, d, dtype):
    X = draw_points(kind, 600, d, seed=d).astype(dtype)
    y = np.random.default_rng(0).integers(0, 3, len(X)) if d % 2 else X[:, 0] > 1
    y = np.unique(y, return_inverse=True)[1]
    Q = np.vstack((X[::7], X[::7] + dtype(0.25)))
    local, metric = OPFClassifier().fit(X, y), resolve("euclidean")
    for n_cells in (1, 8):
        cells, boxes = divide_examples(X, y, divide_space(X[::3], n_cells))
        executor = InlineExecutor()
        parts = train_parts(executor, cells, boxes, metric)
        model = PartsClassifier().set_parts(executor, parts, local.classes_, len(X), d)
        for found, wanted in zip(model.conquerors(Q), local.conquerors(Q), strict=True):
            assert np.array_equal(found, wanted)
        assert np.array_equal(model.predict(Q), local.predict(Q))
        assert_same_model(model.to_local(), local, Q)


def test_distances_that_underflow():
    planes = Planes(np.zeros(1, np.int64), np.array([1e-200]))
    for X in ([[0.0], [1e-200]], [[0.0], [5e-201], [1.0]]):  # in two cells, in one
        cells, boxes = divide_examples(np.array(X), np.zeros(len(X)), planes)
        with pytest.raises(UnderflowError):
            train_parts(InlineExecutor(), cells, boxes, resolve("euclidean"))


def test_zeros_of_both_signs_are_equal():
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [2.0, 0.0], [2.0, -0.0]])
    cells, boxes = divide_examples(X, [0, 0, 1, 0], divide_space(X, 2))
    parts = train_parts(InlineExecutor(), cells, boxes, resolve("euclidean"))
    assert merge_parts(parts)[0] == [(0, 1), (0, 2), (2, 3)]


@given(data=st.data())
@settings(max_examples=40)
def test_planes_divide_all_points(data):
    X, _, Q = data.draw(learning_problems(max_n=40, max_d=3))
    n_cells = 2 ** data.draw(st.integers(0, 4))
    planes = divide_space(X, n_cells)
    found = find_cells(Q, planes)
    for x, number in zip(Q, found.tolist(), strict=True):
        lower, upper, i = 0, n_cells, 0
        while upper - lower > 1:
            middle = (lower + upper) // 2
            is_below = x[planes.axis[i]] < planes.threshold[i]
            lower, upper = (lower, middle) if is_below else (middle, upper)
            i = 2 * i + (1 if is_below else 2)
        assert number == lower


def test_what_is_known_of_a_cell_does_not_keep_its_file_in_memory():
    X = draw_points("uniform", 400, 3, 0)
    cells, boxes = divide_examples(X, np.zeros(400), divide_space(X, 4))
    forest = grow_cell(cells[0], boxes, 0, resolve("euclidean").kernel)
    outline = outline_cell(forest)
    known = [*outline[1:4], *outline.links]
    assert len(outline.links.weight) > 0
    for array in (*forest.tree, *forest.uncertain, forest.fragment):
        assert not any(np.shares_memory(array, one) for one in known)
