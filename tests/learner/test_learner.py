"""What a learner answers, and that it always is the model of its table."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from scipy.sparse import csr_matrix

import opforest
from opforest import Learner, OPFClassifier
from opforest.learner import KeyConflictError, RowError, StoreError, UnknownKeyError
from opforest.learner.store import Snapshot

NUMBERS = itertools.count()
FOREST = ("points", "label", "cost", "predecessor", "root", "prototypes", "edges")


def assert_trained_on(learner, X, y):
    """Compare a learner's model with one that scikit-learn's users would fit."""
    if len(X) == 0:
        assert len(learner) == 0
        return
    fitted, own = OPFClassifier(learner.settings.metric).fit(X, y), learner.model
    assert own.classes_.tolist() == fitted.classes_.tolist()
    for name in FOREST:
        assert np.array_equal(getattr(own.forest_, name), getattr(fitted.forest_, name)), name
    Q = np.vstack((X, X + 0.25))
    assert learner.predict(Q).tolist() == fitted.predict(Q).tolist()
    assert np.array_equal(learner.predict_proba(Q), fitted.predict_proba(Q))


class Machine(RuleBasedStateMachine):
    """A learner beside a dict; examples on a coarse grid tie all the time."""

    folder = None

    @initialize(score=st.booleans())
    def open(self, score):
        self.path = str(self.folder / f"{next(NUMBERS)}.db")
        self.table = {}
        self.learner = Learner(self.path, score=score)

    point = st.tuples(st.integers(0, 3), st.integers(0, 3))
    key = st.integers(0, 15).map("k{}".format)

    @rule(batch=st.dictionaries(key, st.tuples(point, st.sampled_from("abc")), max_size=12))
    def learn(self, batch):
        """Learn new examples, in their order, beside known ones."""
        X = np.array([x for x, _ in batch.values()], float).reshape(-1, 2)
        y = [label for _, label in batch.values()]
        before = dict(self.table)
        clash = any(before.get(k, value) != value for k, value in batch.items())
        if clash:
            with pytest.raises(KeyConflictError, match="another example with the key"):
                self.learner.learn(X, y, list(batch))
            change = self.learner.learn(X, y, list(batch), replace=True)
        else:
            change = self.learner.learn(X, y, list(batch))
        for k, value in batch.items():
            if before.get(k) != value:
                self.table.pop(k, None)
                self.table[k] = value
        assert change.unchanged == sum(before.get(k) == value for k, value in batch.items())
        assert change.learned == len(self.table) - len(before)
        assert change.keys == tuple(batch)

    @rule(data=st.data())
    def forget(self, data):
        known = sorted(self.table)
        keys = data.draw(st.lists(st.sampled_from(known), unique=True) if known else st.just([]))
        assert self.learner.forget(keys).forgotten == len(keys)
        for key in keys:
            del self.table[key]

    @rule(key=key, label=st.sampled_from("abc"))
    def correct(self, key, label):
        if key not in self.table:
            with pytest.raises(UnknownKeyError, match="no example with the key"):
                self.learner.correct(key, label)
            return
        x, old = self.table[key]
        self.learner.correct(key, label)
        if label != old:
            del self.table[key]
            self.table[key] = (x, label)

    @rule(kept=st.booleans())
    def reopen(self, kept):
        if not kept:
            self.learner.session.take_snapshot()
        self.learner.close()
        self.learner = Learner(self.path)

    @rule(x=point)
    def forget_the_conqueror(self, x):
        """Forget exactly the conqueror that the explanation names."""
        if not self.table:
            return
        path = self.learner.explain([*map(float, x)])
        forest = self.learner.model.forest_
        for step in path.steps[:-1]:
            assert forest.points[forest.index_of(step.id)].tolist() == [*self.table[step.key][0]]
            assert step.label == self.table[step.key][1]
        assert path.steps[-2].id == path.conqueror == self.learner.model.explain(x).conqueror
        self.learner.forget(path.steps[-2].key)
        del self.table[path.steps[-2].key]
        assert path.conqueror not in self.ids()

    def ids(self):
        """Return the ids in the table."""
        return [row.id for row in self.learner.session.store.rows()]

    @rule()
    def snapshot(self):
        self.learner.session.take_snapshot()

    @invariant()
    def is_the_model_of_the_table(self):
        if not hasattr(self, "learner"):
            return
        assert len(self.learner) == len(self.table)
        keys, X, y = self.learner.rows()
        assert keys == list(self.table)
        assert X.tolist() == [[*map(float, x)] for x, _ in self.table.values()] or not self.table
        assert y.tolist() == [label for _, label in self.table.values()]
        assert_trained_on(self.learner, X, y)
        if self.table:
            assert self.learner.model.forest_.ids.tolist() == self.ids()
        assert self.learner.audit().ok

    def teardown(self):
        if hasattr(self, "learner"):
            self.learner.close()


def test_a_learner_is_always_the_model_of_its_table(tmp_path):
    Machine.folder = tmp_path
    case = Machine.TestCase
    case.settings = settings(max_examples=20, stateful_step_count=12)
    case().runTest()


def test_snapshots_of_older_versions_keep_the_ids_of_the_table(tmp_path):
    """Version 0.2 saved a model that counted its examples from 0, and their ids beside it."""
    X, y = np.arange(8.0)[:, None], list("aabbaabb")
    with Learner(tmp_path / "a.db") as learner:
        learner.learn(X, y)
        learner.forget(["#1", "#4"])
        stay = [1, 2, 4, 5, 6, 7]
        opforest.save(OPFClassifier().fit(X[stay], [y[i] for i in stay]), tmp_path / "m")
        ids = np.array(stay, "<i8") + 1
        model = (tmp_path / "m").read_bytes()
        learner.session.store.save_snapshot(Snapshot(9, ids.tobytes(), model))
        learner.learn([[8.0]], ["b"])
    with Learner(tmp_path / "a.db") as again:
        assert again.model.forest_.ids.tolist() == [*ids.tolist(), 9]
        assert again.learn([[9.0]], ["a"]).keys == (":10",)
        path = again.explain([6.1])
        assert (path.conqueror, path.steps[-2].key) == (7, ":7")
        again.forget(path.steps[-2].key)
        assert again.rows()[1].ravel().tolist() == [1, 2, 4, 5, 7, 8, 9]
        assert again.model.forest_.ids.tolist() == [2, 3, 5, 6, 8, 9, 10]
        assert again.audit().ok


@pytest.fixture
def learner(tmp_path):
    with Learner(tmp_path / "a.db") as learner:
        learner.learn([[0.0, 0], [1, 0], [3, 0]], ["low", "low", "high"], keys=["a", "b", "c"])
        yield learner


def test_what_was_learned_is_there_again(learner):
    path = learner.path
    learner.close()
    with Learner(path) as again:
        assert again.predict([[2.5, 0], [0, 0]]).tolist() == ["high", "low"]
        assert again.rows()[0] == ["a", "b", "c"]
        assert repr(again) == f"<Learner {path}: 3 examples>"
    with pytest.raises(StoreError, match="has been closed"):
        again.predict([[0, 0]])


def test_numbers_of_the_newest_that_were_forgotten_are_missing_ever_after(learner):
    """They were given to others once, after the store had been opened again."""
    path = learner.path
    learner.forget(["b", "c"])
    learner.close()
    with Learner(path) as again:
        again.learn([[5.0, 0], [9, 0]], ["high", "high"], keys=["d", "e"])
        assert again.explain([5.1, 0]).steps[-2].key == "d"
        again.forget(["d"])
        assert again.rows()[0] == ["a", "e"]
        assert again.audit().ok


def test_a_batch_sent_again_changes_nothing(learner):
    before = learner.stats()["commits"]
    change = learner.learn([[0.0, 0], [1, 0]], ["low", "low"], keys=["a", "b"])
    assert (change.learned, change.unchanged, len(learner)) == (0, 2, 3)
    assert learner.stats()["commits"] == before
    learner.learn([[0.0, -0.0]], ["low"], keys=["a"])  # −0 is 0


def test_examples_without_keys_are_called_by_their_number(learner):
    change = learner.learn([[4.0, 0], [5, 0]], ["high", "high"])
    assert change.keys == (":4", ":5")
    assert learner.correct("#4", "low").keys == (":4",)
    assert learner.forget([":4", "#5"]).forgotten == 2
    assert learner.learn([[4.0, 0]], ["high"]).keys == (":7",)  # no number is given twice
    with pytest.raises(RowError, match="must not begin with '#'"):
        learner.learn([[4.0, 0]], ["high"], keys=["#99"])
    with pytest.raises(RowError, match="generated"):
        learner.learn([[4.0, 0]], ["high"], keys=[":99"])


def test_explanations_name_keys(learner):
    path = learner.explain([4.0, 0])
    assert [step.key for step in path.steps] == ["c", None]
    assert "conquered by 'c', on the path of prototype 'c'" in str(path)
    rows = [[4.0, 0], [0.1, 0], [1.2, 0]]
    assert learner.explain(rows) == [learner.explain(row) for row in rows]
    assert learner.explain(rows[:1]) == path
    for query in (learner.explain, learner.predict, learner.predict_proba):
        with pytest.raises(ValueError, match="there must be at least one row, got none"):
            query(np.empty((0, 2)))


def test_the_score_is_of_predictions_before_learning(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.random((60, 2))
    y = (X[:, 0] > 0.5).astype(int)
    with Learner(tmp_path / "a.db", score=True) as learner:
        right = 0
        for i in range(60):
            if i:
                right += int(OPFClassifier().fit(X[:i], y[:i]).predict(X[i : i + 1])[0] == y[i])
            learner.learn(X[i : i + 1], y[i : i + 1])
        assert learner.stats()["score"] == {"correct": right, "total": 59, "accuracy": right / 59}
    with Learner(tmp_path / "a.db") as learner:
        assert learner.stats()["score"]["total"] == 59
    with pytest.raises(StoreError, match="score=True"):
        Learner(tmp_path / "a.db", score=False)


@pytest.mark.parametrize(
    ("y", "kind"),
    [(["a", "b"], "text"), ([1, 2], "integer"), ([True, False], "boolean"), ([1.0, 2.0], "real"),
     (np.array([1, 2], np.uint8), "integer"), (np.array(["a", "b"], object), "text")],
)  # fmt: skip
def test_labels_come_back_as_they_were(tmp_path, y, kind):
    with Learner(tmp_path / "a.db") as learner:
        learner.learn([[0.0], [1.0]], y)
        assert learner.settings.labels == kind
    with Learner(tmp_path / "a.db") as learner:
        assert learner.predict([[0.0], [1.0]]).tolist() == list(y)
        assert type(learner.predict([[0.0]]).tolist()[0]) is type(np.asarray(y).tolist()[0])


@pytest.mark.parametrize(
    ("X", "y", "keys", "message"),
    [
        ([[0.0, np.nan]], ["low"], None, "row 0, column 1 must be a finite number, got nan"),
        ([[0.0, 1], [np.inf, 2]], ["low", "a"], None, "row 1, column 0"),
        ([[0.0]], ["low"], None, "must have 2 features, got 1"),
        ([0.0, 1.0], ["low"], None, "Put a single example into a list"),
        ([[0.0, "x"]], ["low"], None, "tables of numbers"),
        ([[0.0, 1], [2]], ["low", "low"], None, "tables of numbers"),
        ([[0.0, 1]], [3], None, r"labels must be of one kind \(text in this store\)"),
        ([[0.0, 1], [1, 2]], ["low", 3], None, "but the label of row 1 is 3"),
        ([[0.0, 1], [1, 2]], [1, 2.0], None, "but the label of row 0 is 1"),
        ([[0.0, 1]], ["low", "low"], None, "a label for each row, got 2 for 1"),
        ([[0.0, 1]], [None], None, "must be text, a whole number or a boolean"),
        ([[0.0, 1]], ["a\0b"], None, "NUL"),
        ([[0.0, 1]], ["\ud800"], None, "valid Unicode"),
        ([[0.0, 1]], ["x" * 300], None, "at most 256 characters"),
        ([[0.0, 1]], "low", None, "labels must be a list"),
        ([[0.0, 1], [1, 1]], {"low", "high"}, None, "one label for each row, got set"),
        ([[0.0, 1]], {"low": 1}, None, "one label for each row, got dict"),
        (
            [[0.0, 1], [1, 1]],
            ["low"] * 2,
            {"x", "y"},
            "a list of text in the order of the rows, got set",
        ),
        ([[0.0, 1]], ["low"], 5, "a list of text in the order of the rows, got 5"),
        (np.ma.array([[0.0, 1]], mask=[[True, False]]), ["low"], None, "are masked"),
        (np.array([["2020-01-01"] * 2], "datetime64[D]"), ["low"], None, "got datetime64"),
        (np.array([[1j, 2]]), ["low"], None, "got complex128"),
        (csr_matrix([[0.0, 1]]), ["low"], None, r"Pass X.toarray\(\)"),
        ([[0.0, 1]], ["low"], ["a"], "another example with the key 'a'"),
        ([[0.0, 1]], ["low"], [""], "is empty"),
        ([[0.0, 1]], ["low"], [7], "must be text, got 7"),
        ([[0.0, 1]], ["low"], ["x", "y"], "a key for each row"),
        ([[0.0, 1], [0, 2]], ["low", "low"], ["x", "x"], "another example with the key 'x'"),
        ([[0.0, 1], [0, 2]], ["low", "low"], ["x", "#9"], "the key of row 1 must not begin"),
        ([[1e200, 1]], ["low"], None, "largest|too large|overflow"),
    ],
)
def test_bad_batches_change_nothing(learner, X, y, keys, message):
    before = learner.rows()[0], learner.model.forest_.cost.tolist()
    with pytest.raises(ValueError, match=message):
        learner.learn(X, y, keys)
    assert (learner.rows()[0], learner.model.forest_.cost.tolist()) == before
    assert learner.audit().ok


@pytest.mark.parametrize("known", [[1, 2], [1.0, 2.0]])
@pytest.mark.parametrize("y", [[10**400], [1.0, 10**400], [10**400, 0.5], [2**63], [1e300, 1]])
def test_labels_beyond_all_numbers_are_refused(tmp_path, known, y):
    with Learner(tmp_path / "a.db") as learner:
        learner.learn([[0.0], [1.0]], known)
        with pytest.raises(ValueError, match=r"label of row|labels must be of one kind"):
            learner.learn([[3.0 + i] for i in range(len(y))], y)
        assert learner.audit().ok
        assert learner.learn([[3.0]], [2.0**62]).learned == 1
        assert learner.audit().ok


@pytest.mark.parametrize(
    ("y", "names"), [([True, False], ["false", "true"]), ([2.0, -1.0], ["-1", "2"]),
                     ([7, 10], ["7", "10"]), (["b", "True"], ["True", "b"])]
)  # fmt: skip
def test_stats_name_classes_as_json_does(y, names):
    with Learner(":memory:") as learner:
        learner.learn([[0.0], [1.0]], y)
        assert list(learner.stats()["classes"]) == names


def test_what_a_metric_does_not_measure_is_found_before_it_is_written(tmp_path):
    with Learner(tmp_path / "a.db", metric="braycurtis") as learner:
        with pytest.raises(ValueError, match="braycurtis"):
            learner.learn([[1.0], [-1.0]], [0, 1])
        learner.learn([[1.0], [2.0]], [0, 1])
        with pytest.raises(ValueError, match="braycurtis"):
            learner.learn([[-1.0]], [0])
        assert len(learner.rows()[0]) == 2
        assert learner.audit().ok


def test_unknown_keys_are_errors_unless_they_may_be(learner):
    with pytest.raises(UnknownKeyError, match="no example with the key 'x', nor with 1 other key"):
        learner.forget(["a", "x", "y"])
    assert len(learner) == 3
    assert learner.forget(["a", "x"], missing_ok=True).forgotten == 1
    assert learner.forget([]).forgotten == 0
    with pytest.raises(ValueError, match="must be unique"):
        learner.correct(["b", "b"], ["low", "low"])


def test_a_class_without_examples_is_forgotten_too(learner):
    learner.forget("c")
    assert learner.model.classes_.tolist() == ["low"]
    assert learner.predict_proba([[0, 0]]).shape == (1, 1)
    learner.forget(["a", "b"])
    with pytest.raises(ValueError, match="no examples yet"):
        learner.predict([[0, 0]])
    assert learner.learn([[0.0, 0]], ["new"]).learned == 1
    assert learner.audit().ok


def test_data_frames_are_read_by_name(tmp_path):
    import pandas as pd

    frame = pd.DataFrame({"height": [1.0, 2], "width": [3.0, 4]})
    with Learner(tmp_path / "a.db") as learner:
        learner.learn(frame, ["a", "b"])
        assert learner.settings.feature_names == ("height", "width")
        assert learner.predict(frame[["width", "height"]]).tolist() == ["a", "b"]
        with pytest.raises(RowError, match="feature 'width' is missing"):
            learner.predict(frame[["height"]])
        with pytest.raises(RowError, match="no feature 'depth'"):
            learner.predict(frame.assign(depth=1.0))


def test_single_precision_is_kept(tmp_path):
    X = np.random.default_rng(0).random((20, 2), np.float32)
    with Learner(tmp_path / "a.db") as learner:
        learner.learn(X, [0, 1] * 10)
    with Learner(tmp_path / "a.db") as learner:
        assert learner.settings.precision == "float32"
        assert_trained_on(learner, X, np.array([0, 1] * 10))
        with pytest.raises(RowError, match="single precision"):
            learner.learn([[1e300, 0]], [1])


@pytest.mark.filterwarnings("ignore:.*njit")
def test_a_function_is_passed_again(tmp_path):
    def taxi(a, b):
        return float(abs(a - b).sum())

    with Learner(tmp_path / "a.db", metric=taxi) as learner:
        learner.learn([[0.0], [1], [4]], [0, 0, 1])
        learner.session.take_snapshot()
    with pytest.raises(StoreError, match="the function 'taxi', which is not saved"):
        Learner(tmp_path / "a.db")
    with Learner(tmp_path / "a.db", metric=taxi) as learner:
        assert learner.predict([[3.5]]) == [1]
        assert learner.audit().ok


def test_settings_cannot_change(learner):
    path = learner.path
    learner.close()
    with pytest.raises(StoreError, match=r"its metric is 'euclidean'.* and not 'manhattan'"):
        Learner(path, metric="manhattan")
    Learner(path, metric="l2").close()  # another name of the same one
    with pytest.raises(ValueError, match="needs a table of distances"):
        Learner(path, metric="precomputed")
    with pytest.raises(ValueError, match="precision must be one of"):
        Learner(path, precision="float16")


def test_exported_examples_make_the_same_model(learner, tmp_path):
    from opforest.io.tables import read_table

    learner.export(tmp_path / "all.csv")
    data = read_table(tmp_path / "all.csv")
    assert data.ids.tolist() == ["a", "b", "c"]
    assert_trained_on(learner, data.X, data.y)
    learner.export(tmp_path / "model.opforest")
    model = opforest.load(tmp_path / "model.opforest")
    assert model.predict([[2.5, 0]]).tolist() == ["high"]


@pytest.mark.parametrize("end", ["", "-wal", "-shm", "-lock", "-ack", "-journal"])
@pytest.mark.parametrize("how", ["same path", "other spelling", "symbolic link", "hard link"])
def test_a_store_is_not_exported_over_itself(learner, tmp_path, end, how):
    own = Path(f"{learner.path}{end}")
    target = {"same path": own, "other spelling": tmp_path / "." / "x" / ".." / own.name}.get(
        how, tmp_path / "link.opforest"
    )
    (tmp_path / "x").mkdir()
    if how == "symbolic link":
        target.symlink_to(own)
    elif how == "hard link":
        own.touch()
        target.hardlink_to(own)
    before = {file.name: file.read_bytes() for file in tmp_path.glob("a.db*")}
    for format in (None, "csv"):
        with pytest.raises(ValueError, match="is a file of this store: choose another name"):
            learner.export(target, format)
    assert {file.name: file.read_bytes() for file in tmp_path.glob("a.db*")} == before
    target.unlink() if how == "hard link" else None
    learner.learn([[9.0, 9]], ["high"])
    assert learner.audit().ok


def test_memory_keeps_nothing(learner):
    with Learner(":memory:") as one, Learner(":memory:") as other:
        one.learn([[0.0]], [1])
        assert len(other) == 0
        assert one.forget("#1").forgotten == 1


def test_the_missing_value_of_pandas_is_no_label():
    pd = pytest.importorskip("pandas")
    with Learner(":memory:", semi_supervised=True) as learner:
        learner.learn([[0.0], [1], [5]], pd.Series([3, pd.NA, 5], dtype="Int64"))
        assert learner.rows()[2].tolist() == [3, None, 5]


@pytest.mark.parametrize("labels", [[1, "a"], ["a", 1], [True, "x"], [True, 2]])
def test_a_first_batch_of_several_kinds_of_labels_changes_nothing(tmp_path, labels):
    path = tmp_path / "kinds.db"
    with Learner(path) as learner:
        with pytest.raises(RowError, match="labels must be of one kind, but the label of row 1"):
            learner.learn([[0.0], [1.0]], labels)
        assert len(learner) == 0
        learner.learn([[0.0], [1.0]], ["a", "b"])
        assert learner.audit().ok
    with Learner(path) as learner:
        assert learner.predict([[0.1]]).tolist() == ["a"]
