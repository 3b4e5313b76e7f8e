"""Explanations of pipelines show the cells of the table that was given."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline as make_pipeline_of
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

import opforest
from opforest import Learner, OPFClassifier, Preparation, RelevanceScaler, make_pipeline


def make_table(n=40, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({
        "color": rng.choice(["red", "green", "blue"], n),
        "price": rng.integers(100, 900, n).astype(float),
        "kind": rng.choice(["old", "new"], n),
        "weight": rng.random(n).round(3),
    }), np.arange(n) % 3  # fmt: skip


def assert_original(why, table, x):
    """Each cell of the explanation is that of the table, or of x."""
    assert why.table.has_names
    for role, values in zip(why.table.roles, why.table.values, strict=True):
        row = x if role == "x" else table.iloc[why.find_step(role).id]
        for name, value in zip(why.table.names, values, strict=True):
            if isinstance(row[name], str):
                assert value == row[name]
            else:
                assert value == pytest.approx(row[name], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("scale", ["none", "standard", "robust", "minmax", "relevance", "auto"])
@pytest.mark.parametrize("encode", ["onehot", "ordinal", "drop"])
@pytest.mark.parametrize("missing", ["error", "median"])
def test_preparations_are_undone(encode, missing, scale, tmp_path):
    table, y = make_table()
    model = make_pipeline(Preparation(encode, missing, scale), OPFClassifier())
    model.fit(table[:30], y[:30]).forget([0, 7])
    path = str(tmp_path / "model")
    opforest.save(model, path)
    names = ["price", "weight"] if encode == "drop" else list(table)
    for one, i in itertools.product((model, opforest.load(path)), (30, 33)):
        why = one.explain(table.iloc[[i]][table.columns[::-1]])  # columns in another order
        assert sorted(why.table.names) == sorted(names)
        assert_original(why, table, table.iloc[i])
    several = model.explain(table[30:33])
    for i, why in enumerate(several):
        assert_original(why, table, table.iloc[30 + i])


def encode_ordinal():
    return make_pipeline_of(
        SimpleImputer(strategy="most_frequent"), OrdinalEncoder(), MinMaxScaler()
    )


TRANSFORMERS = {
    "names": lambda: ColumnTransformer([
        ("n", make_pipeline_of(SimpleImputer(), StandardScaler()), ["weight", "price"]),
        ("c", OneHotEncoder(), ["kind", "color"]),
    ]),
    "numbers": lambda: ColumnTransformer([
        ("c", OneHotEncoder(drop="first", sparse_output=False), [0, -2]),
        ("n", RobustScaler(), [3, 1]),
    ]),
    "a mask": lambda: ColumnTransformer([
        ("c", encode_ordinal(), [True, False, True, False]),
        ("n", "passthrough", [False, True, False, True]),
    ]),
    "slices": lambda: ColumnTransformer([
        ("c", encode_ordinal(), slice(0, 1)), ("p", StandardScaler(), slice("price", "price")),
        ("d", "drop", slice("kind", "weight")),
    ]),
    "the remainder": lambda: ColumnTransformer(
        [("c", OneHotEncoder(handle_unknown="ignore"), ["color", "kind"])], remainder=MinMaxScaler()
    ),
    "the remainder as it is": lambda: ColumnTransformer(
        [("c", OrdinalEncoder(), make_column_selector(dtype_exclude="number"))],
        remainder="passthrough",
    ),
    "no remainder": lambda: ColumnTransformer([("n", StandardScaler(), ["price"])]),
    "nothing": lambda: ColumnTransformer(
        [("n", StandardScaler(), ["price", "weight"]), ("c", OneHotEncoder(), [])],
    ),
}  # fmt: skip


@pytest.mark.parametrize("more", [(), (StandardScaler,), (RelevanceScaler,)])
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_column_transformers_are_undone(name, more, tmp_path):
    table, y = make_table()
    model = make_pipeline(TRANSFORMERS[name](), *(one() for one in more), OPFClassifier())
    model.fit(table[:30], y[:30]).forget([0, 7])
    dropped = {"slices": {"kind", "weight"}, "no remainder": {"color", "kind", "weight"},
               "nothing": {"color", "kind"}}.get(name, set())  # fmt: skip
    models = [model]
    if name in ("names", "no remainder"):
        opforest.save(model, str(tmp_path / "model"))
        models.append(opforest.load(str(tmp_path / "model")))
    for one, i in itertools.product(models, (30, 33)):
        why = one.explain(table.iloc[[i]])
        assert set(why.table.names) == set(table) - dropped
        assert_original(why, table, table.iloc[i])
    if name == "names":  # they are found in any order
        assert_original(model.explain(table.iloc[[31]][[*table][::-1]]), table, table.iloc[31])


def test_column_transformers_of_other_parts():
    table, y = make_table()
    parts = [
        [("n", PCA(1), ["price", "weight"])],
        [("c", OneHotEncoder(max_categories=2, handle_unknown="infrequent_if_exist"), ["color"])],
        [("n", FunctionTransformer(np.log1p), ["price"])],
    ]
    for part in parts:
        model = make_pipeline(ColumnTransformer(part), OPFClassifier()).fit(table, y)
        why = model.explain(table.iloc[[3]])
        assert not why.table.has_names
    for missing, has_names in ((None, False), (1.0, True)):  # a column without gaps adds no other
        partial = table.assign(price=[missing, *table["price"][1:]]).astype({"price": float})
        part = [("n", SimpleImputer(add_indicator=True), ["price"])]
        model = make_pipeline(ColumnTransformer(part), OPFClassifier()).fit(partial, y)
        assert model.explain(partial.iloc[[3]]).table.has_names == has_names
    array = table[["price", "weight"]].to_numpy()
    model = make_pipeline(ColumnTransformer([("n", StandardScaler(), [1])]), OPFClassifier())
    why = model.fit(array, y).explain(array[3])
    assert why.table.names == ("feature 1",)
    assert why.table.values[-1] == (array[3, 1],)


@pytest.mark.parametrize("kind", ["text", "numbers"])
@pytest.mark.parametrize("encode", ["onehot", "ordinal"])
def test_tables_of_one_kind(kind, encode):
    table, y = make_table()
    table = table[["color", "kind"]] if kind == "text" else table[["price", "weight"]]
    model = make_pipeline(Preparation(encode, scale="standard"), OPFClassifier()).fit(table, y)
    assert_original(model.explain(table.iloc[[5]]), table, table.iloc[5])
    cells = model[0].inverse_transform(model[0].transform(table))
    assert (cells[:, 0] == table.iloc[:, 0]).all() or kind == "numbers"
    if kind == "numbers":
        np.testing.assert_allclose(cells.astype(float), table.to_numpy())


def test_columns_are_sorted_by_what_the_metric_measures():
    """A category counts once, by the largest of its features; a large unit counts for nothing."""
    table = pd.DataFrame({"grams": [1000.0, 1010, 990, 1005], "color": ["a", "a", "b", "b"]})
    model = make_pipeline(Preparation("onehot", scale="none"), OPFClassifier())
    why = model.fit(table, [0, 0, 1, 1]).explain(table.iloc[[0]])
    assert why.table.names == ("grams", "color")
    scaled = make_pipeline(Preparation("onehot", scale="minmax"), OPFClassifier())
    why = scaled.fit(table, [0, 0, 1, 1]).explain(table.iloc[[0]])
    assert why.table.names == ("color", "grams")
    assert why.table.differences[0] == 1


@pytest.mark.parametrize(
    "scalers",
    [
        [StandardScaler()],
        [MinMaxScaler()],
        [RobustScaler()],
        [RelevanceScaler()],
        [SimpleImputer(), StandardScaler()],
        [QuantileTransformer(n_quantiles=10)],
        [PowerTransformer()],
    ],
)
def test_scalers_are_undone(scalers):
    table, y = make_table()
    table = table[["price", "weight"]]
    model = make_pipeline(*scalers, OPFClassifier()).fit(table, y)
    why = model.explain(table.iloc[4])
    assert_original(why, table, table.iloc[4])
    plain = make_pipeline(*scalers, OPFClassifier()).fit(table.to_numpy(), y)
    why = plain.explain(table.to_numpy()[4])
    assert not why.table.has_names
    assert why.table.values[-1] == tuple(table.iloc[4].to_numpy()[list(why.table.order)].tolist())


def test_steps_that_cannot_be_undone_end_it():
    table, y = make_table()
    X = table[["price", "weight"]]
    for first in (PCA(2), FunctionTransformer(np.log1p)):
        model = make_pipeline(first, StandardScaler(), OPFClassifier()).fit(X, y)
        why = model.explain(X.iloc[4])
        expected = np.asarray(model[0].transform(X.iloc[[4]]))[0]
        found, _ = why.table.unsorted()
        np.testing.assert_allclose(found[-1], expected)
    model = make_pipeline(PCA(2), OPFClassifier()).fit(X, y)
    assert not model.explain(X.iloc[4]).table.has_names


def test_missing_cells_of_x_are_shown_as_missing():
    table, y = make_table()
    model = make_pipeline(Preparation("onehot", "median", "standard"), OPFClassifier())
    row = table.iloc[[3]].assign(price=np.nan)
    why = model.fit(table, y).explain(row)
    assert dict(zip(why.table.names, why.table.values[-1], strict=True))["price"] is None
    assert " ?" in str(why)


@pytest.mark.parametrize("is_prepared", [False, True])
def test_stores_show_names_keys_and_cells(is_prepared, tmp_path):
    table, y = make_table()
    table = table if is_prepared else table[["price", "weight"]]
    preparation = Preparation("onehot", scale="standard") if is_prepared else None
    with Learner(str(tmp_path / "store"), preparation=preparation) as learner:
        learner.learn(table[:30], y[:30].tolist(), keys=[f"row {i}" for i in range(30)])
        why = learner.explain(table.iloc[[33]])
        for role, values in zip(why.table.roles, why.table.values, strict=True):
            key = why.find_step(role).key
            row = table.iloc[33 if role == "x" else int(key.split()[1])]
            for name, value in zip(why.table.names, values, strict=True):
                is_text = isinstance(row[name], str)
                assert value == (row[name] if is_text else pytest.approx(row[name]))
        assert "'row " in str(why).split("features, those")[1]


def test_notebooks_name_the_classes():
    import copy
    import pickle

    table, _ = make_table()
    clf = OPFClassifier().fit(table[["weight"]], table["color"])
    for one in (clf, copy.deepcopy(clf), pickle.loads(pickle.dumps(clf))):
        assert all(name in one.forest_._repr_html_() for name in ("red", "green", "blue"))
    clf.partial_fit(table[["weight"]][:1], ["<b>amber</b>"])
    assert "&lt;b&gt;amber&lt;/b&gt;" in clf.forest_._repr_html_()
