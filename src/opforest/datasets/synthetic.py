"""Generators of data shaped like the paper's synthetic data sets, in any size."""

from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

Array = npt.NDArray[Any]
Seed = int | np.random.RandomState | None

#: The class of each of the four strips, by kind.
STRIPS = {1: (1, 2, 1, 2), 2: (1, 2, 3, 4), 3: (1, 2, 1, 3)}

#: The arcs of the Lithuanian classes: center, radius, middle and half width as angles.
ARCS = (
    ((0.2, -0.3), 10.2, 0.0, 1.15),
    ((-1.2, 0.2), 7.4, 0.0, 1.1),
    ((4.5, 5.1), 9.8, np.pi, 1.15),
    ((6.5, 4.9), 7.4, np.pi, 1.1),
)


def make_base(
    n_samples: int = 10_000, *, kind: int = 1, random_state: Seed = None
) -> tuple[Array, Array]:
    """Make Base1, Base2 or Base3: uniform points in four vertical strips of the unit square.

    Parameters
    ----------
    n_samples : int, default=10_000
        Number of points, distributed evenly over the strips.
    kind : {1, 2, 3}, default=1
        The classes of the strips: 1, 2, 1, 2; 1, 2, 3, 4; or 1, 2, 1, 3.
    random_state : int, RandomState or None, default=None
        Random seed.

    Returns
    -------
    X : array of shape (n_samples, 2)
        The points.
    y : array of shape (n_samples,)
        Their classes, from 1.

    Examples
    --------
    >>> from opforest.datasets import make_base
    >>> X, y = make_base(1000, kind=3, random_state=0)
    >>> [(y == k).sum().item() for k in (1, 2, 3)]
    [500, 250, 250]
    """
    if kind not in STRIPS:
        raise ValueError(f"kind must be one of {sorted(STRIPS)}, got {kind!r}.")
    rng = check_random_state(random_state)
    strip = _classes(n_samples, (1, 1, 1, 1)) - 1
    X = rng.uniform(size=(n_samples, 2))
    X[:, 0] = (strip + X[:, 0]) / 4
    return _shuffle(X, np.array(STRIPS[kind])[strip], rng)


def make_lithuanian(n_samples: int = 1000, *, random_state: Seed = None) -> tuple[Array, Array]:
    """Make four Lithuanian classes: two pairs of nested sickles, with noise.

    The classes have equal sizes. Parameters and results are those of ``make_base``.

    Examples
    --------
    >>> from opforest.datasets import make_lithuanian
    >>> X, y = make_lithuanian(random_state=0)
    >>> [(y == k).sum().item() for k in (1, 2, 3, 4)]
    [250, 250, 250, 250]
    """
    rng = check_random_state(random_state)
    y = _classes(n_samples, (1, 1, 1, 1))
    center, radius, middle, width = (np.array(column)[y - 1] for column in zip(*ARCS, strict=True))
    angle = middle + width * rng.uniform(-1, 1, n_samples)
    X = center + radius[:, None] * _direction(angle) + rng.normal(0, 1.9, (n_samples, 2))
    return _shuffle(X, y, rng)


def make_circle_vs_gaussian(
    n_samples: int = 600, *, random_state: Seed = None
) -> tuple[Array, Array]:
    """Make a Gaussian cloud and the unit circle around it, evenly spaced.

    Five sixths of the points are on the circle (class 1), one sixth in the cloud (class 2).
    Parameters and results are those of ``make_base``.

    Examples
    --------
    >>> from opforest.datasets import make_circle_vs_gaussian
    >>> X, y = make_circle_vs_gaussian(random_state=0)
    >>> [(y == k).sum().item() for k in (1, 2)]
    [500, 100]
    """
    rng = check_random_state(random_state)
    y = _classes(n_samples, (5, 1))
    on_circle = int((y == 1).sum())
    circle = _direction(2 * np.pi * np.arange(on_circle) / max(1, on_circle))
    cloud = rng.normal(0, 1 / 3, (n_samples - on_circle, 2))
    return _shuffle(np.vstack((circle, cloud)), y, rng)


def make_cone_torus(n_samples: int = 400, *, random_state: Seed = None) -> tuple[Array, Array]:
    """Make Cone-Torus: a cone under half a torus, and a wide normal cloud beside them.

    Of 400 points, 92 are in the cone (class 1), 99 in the torus (class 2) and 209 in the cloud
    (class 3). Parameters and results are those of ``make_base``.

    Examples
    --------
    >>> from opforest.datasets import make_cone_torus
    >>> X, y = make_cone_torus(random_state=0)
    >>> [(y == k).sum().item() for k in (1, 2, 3)]
    [92, 99, 209]
    """
    rng = check_random_state(random_state)
    y = _classes(n_samples, (92, 99, 209))
    in_cone, in_torus, in_cloud = np.bincount(y, minlength=4)[1:]
    radius = 0.17 * rng.beta(2, 2, in_cone)  # from above, a disc that thins out toward its rim
    cone = (0.375, 0.21) + radius[:, None] * _direction(rng.uniform(0, 2 * np.pi, in_cone))
    angle = np.pi * rng.uniform(size=in_torus)
    radius = 0.325 + 0.035 * rng.uniform(-1, 1, in_torus)
    torus = (0.45, 0.19) + radius[:, None] * _direction(angle)
    cloud = rng.normal((0.64, 0.535), (0.165, 0.185), (in_cloud, 2))
    return _shuffle(np.vstack((cone, torus, cloud)), y, rng)


def make_saturn(n_samples: int = 200, *, random_state: Seed = None) -> tuple[Array, Array]:
    """Make Saturn: the planet's outline and its ring, which cross four times, with a little noise.

    Half of the points are on the ring (class 1), half on the planet (class 2).
    Parameters and results are those of ``make_base``.

    Examples
    --------
    >>> from opforest.datasets import make_saturn
    >>> X, y = make_saturn(random_state=0)
    >>> [(y == k).sum().item() for k in (1, 2)]
    [100, 100]
    """
    rng = check_random_state(random_state)
    y = _classes(n_samples, (1, 1))
    axes = np.where((y == 1)[:, None], (5.0, 2.0), (3.0, 3.0))
    X = axes * _direction(rng.uniform(0, 2 * np.pi, n_samples))
    return _shuffle(X + rng.normal(0, 0.07, X.shape), y, rng)


def _classes(n_samples: int, proportions: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """Return classes from 1, in order, in these proportions; the largest remainders round up."""
    if not isinstance(n_samples, Integral) or n_samples < 0:
        raise ValueError(f"n_samples must be an integer >= 0, got {n_samples!r}.")
    quota = n_samples * np.array(proportions) / sum(proportions)
    count = np.floor(quota).astype(np.int64)
    count[np.argsort(count - quota, kind="stable")[: n_samples - count.sum()]] += 1
    return np.repeat(np.arange(1, len(proportions) + 1), count)


def _direction(angle: Array) -> Array:
    return np.column_stack((np.cos(angle), np.sin(angle)))


def _shuffle(X: Array, y: Array, rng: np.random.RandomState) -> tuple[Array, Array]:
    order = rng.permutation(len(y))
    return X[order], y[order]
