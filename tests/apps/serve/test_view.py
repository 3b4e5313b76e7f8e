"""What a page is given to draw: a plane, regions, paths."""

import base64

import numpy as np
import pytest

pytest.importorskip("fastapi")

from tests.support.service import Client, running
from tests.support.tuning import tune

from opforest import Learner, OPFClassifier, Preparation
from opforest._utils import tuning
from opforest.apps.serve import view
from opforest.apps.serve.view import choose_grid, draw_forest, find_plane

RNG = np.random.default_rng(0)


def build_forest(n, d, metric="euclidean"):
    X = np.random.default_rng(1).random((n, d)) + 0.1
    return OPFClassifier(metric).fit(X, X[:, 0] > 0.6)


@pytest.mark.parametrize("voters", [1, 7])
def test_regions_are_what_the_model_predicts(voters):
    """Of a model that has learned some wrong labels, so that voters and one conqueror differ."""
    clf = build_forest(60, 2).set_params(voters=voters)
    clf.fit(clf.forest_.points, (clf.forest_.label + (np.arange(60) % 7 == 0)) % 2)
    drawn = draw_forest(clf, find_plane(clf.forest_.points))
    columns, rows = drawn["grid"]
    assert (columns, rows) == view.GRID
    left, bottom, right, top = drawn["bounds"]
    code = np.frombuffer(base64.b64decode(drawn["regions"]), np.uint8).reshape(rows, columns)
    i, j = np.arange(0, rows, 7), np.arange(0, columns, 7)
    x, y = np.meshgrid(left + (j + 0.5) / columns * (right - left),
                       top - (i + 0.5) / rows * (top - bottom))  # fmt: skip
    predicted = clf.predict(np.column_stack((x.ravel(), y.ravel())))
    assert np.array_equal(clf.classes_[code[np.ix_(i, j)].ravel()], predicted)


def test_regions_are_coarser_where_they_would_take_long():
    assert choose_grid(build_forest(50, 20).forest_) == view.GRID
    tune(region_work=50 * 20 * 4800)
    assert choose_grid(build_forest(50, 20).forest_) == (80, 60)
    assert choose_grid(build_forest(500, 2).forest_) == view.GRID  # a k-d tree is quick
    tune(region_work=50 * 20 * 100)
    clf = build_forest(50, 20)
    assert choose_grid(clf.forest_) == (0, 0)
    assert draw_forest(clf, find_plane(clf.forest_.points))["regions"] == ""


def test_a_python_function_is_not_asked_too_often():
    calls = []

    def far(x, y):
        calls.append(1)
        return float(np.abs(x - y).sum())

    X = RNG.random((60, 2))
    with pytest.warns(UserWarning, match="njit"):
        clf = OPFClassifier(far).fit(X, X[:, 0] > 0.5)
    calls.clear()
    drawn = draw_forest(clf, find_plane(X))
    assert len(drawn["points"]) == 60
    assert len(calls) <= tuning.values.region_work / (2 * view.SLOWER)


@pytest.mark.parametrize("metric", ["hellinger", "cosine"])
def test_a_metric_that_changes_points_has_no_regions(tmp_path, metric):
    """A point of the plane is no example there: neither to be predicted nor to be learned."""
    learner = Learner(tmp_path / "a.db", metric=metric)
    X = RNG.random((30, 2)) + 0.1
    learner.learn(X, (X[:, 0] > 0.6).tolist())
    with running(learner) as port:
        client = Client(port)
        drawn = client.get("/v1/forest")
        assert (drawn["regions"], drawn["is_plain"], len(drawn["points"])) == ("", False, 30)
        client.get(f"/v1/forest/path?plane={drawn['plane']}&x=0.5&y=0.5", code=422)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_a_point_of_the_plane_is_explained(tmp_path, d):
    X = RNG.random((80, d))
    learner = Learner(tmp_path / "a.db")
    learner.learn(X, np.where(X[:, 0] > 0.5, "right", "left"), [f"k{i}" for i in range(80)])
    learner.forget(["k2", "k3"])
    with running(learner) as port:
        client = Client(port)
        drawn = client.get("/v1/forest")
        assert drawn["is_plain"] == (d == 2)
        plane = find_plane(np.delete(X, [2, 3], axis=0))
        x, y = plane.project(X[7]).tolist()
        path = client.get(f"/v1/forest/path?plane={drawn['plane']}&x={x}&y={y}")
        whole = learner.explain(plane.lift(np.array([x, y])))
        assert [step["key"] for step in path["steps"]] == [step.key for step in whole.steps]
        assert path["rival"]["label"] == whole.rival.label != path["label"]
        for step in path["steps"][:-1]:
            assert np.allclose(step["at"], plane.project(X[int(step["key"][1:])]))
        own = learner.model.forest_
        for step in path["steps"][:-1]:
            assert own.points[own.index_of(step["id"])].tolist() == X[int(step["key"][1:])].tolist()
        assert path["steps"][-1]["id"] is None
        if d == 2:
            same = client.post("/v1/explain", {"row": [x, y]})
            assert [step["key"] for step in same["steps"]] == [s["key"] for s in path["steps"]]


def test_a_prepared_store_is_explained_on_its_plane(tmp_path):
    learner = Learner(tmp_path / "a.db", preparation=Preparation("onehot", "median", "standard"))
    learner.learn([[1, "red"], [2, "red"], [9, "blue"]], ["cat", "cat", "dog"], list("abc"))
    with running(learner) as port:
        client = Client(port)
        drawn = client.get("/v1/forest")
        x, y = drawn["points"][2]
        path = client.get(f"/v1/forest/path?plane={drawn['plane']}&x={x}&y={y}")
        assert (path["label"], path["steps"][-2]["key"]) == ("dog", "c")
        assert drawn["is_plain"] is False
        # A point of the plane is restored, a row is shown as it was given.
        row = client.post("/v1/explain", {"row": [None, "red"]})
        for answer, last in ((path, [9.0, "blue"]), (row, [None, "red"])):
            rows = {one["role"]: one for one in answer["features"]["rows"]}
            cells = {"a": [1.0, "red"], "b": [2.0, "red"], "c": [9.0, "blue"]}
            order = [("feature 0", "feature 1").index(name) for name in answer["features"]["names"]]
            for role, one in rows.items():
                expected = last if role == "x" else cells[one["key"]]
                found = dict(zip(order, one["values"], strict=True))
                assert found[0] == (None if expected[0] is None else pytest.approx(expected[0]))
                assert found[1] == expected[1]
            assert rows["rival"]["label"] == answer["rival"]["label"]
            assert (answer["features"]["more"], answer["features"]["has_names"]) == (0, False)


def test_an_answer_has_the_features_that_differ_most(tmp_path):
    names = [f"f{k}" for k in range(30)]
    learner = Learner(tmp_path / "a.db", feature_names=names)
    X = np.diag(np.arange(1.0, 31.0))
    learner.learn(X, ["a", "b"] * 15, [f"k{i}" for i in range(30)])
    with running(learner) as port:
        told = Client(port).post("/v1/explain", {"row": (X[29] * 0.9).tolist()})["features"]
    assert (len(told["names"]), told["more"], told["has_names"]) == (20, 10, True)
    assert told["names"][0] == "f29"
    assert [row["values"][0] for row in told["rows"] if row["role"] == "x"] == [27.0]
