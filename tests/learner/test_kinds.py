"""Stores whose examples may have no label, and stores that prepare their rows."""

import itertools
import json
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

import opforest
from opforest import Learner, OPFClassifier, OPFSemiSupervised, Preparation
from opforest.estimators.preparation import SUPERVISED
from opforest.learner import KeyConflictError, RowError, StoreError
from opforest.learner.schema import checksum
from opforest.learner.store import row_checksum

NUMBERS = itertools.count()
FOREST = ("points", "label", "cost", "predecessor", "root", "prototypes", "edges")
PREPARATION = Preparation("onehot", "median", "standard")


def columns_of(cells):
    """Return a table as scikit-learn's users would have it."""
    return np.array(cells, object).reshape(len(cells), -1)


class Machine(RuleBasedStateMachine):
    """A learner beside a dict; founders are those that the preparation is learned from."""

    folder = None

    scales, encodings = ("", "standard", *SUPERVISED), ("onehot", "ordinal")

    @initialize(semi=st.booleans(), scale=st.sampled_from(scales),
                voters=st.sampled_from([1, "auto"]), encode=st.sampled_from(encodings))  # fmt: skip
    def open(self, semi, scale, voters, encode):
        self.semi, self.voters, self.depends_on_labels = semi, voters, scale in SUPERVISED
        self.prepared = Preparation(encode, "median", scale) if scale else None
        self.path = str(self.folder / f"{next(NUMBERS)}.db")
        self.table, self.founders = {}, set()
        self.learner = Learner(self.path, score=True, semi_supervised=semi,
                               preparation=self.prepared, voters=voters)  # fmt: skip

    color = st.sampled_from(["red", "blue"])
    key = st.integers(0, 12).map("k{}".format)
    label = st.sampled_from(["a", "b", "c", None])

    def row(self, x, color):
        return (float(x), color) if self.prepared else (float(x), float(len(color)))

    def put(self, key, value):
        """Put an example at the end of the table; what was there is gone."""
        if self.table.pop(key, None) is not None:
            self.leave({key})
        self.table[key] = value

    def leave(self, keys):
        if self.founders & keys:
            self.renew = True

    def give_label(self, key):
        if self.depends_on_labels:
            self.leave({key})

    def settle(self):
        """Refit the preparation if an example was removed on which it was fitted."""
        if self.renew or not self.founders:
            self.founders = set(self.table)
        self.renew = False

    @rule(batch=st.dictionaries(key, st.tuples(st.integers(0, 3), color, label), max_size=10))
    def learn(self, batch):
        self.renew = False
        seen = {self.table[k][0][1] for k in self.founders}
        if self.prepared and len(seen) == 1:  # the other color was forgotten, and is an error
            batch = {k: (x, *seen, label) for k, (x, _, label) in batch.items()}
        batch = {k: (self.row(x, color), label if self.semi else label or "a")
                 for k, (x, color, label) in batch.items()}  # fmt: skip
        # Both colors occur in the first batch, and so do numbers.
        if self.prepared and not self.table:
            batch |= {"red": ((0.0, "red"), "a"), "blue": ((5.0, "blue"), "b")}
        X, y = [list(row) for row, _ in batch.values()], [label for _, label in batch.values()]
        X = X if self.prepared else np.array(X).reshape(-1, 2)
        before = dict(self.table)
        conflict, labeled = False, 0
        for k, (row, label) in batch.items():
            if k not in before:
                self.put(k, (row, label))
                continue
            known, old = before[k]
            if known == row and (label == old or label is None):
                continue
            if known == row and old is None:
                self.table[k], labeled = (row, label), labeled + 1
                self.give_label(k)
                continue
            conflict = True
        if conflict:
            self.table = before
            with pytest.raises(KeyConflictError):
                self.learner.learn(X, y, list(batch))
            return
        change = self.learner.learn(X, y, list(batch))
        assert (change.labeled, change.learned) == (labeled, len(self.table) - len(before))
        self.settle()

    @rule(data=st.data())
    def forget(self, data):
        self.renew = False
        known = sorted(self.table)
        keys = data.draw(st.lists(st.sampled_from(known), unique=True) if known else st.just([]))
        left = {k: v for k, v in self.table.items() if k not in keys}
        assert self.learner.forget(keys).forgotten == len(keys)
        self.leave(set(keys))
        self.table = left
        self.settle()

    @rule(key=key, label=st.sampled_from("abc"))
    def correct(self, key, label):
        if key not in self.table:
            return
        self.renew = False
        row, old = self.table[key]
        self.learner.correct(key, label)
        if old is None:
            self.table[key] = (row, label)
            self.give_label(key)
        elif label != old:
            self.put(key, (row, label))
        self.settle()

    @rule(kept=st.booleans())
    def reopen(self, kept):
        if not kept:
            self.learner.session.take_snapshot()
        self.learner.close()
        self.learner = Learner(self.path)

    @invariant()
    def is_the_model_of_the_table(self):
        if not hasattr(self, "learner"):
            return
        keys, X, y = self.learner.rows()
        assert (keys, y.tolist()) == (list(self.table), [label for _, label in self.table.values()])
        assert self.learner.audit().ok
        if not self.table:
            return
        cells = [row for row, _ in self.table.values()]
        assert X.tolist() == [list(row) for row in cells]
        if self.prepared:
            chosen = [pair for k, pair in self.table.items() if k in self.founders]
            labels = np.array([label for _, label in chosen], object)
            fresh = clone(self.prepared).fit(columns_of([row for row, _ in chosen]), labels)
            prepare = fresh.transform
        else:
            prepare = np.asarray
        features = prepare(columns_of(cells) if self.prepared else np.array(cells))
        oracle = (OPFSemiSupervised if self.semi else OPFClassifier)(voters=self.voters)
        fitted = oracle.partial_fit(features, y if self.semi else y.astype(str))
        own = self.learner.session.replica.model
        assert own.forest_.ids.tolist() == [row.id for row in self.learner.session.store.rows()]
        assert own.classes_.tolist() == fitted.classes_.tolist()
        for name in FOREST:
            assert np.array_equal(getattr(own.forest_, name), getattr(fitted.forest_, name)), name
        if any(label is not None for label in y):
            assert self.learner.predict(X).tolist() == fitted.predict(features).tolist()
            assert np.array_equal(self.learner.predict_proba(X), fitted.predict_proba(features))

    def teardown(self):
        if hasattr(self, "learner"):
            self.learner.close()


