"""``kneighbors``, compared by equality with sorting all distances."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from tests.oracles import forest as oracle
from tests.support.measurement import PARAMS, REDUCED, jitted_manhattan
from tests.support.strategies import DTYPES, learning_problems

from opforest import OPFClassifier, OPFSemiSupervised, make_pipeline


def nearest(D, ids, k):
    """The k smallest entries of each row, ties by the smaller id, and which they are."""
    order = np.array([sorted(range(len(ids)), key=lambda j: (row[j], ids[j]))[:k] for row in D])
    short = k - order.shape[1]
    distances = np.take_along_axis(D, order, axis=1)
    return (
        np.pad(distances, ((0, 0), (0, max(0, short))), constant_values=np.inf),
        np.pad(np.asarray(ids)[order], ((0, 0), (0, max(0, short))), constant_values=-1),
    )


@pytest.mark.parametrize("name", ["sqeuclidean", "manhattan", "chebyshev", "squared_chi_squared"])
@settings(max_examples=30)
@given(k=st.integers(1, 30), data=st.data())
def test_neighbors_are_those_of_sorting_all_distances(name, k, data):
    is_first = name == "sqeuclidean"  # forgetting takes its time to compile
    dtypes = DTYPES if is_first else DTYPES[:1]
    X, y, Q = data.draw(learning_problems(max_n=20, non_negative=True, dtypes=dtypes))
    clf = OPFClassifier(name, metric_params=PARAMS.get(name)).fit(X, y)
    lost = data.draw(st.sets(st.integers(0, len(X) - 1), max_size=is_first * (len(X) - 1)))
    ids = [i for i in range(len(X)) if i not in lost]
    clf.forget(sorted(lost))
    D = oracle.table(X[ids], REDUCED[name], Q)
    D = clf.forest_.to_units(D)
    for copies in (1, 100):  # many queries are searched in another way
        expected = nearest(np.tile(D, (copies, 1)), ids, k)
        found = clf.kneighbors(np.tile(Q, (copies, 1)), k)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize(("n", "d", "algorithm"), [(3000, 2, "kd_tree"), (2500, 40, "auto")])
def test_indexes_and_matrix_products_agree_with_a_scan(n, d, algorithm):
    rng = np.random.default_rng(0)
    X, Q = rng.integers(0, 9, (n, d)) / 4, rng.integers(0, 9, (600, d)) / 4
    clf = OPFClassifier(algorithm=algorithm).fit(X, np.arange(n) % 2).forget(range(0, n, 7))
    many = clf.kneighbors(Q, 9)
    few = [clf.kneighbors(part, 9) for part in np.array_split(Q, 60)]
    for one, parts in zip(many, zip(*few, strict=True), strict=True):
        np.testing.assert_array_equal(one, np.concatenate(parts))


def test_neighbors_by_functions_and_tables():
    X, y = np.random.default_rng(0).integers(0, 5, (30, 2)).astype(float), np.arange(30) % 3
    D = np.abs(X[:, None] - X).sum(axis=2)
    jitted = OPFClassifier(jitted_manhattan).fit(X[:20], y[:20])
    table = OPFClassifier("precomputed").fit(D[:20, :20], y[:20]).forget([0])
    for clf, queries, first in ((jitted, X[20:], 0), (table, D[20:, 1:20], 1)):
        expected = nearest(D[20:, first:20], range(first, 20), 4)
        found = clf.kneighbors(queries, 4)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])


def test_neighbors_in_a_pipeline_and_without_labels():
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 3
    model = make_pipeline(StandardScaler(), OPFClassifier()).fit(X, y)
    scaled = StandardScaler().fit_transform(X)
    plain = OPFSemiSupervised().fit(scaled, np.where(np.arange(30) < 9, y, -1))
    for one, other in zip(model.kneighbors(X[:4], 3), plain.kneighbors(scaled[:4], 3), strict=True):
        np.testing.assert_array_equal(one, other)
    assert model.kneighbors(X[:4])[1][:, 0].tolist() == [0, 1, 2, 3]


def test_parameters_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    X, Q, y = rng.normal(size=(30, 2)), rng.normal(size=(9, 2)), np.arange(30) % 3
    theirs, ours = KNeighborsClassifier().fit(X, y), OPFClassifier().fit(X, y)
    for model in (ours, make_pipeline(FunctionTransformer(), OPFClassifier()).fit(X, y)):
        expected = theirs.kneighbors(Q, n_neighbors=4)
        found = model.kneighbors(Q, n_neighbors=4)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
        np.testing.assert_array_equal(found[1], expected[1])
        np.testing.assert_array_equal(
            model.kneighbors(Q, return_distance=False), theirs.kneighbors(Q, return_distance=False)
        )
    sparse = ours.kneighbors(csr_array(Q), 2, return_distance=False)
    np.testing.assert_array_equal(sparse, theirs.kneighbors(Q, 2, return_distance=False))


def test_bad_numbers_of_neighbors():
    clf = OPFClassifier().fit([[0.0], [1.0]], [0, 1])
    for k in (0, -1, 1.5, True, "2"):
        with pytest.raises(ValueError, match="n_neighbors must be an integer of at least 1"):
            clf.kneighbors([[0.0]], k)
    with pytest.raises(ValueError, match="features"):
        clf.kneighbors([[0.0, 1.0]], 1)
