"""Preparation on the command line: learned by ``train``, kept in the model, applied everywhere."""

from pathlib import Path

import numpy as np
import pytest

import opforest
from opforest import OPFClassifier, Pipeline, Preparation

pytest.importorskip("typer")
pytest.importorskip("polars")
import polars as pl
from tests.support.commands import run, run_json
from tests.support.comparison import same_forest

RNG = np.random.default_rng(0)
N = 60


@pytest.fixture
def mixed(tmp_path, monkeypatch):
    """A folder with mixed.csv: an id, a number and a category with empty cells, a large number."""
    monkeypatch.chdir(tmp_path)
    y = RNG.integers(0, 2, N)
    frame = pl.DataFrame({
        "no": range(1, N + 1),
        "small": [None if k % 17 == 3 else float(v) for k, v in enumerate(RNG.normal(y, 0.3))],
        "kind": [None if k % 19 == 5 else "pq"[v] for k, v in enumerate(RNG.integers(0, 2, N))],
        "large": RNG.normal(0, 5000, N),
        "label": np.where(y, "yes", "no"),
    })  # fmt: skip
    frame.write_csv("mixed.csv")
    frame[:40].write_csv("train.csv")
    frame[40:].write_csv("test.csv")
    return frame


OPTIONS = ("--encode", "onehot", "--missing", "median", "--scale", "standard")


