"""``forget``: examples leave a model file."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import opforest
from opforest import OPFClassifier

pytest.importorskip("typer")
pytest.importorskip("pyarrow")
from tests.support.commands import run, run_json
from tests.support.comparison import same_forest


class TestIds:
    def test_the_model_is_the_one_without_them(self, folder, iris):
        told = run_json("forget", "iris.opforest", "--ids", "3,7", "--ids", "10-12")
        assert (told["forgotten"], told["examples"]) == (5, 70)
        kept = np.setdiff1d(np.arange(75), [3, 7, 10, 11, 12])
        model = opforest.load("iris.opforest")
        assert model.forest_.ids.tolist() == kept.tolist()
        expected = OPFClassifier().fit(iris.X[kept], iris.y[kept])
        assert run("predict", "iris.opforest", "iris.csv").stdout.split() == (
            expected.predict(iris.X).tolist()
        )
        assert np.array_equal(model.forest_.cost, expected.forest_.cost)

    def test_another_file(self, folder):
        before = (folder / "iris.opforest").read_bytes()
        assert run_json("forget", "iris.opforest", "--ids", "0", "-o", "b")["model"] == "b"
        assert (folder / "iris.opforest").read_bytes() == before
        assert len(opforest.load("b").forest_) == 74
        told = run("forget", "iris.opforest", "--ids", "0", "-o", "iris.csv", code=2).stderr
        assert "is not a model" in told
        run("forget", "iris.opforest", "--ids", "0", "-o", "iris.opforest", code=2)

    @pytest.mark.parametrize("ids", ["", "x", "-1", "3-", "3,", "1.5", "7-3", "٣", "3--4"])
    def test_bad_ids(self, folder, ids):
        before = (folder / "iris.opforest").read_bytes()
        assert "--ids" in run("forget", "iris.opforest", "--ids", ids, code=2).stderr
        assert (folder / "iris.opforest").read_bytes() == before

    def test_unknown_ids(self, folder):
        before = (folder / "iris.opforest").read_bytes()
        told = run("forget", "iris.opforest", "--ids", "74-99999999999999", code=2).stderr
        assert (
            "has no example 75, 76, 77, 78, 79 and 99,999,999,999,920 more: forgotten, or" in told
        )
        assert "Nothing was changed; --missing-ok forgets the others" in told
        assert (folder / "iris.opforest").read_bytes() == before
        told = run_json("forget", "iris.opforest", "--ids", "74-80", "--missing-ok")
        assert told["forgotten"] == 1
        result = run("forget", "iris.opforest", "--ids", "74", "--missing-ok", "--json")
        assert '"forgotten": 0' in result.stdout
        assert "has no example 74: forgotten, or never learned\n" in result.stderr
        told = run("forget", "iris.opforest", "--ids", "74", code=2).stderr
        assert told.endswith("forgotten, or never learned. Nothing was changed.\n")

    @given(
        st.lists(st.tuples(st.integers(0, 12), st.integers(0, 5)), min_size=1, max_size=6),
        st.sets(st.integers(0, 12), min_size=1),
    )
    def test_ranges(self, ranges, known):
        from types import SimpleNamespace

        from opforest.apps.cli.forget import _choose_ids

        forest = SimpleNamespace(ids=np.array(sorted(known)))
        texts = [f"{begin}-{begin + more}" if more else f"{begin}" for begin, more in ranges]
        wanted = {id for begin, more in ranges for id in range(begin, begin + more + 1)}
        found = _choose_ids(SimpleNamespace(forest_=forest), "m", [",".join(texts)], True)
        assert found == sorted(wanted & known)
        missing = sorted(wanted - known)
        if missing:
            more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
            shown = ", ".join(map(str, missing[:5])) + more
            with pytest.raises(ValueError, match=f"^m has no example {shown}: forgotten, or never"):
                _choose_ids(SimpleNamespace(forest_=forest), "m", texts, False)

    def test_all(self, folder):
        told = run("forget", "iris.opforest", "--ids", "0-74", code=2).stderr
        assert "these are all examples of iris.opforest: remove the file instead" in told


class TestRows:
    @pytest.mark.parametrize(
        "more",
        [(), ("--scale", "standard"), ("--metric", "cosine"), ("--missing", "median")],
    )
    def test_an_update_is_undone(self, folder, more):
        run("train", "train.csv", "m", *more)
        before = opforest.load("m")
        run("update", "m", "test.csv")
        told = run_json("forget", "m", "--rows-in", "test.csv")
        assert (told["forgotten"], told["examples"]) == (75, 75)
        after = opforest.load("m")
        assert after.forest_.ids.tolist() == list(range(75))
        assert np.array_equal(after.forest_.cost, before.forest_.cost)
        assert np.array_equal(after.forest_.label, before.forest_.label)

    def test_missing_rows(self, folder, iris):
        before = (folder / "iris.opforest").read_bytes()
        (folder / "w.csv").write_text(
            ",".join(iris.feature_names) + "\n" + ",".join(map(str, iris.X[7])) + "\n9,9,9,9\n"
        )
        told = run("forget", "iris.opforest", "--rows-in", "w.csv", code=2).stderr
        assert "1 of the 2 rows of w.csv is not in iris.opforest (line 3)" in told
        assert (folder / "iris.opforest").read_bytes() == before
        result = run("forget", "iris.opforest", "--rows-in", "w.csv", "--missing-ok", "--json")
        assert '"forgotten": 1' in result.stdout
        assert "(line 3)" in result.stderr
        assert 7 not in opforest.load("iris.opforest").forest_.ids
        (folder / "v.csv").write_text(",".join(iris.feature_names) + "\n9,9,9,9\n8,8,8,8\n")
        told = run("forget", "iris.opforest", "--rows-in", "v.csv", code=2).stderr
        assert "none of the 2 rows of v.csv is in iris.opforest. Nothing was changed.\n" in told

    def test_lines_are_sought_only_for_rows_that_are_named(self, folder, iris, monkeypatch):
        from opforest.io.readers.delimited import Delimited

        find_line, sought = Delimited.find_line, []
        monkeypatch.setattr(
            Delimited, "find_line", lambda file, row: sought.append(row) or find_line(file, row)
        )
        lines = [",".join(iris.feature_names), ",".join(map(str, iris.X[7])), *["9,9,9,9"] * 20]
        (folder / "w.csv").write_text("\n".join(lines) + "\n")
        told = run("forget", "iris.opforest", "--rows-in", "w.csv", code=2).stderr
        assert "20 of the 21 rows of w.csv are not in iris.opforest (line 3, 4, 5, 6, 7 and" in told
        assert sought == [1, 2, 3, 4, 5]

    def test_labels_must_be_equal(self, folder, iris):
        header = ",".join([*iris.feature_names, "species"])
        row = ",".join(map(str, iris.X[0]))
        other = next(label for label in iris.y if label != iris.y[0])
        (folder / "w.csv").write_text(f"{header}\n{row},{other}\n")
        run("forget", "iris.opforest", "--rows-in", "w.csv", code=2)
        (folder / "w.csv").write_text(f"{header}\n{row},new\n")
        run("forget", "iris.opforest", "--rows-in", "w.csv", code=2)
        run("forget", "iris.opforest", "--rows-in", "w.csv", "--label", "none")

    def test_the_newest_of_equals_is_forgotten(self, folder):
        (folder / "a.csv").write_text("a,class\n1,x\n5,y\n1,x\n-0.0,x\n")
        run("train", "a.csv", "m")
        (folder / "b.csv").write_text("a,class\n1,x\n0,x\n")
        result = run("forget", "m", "--rows-in", "b.csv")
        assert "m holds 1 more example that is equal to these" in result.stderr
        assert opforest.load("m").forest_.ids.tolist() == [0, 1]

    @given(
        st.lists(st.tuples(st.integers(0, 2), st.sampled_from("xy")), min_size=2, max_size=9),
        st.lists(st.tuples(st.integers(0, 2), st.sampled_from("xyz")), max_size=5),
        st.booleans(),
    )
    def test_rows_are_matched_one_by_one(self, known, wanted, with_labels):
        from opforest.apps.cli.lookup import ExampleLookup

        X, y = np.array([[a] for a, _ in known], float), np.array([label for _, label in known])
        model = OPFClassifier().fit(X, y)
        rows = [np.array([float(a)]).tobytes() for a, _ in wanted]
        labels = [label for _, label in wanted] if with_labels else None
        found, missing, more = ExampleLookup(model).find(rows, labels)
        left, expected, lost = list(enumerate(known)), [], []
        for i, (a, label) in enumerate(wanted):
            equal = [one for one in left if one[1][0] == a and (not labels or one[1][1] == label)]
            if equal:
                expected.append(equal[-1][0])
                left.remove(equal[-1])
            else:
                lost.append(i)
        assert (found, missing) == (expected, lost)
        keys = {(a, label if labels else "") for a, label in wanted}
        assert more == sum((a, label if labels else "") in keys for _, (a, label) in left)


class TestErrors:
    def test_usage(self, folder):
        assert "either --ids or --rows-in" in run("forget", "iris.opforest", code=2).stderr
        run("forget", "iris.opforest", "--ids", "1", "--rows-in", "train.csv", code=2)
        run("forget", "nothing", "--ids", "1", code=2)
        run("forget", "train.csv", "--ids", "1", code=4)

    def test_models_that_cannot_forget(self, folder):
        run("train", "train.csv", "m", "--update", "opfi")
        told = run("forget", "m", "--ids", "1", code=2).stderr
        assert "trained with --update opfi, which cannot forget" in told
        run("distance", "train.csv", "d.npy")
        run("train", "train.csv", "far", "--distances", "d.npy")
        told = run("forget", "far", "--rows-in", "train.csv", code=2).stderr
        assert "trained with --distances, so it holds no rows to compare: use --ids" in told
        assert run_json("forget", "far", "--ids", "1")["examples"] == 74

    def test_semi_supervised(self, folder):
        run("train", "train.csv", "m", "--unlabeled", "test.csv")
        told = run_json("forget", "m", "--rows-in", "train.csv", "--label", "none")
        assert told["forgotten"] == 75

    def test_an_unwritable_folder_changes_nothing(self, folder, monkeypatch):
        before = (folder / "iris.opforest").read_bytes()
        run("forget", "iris.opforest", "--ids", "1", "--out", "no/folder/m", code=2)
        assert (folder / "iris.opforest").read_bytes() == before

    def test_scales_stay(self, folder, iris):
        run("train", "train.csv", "m", "--scale", "standard")
        result = run("forget", "m", "--ids", "1")
        assert "scales are still those of the first file" in result.stderr
        assert not same_forest(opforest.load("m"), OPFClassifier().fit(iris.X, iris.y))
