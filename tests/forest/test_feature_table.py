"""The table of features of an explanation, compared with the rows of the training data."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.measurement import jitted_manhattan
from tests.support.notebooks import HOSTILE, read
from tests.support.strategies import learning_problems

from opforest import OPFClassifier, OPFSemiSupervised
from opforest.forest.explanation import describe_features

FLOWERS = pd.DataFrame(
    {"petal": [1.0, 1.5, 6.0, 6.5], "sepal": [3.0, 2.0, 2.5, 3.5], "stem": [7.0, 7.0, 7.0, 8.0]}
)


def spread(rows, k):
    """The largest difference of two rows in a column."""
    return max(abs(one[k] - other[k]) for one in rows for other in rows)


@settings(max_examples=60)
@given(problem=learning_problems(max_n=14), data=st.data())
def test_rows_are_examples_and_columns_are_sorted_by_their_spread(problem, data):
    X, y, Q = problem
    clf = OPFClassifier().fit(X, y)
    lost = data.draw(st.sets(st.integers(0, len(X) - 1), max_size=len(X) - 1))
    why = clf.forget(sorted(lost)).explain(Q[0])
    table = why.table
    expected = {"prototype": why.prototype, "conqueror": why.conqueror}
    if why.prototype == why.conqueror:
        del expected["prototype"]
    if why.rival is not None:
        expected["rival"] = why.rival.conqueror
    assert table.roles == (*expected, "x")
    rows = [*X[[*expected.values()]], Q[0]]
    assert sorted(table.order) == list(range(X.shape[1]))
    assert [why.find_step(role).id for role in table.roles] == [*expected.values(), None]
    for row, values in zip(rows, table.values, strict=True):
        np.testing.assert_allclose(values, row[list(table.order)], rtol=1e-6)
    differences = [spread(rows, k) for k in table.order]
    np.testing.assert_allclose(table.differences, differences)
    assert list(table.differences) == sorted(table.differences, reverse=True)
    ties = list(zip((-np.array(table.differences)).tolist(), table.order, strict=True))
    assert ties == sorted(ties)
    assert not table.has_names
    assert "features" not in str(why)
    values, found = table.unsorted()
    np.testing.assert_allclose(values, rows, rtol=1e-6)
    assert found[list(table.order)].tolist() == list(table.differences)


def test_features_with_names_are_printed():
    clf = OPFClassifier().fit(FLOWERS, ["small", "small", "large", "large"])
    why = clf.explain(FLOWERS.iloc[1] + [0.2, 0.1, 0.0])
    assert str(why).splitlines()[-5:] == [
        "features, those that differ most first:",
        "                                 petal  sepal  stem",
        "  conqueror  example 1  'small'    1.5      2     7",
        "  rival      example 2  'large'      6    2.5     7",
        "  x                     'small'    1.7    2.1     7",
    ]
    assert why.table.names == ("petal", "sepal", "stem")


def test_as_many_columns_as_fit_are_printed():
    names = [f"measurement {k}" for k in range(30)]
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 30)), columns=names)
    why = OPFClassifier().fit(X, np.arange(20) % 2).explain(X.iloc[3])
    lines = str(why).splitlines()
    assert max(map(len, lines)) <= 80
    shown = lines[-6 if len(why.table.roles) == 4 else -5].count("measurement")
    assert shown >= 2
    assert lines[-1] == f"  and {30 - shown} more features"
    long = X.rename(columns=lambda name: name * 9)
    lines = str(OPFClassifier().fit(long, np.arange(20) % 2).explain(long.iloc[3])).splitlines()
    assert lines[-1] == "  and 29 more features"  # one column is printed however wide it is


@pytest.mark.parametrize(
    ("metric", "params"),
    [
        ("manhattan", None),
        ("squared_chord", None),
        ("seuclidean", {"V": [1.0, 4.0, 9.0]}),
        ("mahalanobis", {"V": [[2.0, 0.5, 0], [0.5, 1.0, 0], [0, 0, 1.0]]}),
        ("minkowski", {"p": 3, "w": [1.0, 2.0, 3.0]}),
        (jitted_manhattan, None),
        pytest.param(max_distance := (lambda a, b: float(np.abs(a - b).max())), None,
                     marks=pytest.mark.filterwarnings("ignore:metric")),
    ],
)  # fmt: skip
def test_embedded_examples_are_shown_as_they_were(metric, params):
    clf = OPFClassifier(metric, metric_params=params).fit(FLOWERS, [0, 0, 1, 1])
    if metric is not jitted_manhattan:  # not compiled for this alone
        clf.forget([3])
    why = clf.explain(FLOWERS.iloc[3])
    for role, values in zip(why.table.roles, why.table.values, strict=True):
        row = FLOWERS.iloc[3 if role == "x" else why.find_step(role).id]
        np.testing.assert_allclose(values, row[list(why.table.names)])


def test_columns_of_categories_count_alike():
    X = pd.DataFrame({"kind": [0.0, 900.0, 7.0], "size": [0.0, 1.0, 2.0]})
    why = OPFClassifier("hamming").fit(X, [0, 0, 1]).explain(X.iloc[0])
    assert why.table.differences == (1.0, 1.0)


def test_metrics_that_lose_the_features_have_no_table():
    X = np.random.default_rng(0).random((10, 3))
    for metric in ("cosine", "correlation"):
        assert OPFClassifier(metric).fit(X, np.arange(10) % 2).explain(X[0]).table is None
    D = np.abs(X[:, None] - X).sum(axis=2)
    why = OPFClassifier("precomputed").fit(D, np.arange(10) % 2).explain(D[0])
    assert why.table is None
    assert describe_features(why) is None


def test_weights_of_zero_make_a_feature_unknown():
    params = {"p": 1, "w": [1.0, 0.0, 1.0]}
    clf = OPFClassifier("minkowski", metric_params=params).fit(FLOWERS, [0, 0, 1, 1])
    why = clf.explain(FLOWERS.iloc[2])
    place = why.table.names.index("sepal")
    assert why.table.differences[place] == 0
    assert {row[place] for row in why.table.values[:-1]} == {None}
    assert why.table.values[-1][place] == 2.5
    assert "?" in str(why)


def test_one_class_has_no_rival():
    why = OPFSemiSupervised().fit(FLOWERS, ["a", None, None, None]).explain(FLOWERS.iloc[2])
    assert why.table.roles == ("prototype", "conqueror", "x")


def test_json_has_the_same_cells():
    clf = OPFClassifier().fit(FLOWERS, ["small", "small", "large", "large"])
    why = clf.explain(FLOWERS.iloc[1])
    told = json.loads(json.dumps(describe_features(why, 2)))
    assert told["names"] == list(why.table.names[:2])
    assert (told["more"], told["has_names"]) == (1, True)
    assert [row["role"] for row in told["rows"]] == list(why.table.roles)
    assert [row["values"] for row in told["rows"]] == [list(row[:2]) for row in why.table.values]
    assert told["rows"][-1]["id"] is None
    assert describe_features(why)["more"] == 0


def test_notebooks_show_the_features_and_escape_names():
    X = FLOWERS.rename(columns={"petal": HOSTILE})
    page = read(OPFClassifier().fit(X, ["s", "s", "l", "l"]).explain(X.iloc[1])._repr_html_())
    assert "Features, those that differ most first:" in page.text
    assert "sepal" in page.text
    many = pd.DataFrame(np.eye(12), columns=[f"c{k}" for k in range(12)])
    page = read(OPFClassifier().fit(many, np.arange(12) % 2).explain(many.iloc[1])._repr_html_())
    assert "and 6 more features" in page.text
    plain = OPFClassifier().fit(np.eye(3), [0, 1, 1]).explain([0.0, 0, 1])
    assert "Features" not in read(plain._repr_html_()).text
