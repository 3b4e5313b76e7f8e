"""``update``: when it is training on both files, and ``--refit``, which always is."""

from pathlib import Path

import numpy as np
import pytest

import opforest
from opforest import OPFClassifier, Pipeline

pytest.importorskip("typer")
pytest.importorskip("polars")
pytest.importorskip("pyarrow")
import polars as pl
from sklearn.preprocessing import StandardScaler
from tests.support.commands import run, run_json
from tests.support.comparison import same_forest

RNG = np.random.default_rng(3)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A folder with first.csv, second.csv, third.csv, of other scales and categories; both, all."""
    monkeypatch.chdir(tmp_path)
    n = 90
    y = RNG.integers(0, 3, n)
    scale = np.repeat([1.0, 40.0, 9.0], n // 3)
    frame = pl.DataFrame({
        "small": [None if k % 17 == 3 else float(v) for k, v in enumerate(RNG.normal(y, 0.5))],
        "large": RNG.normal(100 * y, 30) * scale,
        "kind": ["pq"[k % 2] if k < n // 3 else "pqr"[k % 3] for k in range(n)],
        "label": np.array(["a", "b", "c"])[y],
    })  # fmt: skip
    frame[:30].write_csv("first.csv")
    frame[30:60].write_csv("second.csv")
    frame[60:].write_csv("third.csv")
    frame[:60].write_csv("both.csv")
    frame.write_csv("all.csv")
    return frame


PREPARED = ("--encode", "onehot", "--missing", "median", "--scale", "standard")
NUMBERS = ("--drop", "kind,small")


@pytest.mark.parametrize("options", [
    PREPARED,
    ("--encode", "ordinal", "--missing", "drop", "--scale", "robust"),
    ("--encode", "drop", "--missing", "median", "--scale", "minmax", "--metric", "manhattan"),
    (*NUMBERS, "--scale", "standard", "--update", "opfi"),
    ("--encode", "ordinal", "--missing", "median", "--scale", "relevance"),
    ("--encode", "onehot", "--missing", "median", "--scale", "auto", "--voters", "auto"),
    (*NUMBERS, "--voters", "7"),
    NUMBERS,
    (*NUMBERS, "--update", "dift"),
])  # fmt: skip
def test_refit_equals_training_on_both_files(files, options):
    run("train", "first.csv", "model", *options)
    told = run_json("update", "model", "second.csv", "--refit", "first.csv")
    alone = run_json("train", "both.csv", "whole", *options)
    assert same_forest(*(opforest.load(name).steps[-1][1] if "--scale" in options
                         else opforest.load(name) for name in ("model", "whole")))  # fmt: skip
    assert Path("model").read_bytes() == Path("whole").read_bytes()
    assert told["examples"] == alone["examples"]
    complete = files[30:60].drop_nulls() if "drop" in options[3:4] else files[30:60]
    assert told["learned"] == len(complete)


def test_refit_can_be_repeated(files):
    run("train", "first.csv", "model", *PREPARED)
    run("update", "model", "second.csv", "--refit", "first.csv")
    run("update", "model", "third.csv", "--refit", "first.csv", "--refit", "second.csv")
    run("train", "all.csv", "whole", *PREPARED)
    assert Path("model").read_bytes() == Path("whole").read_bytes()


def test_without_refit_the_first_scales_stay_with_a_note(files):
    run("train", "first.csv", "model", *NUMBERS, "--scale", "standard")
    told = run("update", "model", "second.csv").stderr
    assert told == (
        "opforest: note: scales are still those of the first file (--refit FIRST updates them)\n"
    )
    model, first = opforest.load("model"), files[:30].select("large")
    assert model.steps[0][1].transformer_[-1].mean_ == pytest.approx(first.to_numpy().mean(axis=0))
    run("train", "both.csv", "whole", *NUMBERS, "--scale", "standard")
    assert not np.array_equal(model.forest_.points, opforest.load("whole").forest_.points)
    run("update", "model", "third.csv", "--refit", "first.csv", "--refit", "second.csv")
    run("train", "all.csv", "whole", *NUMBERS, "--scale", "standard")
    assert Path("model").read_bytes() == Path("whole").read_bytes()


def test_without_preparation_update_equals_training_on_both_files(files):
    run("train", "first.csv", "model", *NUMBERS)
    assert run("update", "model", "second.csv").stderr == ""
    run("train", "both.csv", "whole", *NUMBERS)
    assert same_forest(opforest.load("model"), opforest.load("whole"))


def test_the_note_names_what_stays(files):
    run("train", "first.csv", "model", *PREPARED)
    told = run("update", "model", "first.csv").stderr
    assert "categories, medians and scales are still those of the first file" in told
    run("train", "first.csv", "model", "--encode", "drop", "--missing", "drop")
    assert "are still those" not in run("update", "model", "first.csv").stderr


def test_new_categories_need_refit(files):
    run("train", "first.csv", "model", *PREPARED)
    assert (
        "'r', which is not in the training data"
        in run("update", "model", "second.csv", code=3).stderr
    )
    run("update", "model", "second.csv", "--refit", "first.csv")


@pytest.mark.parametrize(("first", "message"), [
    (["second.csv"], "example 1 of second.csv is not what model has learned"),
    (["both.csv"], "model has learned 30 examples, but there are 60 in both.csv"),
    (["first.csv", "third.csv"], "but there are 60 in first.csv and third.csv"),
])  # fmt: skip
def test_wrong_files_are_rejected(files, first, message):
    run("train", "first.csv", "model", *NUMBERS, "--scale", "standard")
    before = Path("model").read_bytes()
    arguments = [word for file in first for word in ("--refit", file)]
    told = run("update", "model", "second.csv", *arguments, code=2).stderr
    assert message in told
    assert "in their order" in told
    assert Path("model").read_bytes() == before


def test_wrong_labels_are_rejected(files):
    run("train", "first.csv", "model", *NUMBERS, "--scale", "standard")
    swapped = pl.col("label").replace({"a": "b", "b": "a"})
    files[:30].with_columns(swapped).write_csv("first.csv")
    told = run("update", "model", "second.csv", "--refit", "first.csv", code=2).stderr
    assert "is not what model has learned" in told


def test_forgotten_examples_stay_forgotten(files):
    run("train", "first.csv", "model", *NUMBERS, "--scale", "standard")
    model = opforest.load("model").forget([0, 7])
    opforest.save(model, "model")
    run("update", "model", "second.csv", "--refit", "first.csv")
    left = [k for k in range(60) if k not in (0, 7)]
    files[left].write_csv("left.csv")
    run("train", "left.csv", "whole", *NUMBERS, "--scale", "standard")
    assert same_forest(opforest.load("model")[-1], opforest.load("whole")[-1])


def test_a_stream_with_a_window(files):
    run("stream", "model", "both.csv", *NUMBERS, "--scale", "standard", "--every", 10,
        "--window", 20)  # fmt: skip
    run("update", "model", "third.csv", "--refit", "both.csv")
    files[40:].write_csv("left.csv")
    run("train", "left.csv", "whole", *NUMBERS, "--scale", "standard")
    assert same_forest(opforest.load("model")[-1], opforest.load("whole")[-1])


def test_a_pipeline_made_in_python(files):
    X, y = files.select("large").to_numpy(), files["label"].to_numpy()
    made = Pipeline([("scale", StandardScaler()), ("classify", OPFClassifier())])
    opforest.save(made.fit(X[:30], y[:30]), "model")
    for name in ("first", "second"):
        pl.read_csv(f"{name}.csv").select("large", "label").write_csv(f"{name}.csv")
    told = run("update", "model", "second.csv", "--refit", "first.csv").stderr
    assert "still" not in told
    assert same_forest(opforest.load("model")[-1], made.fit(X[:60], y[:60])[-1])
    assert "the preparation is still that" in run("update", "model", "second.csv").stderr


def test_models_that_cannot_be_refitted(files):
    run("train", "first.csv", "model", *NUMBERS, "--unlabeled", "third.csv")
    told = run("update", "model", "second.csv", "--refit", "first.csv", code=2).stderr
    assert "was trained with --unlabeled" in told
    run("distance", "first.csv", "table.npy", *NUMBERS)
    run("train", "first.csv", "measured", *NUMBERS, "--distances", "table.npy")
    told = run("update", "measured", "second.csv", "--refit", "first.csv", code=2).stderr
    assert "was trained with --distances" in told


class TestUpdate:
    @pytest.mark.parametrize("command", ["update", "stream"])
    def test_concurrent_changes_are_not_overwritten(self, folder, monkeypatch, command):
        learn = OPFClassifier.partial_fit

        def learn_while_others_write(model, X, y):
            (folder / "iris.opforest").write_bytes(b"theirs")
            return learn(model, X, y)

        monkeypatch.setattr(OPFClassifier, "partial_fit", learn_while_others_write)
        result = run(command, "iris.opforest", "test.csv", code=2)
        assert "changed by another process" in result.stderr
        assert (folder / "iris.opforest").read_bytes() == b"theirs"
        assert not (folder / "iris.opforest.stream").exists()

    def test_update_equals_partial_fit(self, folder, iris):
        told = run_json("update", "iris.opforest", "test.csv")
        assert (told["learned"], told["examples"]) == (75, 150)
        assert same_forest(opforest.load("iris.opforest"), OPFClassifier().fit(iris.X, iris.y))

    def test_a_bad_line_changes_nothing(self, folder):
        before = (folder / "iris.opforest").read_bytes()
        rows = (folder / "test.csv").read_text().splitlines()
        (folder / "bad.csv").write_text("\n".join([*rows, "1,2,x,4,setosa"]) + "\n")
        run("update", "iris.opforest", "bad.csv", code=3)
        assert (folder / "iris.opforest").read_bytes() == before

    def test_labels_are_converted_to_the_type_of_the_model(self, folder, iris):
        names = ",".join([*iris.feature_names, "species"])
        (folder / "more.csv").write_text(f"{names}\n1,2,3,4,7\n")
        run("update", "iris.opforest", "more.csv")
        assert opforest.load("iris.opforest").classes_[0] == "7"

    def test_bad_models(self, folder):
        (folder / "iris.opforest").write_bytes((folder / "iris.opforest").read_bytes()[:-1])
        assert "iris.opforest" in run("update", "iris.opforest", "test.csv", code=4).stderr
        run("update", "train.csv", "test.csv", code=4)
        run("update", "nothing", "test.csv", code=2)
        run("predict", "iris.opforest", "test.csv", code=4)
        run("info", "iris.opforest", code=4)
