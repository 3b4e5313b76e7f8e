"""Preparation: what it computes, against plain NumPy, and the errors it raises."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opforest import Preparation
from opforest.estimators.preparation import ENCODE, MISSING, SCALES, SUPERVISED
from opforest.persistence.preparation import dump_preparation, restore_preparation


def plainly(rows, categorical, encode, scale):
    """Return what a preparation without missing cells should give, column by column."""
    numbers, others = [], []
    for k in range(len(rows[0])):
        column = [row[k] for row in rows]
        if k not in categorical:
            numbers.append(scaled(np.array(column, float), scale))
        elif encode == "onehot":
            others += [np.array([cell == one for cell in column], float)
                       for one in sorted(set(column))]  # fmt: skip
        elif encode == "ordinal":
            order = sorted(set(column))
            others.append(scaled(np.array([order.index(cell) for cell in column], float), scale))
    return np.column_stack(numbers + others)


def scaled(column, scale):
    low, high = {"none": (0, 1), "standard": (column.mean(), column.mean() + column.std()),
                 "minmax": (column.min(), column.max()),
                 "robust": (np.median(column), np.median(column)
                            + np.subtract(*np.percentile(column, [75, 25])))}[scale]  # fmt: skip
    return (column - low) / ((high - low) or 1)


tables = st.lists(
    st.tuples(st.integers(-9, 9).map(float), st.sampled_from("pqr"), st.integers(0, 3)),
    min_size=1, max_size=12,
)  # fmt: skip


@pytest.mark.parametrize("encode", ["onehot", "ordinal", "drop"])
@pytest.mark.parametrize("scale", [scale for scale in SCALES if scale not in SUPERVISED])
@settings(max_examples=15)
@given(rows=tables)
def test_it_is_what_plain_numpy_gives(encode, scale, rows):
    table = np.array(rows, object)
    preparation = Preparation(encode, "error", scale).fit(table)
    found = preparation.transform(table)
    np.testing.assert_allclose(found, plainly(rows, {1}, encode, scale), atol=1e-9)
    assert found.shape[1] == len(preparation.get_feature_names_out())
    again = restore_preparation(json.loads(json.dumps(dump_preparation(preparation))))
    assert np.array_equal(again.transform(table), found)


@settings(max_examples=25)
@given(rows=tables, missing=st.lists(st.tuples(st.integers(0, 11), st.integers(0, 2)), max_size=6))
def test_medians_and_modes(rows, missing):
    rows = [list(row) for row in rows * 3]
    for i, k in missing:
        rows[i % len(rows)][k] = None
    if any(all(row[k] is None for row in rows) for k in range(3)):
        return
    table = np.array(rows, object)
    known = [[row[k] for row in rows if row[k] is not None] for k in range(3)]
    words = sorted(set(known[1]), key=lambda word: (-known[1].count(word), word))
    fill = [np.median(np.array(known[0])), words[0], np.median(np.array(known[2], float))]
    whole = [[fill[k] if cell is None else cell for k, cell in enumerate(row)] for row in rows]
    found = Preparation("onehot", "median").fit_transform(table)
    np.testing.assert_allclose(found, plainly(whole, {1}, "onehot", "none"))


def test_frames_of_any_library():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    columns = {"a": [1.0, 2.0, 4.0], "b": ["x", "y", "x"], "c": [True, False, True]}
    first = Preparation("onehot", "error", "minmax").fit(pd.DataFrame(columns))
    reordered = pl.DataFrame({name: columns[name] for name in "bca"} | {"more": [0, 0, 0]})
    assert np.array_equal(first.transform(reordered), first.transform(pd.DataFrame(columns)))
    assert first.get_feature_names_out().tolist() == ["a", "c", "b=x", "b=y"]


@pytest.mark.parametrize(
    ("preparation", "table", "message"),
    [
        (Preparation(), [["x", 1], ["y", 2]], "columns of text need encode=.*: 1"),
        (Preparation(), [[np.nan, 1.0]], "cells are missing in 1: missing='median'"),
        (Preparation(missing="median"), [[np.nan, 1.0]], "all cells are missing in 1"),
        (Preparation("what"), [[1.0]], "encode must be one of"),
        (Preparation("drop"), [["x"], ["y"]], "no column is left"),
        (Preparation(), np.empty((0, 2)), "rows and columns"),
    ],
)
def test_what_cannot_be_learned(preparation, table, message):
    with pytest.raises(ValueError, match=message):
        preparation.fit(np.array(table, object))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([1.0, "w"], "column 2 has 'w', which is not in the training data: x, y"),
        (["z", "x"], "column 1 held numbers in training, and now text"),
        ([1.0, None], "cells are missing in 2"),
        ([1.0], "there must be 2 columns, got 1"),
    ],
)
def test_what_cannot_be_applied(row, message):
    preparation = Preparation("onehot").fit(np.array([[1.0, "x"], [2.0, "y"]], object))
    with pytest.raises(ValueError, match=message):
        preparation.transform(np.array([row], object))


def test_a_category_that_has_vanished_is_no_error():
    preparation = Preparation("onehot").fit(np.array([["x"], ["y"]], object))
    assert preparation.transform(np.array([["y"]], object)).tolist() == [[0, 1]]


values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 2**70) | st.floats() | st.text(max_size=3)
    | st.sampled_from(["passthrough", "drop", "StandardScaler", "Pipeline", "median"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)  # fmt: skip


def places(data, path=()):
    """Return where anything stands in nested data."""
    inside = data.items() if isinstance(data, dict) else enumerate(data) \
        if isinstance(data, list) else ()  # fmt: skip
    return [path] * bool(path) + [p for key, one in inside for p in places(one, (*path, key))]


@pytest.mark.parametrize("encode", ENCODE[1:])
@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("scale", ["standard", *SUPERVISED])
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@settings(max_examples=25)
@given(choose=st.data())
def test_forged_data_are_harmless(encode, missing, scale, choose):
    table = np.array([[1.0, "x", 2.0], [2.0, "y", 5.0], [4.0, "x", 5.5]], object)
    preparation = Preparation(encode, missing, scale).fit(table, [0, 1, 0])
    data = json.loads(json.dumps(dump_preparation(preparation)))
    *path, last = choose.draw(st.sampled_from(places(data)))
    inside = data
    for key in path:
        inside = inside[key]
    inside[last] = choose.draw(values)
    try:
        forged = restore_preparation(data)
        assert forged.transform(table).shape[0] == 3
    except ValueError:
        return


@pytest.mark.parametrize("encode", ENCODE[1:])
@pytest.mark.parametrize("scale", ["standard", *SUPERVISED])
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_data_of_which_anything_is_missing_are_refused(encode, scale):
    """No part may be left out; what is made all the same must do what it says."""
    table = np.array([[1.0, "x", 2.0], [2.0, "y", 5.0], [4.0, "x", 5.5]], object)
    fitted = Preparation(encode, "median", scale).fit(table, [0, 1, 0])
    whole = dump_preparation(fitted)
    paths = [path for path in places(whole) if isinstance(path[-1], str)]
    assert any(path[-1] == "names" for path in paths)
    for *path, last in paths:
        data = json.loads(json.dumps(whole))
        inside = data
        for key in path:
            inside = inside[key]
        del inside[last]
        if last == "names":
            with pytest.raises(ValueError, match="names"):
                restore_preparation(data)
            continue
        try:
            forged = restore_preparation(data)
        except ValueError:
            continue
        assert forged.transform(table).tolist() == fitted.transform(table).tolist()


@pytest.mark.parametrize("scale", ["none", "standard"])
@given(rows=tables, new=st.lists(st.sampled_from("pqrxyz"), min_size=1, max_size=6))
@settings(max_examples=20)
def test_unknown_categories_are_none_of_the_known_ones(scale, rows, new):
    known = sorted({row[1] for row in rows})
    table = np.array([(1.0, cell, 2) for cell in new], object)
    for encode in ("onehot", "ordinal"):
        preparation = Preparation(encode, scale=scale, unknown="ignore").fit(np.array(rows, object))
        restored = restore_preparation(json.loads(json.dumps(dump_preparation(preparation))))
        assert restored.unknown == "ignore"
        found = restored.transform(table)
        assert np.array_equal(found, preparation.transform(table))
        if encode == "onehot":
            wanted = [[float(cell == one) for one in known] for cell in new]
            assert found[:, 2:].tolist() == wanted
        elif scale == "none":
            order = [known.index(cell) if cell in known else -1 for cell in new]
            assert found[:, 2].tolist() == order
        strict = Preparation(encode, scale=scale).fit(np.array(rows, object))
        if set(new) <= set(known):
            assert np.array_equal(strict.transform(table), found)
        else:
            with pytest.raises(ValueError, match="which is not in the training data"):
                strict.transform(table)


def test_a_preparation_of_an_old_file_rejects_unknown_categories():
    data = dump_preparation(Preparation("onehot").fit(np.array([["a"], ["b"]], object)))
    assert "unknown" not in data  # as 0.2 wrote it
    assert restore_preparation(data).unknown == "error"
    with pytest.raises(ValueError, match="unknown must be one of"):
        Preparation(unknown="drop").fit([[1.0]])


def test_nullable_columns_of_pandas():
    pd = pytest.importorskip("pandas")
    columns = {
        "size": pd.array([1, None, 3], "Int64"),
        "color": pd.array(["a", None, "b"], "string"),
    }
    table = pd.DataFrame(columns)
    filled = Preparation("onehot", missing="median").fit_transform(table)
    assert filled.tolist() == [[1, 1, 0], [2, 1, 0], [3, 0, 1]]
    assert Preparation("onehot").is_complete(table).tolist() == [True, False, True]
    with pytest.raises(ValueError, match="cells are missing in 'size', 'color'"):
        Preparation("onehot").fit(table)