def test_a_learner_of_any_kind_is_always_the_model_of_its_table(tmp_path):
    Machine.folder = tmp_path
    case = Machine.TestCase
    case.settings = settings(max_examples=40, stateful_step_count=10)
    case().runTest()


# Examples without labels.


@pytest.fixture
def half_known(tmp_path):
    with Learner(tmp_path / "a.db", semi_supervised=True) as learner:
        learner.learn([[0.0], [1], [5], [6]], ["low", None, None, "high"], keys=list("abcd"))
        yield learner


def test_a_label_comes_later(half_known):
    assert half_known.predict([[1.2], [4]]).tolist() == ["low", "high"]
    stats = half_known.stats()
    assert (stats["unlabeled"], stats["classes"]) == (2, {"high": 1, "low": 1})
    change = half_known.learn([[1.0]], ["middle"], keys=["b"])  # the same example, and its label
    assert (change.labeled, change.learned, change.replaced) == (1, 0, 0)
    assert half_known.learn([[1.0]], [None], keys=["b"]).unchanged == 1  # an old message again
    assert half_known.predict([[1.2], [4]]).tolist() == ["middle", "high"]
    assert half_known.correct("c", "middle").labeled == 1
    with pytest.raises(KeyConflictError):
        half_known.learn([[1.0]], ["low"], keys=["b"])
    assert half_known.learn([[1.0]], ["low"], keys=["b"], replace=True).replaced == 1
    assert half_known.audit().ok


