"""``convert``, ``info`` and ``plot``, and what else reads and writes files."""

import os
from itertools import pairwise

import numpy as np
import pytest

import opforest
from opforest.io.tables import read_table

pytest.importorskip("typer")
pytest.importorskip("pyarrow")
from tests.support.commands import run, run_json
from tests.support.data_files import LIBOPF


class TestFiles:
    def test_convert_and_back(self, folder):
        for path, following in pairwise(["iris.csv", "a.parquet", "a.npz", "a.tsv", "b.csv"]):
            run("convert", path, following)
        assert (folder / "b.csv").read_bytes() == (folder / "iris.csv").read_bytes()
        shown = run("convert", "iris.csv", "-", "--to", "tsv").stdout
        assert shown == (folder / "a.tsv").read_text()

    def test_lossy_conversion_needs_an_option(self, folder, iris):
        assert "--encode-labels" in run("convert", "iris.csv", "a.dat", code=3).stderr
        assert "--round" in run("convert", "iris.csv", "a.dat", "--encode-labels", code=3).stderr
        told = run_json("convert", "iris.csv", "a.dat", "--encode-labels", "--round")
        assert told["labels"] == {"1": "setosa", "2": "versicolor", "3": "virginica"}
        data = read_table("a.dat")
        assert np.array_equal(data.X, iris.X.astype(np.float32))
        assert data.y.tolist() == (np.unique(iris.y, return_inverse=True)[1] + 1).tolist()

    def test_text_needs_a_format_for_it(self, folder):
        (folder / "a.csv").write_text(
            "country,when,x,label\nNA,2020-01-02,1.5,a\n?,2020-01-03,,b\n q,,2.5,a\n"
        )
        for path, following in pairwise(["a.csv", "a.parquet", "a.ndjson", "a.arrow", "b.csv"]):
            run("convert", path, following)
        assert (folder / "b.csv").read_text() == (folder / "a.csv").read_text()
        for name in ("a.npz", "a.dat", "a.svm"):
            options = ("--round", "--encode-labels")
            told = run("convert", "a.csv", name, *options, code=3).stderr
            assert "cannot store text features; CSV can" in told
        run("split", "a.csv", "c.csv", "d.csv", "--shares", "2,1")
        run("merge", "c.csv", "d.csv", "--out", "e.csv")
        lines = [sorted((folder / name).read_text().splitlines()) for name in ("a.csv", "e.csv")]
        assert lines[0] == lines[1]
        (folder / "f.csv").write_text("country,when,x,label\n1,2020-01-02,1.5,a\n")
        assert (
            "f.csv: feature 1 holds numbers, but text in a.csv"
            in run("merge", "a.csv", "f.csv", "--out", "e.csv", code=3).stderr
        )
        told = run("normalize", "a.csv", "z.csv", code=3).stderr
        assert "Add --drop country" in told

    def test_typed_dates_do_not_become_text(self, folder):
        import datetime

        import polars as pl

        day = datetime.date(2020, 1, 1)
        frame = pl.DataFrame({"d": [day] * 2, "x": [1.0, 2.0], "label": ["a", "b"]})
        frame.write_parquet("a.parquet")
        told = run("convert", "a.parquet", "a.csv", code=3).stderr
        assert "'d' holds dates, which would become text; --drop d" in told
        assert not (folder / "a.csv").exists()

    def test_libopf_files_round_trip(self, folder):
        for name in ("cone-torus", "parkinsons"):
            path = LIBOPF / name / "training.dat"
            for step in ("a.csv", "a.parquet", "a.opf.txt", "a.npz", "a.dat"):
                run("convert", path, step)
                path = step
            original = LIBOPF / name / "training.dat"
            assert (folder / "a.dat").read_bytes() == original.read_bytes()

    def test_golden_predictions(self, folder):
        for name in ("cone-torus", "data1", "parkinsons"):
            golden = LIBOPF / name
            run("train", golden / "training.dat", "m")
            answers = run("predict", "m", golden / "testing.dat").stdout.split()
            assert answers == (golden / "testing.dat.out").read_text().split()
            again = run("predict", golden / "classifier.opf", golden / "testing.dat")
            assert again.stdout.split() == answers

    def test_libopf_models_round_trip(self, folder):
        golden = LIBOPF / "data1"
        run("convert", golden / "classifier.opf", "a.opforest")
        run("update", "a.opforest", golden / "testing.dat")
        run("convert", "a.opforest", "b.opf")
        assert run_json("info", "b.opf")["kind"] == "model"
        answers = [
            run("predict", model, golden / "testing.dat").stdout
            for model in ("a.opforest", "b.opf")
        ]
        assert answers[0] == answers[1]
        assert (
            "would be overwritten" in run("update", "b.opf", golden / "testing.dat", code=2).stderr
        )

    def test_info(self, folder, iris):
        told = run_json("info", "iris.csv")
        assert told["examples_by_class"] == {"setosa": 50, "versicolor": 50, "virginica": 50}
        assert told["columns"][0]["name"] == "sepal length"
        assert [one["role"] for one in told["columns"]] == ["feature"] * 4 + ["label"]
        assert told["label"] == "species"
        told = run_json("info", "iris.opforest")
        assert (told["kind"], told["examples"], told["metric"]) == ("model", 75, "euclidean")
        assert told["feature_names"] == list(iris.feature_names)
        assert "petal width" in run("info", "iris.csv").stdout
        assert "prototypes" in run("info", "iris.opforest").stdout
        assert "150" in run("info", "-", stdin=(folder / "iris.csv").read_bytes()).stdout

    def test_plot(self, folder):
        pytest.importorskip("matplotlib")
        run("plot", "iris.opforest", "a.png")
        assert (folder / "a.png").read_bytes().startswith(b"\x89PNG")
        run("plot", "iris.opforest", "b.what", code=2)
        given = ("--coordinates", "train.csv")
        said = run("plot", "iris.opforest", "b.png", *given, code=2).stderr
        assert "holds the points of its examples: leave out --coordinates" in said
        assert not (folder / "b.png").exists()

    def test_plot_of_distances(self, folder):
        pytest.importorskip("matplotlib")
        run("distance", "train.csv", "d.npy")
        run("train", "train.csv", "far", "--distances", "d.npy")
        said = run("plot", "far", "a.png", code=2).stderr
        assert "trained with --distances, so it holds no points to draw: --coordinates" in said
        said = run("plot", "far", "a.png", "--coordinates", "iris.csv", code=3).stderr
        assert "the 75 examples that the model knows, in the order of learning, got 150" in said
        assert not (folder / "a.png").exists()
        run("plot", "far", "a.png", "--coordinates", "train.csv")
        run("forget", "far", "--ids", "3")
        run("plot", "far", "b.png", "--coordinates", "train.csv")  # ids are rows

    @pytest.mark.parametrize("command", [
        ("convert", "iris.csv", "no/a.csv"), ("plot", "iris.opforest", "no/a.png"),
        ("split", "iris.csv", "no/a.csv", "no/b.csv"), ("distance", "iris.csv", "no/a.npy"),
        ("predict", "iris.opforest", "iris.csv", "--out", "no/a.csv"),
        ("convert", "iris.opforest", "no/a.opf"),
    ])  # fmt: skip
    def test_a_missing_folder_is_named(self, folder, command):
        assert run(*command, code=2).stderr.endswith("error: there is no folder no\n")

    def test_distances_are_asked_for(self, folder):
        run("distance", "train.csv", "d.npy")
        run("train", "train.csv", "far", "--distances", "d.npy")
        for command in (("predict",), ("evaluate",), ("update",)):
            said = run(*command, "far", "test.csv", code=3).stderr
            assert "must hold its distances to the 75 examples of the model, in 75 columns" in said
        assert len(run("predict", "far", "d.npy").stdout.split()) == 75

    def test_lists(self):
        from opforest.core.metrics.registry import METRIC_NAMES
        from opforest.datasets import PUBLISHED

        told = run_json("metrics")["metrics"]
        assert [one["metric"] for one in told] == list(METRIC_NAMES)
        assert [one["name"] for one in run_json("datasets")["datasets"]] == list(PUBLISHED)
        assert "minkowski\tp" in run("metrics").stdout
        assert "Cone-Torus" in run("datasets").stdout

    @pytest.mark.parametrize("arguments", [("x.csv",), ("x.opf", "--to", "csv"), ("-",)])
    def test_a_model_does_not_become_a_table(self, folder, arguments):
        run("convert", "iris.opforest", *arguments, code=2)
        assert not (folder / "x.csv").exists()
        assert not (folder / "-").exists()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is full")
@pytest.mark.parametrize(
    "arguments",
    [
        ("train", "iris.csv", "/dev/full"),
        ("convert", "iris.csv", "/dev/full", "--to", "csv"),
        ("convert", "iris.csv", "/dev/full", "--to", "npz"),
        ("convert", "iris.csv", "/dev/full", "--to", "parquet"),
        ("convert", "iris.csv", "/dev/full", "--to", "ndjson"),
        ("predict", "model", "iris.csv", "--out", "/dev/full"),
    ],
)
def test_a_full_disk_is_reported(folder, arguments):
    run("train", "iris.csv", "model")
    assert "error: /dev/full: No space left on device" in run(*arguments, code=2).stderr


def test_converting_a_model_to_libopf_reports_what_is_lost(folder):
    told = run("convert", "iris.opforest", "classifier.opf").stderr
    assert "the examples are rounded" in told
    assert "LibOPF numbers classes from 1: setosa is 1, versicolor is 2, virginica is 3" in told
    X = np.array([[0.0], [1.0], [3.0], [4.5]])
    opforest.save(opforest.OPFClassifier().fit(X, [1, 1, 2, 2]), "exact.opforest")
    assert run("convert", "exact.opforest", "exact.opf").stderr == ""
