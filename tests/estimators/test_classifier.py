import pickle
import subprocess
import sys
import threading
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import NotFittedError

from opforest import OPFClassifier
from opforest._utils.rwlock import ReadWriteLock


@pytest.fixture(scope="module")
def moons():
    return make_moons(600, noise=0.2, random_state=0)


@pytest.mark.parametrize(
    "labels",
    [
        ["no", "yes"],
        [False, True],
        [-5, 7],
        [2, 1000],
        [1.0, 2.0],
        np.array(["a", "bcd"], dtype=object),
        pd.Categorical(["x", "y"]),
    ],
)
def test_any_labels(moons, labels):
    X, y = moons
    labels = np.asarray(labels)
    clf = OPFClassifier().fit(X[:300], labels[y[:300]])
    plain = OPFClassifier().fit(X[:300], y[:300])
    assert clf.classes_.tolist() == labels.tolist()
    assert clf.classes_.dtype == labels.dtype
    assert np.array_equal(clf.predict(X[300:]), labels[plain.predict(X[300:])])


def test_one_example_and_one_class():
    one = OPFClassifier().fit([[3.0, 4.0]], ["only"])
    assert one.predict([[0.0, 0.0]]).tolist() == ["only"]
    assert one.class_costs([[0.0, 0.0]]).tolist() == [[5.0]]
    assert one.predict_proba([[0.0, 0.0], [3.0, 4.0]]).tolist() == [[1.0], [1.0]]
    single = OPFClassifier().fit([[2.0], [0.0], [1.0]], [7, 7, 7])
    assert single.forest_.prototypes.tolist() == [0]
    assert single.forest_.cost.tolist() == [0, 1, 1]
    assert single.predict([[9.0]]).tolist() == [7]


