"""Scaling by relevance: against counting in plain Python, and the choice of a scale."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.oracles import relevance as oracle

import opforest
from opforest import OPFClassifier, OPFClustering, Preparation, RelevanceScaler, make_pipeline
from opforest.estimators.preparation import CHOICES
from opforest.estimators.relevance import MAX_TO_CHOOSE, choose_scaler
from opforest.persistence.preparation import dump_preparation, restore_preparation
from opforest.persistence.transformers import dump_transformer, restore_transformer


@parametrize_with_checks([RelevanceScaler()])
def test_estimator_checks(estimator, check):
    check(estimator)


numbers = st.integers(-3, 3).map(float) | st.sampled_from([1e-300, 1e150, -1e150, 0.1, 1 / 3])
rows = st.integers(1, 3).flatmap(
    lambda width: st.lists(
        st.tuples(st.tuples(*[numbers] * width), st.sampled_from("abc")), min_size=1, max_size=40
    )
)


@given(rows=rows, repeats=st.integers(1, 8))
def test_relevance_is_what_counting_gives(rows, repeats):
    X, y = (list(part) for part in zip(*rows * repeats, strict=True))
    scaler = RelevanceScaler().fit(X, y)
    columns = [list(column) for column in zip(*X, strict=True)]
    information = [oracle.mutual_information(column, y) for column in columns]
    assume(not 0 < max(information) <= 1e-9)  # nothing but rounding
    np.testing.assert_allclose(scaler.relevance_, oracle.relevance(columns, y), rtol=1e-6)
    plain = StandardScaler().fit(X)
    assert np.array_equal(scaler.mean_, plain.mean_)
    assert np.array_equal(scaler.scale_, plain.scale_)
    expected = (np.array(X) - plain.mean_) / plain.scale_ * np.sqrt(scaler.relevance_)
    assert np.array_equal(scaler.transform(X), expected)


@pytest.mark.parametrize("n", [1, 2, 79, 80, 500, 5119, 5500])
def test_many_examples(n):
    rng = np.random.default_rng(n)
    y = rng.integers(0, 3, n)
    X = np.column_stack((y + rng.normal(size=n), rng.normal(size=n), rng.integers(0, 2, n)))
    found = RelevanceScaler().fit(X, y).relevance_
    expected = oracle.relevance(X.T.tolist(), y.tolist())
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.fixture
def noisy():
    """Two features that tell about the label, and six that do not."""
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    return np.column_stack((rng.normal(y, 0.5), rng.normal(-y, 0.5), rng.normal(size=(300, 6)))), y


def test_it_is_deterministic_and_labels_are_names(noisy):
    X, y = noisy
    first = RelevanceScaler().fit(X, y)
    for labels in (y, y - 1, y.tolist(), np.array(list("xyz"))[y], y.astype(object)):
        assert np.array_equal(RelevanceScaler().fit(X, labels).relevance_, first.relevance_)
    order = np.random.default_rng(1).permutation(len(X))
    shuffled = RelevanceScaler().fit(X[order], y[order]).relevance_
    assert np.array_equal(shuffled, first.relevance_)
    assert (first.relevance_[:2] > 0.5).all()
    assert (first.relevance_[2:] < 0.2).all()
    for twin in (pickle.loads(pickle.dumps(first)), clone(first).fit(X, y)):
        assert np.array_equal(twin.transform(X), first.transform(X))


def test_constant_features():
    X, y = np.column_stack((np.full(40, 7.25), np.arange(40) // 20)), np.arange(40) // 20
    scaler = RelevanceScaler().fit(X, y)
    assert scaler.relevance_.tolist() == [0.01, 1]
    assert scaler.scale_.tolist() == [1, 0.5]
    assert scaler.transform(X)[:, 0].tolist() == [0] * 40
    assert RelevanceScaler().fit(X[:, :1], y).relevance_.tolist() == [1]


@pytest.mark.parametrize("labels", [["a"] * 6, [None] * 6, [np.nan] * 6, [-1] * 6])
def test_without_two_labels_it_standardizes(labels):
    X = np.arange(12.0).reshape(6, 2) ** 2
    found = RelevanceScaler().fit_transform(X, labels)
    assert np.array_equal(found, StandardScaler().fit_transform(X))


def test_one_example():
    scaler = RelevanceScaler().fit([[3.0, 4.0]], ["a"])
    assert scaler.transform([[3.0, 5.0]]).tolist() == [[0, 1]]


@pytest.mark.parametrize("nothing", [None, np.nan])
def test_examples_without_a_label_count_for_means_only(noisy, nothing):
    X, y = noisy
    some = y.astype(object)
    some[100:] = nothing
    found = RelevanceScaler().fit(X, some)
    assert np.array_equal(found.relevance_, RelevanceScaler().fit(X[:100], y[:100]).relevance_)
    assert np.array_equal(found.mean_, StandardScaler().fit(X).mean_)


def test_minus_one_is_a_label(noisy):
    X, y = noisy
    signs = np.where(y == 0, -1, 1)
    expected = oracle.relevance(X.T.tolist(), signs.tolist())
    np.testing.assert_allclose(RelevanceScaler().fit(X, signs).relevance_, expected, rtol=1e-9)


def test_single_precision_is_kept(noisy):
    X, y = noisy
    single = X.astype(np.float32)
    scaler = RelevanceScaler().fit(single, y)
    assert scaler.transform(single).dtype == np.float32
    wide = RelevanceScaler().fit(single.astype(np.float64), y)
    assert np.array_equal(scaler.relevance_, wide.relevance_)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1.0]], None, "requires y to be passed"),
        ([[1.0], [2.0]], [1], "must have the same length, got 2 and 1"),
        ([[1.0], [np.nan]], [1, 2], "contains NaN"),
        ([[1.0], [2.0], [3.0]], [0.5, 0.25, 1.5], "Unknown label type"),
        ([[0.0, 1e300], [0.0, -1e300]], [1, 2], "those of feature 2 are too large"),
    ],
)
def test_what_cannot_be_learned(X, y, message):
    scaler = RelevanceScaler()
    with pytest.raises(ValueError, match=message):
        scaler.fit(X, y)
    assert not hasattr(scaler, "relevance_")


# The choice of a scale.


def likelihood(scaler, X, y):
    scaled = scaler.fit(X, y).transform(X)
    return OPFClassifier(voters="auto").fit(scaled, y).forest_.log_likelihood(voters="auto")


@pytest.mark.parametrize("seed", range(6))
def test_the_better_scale_is_chosen(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 120)
    if seed % 2:  # two features tell the label together, and a third one a little by itself
        u, v = rng.integers(0, 2, (2, 120))
        y = u ^ v
        X = np.column_stack((u, v, y + rng.normal(0, 2, 120))) + rng.normal(0, 0.1, (120, 3))
    else:
        X = np.column_stack((y + rng.normal(0, 0.4, 120), rng.normal(size=(120, 5))))
    found = choose_scaler(X, y)
    better = likelihood(RelevanceScaler(), X, y) > likelihood(StandardScaler(), X, y)
    assert found == ("relevance" if better else "standard")
    assert Preparation(scale="auto").fit(X, y).scale_ == found


def test_both_scales_are_chosen_from():
    rng = np.random.default_rng(0)
    u, v = rng.integers(0, 2, (2, 200))
    X = np.column_stack((u, v, (u ^ v) + rng.normal(0, 1, 200))) + rng.normal(0, 0.05, (200, 3))
    assert choose_scaler(X, u ^ v) == "standard"
    X = np.column_stack((u + rng.normal(0, 0.3, 200), rng.normal(size=(200, 8))))
    assert choose_scaler(X, u) == "relevance"


@given(rows=st.lists(st.tuples(numbers, numbers, st.sampled_from("ab")), min_size=1, max_size=12))
def test_any_labels_can_choose(rows):
    X, y = np.array([row[:2] for row in rows]), [row[2] for row in rows]
    assert choose_scaler(X, y) in CHOICES
    if len(set(y)) == 1:
        assert choose_scaler(X, y) == "standard"


def test_of_many_examples_some_choose():
    rng = np.random.default_rng(0)
    n = MAX_TO_CHOOSE + 1000
    y = rng.integers(0, 2, n)
    X = np.column_stack((y + rng.normal(0, 0.5, n), rng.normal(size=n)))
    chosen = np.arange(MAX_TO_CHOOSE) * n // MAX_TO_CHOOSE
    assert choose_scaler(X, y) == choose_scaler(X[chosen], y[chosen]) == "relevance"


def test_huge_numbers_are_refused():
    with pytest.raises(ValueError, match="those of feature 1 are too large"):
        Preparation(scale="auto").fit([[1e300], [-1e300]], [0, 1])


# As a part of a preparation.

TABLE = [[k + 0.5 * (k % 3), "pqr"[k % 3], "uv"[k // 15], float(k % 7)] for k in range(30)]
LABELS = ["ab"[k // 15] for k in range(30)]


@pytest.mark.parametrize("encode", ["onehot", "ordinal", "drop"])
@pytest.mark.parametrize("missing", ["error", "median"])
@pytest.mark.parametrize("scale", ["relevance", "auto"])
def test_tables(encode, missing, scale):
    table = np.array(TABLE, object)
    if missing == "median":
        table[4, 0] = table[7, 1] = None
    preparation = Preparation(encode, missing, scale).fit(table, LABELS)
    plain = Preparation(encode, missing).fit_transform(table)
    n = 4 if encode == "ordinal" else 2
    chosen = choose_scaler(np.ascontiguousarray(plain[:, :n]), LABELS)
    assert preparation.scale_ == (chosen if scale == "auto" else "relevance")
    scaler = RelevanceScaler() if preparation.scale_ == "relevance" else StandardScaler()
    plain[:, :n] = scaler.fit(plain[:, :n], LABELS).transform(plain[:, :n])
    found = preparation.transform(table)
    np.testing.assert_allclose(found, plain, atol=1e-12)
    assert found.shape[1] == len(preparation.get_feature_names_out())
    again = restore_preparation(json.loads(json.dumps(dump_preparation(preparation))))
    assert again.scale_ == preparation.scale_
    assert np.array_equal(again.transform(table), found)
    with pytest.raises(ValueError, match="which is not in the training data") if n != 2 or (
        encode == "onehot") else pytest.raises(ValueError, match="held numbers"):  # fmt: skip
        preparation.transform(np.array([[1.0, "z", "u", 2.0]] if encode != "drop"
                                       else [["z", "p", "u", 2.0]], object))  # fmt: skip


@pytest.mark.parametrize("scale", ["relevance", "auto"])
def test_labels_are_needed(scale):
    preparation = Preparation(scale=scale)
    assert preparation.__sklearn_tags__().target_tags.required
    with pytest.raises(ValueError, match=f"scale='{scale}' learns from labels, but y is None"):
        preparation.fit([[1.0], [2.0]])
    assert not hasattr(preparation, "transformer_")
    with pytest.raises(ValueError, match="learns from labels"):
        make_pipeline(Preparation(scale=scale), OPFClustering()).fit([[1.0], [2.0], [4.0]])
    with pytest.raises(ValueError, match="same length"):
        preparation.fit([[1.0], [2.0]], ["a", "b", "a"])


def test_without_columns_of_numbers_nothing_is_scaled():
    table = np.array([["p"], ["q"], ["p"]], object)
    for scale in ("relevance", "auto"):
        preparation = Preparation("onehot", scale=scale).fit(table, [0, 1, 0])
        assert preparation.transform(table).tolist() == [[1, 0], [0, 1], [1, 0]]


@pytest.mark.parametrize("scale", ["relevance", "auto"])
def test_pipelines_pass_labels(noisy, scale, tmp_path):
    X, y = noisy
    model = make_pipeline(Preparation(scale=scale), OPFClassifier(voters="auto"))
    model.fit(X[:200], y[:200])
    features = Preparation(scale=scale).fit_transform(X[:200], y[:200])
    assert np.array_equal(model.prepare(X[:200]), features)
    first = make_pipeline(Preparation(scale=scale), OPFClassifier(voters="auto"))
    first.partial_fit(X[:200], y[:200])
    assert np.array_equal(first.predict_proba(X), model.predict_proba(X))
    opforest.save(model.partial_fit(X[200:], y[200:]), tmp_path / "model")
    loaded = opforest.load(tmp_path / "model")
    assert loaded[0].scale_ == model[0].scale_ == "relevance"
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))


# In files.


def test_it_is_saved_as_numbers(noisy, tmp_path):
    X, y = noisy
    model = make_pipeline(RelevanceScaler(), OPFClassifier()).fit(X, y)
    opforest.save(model, tmp_path / "model")
    loaded = opforest.load(tmp_path / "model")
    assert type(loaded[0]) is RelevanceScaler
    assert np.array_equal(loaded.prepare(X), model.prepare(X))
    assert np.array_equal(loaded.predict(X), model.predict(X))


def test_names_are_saved():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.0, 2, 3], "b": [0.0, 5, 1]})
    scaler = RelevanceScaler().fit(frame, [0, 1, 0])
    again = restore_transformer(json.loads(json.dumps(dump_transformer(scaler))))
    assert again.get_feature_names_out().tolist() == ["a", "b"]
    assert np.array_equal(again.transform(frame), scaler.transform(frame))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("relevance_", [1.0, 0.0], "a relevance is not from 0.01 to 1"),
        ("relevance_", [1.0, 1.5], "a relevance is not from 0.01 to 1"),
        ("relevance_", [1.0, -0.5], "a relevance is not from 0.01 to 1"),
        ("relevance_", [1.0], "must be a list of 2 values"),
        ("relevance_", [1.0, "1"], "not a list of numbers"),
        ("relevance_", None, "relevance_ is missing"),
        ("mean_", [1.0, float("inf")], "mean_ is not finite"),
        ("scale_", [1.0, 0.0], "a scale is 0"),
        ("scale_", [1.0, -1.0], "a deviation is negative"),
        ("other_", [1.0, 1.0], "learned attributes are invalid"),
    ],
)
def test_damaged_values_are_refused(name, value, message):
    data = dump_transformer(RelevanceScaler().fit([[1.0, 2.0], [3.0, 5.0]], [0, 1]))
    data["learned"][name] = value
    with pytest.raises(opforest.ModelFileError, match=message):
        restore_transformer(data)


@pytest.mark.parametrize("chosen", [None, "auto", "robust", 3, ["standard"], "relevance"])
def test_a_choice_that_was_not_made_is_refused(chosen):
    X, y = [[0.0, 1.0], [1.0, 1.0], [2.0, 0.0]], [0, 0, 0]
    data = dump_preparation(Preparation(scale="auto").fit(X, y))
    assert data["chosen_scale"] == "standard"
    with pytest.raises(ValueError, match=r"must be one of|does not match"):
        restore_preparation({**data, "chosen_scale": chosen})


def test_other_scales_are_saved_as_before():
    """The data of a store's preparation are compared with those that older versions wrote."""
    data = dump_preparation(Preparation(scale="standard").fit([[0.0], [1.0]]))
    assert list(data) == ["kind", "encode", "missing", "scale", "columns", "n_features",
                          "categorical", "transformer"]  # fmt: skip