class TestPreparation:
    def test_it_is_a_pipeline(self, mixed):
        told = run_json("train", "train.csv", "m", *OPTIONS)
        assert told["preparation"] == {"encode": "onehot", "missing": "median", "scale": "standard"}
        features, y = mixed[:40].select("small", "kind", "large"), mixed["label"][:40].to_numpy()
        model = Pipeline([("prepare", Preparation("onehot", "median", "standard")),
                          ("classify", OPFClassifier())]).fit(features, y)  # fmt: skip
        loaded = opforest.load("m")
        assert same_forest(loaded[-1], model[-1])
        new = mixed[40:].select("small", "kind", "large")
        answers = run("predict", "m", "test.csv").stdout.split()
        assert answers == model.predict(new).tolist()
        assert answers == loaded.predict(new.to_pandas()).tolist()
        scores = run_json("evaluate", "m", "test.csv")
        truth = mixed["label"][40:].to_list()
        assert scores["accuracy"] == np.mean(np.array(answers) == truth)
        assert run("predict", "m", "test.csv", "--explain", "--proba").stdout.count("example") >= 20
        told = run_json("predict", "m", "test.csv", "--explain")["predictions"][0]["features"]
        assert told["has_names"]
        assert [row["role"] for row in told["rows"]][-2:] == ["rival", "x"]
        first = mixed.row(40, named=True)
        for name, value in zip(told["names"], told["rows"][-1]["values"], strict=True):
            assert value == (pytest.approx(first[name]) if name != "kind" else first[name])
        run("update", "m", "test.csv")
        model.partial_fit(new, np.array(truth))
        assert same_forest(opforest.load("m")[-1], model[-1])

    def test_info_shows_it(self, mixed):
        run("train", "train.csv", "m", *OPTIONS)
        told = run_json("info", "m")
        assert told["prepared_features"] == ["small", "large", "kind=p", "kind=q"]
        assert told["feature_names"] == ["small", "kind", "large"]
        assert "scale: standard" in run("info", "m").stdout

    def test_decisions_are_noted(self, mixed):
        told = run("train", "train.csv", "m", *OPTIONS).stderr
        assert "'no' is left out: running numbers" in told
        assert "the label is column 'label', by its name: 2 classes" in told
        assert "spread" not in told

    def test_rows_can_be_dropped(self, mixed):
        result = run("train", "train.csv", "m", "--encode", "ordinal", "--missing", "drop")
        complete = mixed[:40].drop_nulls()
        assert f"{40 - len(complete)} rows with missing cells are left out" in result.stderr
        assert len(opforest.load("m").forest_) == len(complete)
        told = run("predict", "m", "test.csv", code=3).stderr
        assert "test.csv, line 5: the cell of column 'kind' is missing, and the model was" in told
        assert "fill it in, or train the model with --missing median" in told
        assert "--missing median" in told
        assert run_json("evaluate", "m", "test.csv")["examples"] == len(mixed[40:].drop_nulls())

    def test_the_error_lists_all_columns_and_options(self, mixed):
        told = run("train", "train.csv", "m", code=3).stderr
        assert "kind (2 values). Add --encode onehot --missing median" in told
        told = run("train", "train.csv", "m", "--drop", "kind", code=3).stderr
        assert "rows have missing cells, in small: --missing median" in told

    @pytest.mark.filterwarnings("always:features differ in spread")
    def test_one_warning_of_scales_by_name(self, mixed):
        told = run("train", "train.csv", "m", "--drop", "kind", "--missing", "median").stderr
        assert told.count("features differ in spread") == 1
        assert "'large' is" in told
        assert "--scale standard" in told

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda frame: frame.with_columns(kind=pl.lit("w")), "line 2: column 'kind' has 'w'"),
            (lambda frame: frame.drop("large"), "are missing: 'large'"),
            (lambda frame: frame.with_columns(large=pl.lit("much")),
             "line 2, column 4: column 'large' must hold numbers, as in training, got 'much'"),
        ],
    )  # fmt: skip
    def test_other_data_than_in_training(self, mixed, change, message):
        run("train", "train.csv", "m", *OPTIONS)
        change(mixed[40:]).write_csv("new.csv")
        before = Path("m").read_bytes()
        assert message in run("predict", "m", "new.csv", "--out", "labels", code=3).stderr
        assert message in run("update", "m", "new.csv", code=3).stderr
        assert Path("m").read_bytes() == before

    def test_missing_cells_are_located_with_advice(self, mixed):
        told = run("train", "mixed.csv", "m", "--encode", "onehot", code=3).stderr
        assert "line 5" in told or "line 7" in told
        assert "--missing median" in told
        mixed.drop_nulls().write_csv("whole.csv")
        run("train", "whole.csv", "m", "--encode", "onehot")
        told = run("predict", "m", "mixed.csv", code=3).stderr
        assert "got an empty cell; 4 of 60 rows have missing cells, in small: fill them in" in told
        assert "or train the model with --missing median, which does" in told
        mixed.filter(pl.col("small").is_not_null()).write_csv("words.csv")
        told = run("predict", "m", "words.csv", code=3).stderr
        assert "line 6: cells are missing in 'kind': fill them in, or train with --missing" in told

    def test_rows_are_those_of_the_file(self, mixed):
        whole = mixed.drop_nulls()
        whole.write_csv("whole.csv")
        long = pl.concat([whole] * (9000 // len(whole) + 1))[:9000]
        at = pl.int_range(pl.len()) == 8000
        wrong = {
            "cells": long.with_columns(kind=pl.when(at).then(None).otherwise("kind")),
            "category": long.with_columns(kind=pl.when(at).then(pl.lit("w")).otherwise("kind")),
            "label": long.with_columns(label=pl.when(at).then(None).otherwise("label")),
        }
        for name, frame in wrong.items():
            for end in ("csv", "parquet"):
                getattr(frame, f"write_{end}")(f"{name}.{end}")
                run("train", "whole.csv", "m", "--encode", "onehot")
                told = run("update", "m", f"{name}.{end}", code=3).stderr
                place = f"{name}.csv, line 8002" if end == "csv" else f"{name}.parquet: row 8001:"
                assert place in told
        run("train", "whole.csv", "m", "--encode", "onehot", "--missing", "drop")
        told = run("predict", "m", "cells.parquet", "--out", "labels", code=3).stderr
        assert "cells.parquet: row 8001: the cell of column 'kind' is missing" in told

    def test_a_category_that_is_absent_later(self, mixed):
        run("train", "train.csv", "m", *OPTIONS)
        mixed[40:].with_columns(kind=pl.lit("p")).write_csv("new.csv")
        assert len(run("predict", "m", "new.csv").stdout.split()) == 20

    def test_columns_without_names_are_matched_by_position(self, mixed, tmp_path):
        rows = mixed.select("label", "large", "small").drop_nulls()
        rows[:30].write_csv("a.csv", include_header=False)
        rows[30:].write_csv("b.csv", include_header=False)
        rows[30:].drop("label").write_csv("c.csv", include_header=False)
        run("train", "a.csv", "m", "--label", "1", "--scale", "standard")
        answers = run("predict", "m", "b.csv").stdout
        assert run("predict", "m", "c.csv").stdout == answers
        assert run_json("evaluate", "m", "b.csv")["examples"] == len(rows) - 30

    def test_models_with_preparation_do_not_become_libopf_models(self, mixed):
        run("train", "train.csv", "m", *OPTIONS)
        assert "prepares its data" in run("convert", "m", "m.opf", code=2).stderr


class TestInfo:
    def test_any_table(self, mixed):
        told = run_json("info", "mixed.csv")
        kinds = {one["name"]: (one["kind"], one["role"]) for one in told["columns"]}
        assert kinds == {
            "no": ("whole number", "left out"), "small": ("number", "feature"),
            "kind": ("category", "feature"), "large": ("number", "feature"),
            "label": ("category", "label"),
        }  # fmt: skip
        why = {one["name"]: one["reason"] for one in told["columns"]}
        assert why["kind"] == "needs --encode and --missing"
        assert why["small"] == "needs --missing"
        assert why["no"] == "an id: running numbers"
        assert "running numbers" in run("info", "mixed.csv").stdout

    def test_info_accepts_ambiguous_files(self, mixed):
        mixed.drop("label").with_columns(other=pl.col("kind")).write_csv("a.csv")
        told = run_json("info", "a.csv")
        assert told["label"] is None
        assert "--label other (2 classes, 3 missing), --label kind (2 cl" in told["question"]


class TestStream:
    def test_window(self, folder, iris):
        told = run_json("stream", "s", "iris.csv", "--window", "40", "--every", "50")
        model, right = OPFClassifier(), 0
        for i, (x, label) in enumerate(zip(iris.X, iris.y, strict=True)):
            right += i > 0 and model.predict([x])[0] == label
            model.partial_fit([x], [label])
            if len(model.forest_) > 40:
                model.forget(model.forest_.ids[:1])
        assert told["accuracy"] == right / 149
        assert same_forest(opforest.load("s"), model)
        assert "needs --update exact" in run("stream", "t", "iris.csv", "--window", "9", "--update",
                                             "opfi", code=2).stderr  # fmt: skip

    def test_a_window_is_resumed(self, folder):
        rows = (folder / "iris.csv").read_text().splitlines()
        arguments = ("--window", 30, "--every", 20, "--batch", 4)
        run("stream", "whole", "iris.csv", *arguments)
        (folder / "data.csv").write_text("\n".join([*rows[:83], "1,2,broken"]))
        run("stream", "s", "data.csv", *arguments, "--json", code=3)
        (folder / "data.csv").write_text("\n".join(rows))
        told = run("stream", "s", "data.csv", "--resume", code=2).stderr
        assert "had --window 30" in told
        run("stream", "s", "data.csv", *arguments, "--resume")
        assert (folder / "s").read_bytes() == (folder / "whole").read_bytes()

    def test_preparation_is_learned_from_the_first_rows(self, mixed):
        told = run_json("stream", "s", "mixed.csv", "--every", "20", *OPTIONS)
        assert (told["examples"], told["tested"]) == (60, 40)
        features, y = mixed.select("small", "kind", "large"), mixed["label"].to_numpy()
        model = Pipeline([("prepare", Preparation("onehot", "median", "standard")),
                          ("classify", OPFClassifier())]).fit(features[:20], y[:20])  # fmt: skip
        model.partial_fit(features[20:], y[20:])
        assert same_forest(opforest.load("s")[-1], model[-1])
        assert "was made with scale='standard'" in run("stream", "s", "mixed.csv", "--scale",
                                                       "minmax", code=2).stderr  # fmt: skip


def test_verbose_prints_phases(capsys):
    X, y = RNG.normal(size=(50, 2)), RNG.integers(0, 2, 50)
    OPFClassifier(verbose=1).fit(X, y).partial_fit(X[:2] + 9, y[:2])
    told = capsys.readouterr().out
    for phase in ("spanning tree, 50 examples", "index, 50 examples", "learning, 2 examples"):
        assert f"[OPFClassifier] {phase}: " in told
    OPFClassifier().fit(X, y)
    assert capsys.readouterr().out == ""


def test_fit_warns_of_scales():
    X, y = RNG.normal(size=(50, 3)) * [1, 1, 5000], RNG.integers(0, 2, 50)
    with pytest.warns(UserWarning, match="deviation of feature 3 is .* times that of feature"):
        OPFClassifier().fit(X, y)
