import numpy as np
import pytest
from tests.support.data_files import PUBLISHED_DATA

from opforest.datasets import (
    make_base,
    make_circle_vs_gaussian,
    make_cone_torus,
    make_lithuanian,
    make_saturn,
)

GENERATORS = [make_base, make_circle_vs_gaussian, make_cone_torus, make_lithuanian, make_saturn]


@pytest.mark.parametrize("make", GENERATORS)
@pytest.mark.parametrize("n", [0, 1, 7, 200, 1001])
def test_any_size_and_always_the_same_for_the_same_seed(make, n):
    X, y = make(n, random_state=3)
    assert X.shape == (n, 2)
    assert y.shape == (n,)
    assert np.isfinite(X).all()
    again = make(n, random_state=3)
    assert np.array_equal(X, again[0])
    assert np.array_equal(y, again[1])
    if n > 7:
        assert not np.array_equal(X, make(n, random_state=4)[0])
        assert not (np.diff(y) >= 0).all()  # in random order


@pytest.mark.parametrize(
    ("make", "counts"),
    [
        (make_circle_vs_gaussian, [500, 100]),
        (make_lithuanian, [250] * 4),
        (make_cone_torus, [92, 99, 209]),
        (make_saturn, [100, 100]),
    ],
)
def test_sizes_and_classes_are_those_of_the_published_sets(make, counts):
    _, y = make(random_state=0)
    assert np.bincount(y)[1:].tolist() == counts


@pytest.mark.parametrize(
    ("kind", "strips"), [(1, [1, 2, 1, 2]), (2, [1, 2, 3, 4]), (3, [1, 2, 1, 3])]
)
def test_base_has_four_vertical_strips(kind, strips):
    X, y = make_base(kind=kind, random_state=0)
    strip = (4 * X[:, 0]).astype(int)
    assert np.array_equal(y, np.array(strips)[strip])
    assert (np.bincount(strip) == 2500).all()
    assert X.min() >= 0
    assert X.max() <= 1
    assert np.histogram(X[:, 1], 10)[0].min() > 850  # uniform


def test_the_circle_is_a_circle_around_the_cloud():
    X, y = make_circle_vs_gaussian(random_state=0)
    radius = np.hypot(*X.T)
    np.testing.assert_allclose(radius[y == 1], 1)
    angle = np.sort(np.arctan2(*X[y == 1].T))
    np.testing.assert_allclose(np.diff(angle), 2 * np.pi / 500)
    assert 0.25 < X[y == 2].std() < 0.42


def test_saturn_is_a_ring_across_a_planet():
    X, y = make_saturn(2000, random_state=0)
    ring, planet = X[y == 1], X[y == 2]
    assert abs(np.hypot(ring[:, 0] / 5, ring[:, 1] / 2) - 1).max() < 0.2
    assert abs(np.hypot(*planet.T) / 3 - 1).max() < 0.15


def test_cone_torus_lies_as_published():
    X, y = make_cone_torus(4000, random_state=0)
    mean = [X[y == k].mean(axis=0) for k in (1, 2, 3)]
    np.testing.assert_allclose(mean, [(0.375, 0.21), (0.45, 0.39), (0.64, 0.535)], atol=0.03)
    assert (abs(np.hypot(*(X[y == 2] - (0.45, 0.19)).T) - 0.325) < 0.036).all()
    assert (X[y == 2][:, 1] >= 0.18).all()  # the upper half


def test_lithuanian_sickles_look_at_each_other():
    X, y = make_lithuanian(4000, random_state=0)
    mean = np.array([X[y == k].mean(axis=0) for k in (1, 2, 3, 4)])
    assert mean[2, 0] < mean[3, 0] < mean[1, 0] < mean[0, 0]  # outer, inner, inner, outer


def test_moments_are_like_those_of_the_published_sets():
    from opforest.datasets import load_published

    for name, make in {
        "Lithu": make_lithuanian,
        "Cone-Torus": make_cone_torus,
        "Saturn": make_saturn,
    }.items():
        X, y = load_published(name, data_home=PUBLISHED_DATA, return_X_y=True)
        ours, label = make(10_000, random_state=0)
        scale = X.std(axis=0)
        for k in np.unique(y):
            for moment in (np.mean, np.std):
                gap = moment(X[y == k], axis=0) - moment(ours[label == k], axis=0)
                assert (abs(gap) < 0.3 * scale).all(), (name, k, moment)


def test_arguments_are_checked():
    with pytest.raises(ValueError, match=r"kind must be one of \[1, 2, 3\], got 4"):
        make_base(kind=4)
    for bad in (-1, 2.5):
        with pytest.raises(ValueError, match="n_samples must be an integer >= 0"):
            make_saturn(bad)
