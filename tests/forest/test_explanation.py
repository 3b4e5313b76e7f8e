"""Explanations: the path, the rival, and what notebooks show of them."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.measurement import jitted_manhattan
from tests.support.notebooks import HOSTILE, read, squares

import opforest
from opforest import OPFClassifier, OPFSemiSupervised
from opforest.forest.explanation import MOST_AROUND


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 3))
def test_the_rival_makes_the_cheapest_offer_of_all_other_classes(seed, n_classes, d):
    X, y = squares(24, d, n_classes, seed)
    clf = OPFClassifier().fit(X, y)
    x = np.random.default_rng(seed + 1).integers(0, 8, d) + 0.25
    path = clf.explain(x)
    cost = clf.class_costs([x])[0]
    assert path.label == clf.predict([x])[0]
    assert path.cost == cost[path.label]
    others = [k for k in range(n_classes) if k != path.label]
    if not others:
        assert path.rival is None
        return
    assert path.rival.cost == min(cost[others])
    assert path.rival.label in others
    assert path.rival.rival is None
    for way in (path, path.rival):
        index = [step.id for step in way.steps]
        assert index[-1] is None
        assert index[0] in clf.forest_.prototypes
        assert (y[index[:-1]] == way.label).all()
        points = np.vstack((X[index[:-1]], x))
        steps = np.sqrt((np.diff(points, axis=0) ** 2).sum(axis=1))
        np.testing.assert_allclose([step.distance for step in way.steps[1:]], steps)
        assert way.cost == pytest.approx(steps.max())


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
@given(st.integers(0, 2**32), st.sampled_from([1, 2, 5, 40]))
def test_conqueror_and_rival_are_the_first_by_offer_cost_and_index(algorithm, seed, n_classes):
    X, y = squares(120, 2, n_classes, seed)
    clf = OPFClassifier(algorithm=algorithm).fit(X, y).forget([5]).forget([17])
    x = np.random.default_rng(seed + 1).integers(0, 8, 2).astype(float)
    forest = clf.forest_
    offer = np.maximum(forest.cost, np.sqrt(((forest.points - x) ** 2).sum(axis=1)))
    order = np.lexsort((np.arange(118), forest.cost, offer))
    path = clf.explain(x)
    assert path.conqueror == forest.ids[order[0]]
    others = order[forest.label[order] != forest.label[order[0]]]
    if len(others) == 0:
        assert path.rival is None
        return
    assert path.rival.conqueror == forest.ids[others[0]]
    assert path.rival.label == y[forest.ids[others[0]]]


def test_classes_without_examples_are_no_rivals():
    clf = OPFClassifier("gaussian").fit([[0.0], [1.0], [5.0]], ["a", "a", "b"])
    clf.partial_fit([[1.5]], ["a"], classes=["c"]).forget([2])
    assert clf.explain([0.5]).rival is None


@pytest.mark.parametrize("update", ["exact", "opfi", "dift"])
def test_grown_forests_have_rivals(update):
    X, y = squares(200)
    clf = OPFClassifier(update=update).fit(X[:180], y[:180]).partial_fit(X[180:], y[180:])
    path = clf.explain([3.25, 3.25])
    assert path.rival.cost >= path.cost


def test_semi_supervised():
    X, y = squares()
    clf = OPFSemiSupervised().fit(X, np.where(np.arange(60) < 9, y, -1))
    path = clf.explain([3.25, 3.25])
    assert path.rival.label != path.label
    read(path._repr_html_())


def test_prints_the_rival():
    clf = OPFClassifier().fit([[0.0], [1.0], [3.0], [4.5]], ["low", "low", "high", "high"])
    lines = str(clf.explain([5.0])).splitlines()
    assert lines[-1] == "nearest rival: 'low' at cost 4, from example 1"
    one = OPFClassifier().fit([[0.0], [1.0]], ["low", "low"])
    assert "rival" not in str(one.explain([5.0]))


def test_equality_does_not_depend_on_the_picture():
    X, y = squares()
    clf = OPFClassifier().fit(X, y)
    assert clf.explain(X[0] + 0.25) == clf.explain(X[0] + 0.25)
    assert clf.explain(X[0] + 0.25) != clf.explain(X[1] + 0.25)
    assert "View" not in repr(clf.explain(X[0]))


def test_html_has_the_table_the_rival_and_the_picture():
    clf = OPFClassifier().fit([[0.0, 0], [1, 0], [3, 0], [4.5, 0]], ["low", "low", "high", "high"])
    page = read(clf.explain([5.0, 0.0])._repr_html_())
    text = " ".join(page.text.split())
    assert "'high' at cost 1.5: conquered by example 3, on the path of prototype 2" in text
    assert "Nearest rival: 'low' would have cost 4, from example 1, 2.67 times as much." in text
    assert page.tags.count("tr") == 4
    assert page.tags.count("svg") == 1
    assert page.tags.count("polygon") == 2  # a prototype each
    assert page.tags.count("circle") == 1


def test_html_of_a_tie_says_so():
    clf = OPFClassifier().fit([[-1.0], [1.0]], ["a", "b"])
    assert "which is a tie" in clf.explain([0.0])._repr_html_()
    exact_hit = clf.explain([-1.0])._repr_html_()
    assert "would have cost <b>2</b>, from example 1." in exact_hit


def test_hostile_labels_and_names_inject_nothing():
    import pandas as pd

    frame = pd.DataFrame({HOSTILE: [0.0, 1, 3, 4], "</svg><b>": [0.0, 1, 0, 1]})
    clf = OPFClassifier().fit(frame, [HOSTILE, HOSTILE, "ok", "ok"])
    html = clf.explain(frame.iloc[0])._repr_html_()
    page = read(html)
    assert "<script>alert(1)</script>" in page.text
    assert "</svg><b>" in page.text
    assert html.count("<svg") == html.count("</svg>") == 1


@pytest.mark.parametrize("d", [1, 3])
def test_only_two_features_are_drawn(d):
    X, y = squares(d=d)
    assert "<svg" not in OPFClassifier().fit(X, y).explain(X[0])._repr_html_()


@pytest.mark.parametrize("metric", ["cosine", "precomputed"])
def test_no_picture_where_the_examples_themselves_are_not_kept(metric):
    X, y = squares(2, n_classes=2)
    X += 1
    if metric == "precomputed":
        X = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert "<svg" not in OPFClassifier(metric).fit(X, y).explain(X[0])._repr_html_()


@pytest.mark.filterwarnings("ignore:metric 'distance' is a Python function")
def test_python_metrics_are_drawn():
    def distance(x, y):
        return float(np.abs(x - y).sum())

    X, y = squares(12)
    assert "<svg" in OPFClassifier(distance).fit(X, y).explain(X[0])._repr_html_()


@pytest.mark.filterwarnings("ignore:metric 'distance' is a Python function")
def test_no_picture_of_features_whose_differences_overflow():
    def distance(x, y):
        return float(np.abs(x / 4 - y / 4).max())

    X = np.array([[-1.5e308, 0.0], [1.5e308, 0.0], [0.0, 1.0]])
    html = OPFClassifier(distance).fit(X, [0, 1, 0]).explain([1.0, 1.0])._repr_html_()
    assert "<svg" not in html
    assert "Nearest rival" in html


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_tiny_and_huge_features(scale):
    X, y = squares()
    with np.errstate(all="raise"):
        read(OPFClassifier().fit(scale * X, y).explain(scale * X[0])._repr_html_())


def test_copies_and_a_single_example():
    one = OPFClassifier().fit([[1.0, 1.0]], ["a"]).explain([1.0, 1.0])._repr_html_()
    assert "nan" not in one
    same = OPFClassifier().fit(np.ones((4, 2)), list("abab")).explain([1.0, 1.0])._repr_html_()
    assert "nan" not in same
    read(same)


def test_long_paths_and_large_forests_stay_small():
    X = np.column_stack((np.arange(3000.0), np.zeros(3000)))
    clf = OPFClassifier().fit(X, np.arange(3000) == 0)
    path = clf.explain([2999.2, 0.0])
    assert len(path.view.around) <= MOST_AROUND
    html = path._repr_html_()
    assert read(html).tags.count("tr") == 14
    assert "more steps" in html
    assert len(html) < 120_000


def test_the_picture_shows_the_surroundings():
    X = np.random.default_rng(0).random((400, 2))
    view = OPFClassifier().fit(X, X[:, 0] > 0.5).explain([0.5, 0.5]).view
    assert 10 < len(view.around) < 100
    assert re.fullmatch("feature 0,feature 1", ",".join(view.names))


def test_learners_name_the_rivals_by_key(tmp_path):
    with opforest.Learner(tmp_path / "a.db") as learner:
        learner.learn([[0.0], [1.0], [3.0]], ["low", "low", "high"], keys=["a", "b", "c"])
        path = learner.explain([4.0])
    assert path.rival.steps[-2].key == "b"
    assert str(path).endswith("nearest rival: 'low' at cost 3, from 'b'")


@pytest.mark.parametrize("voters", [1, 3])
def test_a_jitted_metric(voters):
    """The search for a rival once looked for the compiled version of a Python function."""
    X, y = [[0.0], [1.0], [3.0], [4.5]], ["low", "low", "high", "high"]
    why = OPFClassifier(jitted_manhattan, voters=voters).fit(X, y).explain([5.0])
    expected = OPFClassifier("manhattan", voters=voters).fit(X, y).explain([5.0])
    assert str(why) == str(expected)
    assert why.rival.steps == expected.rival.steps
