"""Generated keys in both spellings, examples that a store contains, and its score."""

import sqlite3

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opforest import Learner, OPFClassifier, Preparation
from opforest.learner import RowError

values = st.sampled_from([0.0, -0.0, 1.0, 1e-100, 1e100])
examples = st.lists(st.tuples(values, st.sampled_from("ab")), min_size=1, max_size=12)


@pytest.fixture
def learner(tmp_path):
    with Learner(tmp_path / "a.db") as learner:
        learner.learn([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
        yield learner


class TestSpellings:
    def test_both_name_the_same_example(self, learner):
        assert learner.rows()[0] == [":1", ":2", ":3", ":4"]
        assert learner.forget("#1").keys == (":1",)
        assert learner.forget([":2"]).forgotten == 1
        assert learner.correct("#3", "a").keys == (":3",)
        assert learner.correct("#3", "b").replaced == 1  # its id is another by now
        assert learner.correct([":3", "#4"], ["b", "b"]).unchanged == 2
        assert learner.forget(["#3", ":3", ":4"], missing_ok=True).forgotten == 2

    def test_one_example_is_named_once(self, learner):
        for keys in (["#3", ":3"], [":3", ":3"]):
            with pytest.raises(ValueError, match="must be unique, got ':3' more than once"):
                learner.correct(keys, ["a", "b"])

    def test_a_batch_of_an_old_export_changes_nothing(self, learner):
        keys = ["#1", ":2", "#3", ":4"]
        X, y = [[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"]
        assert learner.learn(X, y, keys=keys).unchanged == 4
        change = learner.learn([[5.0], [6.0]], ["b", "b"], keys=["#1", ":1"], replace=True)
        assert change.replaced == 1
        assert learner.rows()[1][-1] == [6.0]

    @pytest.mark.parametrize("key", ["#99", ":99", "#x", ":0"])
    def test_new_examples_cannot_take_them(self, learner, key):
        with pytest.raises(RowError, match="as generated keys are"):
            learner.learn([[9.0]], ["a"], keys=[key])

    @pytest.mark.parametrize("key", [":x", ":", ":01", ":1.5", ":-1", "a:1", ":" + "9" * 30])
    def test_others_are_free(self, learner, key):
        learner.learn([[9.0]], ["a"], keys=[key])
        assert learner.rows()[0][-1] == key
        assert learner.forget(key).keys == (key,)

    def test_a_key_of_an_old_store_wins_and_nothing_is_lost(self, tmp_path):
        """Versions up to 0.2 accepted ``:2`` as the key of any example."""
        with Learner(tmp_path / "b.db") as learner:
            learner.learn([[7.0]], ["a"], keys=["x"])
            learner.learn([[8.0]], ["b"])
        from opforest.learner.store import row_checksum

        database = sqlite3.connect(tmp_path / "b.db")
        id, x, y, time = database.execute("SELECT id, x, y, time FROM example LIMIT 1").fetchone()
        crc = row_checksum(id, ":2", x, y, time)
        database.execute("UPDATE example SET key = ':2', crc = ? WHERE id = 1", (crc,))
        database.commit()
        database.close()
        with Learner(tmp_path / "b.db") as learner:
            assert learner.forget("#2").forgotten == 1
            assert learner.rows()[1].tolist() == [[7.0]]
            assert learner.forget(":2").forgotten == 1


class TestContains:
    @given(examples, examples, st.booleans())
    def test_it_compares_features_and_labels(self, known, asked, with_keys):
        with Learner(":memory:") as learner:
            keys = [f"k{i}" for i in range(len(known))] if with_keys else None
            learner.learn([[x] for x, _ in known], [label for _, label in known], keys)
            found = learner.contains([[x] for x, _ in asked], [label for _, label in asked])
            assert found.tolist() == [one in known for one in asked]

    def test_empty(self, tmp_path):
        with Learner(tmp_path / "a.db") as learner:
            assert learner.contains([[1.0]], ["a"]).tolist() == [False]
            learner.learn([[1.0]], ["a"])
            assert learner.contains(np.empty((0, 1)), []).tolist() == []
            learner.forget(":1")
            assert learner.contains([[1.0]], ["a"]).tolist() == [False]

    def test_cells_before_the_preparation(self, tmp_path):
        preparation = Preparation(encode="onehot", missing="median")
        with Learner(tmp_path / "a.db", preparation=preparation, semi_supervised=True) as learner:
            learner.learn([[1.0, "x"], [None, "y"], [2.0, "x"]], [1, 2, None])
            asked = [[1.0, "x"], [None, "y"], [1.5, "y"], [2.0, "x"], [2.0, "x"]]
            assert learner.contains(asked, [1, 2, 2, None, 1]).tolist() == [
                True, True, False, True, False
            ]  # fmt: skip


class TestScore:
    @pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 50])
    def test_the_first_batch_is_tested(self, tmp_path, n):
        rng = np.random.default_rng(n)
        X, y = rng.integers(0, 6, (n, 2)).astype(float), rng.integers(0, 3, n)
        right = 0
        for i in range(1, n):
            known = 1
            while 2 * known <= i:
                known *= 2
            right += OPFClassifier().fit(X[:known], y[:known]).predict(X[i : i + 1])[0] == y[i]
        with Learner(tmp_path / "a.db", score=True) as learner:
            learner.learn(X, y)
            score = learner.stats()["score"]
            assert (score["correct"], score["total"]) == (right, n - 1)
            assert learner.audit().ok

    def test_replaced_and_corrected_examples_do_not_count(self, tmp_path):
        with Learner(tmp_path / "a.db", score=True) as learner:
            learner.learn([[0.0], [1.0], [5.0]], ["a", "a", "b"], ["x", "y", "z"])
            assert learner.stats()["score"]["total"] == 2
            learner.correct("y", "b")
            learner.learn([[5.0], [6.0]], ["b", "b"], ["x", "new"], replace=True)
            assert learner.stats()["score"] == {"correct": 2, "total": 3, "accuracy": 2 / 3}

    def test_unlabeled_examples_do_not_count(self, tmp_path):
        with Learner(tmp_path / "a.db", score=True, semi_supervised=True) as learner:
            learner.learn([[0.0], [0.1], [0.2], [5.0]], [None, "a", "a", None])
            assert learner.stats()["score"] == {"correct": 1, "total": 1, "accuracy": 1.0}