def test_all_points_equal_and_constant_features():
    same = OPFClassifier().fit(np.ones((6, 2)), [0, 1, 0, 1, 1, 0])
    same.forest_.check()
    assert (same.forest_.cost == 0).all()
    assert same.predict([[1.0, 1.0]]).tolist() == [0]  # contested: the oldest example wins
    assert same.predict_proba([[1.0, 1.0]])[0] == pytest.approx([0.5, 0.5])
    X, y = load_iris(return_X_y=True)
    padded = np.hstack((X, np.full((len(X), 2), 3.25)))
    plain = OPFClassifier().fit(X[::2], y[::2])
    assert np.array_equal(
        OPFClassifier().fit(padded[::2], y[::2]).predict(padded), plain.predict(X)
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_is_kept(moons, dtype):
    X, y = moons
    clf = OPFClassifier().fit(X.astype(dtype), y)
    assert clf.forest_.dtype == dtype
    assert clf.forest_.cost.dtype == dtype
    assert clf.class_costs(X).dtype == dtype
    assert OPFClassifier().fit((100 * X).astype(int), y).forest_.dtype == np.float64


def test_layouts_give_the_same_forest(moons, tmp_path):
    X, y = moons
    np.save(tmp_path / "X.npy", X)
    frozen = X.copy()
    frozen.flags.writeable = False
    expected = OPFClassifier().fit(X, y).class_costs(X)
    for same in (
        np.asfortranarray(X),
        np.repeat(X, 2, axis=0)[::2],
        np.load(tmp_path / "X.npy", mmap_mode="r"),
        frozen,
        X.tolist(),
        X.astype(">f8"),
    ):
        assert np.array_equal(OPFClassifier().fit(same, y).class_costs(same), expected)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames(moons, frame):
    X, y = moons
    named = frame({"left": X[:, 0], "right": X[:, 1]})
    series = pd.Series(y) if frame is pd.DataFrame else pl.Series(y)
    clf = OPFClassifier().fit(named, series)
    assert clf.feature_names_in_.tolist() == ["left", "right"]
    assert np.array_equal(clf.predict(named), OPFClassifier().fit(X, y).predict(X))
    with pytest.raises(ValueError, match="feature names should match"):
        clf.predict(frame({"right": X[:, 1], "left": X[:, 0]}))


def test_models_do_not_alias_the_callers_arrays(moons):
    X, y = (array.copy() for array in moons)
    D = np.abs(X[:, :1] - X[:, 0])
    models = [
        (OPFClassifier().fit(X, y), X),
        (OPFClassifier("cosine").fit(X, y), X),
        (OPFClassifier("precomputed").fit(D, y), D),
    ]
    before = [clf.class_costs(given.copy()) for clf, given in models]
    queries = [given.copy() for _, given in models]
    X[:], D[:], y[:] = 0, 0, 0
    for (clf, _), expected, query in zip(models, before, queries, strict=True):
        assert np.array_equal(clf.class_costs(query), expected)
        assert set(clf.predict(query)) == {0, 1}


def test_any_number_of_threads_gives_the_same_answer(moons):
    X, y = moons
    Q = np.random.default_rng(0).normal(size=(5000, 2))
    results = [
        (*clf.conquerors(Q), clf.predict_proba(Q))
        for clf in (OPFClassifier(n_jobs=jobs).fit(X, y) for jobs in (None, 1, 2, 3, -1))
    ]
    for result in results[1:]:
        for a, b in zip(result, results[0], strict=True):
            assert np.array_equal(a, b)


def test_two_threads_may_predict_with_one_model(moons):
    X, y = moons
    clf = OPFClassifier(n_jobs=2).fit(X, y)
    state = [array.copy() for array in clf.forest_.storage.arrays]
    expected = clf.predict_proba(X)
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(clf.predict_proba(X))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert all(np.array_equal(result, expected) for result in results)
    for array, before in zip(clf.forest_.storage.arrays, state, strict=True):
        assert np.array_equal(array, before)


def test_explanation(moons):
    X, y = moons
    clf = OPFClassifier().fit(X[:300], np.array(["out", "in"])[y[:300]])
    forest = clf.forest_
    for x, label, index, cost in zip(
        X[300:340], clf.predict(X[300:340]), *clf.conquerors(X[300:340]), strict=True
    ):
        why = clf.explain(x)
        assert (why.label, why.conqueror, why.cost) == (label, index, cost)
        assert why.prototype == forest.root[index]
        assert why.steps[-1].id is None
        for before, step in zip(why.steps[:-2], why.steps[1:-1], strict=True):
            assert forest.predecessor[step.id] == before.id
            assert step.distance == np.sqrt(((X[step.id] - X[before.id]) ** 2).sum())
            assert step.cost == forest.cost[step.id] == max(before.cost, step.distance)
        assert why.steps[-1].distance == np.sqrt(((x - X[index]) ** 2).sum())
        assert {step.label for step in why.steps} == {label}
        assert isinstance(why.label, str)
    assert str(clf.explain(X[300])) == str(clf.explain(X[300:301]))
    several = clf.explain(X[300:302])
    assert [str(why) for why in several] == [str(clf.explain(x)) for x in X[300:302]]


def test_explanations_of_long_paths_leave_out_the_middle():
    clf = OPFClassifier().fit(np.arange(100.0)[:, None], np.arange(100) == 99)
    why = clf.explain([-1.0])
    assert len(why.steps) == 100
    lines = str(why).splitlines()
    assert len(lines) == 15
    assert lines[-1].startswith("nearest rival: True")
    assert "... 88 more steps ..." in lines[7]


def test_explanation_of_precomputed_distances():
    X = np.array([[0.0], [1.0], [3.0], [4.5]])
    clf = OPFClassifier("precomputed").fit(np.abs(X - X.T), [0, 0, 1, 1])
    why = clf.explain(np.abs(5.0 - X[:, 0]))
    assert [step.id for step in why.steps] == [2, 3, None]
    assert [step.cost for step in why.steps] == [0, 1.5, 1.5]


@pytest.mark.parametrize(
    ("X", "y", "error", "message"),
    [
        ([[np.nan], [1.0]], [0, 1], ValueError, "contains NaN"),
        ([[np.inf], [1.0]], [0, 1], ValueError, "contains infinity"),
        ([1.0, 2.0], [0, 1], ValueError, "Expected 2D array, got 1D array"),
        (np.empty((0, 2)), [], ValueError, "Found array with 0 sample"),
        (np.empty((2, 0)), [0, 1], ValueError, "0 feature"),
        (np.array([[1j], [2j]]), [0, 1], ValueError, "Complex data not supported"),
        (sparse.csr_array(np.eye(2) * np.nan), [0, 1], ValueError, "contains NaN"),
        ([[0.0], [1.0]], [[0, 1], [1, 0]], ValueError, "y should be a 1d array"),
        ([[0.0], [1.0]], [0.5, 1.7], ValueError, "Unknown label type: continuous"),
        ([[0.0], [1.0]], [0, 1, 2], ValueError, "inconsistent numbers of samples"),
        ([[0.0], [1.0]], [0, np.nan], ValueError, "Input y contains NaN"),
        ([[0.0], [1.0]], None, ValueError, "requires y to be passed"),
        ([["a"], ["b"]], [0, 1], ValueError, "column 0 holds text, such as 'a'.*Preparation"),
    ],
)
def test_bad_training_data(X, y, error, message):
    clf = OPFClassifier()
    with pytest.raises(error, match=message):
        clf.fit(X, y)
    assert not hasattr(clf, "forest_")
    assert not hasattr(clf, "classes_")


@pytest.mark.parametrize("method", ["predict", "predict_proba", "class_costs", "conquerors"])
def test_bad_queries(moons, method):
    X, y = moons
    with pytest.raises(NotFittedError):
        getattr(OPFClassifier(), method)(X)
    clf = OPFClassifier().fit(X, y)
    for query, error, message in (
        ([[np.nan, 0.0]], ValueError, "contains NaN"),
        ([[1.0, 2.0, 3.0]], ValueError, "X has 3 features, but OPFClassifier is expecting 2"),
        ([1.0, 2.0], ValueError, "Expected 2D array"),
        (np.empty((0, 2)), ValueError, "0 sample"),
        (sparse.csr_array(np.eye(2) * np.nan), ValueError, "contains NaN"),
        (sparse.csr_array(np.eye(3)), ValueError, "X has 3 features"),
        ([[1e200, 0.0]], ValueError, "too large"),
    ):
        with pytest.raises(error, match=message):
            getattr(clf, method)(query)
    narrow = OPFClassifier().fit(X.astype(np.float32), y)
    with pytest.raises(ValueError, match="infinity"), np.errstate(over="ignore"):
        getattr(narrow, method)([[1e200, 0.0]])


@pytest.mark.parametrize(
    ("D", "message"),
    [
        ([[0.0, 1.0]], "square"),
        ([[0.0, 1.0], [2.0, 0.0]], r"symmetric .* \(0, 1\) is 1 and entry \(1, 0\) is 2"),
        ([[0.0, -1.0], [-1.0, 0.0]], "non-negative"),
    ],
)
def test_bad_precomputed_distances(D, message):
    with pytest.raises(ValueError, match=message):
        OPFClassifier("precomputed").fit(D, [0, 1][: len(D)])


def test_a_matrix_symmetric_but_for_rounding_is_welcome():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    noisy = D * (1 + 1e-12 * rng.normal(size=D.shape))
    OPFClassifier("precomputed").fit(noisy, np.arange(30) % 2).forest_.check()


def test_fitting_again_forgets(moons):
    X, y = moons
    clf = OPFClassifier().fit(X, y)
    clf.fit([[0.0], [1.0]], ["a", "b"])
    assert clf.n_features_in_ == 1
    assert len(clf.forest_) == 2


def test_ctrl_c_stops_a_long_fit_and_leaves_no_model():
    """A real process, a real signal."""
    code = """
import numpy as np, os, signal, threading, time
from opforest import OPFClassifier
clf = OPFClassifier(algorithm="brute")
OPFClassifier(algorithm="brute").fit(np.eye(3), [0, 1, 1])
threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
begin = time.process_time()
try:
    clf.fit(np.random.default_rng(0).random((150_000, 3)), np.arange(150_000) % 2)
except KeyboardInterrupt:
    print("stopped", time.process_time() - begin < 10, hasattr(clf, "forest_"))
"""
    code = "import signal; signal.signal(2, signal.default_int_handler)\n" + code
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.split() == ["stopped", "True", "False"], result.stderr


@pytest.fixture
def model():
    rng = np.random.default_rng(0)
    return OPFClassifier("chi_squared").fit(rng.random((60, 2)), rng.integers(0, 2, 60))


def test_a_failed_fit_leaves_the_old_model(model):
    before = pickle.dumps(model)
    queries = np.random.default_rng(1).random((3, 2))
    expected = model.predict(queries)
    for X, y in ((-np.ones((20, 40)), np.arange(20) % 2), (np.ones((4, 3)), [0.1, 0.2, 0.3, 0.4])):
        with pytest.raises(ValueError):
            model.fit(X, y)
        assert pickle.dumps(model) == before
        assert np.array_equal(model.predict(queries), expected)
    with pytest.raises(ValueError, match="expecting 2 features"):
        model.conquerors(np.ones((3, 40)))


def test_a_failed_first_fit_leaves_nothing():
    for method in ("fit", "partial_fit"):
        clf = OPFClassifier()
        with pytest.raises(ValueError, match="continuous"):
            getattr(clf, method)([[1.0], [2.0]], [0.5, 0.7])
        assert vars(clf) == vars(OPFClassifier())
        with pytest.raises(NotFittedError):
            clf.predict([[1.0]])


def test_labels_that_a_common_type_cannot_tell_apart_are_an_error():
    a = 2**53
    clf = OPFClassifier().fit([[0.0], [1.0], [5.0]], [a, a + 1, a + 1])
    before = pickle.dumps(clf)
    with pytest.raises(ValueError, match="cannot be distinguished as float64"):
        clf.partial_fit([[10.0]], [7.0])
    assert pickle.dumps(clf) == before
    unsigned = OPFClassifier().fit([[0.0], [1.0]], np.array([2**63, 2**63 + 1], np.uint64))
    with pytest.raises(ValueError, match="cannot be distinguished"):
        unsigned.partial_fit([[10.0]], [-1])


@pytest.mark.parametrize("type", [np.int64, np.uint64])
def test_labels_that_a_common_type_rounds_are_an_error(type):
    other = np.uint64 if type is np.int64 else np.int64
    clf = OPFClassifier().fit([[0.0], [1.0]], np.array([0, 1], other))
    with pytest.raises(ValueError, match="cannot be distinguished as float64"):
        clf.partial_fit([[10.0]], np.array([2**62 + 1], type))
    assert clf.classes_.tolist() == [0, 1]


def test_announcing_no_classes_keeps_the_type_of_labels():
    clf = OPFClassifier().fit([[0.0], [1.0]], [0, 1]).partial_fit([[2.0]], [0], classes=[])
    assert clf.classes_.dtype == np.int64


def test_a_metric_changed_after_fit_is_an_error(model):
    for params in ({"metric": "manhattan"}, {"metric": "minkowski", "metric_params": {"p": 3}}):
        clf = pickle.loads(pickle.dumps(model)).set_params(**params)
        with pytest.raises(ValueError, match="learned with metric 'chi_squared'"):
            clf.partial_fit([[1.0, 1.0]], [0])


def test_underflow_is_said():
    X = np.random.default_rng(0).normal(size=(50, 2))
    y = (X[:, 0] > 0).astype(int)
    with pytest.warns(UserWarning, match="differ so little.*float32") as caught:
        OPFClassifier().fit((1e-24 * X).astype(np.float32), y)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="Rescale"):
        OPFClassifier().fit(1e-165 * X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for metric, scale in (("euclidean", 1e-100), ("manhattan", 1e-200)):
            OPFClassifier(metric).fit(scale * X, y)


def test_frames_of_precomputed_distances_grow():
    X = np.random.default_rng(0).normal(size=(30, 2))
    D = np.abs(X[:, None] - X).sum(axis=2)
    frame = pd.DataFrame(D, columns=[f"s{i}" for i in range(30)])
    y = np.arange(30) % 2
    clf = OPFClassifier("precomputed").fit(frame.iloc[:28, :28], y[:28])
    clf.partial_fit(frame.iloc[28:], y[28:])
    assert clf.predict(D[:3]).shape == (3,)
    assert not hasattr(clf, "feature_names_in_")


def test_a_row_of_a_frame_is_explained():
    frame = pd.DataFrame({"left": [0.0, 1.0, 4.0], "right": [1.0, 0.0, 2.0]})
    clf = OPFClassifier().fit(frame, [0, 0, 1])
    assert clf.explain(frame.iloc[2]).label == 1


def test_nobody_talks_of_regression_where_classes_are_many():
    clf = OPFClassifier().fit(np.arange(60.0)[:, None], np.arange(60) // 2)
    clf.partial_fit(np.arange(30.0)[:, None], np.arange(30))


@pytest.mark.parametrize("query", ["predict", "conquerors", "class_costs", "explain"])
def test_a_query_takes_one_lock(query, monkeypatch):
    clf = OPFClassifier().fit([[0.0], [1.0], [3.0], [4.5]], ["low", "low", "high", "high"])
    taken, read = [], ReadWriteLock.read
    monkeypatch.setattr(ReadWriteLock, "read", lambda lock: taken.append(lock) or read(lock))
    getattr(clf, query)(np.array([[2.0], [4.0]]))
    assert taken == [clf.forest_.storage.lock]
