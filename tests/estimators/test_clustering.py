"""Clusters: peaks of densities, as defined."""

import math
from decimal import Decimal

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.oracles import density as oracle_density
from tests.oracles import forest as oracle
from tests.support.strategies import learning_problems

from opforest import OPFClustering, OPFKNNClassifier, OPFOutlier


@parametrize_with_checks([OPFClustering(), OPFClustering(5, metric="manhattan", merge_by="area")])
def test_estimator_checks(estimator, check):
    check(estimator)


def distances(X, Q=None):
    return np.sqrt(oracle.table(X, oracle.squared_euclidean, Q).astype(float))


@settings(max_examples=60)
@given(
    problem=learning_problems(max_n=20),
    k_max=st.integers(1, 12),
    k_min=st.integers(1, 3),
    allow_one=st.booleans(),
    algorithm=st.sampled_from(["brute", "kd_tree"]),
)
def test_clusters_are_those_of_the_definition(problem, k_max, k_min, allow_one, algorithm):
    X, _, Q = problem
    k_max = max(k_max, k_min)
    model = OPFClustering(
        k_max, k_min=k_min, allow_single_cluster=allow_one, algorithm=algorithm, n_jobs=2
    ).fit(X)
    if len(X) == 1:
        assert (model.k_, model.labels_.tolist(), len(model.normalized_cuts_)) == (0, [0], 0)
        assert model.predict(Q).tolist() == [0] * len(Q)
        return
    D = distances(X)
    k, cuts = oracle_density.cluster(D, k_max, k_min, allow_one)
    expected = oracle_density.grow(D, k)
    assert model.k_ == k
    assert model.normalized_cuts_.tolist() == cuts
    assert model.density_.tolist() == expected["density"]
    assert model.predecessor_.tolist() == expected["before"]
    assert model.roots_[model.labels_].tolist() == expected["root"]
    winners = oracle_density.predict(expected, distances(X, Q))
    assert model.predict(Q).tolist() == model.labels_[winners].tolist()


@settings(max_examples=60)
@given(
    problem=learning_problems(max_n=20),
    merge_by=st.sampled_from(["height", "area", "volume"]),
    threshold=st.sampled_from([0.07, 0.2, 0.37, 0.61]),
    k=st.integers(1, 8),
)
def test_filters_are_those_of_the_definition(problem, merge_by, threshold, k):
    X, _, _ = problem
    if len(X) == 1:
        return
    model = OPFClustering(k, k_min=k, merge_by=merge_by, threshold=threshold).fit(X)
    _, root, before = oracle_density.filtered(distances(X), model.k_, merge_by, threshold)
    assert model.roots_[model.labels_].tolist() == root
    assert model.predecessor_.tolist() == before


def test_threads_and_searches_change_nothing():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 40, (1500, 2)).astype(float)
    one = OPFClustering(12, algorithm="brute").fit(X)
    for algorithm, n_jobs in (("kd_tree", 1), ("auto", 2)):
        other = OPFClustering(12, algorithm=algorithm, n_jobs=n_jobs).fit(X)
        for name in ("labels_", "roots_", "density_", "normalized_cuts_", "predecessor_"):
            assert np.array_equal(getattr(one, name), getattr(other, name)), name
        assert np.array_equal(one.predict(X + 0.3), other.predict(X + 0.3))


def test_threads_are_threads_whatever_joblib_is_told():
    """Parts of the work fill arrays, which processes would do in vain."""
    X = np.random.default_rng(0).normal(size=(500, 2))
    with joblib.parallel_config(backend="loky", n_jobs=2):
        shared = OPFClustering(6).fit(X)
    assert np.array_equal(shared.predecessor_, OPFClustering(6).fit(X).predecessor_)


@given(x=st.floats(0, 4.5))
def test_the_oracle_knows_exponentials(x):
    true = (-Decimal(x)).exp()
    error = abs(Decimal(oracle_density.exp_minus(x)) - true)
    assert error <= Decimal("1.1") * Decimal(math.ulp(float(true)))


def test_precomputed_distances_and_functions():
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(60, 2)), rng.normal(size=(10, 2))
    D, DQ = (np.abs(A[:, None] - X).sum(axis=2) for A in (X, Q))
    table = OPFClustering(8, metric="precomputed").fit(D)
    named = OPFClustering(8, metric="manhattan").fit(X)
    assert np.array_equal(table.labels_, named.labels_)
    assert np.array_equal(table.predict(DQ), named.predict(Q))
    with pytest.warns(UserWarning, match="njit"):
        mine = OPFClustering(8, metric=lambda a, b: float(np.abs(a - b).sum())).fit(X)
    assert np.array_equal(mine.labels_, named.labels_)
    assert np.array_equal(mine.predict(Q), named.predict(Q))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"k_max": 0}, "k_max must be an integer"),
        ({"k_max": 2.5}, "k_max must be an integer"),
        ({"k_min": 30}, "k_min must not exceed k_max"),
        ({"merge_by": "width"}, "merge_by must be None or one of"),
        ({"threshold": 2}, "threshold must be a number"),
        ({"algorithm": "ball"}, "algorithm must be"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        OPFClustering(**parameters).fit(np.eye(4))


@pytest.mark.parametrize("kind", [OPFClustering, OPFKNNClassifier, OPFOutlier])
def test_verbose_prints_phases(kind, capsys):
    X = np.random.default_rng(0).normal(size=(30, 2))
    kind(3).fit(X, np.arange(30) % 2)
    assert not capsys.readouterr().out
    kind(3, verbose=1).fit(X, np.arange(30) % 2)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"[{kind.__name__}] nearest neighbors, 30 examples: ")
    assert any("choosing k" in line for line in lines)


def test_all_copies_and_more_neighbors_than_examples():
    copies = OPFClustering(30).fit(np.ones((6, 2)))
    assert copies.labels_.tolist() == [0] * 6
    assert copies.predict([[1.0, 1.0], [2.0, 5.0]]).tolist() == [0, 0]
    assert OPFClustering(50).fit([[0.0], [1.0], [9.0]]).k_ <= 2
