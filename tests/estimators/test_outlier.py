"""Outliers by densities."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.oracles import density as oracle_density
from tests.oracles import forest as oracle
from tests.support.strategies import learning_problems

from opforest import OPFOutlier


@parametrize_with_checks([OPFOutlier()])
def test_estimator_checks(estimator, check):
    check(estimator)


@settings(max_examples=60)
@given(problem=learning_problems(max_n=20), k_max=st.integers(1, 8))
def test_scores_are_logarithms_of_densities(problem, k_max):
    X, _, Q = problem
    if len(X) < 2:
        return
    model = OPFOutlier(k_max).fit(X)
    D = np.sqrt(oracle.table(X, oracle.squared_euclidean).astype(float))
    k, _ = oracle_density.cluster(D, k_max, allow_one=True)
    near = oracle_density.neighbors(D, k)
    _, (unit, _, _) = oracle_density.densities(D, near)
    assert model.k_ == k
    scores = model.score_samples(X)
    for i, row in enumerate(near):
        mean = np.mean([np.exp(-D[i, j] / unit) if unit else float(D[i, j] == 0) for j in row])
        with np.errstate(divide="ignore"):
            assert scores[i] == pytest.approx(np.log(mean), abs=1e-9)
    assert np.array_equal(model.predict(X), OPFOutlier(k_max).fit_predict(X))
    DQ = np.sqrt(oracle.table(X, oracle.squared_euclidean, Q).astype(float))
    scores = model.score_samples(Q)
    for i, row in enumerate(DQ):
        near = sorted(row)[1:] if min(row) == 0 else sorted(row)  # a copy is taken for itself
        mean = np.mean([np.exp(-d / unit) if unit else float(d == 0) for d in near[:k]])
        with np.errstate(divide="ignore"):
            assert scores[i] == pytest.approx(np.log(mean), abs=1e-9) or mean < 1e-300
    assert model.predict(Q).tolist() == [-1 if s < model.offset_ else 1 for s in scores]


def test_far_examples_are_told_apart():
    rng = np.random.default_rng(0)
    model = OPFOutlier().fit(rng.normal(size=(200, 2)))
    scores = model.score_samples([[0.0, 0.0], [1e3, 0.0], [1e6, 0.0]])
    assert scores[0] > scores[1] > scores[2] > -np.inf
    assert model.predict([[0.0, 0.0], [50.0, 50.0]]).tolist() == [1, -1]


@pytest.mark.parametrize("contamination", [0, 0.6, -1, "auto", np.nan])
def test_bad_contamination(contamination):
    with pytest.raises(ValueError, match="contamination must be a number"):
        OPFOutlier(contamination=contamination).fit(np.eye(4))
