"""Sparse matrices, columns of text, and labels of several kinds."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from tests.support.comparison import same_forest
from tests.support.strategies import learning_problems
from tests.support.tuning import tuned

from opforest import (
    OPFClassifier,
    OPFClustering,
    OPFKNNClassifier,
    OPFSemiSupervised,
    make_pipeline,
)
from opforest.estimators import inputs

QUERIES = ("predict", "predict_proba", "predict_log_proba", "class_costs", "conquerors",
           "kneighbors")  # fmt: skip


def assert_same(found, expected):
    if isinstance(expected, tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
    else:
        np.testing.assert_array_equal(found, expected)


@settings(max_examples=30)
@given(problem=learning_problems(max_n=12), kind=st.sampled_from(["csr", "csc", "coo", "lil"]),
       block=st.sampled_from([1, 64, 1 << 26]))  # fmt: skip
def test_sparse_examples_give_the_dense_model(problem, kind, block):
    X, y, Q = problem
    make = getattr(sparse, f"{kind}_array")
    with tuned(sparse_block=block):
        dense = OPFClassifier().fit(X, y).partial_fit(X[:2], y[:2])
        thin = OPFClassifier().fit(make(X), y).partial_fit(make(X[:2]), y[:2])
        assert same_forest(thin, dense)
        assert thin.forest_.dtype == X.dtype
        for name in QUERIES:
            assert_same(getattr(thin, name)(make(Q)), getattr(dense, name)(Q))
        assert str(thin.explain(make(Q[:1]))) == str(dense.explain(Q[0]))


@pytest.mark.parametrize("model", [OPFSemiSupervised(), OPFKNNClassifier(3), OPFClustering(3)])
def test_other_estimators_take_sparse_examples(model):
    X, y = np.random.default_rng(0).integers(0, 3, (30, 4)).astype(np.float32), np.arange(30) % 2
    expected = model.fit(X, y).predict(X)
    np.testing.assert_array_equal(model.fit(sparse.csr_matrix(X), y).predict(sparse.coo_matrix(X)),
                                  expected)  # fmt: skip


def test_texts_in_a_pipeline():
    texts = ["a red apple", "a green apple", "the fast car", "a slow red car"]
    model = make_pipeline(TfidfVectorizer(), OPFClassifier("cosine"))
    model.fit(texts, ["fruit", "fruit", "car", "car"])
    assert model.predict(["one apple", "this car"]).tolist() == ["fruit", "car"]
    assert [why.label for why in model[-1].explain(model[0].transform(texts[1:3]))] == [
        "fruit",
        "car",
    ]


def test_integers_become_float64():
    clf = OPFClassifier().fit(sparse.csr_array(np.eye(3, dtype=np.int32)), [0, 1, 1])
    assert clf.forest_.dtype == np.float64


def test_a_matrix_that_does_not_fit_is_refused(monkeypatch):
    X = sparse.csr_array((1_000_000, 1_000_000))
    with pytest.raises(MemoryError, match=r"shape \(1000000, 1000000\).*8e\+03 GB.*TruncatedSVD"):
        OPFClassifier().fit(X, np.zeros(1_000_000))

    def fail(*_):
        raise MemoryError

    monkeypatch.setattr(inputs, "_split_rows", fail)
    with pytest.raises(MemoryError, match="X is a sparse matrix of shape"):
        OPFClassifier().fit(sparse.csr_array(np.eye(2)), [0, 1])


def test_sparse_tables_of_distances_are_refused():
    D = np.array([[0.0, 1.0], [1.0, 0.0]])
    clf = OPFClassifier("precomputed").fit(D, [0, 1])
    for call in (
        lambda: OPFClassifier("precomputed").fit(sparse.csr_array(D), [0, 1]),
        lambda: clf.predict(sparse.csr_array(D)),
        lambda: clf.partial_fit(sparse.csr_array(D), [0, 1]),
        lambda: clf.explain(sparse.csr_array(D[:1])),
    ):
        with pytest.raises(ValueError, match="needs all distances, but X is a sparse matrix"):
            call()


TABLE = pd.DataFrame({"size": [1.0, 2.0, 3.0], "color": ["red", "blue", "red"]})


@pytest.mark.parametrize(
    ("X", "column"),
    [
        (TABLE, "'color' holds text, such as 'red'"),
        (TABLE.astype({"color": "category"}), "'color' holds text, such as 'red'"),
        (TABLE.to_numpy(), "1 holds text, such as 'red'"),
        ([[1, "red"], [2, "blue"], [3, "red"]], "1 holds text"),
        (np.array([["1", "x"], ["2", "y"], ["3", "z"]]), "1 holds text, such as 'x'"),
    ],
)
def test_text_points_to_the_preparation(X, column):
    remedy = r"opforest.make_pipeline\(opforest.Preparation\(encode='onehot'\), {}\(\)\)"
    for model in (OPFClassifier(), OPFSemiSupervised(), OPFKNNClassifier()):
        with pytest.raises(
            ValueError, match=f"column {column}.*{remedy.format(type(model).__name__)}"
        ):
            model.fit(X, [0, 1, 1])
    with pytest.raises(ValueError, match=f"column {column}"):
        OPFClustering().fit(X)
    clf = OPFClassifier().fit([[0.0, 1.0], [1.0, 2.0]], [0, 1])
    for call in (clf.predict, clf.explain, lambda X: clf.partial_fit(X, [0, 1, 1])):
        with pytest.raises(ValueError, match="holds text"):
            call(X.to_numpy() if hasattr(X, "to_numpy") else X)


def test_the_remedy_works():
    import opforest

    model = opforest.make_pipeline(opforest.Preparation(encode="onehot"), OPFClassifier())
    assert model.fit(TABLE, [0, 1, 0]).predict(TABLE).tolist() == [0, 1, 0]


def test_numerals_are_numbers():
    clf = OPFClassifier().fit(np.array([["1", "2.5"], ["3", "4"]]), [0, 1])
    assert clf.predict([["1", "2"]]).tolist() == [0]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a", None, "b"], "label for each example, but that of row 1 is None. Leave .*OPFSemiSup"),
        (["a", None, None], r"row 1 is None \(and 1 more\)"),
        ([0, 1, None], "row 2 is None"),
        (np.array(["a", None, "b"], object), "row 1 is None"),
        (pd.Series(["a", None, "b"], dtype=object, index=[5, 6, 7]), "row 1 is None"),
        (["a", 1, "b"], r"all be text or all be numbers, but that of row 0 is 'a' and that of row "
                        r"1 is 1. Convert them first: \[str\(label\) for label in y\]"),
        ([1.5, "x", True], "that of row 1 is 'x' and that of row 0 is 1.5"),
        (np.array(["a", 1, "b"], object), "that of row 1 is 1"),
    ],
)  # fmt: skip
def test_labels_that_are_missing_or_of_several_kinds(y, message):
    X = [[0.0], [1.0], [2.0]]
    known = OPFClassifier().fit(X, [0, 1, 0])
    for call in (OPFClassifier().fit, OPFKNNClassifier().fit, OPFClassifier().partial_fit,
                 known.partial_fit):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            call(X, y)
    assert len(known.forest_) == 3
    assert OPFSemiSupervised().fit(X, ["a", None, "b"]).predict(X).tolist()[::2] == ["a", "b"]


def test_several_rows_have_a_list_of_explanations():
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2
    clf = OPFClassifier().fit(X, y)
    several = clf.explain(X[:3] + 0.1)
    assert isinstance(several, list)
    assert [str(one) for one in several] == [str(clf.explain(x + 0.1)) for x in X[:3]]
    assert str(clf.explain(X[:1])) == str(clf.explain(X[0]))
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = make_pipeline(OPFClassifier()).fit(frame, y)
    assert [one.label for one in model.explain(frame[:3])] == y[:3].tolist()


@pytest.mark.parametrize("labels", [[2, 0], [True, False], ["b", "a"]])
def test_batches_of_arrays_and_of_lists_are_learned_alike(labels):
    labels = np.array(labels)
    known = [[0.0, 1.0], [1.0, 0.5], [3.0, 3.0]], np.array([0, 1, 1]).astype(labels.dtype)
    batch = np.array([[0.1, 0.2], [2.5, 4.0]])
    models = [OPFClassifier().fit(*known).partial_fit(X, y)
              for X in (batch, batch.tolist()) for y in (labels, labels.tolist())]  # fmt: skip
    batch[:] = 9.0  # the model has a copy
    for model in models:
        assert same_forest(model, models[-1])
        assert model.classes_.tolist() == models[-1].classes_.tolist()


@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([[np.nan, 0.0]], [0]),
        ([[np.inf, 0.0]], [0]),
        ([[1.0]], [0]),
        ([1.0, 2.0], [0, 1]),
        ([[1.0, 2.0]], [0, 1]),
        ([[1.0, 2.0]], [[0, 1]]),
        ([[1.0, 2.0]], [0.5]),
    ],
)
def test_errors_of_arrays_are_those_of_lists(X, y):
    model = OPFClassifier().fit([[0.0, 1.0], [1.0, 0.5]], [0, 1])
    errors = []
    for batch in ((np.array(X), np.array(y)), (X, y)):
        with pytest.raises(ValueError) as error:
            model.partial_fit(*batch)
        errors.append(str(error.value).splitlines()[0])
    assert errors[0] == errors[1]
    assert len(model.forest_) == 2


def test_arrays_without_names_are_noted_where_names_are_known():
    frame = pd.DataFrame({"a": [0.0, 1.0], "b": [1.0, 0.5]})
    model = OPFClassifier().fit(frame, [0, 1])
    with pytest.warns(UserWarning, match="feature names"):
        model.partial_fit(frame.to_numpy(), np.array([0, 1]))
