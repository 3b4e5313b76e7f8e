"""OPFython's distances: equal to its values, rejected ones, and forests of some of them."""

import numpy as np
import pytest
from tests.oracles import forest as oracle
from tests.support.data_files import GOLDEN

from opforest import OPFClassifier
from opforest.core.metrics.distances import measure_edges
from opforest.core.metrics.formulas import FEATURE_UPDATES
from opforest.core.metrics.registry import METRIC_NAMES
from opforest.core.metrics.types import SEPARABLE, UNSUPPORTED, Minkowski
from opforest.metrics import resolve

VALUES = np.load(GOLDEN / "family" / "opfython47.npz")
NAMES = sorted({name.split("_", 1)[1] for name in VALUES.files if "_" in name})

#: Those that mean something else here; there, a Gaussian falls with the distance.
OTHER_UNITS = {"gaussian": lambda d: 1 - np.exp(-(np.log(d) ** 2)), "hamming": lambda d: d / 6}


def measured(metric, X):
    """Distances of rows 2i and 2i + 1."""
    points = metric.embed(X)
    parent = np.full(len(points), -1)
    parent[1::2] = np.arange(0, len(points), 2)
    return metric.to_units(measure_edges(points, parent, metric.kernel)[1::2], X.shape[1])


def test_every_name_is_known():
    assert len(NAMES) == 47
    assert {*SEPARABLE, Minkowski} == set(FEATURE_UPDATES)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["simplex", "positive"])
def test_values_are_those_of_opfython(name, kind):
    X, expected = VALUES[kind].astype(float), VALUES[f"{kind}_{name}"]
    if name in UNSUPPORTED:
        with pytest.raises(ValueError, match="is not a dissimilarity: it is not symmetric"):
            resolve(name)
        return
    metric = resolve(name)
    if (name, kind) == ("bhattacharyya", "positive"):  # OPFython's are negative
        assert (expected < 0).any()
        with pytest.raises(ValueError, match="sum to 1"):
            metric.embed(X)
        return
    expected = OTHER_UNITS.get(name, np.asarray)(expected)
    np.testing.assert_allclose(measured(metric, X), expected, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("name", ["topsoe", "clark", "vicis_symmetric3", "jaccard", "lorentzian"])
def test_zero_vectors(name):
    X = np.array([[0.0, 0.0, 1.0], [0.0, 2.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    first, second = measured(resolve(name), X)
    assert np.isfinite(first)
    assert first > 0
    assert second == 0


@pytest.mark.parametrize("name", ["jeffreys", "additive_symmetric", "max_symmetric"])
def test_divisions_by_0_are_rejected(name):
    with pytest.raises(ValueError, match="positive ones only, got"):
        OPFClassifier(name).fit([[1.0, 0.0], [1.0, 2.0]], [0, 1])


def topsoe(x, y):
    total = 0.0
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        term = a * np.log((a + a) / (a + b)) if a else 0.0
        term += b * np.log((b + b) / (a + b)) if b else 0.0
        total += max(term, 0.0)
    return total


def jaccard(x, y):
    apart = sum((a - b) ** 2 for a, b in zip(x, y, strict=True))
    return apart / sum(a * a + b * b - a * b for a, b in zip(x, y, strict=True)) if apart else 0.0


@pytest.mark.parametrize(("name", "distance"), [("topsoe", topsoe), ("jaccard", jaccard)])
def test_forests(name, distance):
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 3)), rng.integers(0, 3, 60)
    clf = OPFClassifier(name).fit(X[:50], y[:50]).partial_fit(X[50:], y[50:])
    D = oracle.table(X, distance)
    assert clf.forest_.edges.tolist() == [list(edge) for edge in oracle.kruskal(D)]
    clf.forest_.check()


def test_names():
    assert {"squared", "sangvi"} & set(METRIC_NAMES) == {"sangvi"}
    assert resolve("squared") == resolve("squared_chi_squared")
