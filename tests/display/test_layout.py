"""Trees in the plane: true lengths, no intersections, the same picture every time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opforest.display import layout as _layout
from opforest.display.layout import make_layout


def random_forest(n, seed, n_trees=1):
    """Return the edges of random trees, and their lengths."""
    rng = np.random.default_rng(seed)
    edges = [(rng.integers(0, v), v) for v in range(1, n) if v >= n_trees]
    edges = rng.permutation(n)[np.array(edges, int).reshape(-1, 2)]
    return edges, rng.uniform(0.1, 1, len(edges))


def drawn_lengths(place, edges):
    return np.hypot(*(place[edges[:, 0]] - place[edges[:, 1]]).T)


def intersections(place, edges):
    """Count pairs of edges that cross and share no vertex."""

    def side(a, b, c):
        return np.sign((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))

    found = 0
    for i, (a, b) in enumerate(edges.tolist()):
        for c, d in edges[:i].tolist():
            if len({a, b, c, d}) == 4:
                p, q, r, s = place[[a, b, c, d]]
                found += side(p, q, r) * side(p, q, s) < 0 and side(r, s, p) * side(r, s, q) < 0
    return found


@given(st.integers(1, 60), st.integers(0, 2**32), st.integers(1, 5))
def test_edges_have_their_lengths_and_all_is_repeatable(n, seed, n_trees):
    edges, length = random_forest(n, seed, n_trees)
    place = make_layout(n, edges, length)
    assert place.shape == (n, 2)
    np.testing.assert_allclose(drawn_lengths(place, edges), length, rtol=1e-9)
    np.testing.assert_array_equal(place, make_layout(n, edges, length))


@given(st.integers(2, 30), st.integers(0, 2**32))
def test_edges_in_sectors_do_not_intersect(n, seed):
    edges, length = random_forest(n, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_layout, "ROUNDS", 0)
        assert intersections(make_layout(n, edges, length), edges) == 0


def test_turning_branches_apart_fills_the_plane_and_crosses_hardly_ever():
    crossed, fuller = 0, 0
    for seed in range(10):
        edges, length = random_forest(60, seed)
        opened = make_layout(60, edges, length)
        crossed += intersections(opened, edges)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_layout, "MAX_SPREAD", 0)
            closed = make_layout(60, edges, length)
        fuller += nearest(opened) > nearest(closed)
    assert crossed <= 10  # of 17,000 pairs
    assert fuller >= 8


def nearest(place):
    """Return the mean distance to the nearest other vertex."""
    gap = np.hypot(*(place[:, None] - place[None]).T)
    return (gap + np.diag(np.full(len(place), np.inf))).min(axis=0).mean()


def test_nothing_one_vertex_and_copies():
    none = np.empty((0, 2), int)
    assert make_layout(0, none, np.empty(0)).shape == (0, 2)
    np.testing.assert_array_equal(make_layout(1, none, np.empty(0)), [[0, 0]])
    path = np.array([[0, 1], [1, 2]])
    np.testing.assert_array_equal(make_layout(3, path, np.zeros(2)), np.zeros((3, 2)))


def test_long_paths_do_not_overflow_the_stack():
    path = np.column_stack((np.arange(4999), np.arange(1, 5000)))
    place = make_layout(5000, path, np.ones(4999))
    np.testing.assert_allclose(drawn_lengths(place, path), 1)