def test_readers_see_new_labels(half_known):
    with Learner(half_known.path, read_only=True) as reader:
        assert reader.predict([[1.2]]).tolist() == ["low"]
        half_known.correct("b", "middle")
        assert reader.predict([[1.2]]).tolist() == ["middle"]
        assert reader.audit().ok


@pytest.mark.parametrize("labels", [[3, -1, 5], [3.0, float("nan"), 5.0], [True, None, False]])
def test_what_is_no_label(tmp_path, labels):
    with Learner(tmp_path / "a.db", semi_supervised=True) as learner:
        learner.learn([[0.0], [1], [5]], labels)
        assert repr(learner.rows()[2].tolist()) == repr([labels[0], None, labels[2]])
        assert learner.stats()["unlabeled"] == 1
        before = learner.predict([[0.0], [5]]).tolist(), learner.stats()["classes"]
        assert repr(before[0]) == repr(labels[::2])
    with Learner(tmp_path / "a.db") as learner:  # trained on the table
        assert repr((learner.predict([[0.0], [5]]).tolist(), learner.stats()["classes"])) == repr(
            before
        )
        learner.learn([[2.0]], labels[:1])
        assert learner.audit().ok


def test_without_any_label_there_is_no_prediction(tmp_path):
    with Learner(tmp_path / "a.db", semi_supervised=True, score=True) as learner:
        learner.learn([[0.0], [1]], [None, None], keys=["a", "b"])
        with pytest.raises(ValueError, match="no example in the store has a label"):
            learner.predict([[0.0]])
        learner.learn([[2.0]], [7])
        assert learner.predict([[0.0]]).tolist() == [7]
        assert learner.stats()["score"]["total"] == 0


def test_other_stores_want_labels(tmp_path):
    with (
        Learner(tmp_path / "a.db") as learner,
        pytest.raises(RowError, match="Only semi-supervised stores"),
    ):
        learner.learn([[0.0]], [None])
    with pytest.raises(StoreError, match="semi_supervised=False, which cannot be changed"):
        Learner(tmp_path / "a.db", semi_supervised=True)


def test_a_label_that_is_killed_on_its_way_is_there_or_not(half_known, monkeypatch):
    def die(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(half_known.session.replica, "label", die)
    with pytest.raises(KeyboardInterrupt):
        half_known.correct("b", "high")
    assert half_known.predict([[1.0]]).tolist() == ["high"]
    assert half_known.audit().ok


# Preparation.

ROWS = [[1.0, "red"], [2, "blue"], [None, "red"], [1000, None]]


@pytest.fixture
def prepared(tmp_path):
    with Learner(tmp_path / "a.db", preparation=PREPARATION, feature_names=["size", "color"]) as a:
        a.learn(ROWS, ["a", "b", "a", "b"], keys=list("wxyz"))
        yield a


def test_rows_are_kept_as_they_came(prepared):
    assert prepared.rows()[1].tolist() == [[1.0, "red"], [2.0, "blue"], [None, "red"], [1000, None]]
    assert prepared.predict([[999, "blue"], [1.5, "red"]]).tolist() == ["b", "a"]
    path = prepared.path
    prepared.close()
    with Learner(path, preparation=PREPARATION) as again:
        assert again.predict([[1, "red"]]).tolist() == ["a"]
        assert again.explain([1, "red"]).label == "a"


def test_data_frames_are_read_by_name(prepared):
    import pandas as pd

    frame = pd.DataFrame({"color": ["blue", None], "size": [2.0, np.nan]})
    assert (
        prepared.predict(frame).tolist() == prepared.predict([[2, "blue"], [None, None]]).tolist()
    )


@pytest.mark.parametrize(
    ("row", "message", "column"),
    [
        ([1, "green"], "'green', which is not in the training data: blue, red", "color"),
        (["1", "red"], "held numbers in training, and now text", None),
        ([1, 2], "held text in training, and now numbers", None),
        ([1], "row 0 must have 2 cells, got 1", None),
        ([float("inf"), "red"], "must be a finite number or text, got inf", "size"),
        ([10**400, "red"], "must be a finite number or text", "size"),
        ([b"1", "red"], "must be a finite number or text, got b'1'", "size"),
        ([1, "r" * 300], "at most 256 characters", None),
    ],
)
def test_rows_that_cannot_be_prepared(prepared, row, message, column):
    with pytest.raises(RowError, match=message) as caught:
        prepared.learn([row], ["a"])
    assert caught.value.column == column
    assert prepared.rows()[0] == list("wxyz")
    assert prepared.audit().ok


def test_an_error_names_the_row_of_the_batch(prepared):
    batch = [[1.0, "red"], [2, "red"], [3, "green"]]  # the first one is known
    with pytest.raises(RowError, match="row 2, column 'color' has 'green'") as caught:
        prepared.learn(batch, ["a", "b", "b"], keys=["w", "v", "u"])
    assert (caught.value.row, caught.value.column) == (2, "color")


def test_what_a_preparation_learned_is_forgotten_as_well(prepared):
    secret = [[123456.5, "ultraviolet"]]
    prepared.forget(list("wxyz"))
    assert prepared.settings.prepared is None
    prepared.learn([*secret, [1, "red"], [2, "blue"]], ["a", "b", "a"], keys=list("abc"))
    prepared.session.take_snapshot()
    prepared.forget(["a"])
    assert prepared.audit().ok
    for file in Path(prepared.path).parent.iterdir():
        content = file.read_bytes()
        assert b"ultraviolet" not in content
        assert b"123456.5" not in content


def test_what_nothing_could_be_learned_from_stays(prepared):
    """Without the two that have a size, no size would be left."""
    prepared.forget(["z"])
    with pytest.raises(RowError, match="all cells are missing in 1"):
        prepared.forget(["w", "x"])
    assert prepared.audit().ok
    assert len(prepared) == 3


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_an_exported_store_is_the_same_again(prepared, tmp_path, end):
    from opforest.io.columns.table import ReadOptions
    from opforest.io.tables import read_table

    prepared.export(tmp_path / f"all.{end}")
    data = read_table(tmp_path / f"all.{end}", ReadOptions(categories=True, allow_missing=True))
    with Learner(":memory:", preparation=PREPARATION) as other:
        other.learn(data.X, data.y, data.ids.tolist())
        assert other.settings.prepared == prepared.settings.prepared
        for name in FOREST:
            own, fresh = (
                getattr(one.session.replica.model.forest_, name) for one in (prepared, other)
            )
            assert np.array_equal(own, fresh)
    prepared.export(tmp_path / "model.opforest")
    model = opforest.load(tmp_path / "model.opforest")
    rows = columns_of([row for row in ROWS if None not in row])
    assert model.predict(rows).tolist() == prepared.predict(rows).tolist()
    with pytest.raises(ValueError, match="npz cannot store text features; CSV can"):
        prepared.export(tmp_path / "all.npz")


def test_a_fitted_pipeline_stays_as_it_is(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [0.0, 10, np.nan], "b": ["x", "y", "x"]})
    numbers = make_pipeline(SimpleImputer(), MinMaxScaler())
    pipeline = make_pipeline(
        ColumnTransformer([("n", numbers, ["a"]), ("c", OneHotEncoder(), ["b"])]),
        StandardScaler(with_mean=False),
    ).fit(frame)
    with Learner(tmp_path / "a.db", preparation=pipeline) as learner:
        assert learner.settings.feature_names == ("a", "b")
        learner.learn(frame, ["p", "q", "p"], keys=list("abc"))
        data = learner.settings.prepared
        learner.forget(["a"])
        learner.learn([[3, "x"]], ["q"])
        assert learner.settings.prepared == data
        dense = pipeline.transform(pandas.DataFrame({"a": [10.0, np.nan, 3], "b": ["y", "x", "x"]}))
        fitted = OPFClassifier().fit(
            np.asarray(getattr(dense, "toarray", lambda: dense)()), list("qpq")
        )
        for name in FOREST:
            own = getattr(learner.session.replica.model.forest_, name)
            assert np.array_equal(own, getattr(fitted.forest_, name)), name
        assert learner.audit().ok
    with Learner(tmp_path / "a.db", preparation=pipeline) as learner:
        assert learner.audit().ok
    with pytest.raises(StoreError, match=r"its preparation is \{\}, which cannot be changed"):
        Learner(tmp_path / "a.db", preparation=PREPARATION)


def test_preparations_that_cannot_be(tmp_path):
    path = tmp_path / "a.db"
    with pytest.raises(ValueError, match=r"must be fitted, unless it is an opforest\.Prep"):
        Learner(path, preparation=StandardScaler())
    with pytest.raises(ValueError, match="a store keeps all"):
        Learner(path, preparation=Preparation(missing="drop"))
    with pytest.raises(ValueError, match="cannot be saved"):
        Learner(path, preparation=OPFClassifier().fit([[0.0], [1]], [0, 1]))
    assert not path.exists()


def forge(path, **values):
    with sqlite3.connect(path) as database:
        for name, value in values.items():
            crc = checksum(name, value)
            database.execute(
                "UPDATE meta SET value = ?, crc = ? WHERE name = ?", (value, crc, name)
            )
    database.close()


@pytest.mark.parametrize(
    "forged",
    [
        {"preparation": '{"encode": "eval"}'},
        {"preparation": "{}", "prepared": "null"},
        {"preparation": "null"},
        {"prepared": '[["prepare", {"kind": "os.system"}]]'},
        {"prepared": '[["prepare", "passthrough"]]'},
        {"prepared": "[]"},
        {"founded": '"1"'},
        {"semi_supervised": "3"},
    ],
)
def test_forged_preparations_are_refused(prepared, forged):
    prepared.session.take_snapshot()
    prepared.close()
    forge(prepared.path, **forged)
    with pytest.raises(StoreError, match=r"the file is damaged|no preparation|not as it was"):
        Learner(prepared.path)


def test_a_forged_preparation_of_another_width_is_refused(prepared, tmp_path):
    prepared.session.take_snapshot()
    prepared.close()
    with Learner(":memory:", preparation=PREPARATION) as other:
        other.learn([[1, "red"], [2, "blue"], [3, "green"]], ["a", "b", "a"])
        wider = other.settings.prepared
    forge(prepared.path, prepared=json.dumps(wider))
    with Learner(prepared.path) as learner:  # the snapshot does not fit, and the table does
        assert not learner.audit().ok
        assert learner.predict([[1, "green"]]).shape == (1,)


FORGED_ROWS = [b"[1,", b"{}", b"[1]", b'[1,[["red"]]]', b'[NaN,"red"]', b"\xff", b"[" * 10_000,
               b'[1e999,"red"]', b"[" + b"9" * 400 + b',"red"]']  # fmt: skip


@pytest.mark.parametrize("x", FORGED_ROWS, ids=range(len(FORGED_ROWS)))
def test_forged_rows_are_refused(prepared, x):
    prepared.close()
    with sqlite3.connect(prepared.path) as database:
        database.execute(
            "UPDATE example SET x = ?, crc = ? WHERE id = 2", (x, row_checksum(2, "x", x, "b"))
        )
        database.execute("DELETE FROM snapshot")
    database.close()
    with pytest.raises(StoreError, match=r"damaged|row"):
        Learner(prepared.path)


def test_an_older_store_is_a_plain_one(tmp_path):
    path = tmp_path / "a.db"
    with Learner(path) as learner:
        learner.learn([[0.0], [3.0]], ["a", "b"])
    with sqlite3.connect(path) as database:
        names = ("semi_supervised", "preparation", "prepared", "founded")
        database.executemany("DELETE FROM meta WHERE name = ?", [(name,) for name in names])
    database.close()
    with Learner(path) as learner:
        assert learner.audit().ok
        assert learner.predict([[2.0]]).tolist() == ["b"]
    with sqlite3.connect(path) as database:
        database.execute("DELETE FROM meta WHERE name = 'metric'")
    database.close()
    for read_only in (True, False):
        with pytest.raises(StoreError, match="its settings are invalid"):
            Learner(path, read_only=read_only)
