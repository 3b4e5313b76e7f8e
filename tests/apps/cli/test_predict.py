"""``predict``."""

import csv

import numpy as np
import pytest

import opforest
from opforest.io.tables import write_table

pytest.importorskip("typer")
pytest.importorskip("pyarrow")
from tests.support.commands import run, run_json


def load_bare(path):
    """Load a model that takes features without names."""
    model = opforest.load(path)
    del model.feature_names_in_
    return model


class TestPredict:
    def test_labels(self, folder, iris):
        expected = load_bare("iris.opforest").predict(iris.X[75:]).tolist()
        assert run("predict", "iris.opforest", "test.csv").stdout.splitlines() == expected
        run("predict", "iris.opforest", "test.csv", "--out", "labels.txt")
        assert (folder / "labels.txt").read_text().splitlines() == expected
        told = run_json("predict", "iris.opforest", "test.csv")
        assert [one["label"] for one in told["predictions"]] == expected

    def test_probabilities_and_costs(self, folder, iris):
        model = load_bare("iris.opforest")
        arguments = ("predict", "iris.opforest", "test.csv", "--proba", "--costs")
        header, *rows = csv.reader(run(*arguments).stdout.splitlines())
        assert header[:2] == ["label", "proba setosa"]
        numbers = np.array([row[1:] for row in rows], float)
        assert np.array_equal(numbers[:, :3], model.predict_proba(iris.X[75:]))
        assert np.array_equal(numbers[:, 3:], model.class_costs(iris.X[75:]))
        one = run_json(*arguments)["predictions"][4]
        assert one["proba"] == numbers[4, :3].tolist()

    def test_paths(self, folder, iris):
        shown = run("predict", "iris.opforest", "test.csv", "--explain").stdout
        path = load_bare("iris.opforest").explain(iris.X[75])
        first, rest = shown.split("\n", 1)
        assert first.startswith("# queries are named by their rows, from 0; examples by their ids")
        assert rest.startswith(f"query 0: {path}\n")
        told = run_json("predict", "iris.opforest", "test.csv", "--explain")
        assert told["predictions"][0]["path"][0]["id"] == path.prototype

    def test_ids_are_printed(self, folder, iris):
        (folder / "new.csv").write_text(f"id,{','.join(iris.feature_names)},more\nx7,5,3,1,0,9\n")
        assert run_json("predict", "iris.opforest", "new.csv")["predictions"][0]["id"] == "x7"
        assert run("predict", "iris.opforest", "new.csv").stdout == "setosa\n"
        assert "\nquery x7: " in run("predict", "iris.opforest", "new.csv", "--explain").stdout

    @pytest.mark.parametrize(
        ("header", "message"),
        [
            ("sepal length,sepal width,petal length,petal", "are missing: 'petal width'"),
            ("sepal width,sepal length,petal,petal width", "are missing: 'petal length'"),
        ],
    )
    def test_columns_are_checked(self, folder, header, message):
        (folder / "new.csv").write_text(f"{header}\n5,3,1,0\n")
        assert message in run("predict", "iris.opforest", "new.csv", code=3).stderr

    def test_columns_come_in_any_order(self, folder):
        (folder / "new.csv").write_text("sepal length,sepal width,petal length,petal width\n"
                                        "5,3,1,0.2\n6.5,3,5.5,2\n")  # fmt: skip
        (folder / "other.csv").write_text("petal width,sepal width,petal length,sepal length\n"
                                          "0.2,3,1,5\n2,3,5.5,6.5\n")  # fmt: skip
        told = [run("predict", "iris.opforest", name, "--costs").stdout
                for name in ("new.csv", "other.csv")]  # fmt: skip
        assert told[0] == told[1]

    def test_a_file_without_names_is_checked_by_number(self, folder):
        (folder / "new.csv").write_text("5,3,1,0\n")
        assert run("predict", "iris.opforest", "new.csv").stdout == "setosa\n"
        (folder / "new.csv").write_text("5,3,1\n")
        assert "expects 4 features" in run("predict", "iris.opforest", "new.csv", code=3).stderr

    @pytest.mark.parametrize("kind", ["parquet", "npz", "ndjson", "tsv"])
    def test_any_format(self, folder, iris, kind):
        write_table(f"test.{kind}", iris.take(slice(75, None)))
        expected = run("predict", "iris.opforest", "test.csv").stdout
        assert run("predict", "iris.opforest", f"test.{kind}").stdout == expected

    def test_a_bad_line_leaves_no_file(self, folder):
        (folder / "bad.csv").write_text("5,3,1,0\n5,x,1,0\n")
        run("predict", "iris.opforest", "bad.csv", "--out", "labels.txt", code=3)
        assert not [path for path in folder.iterdir() if "labels" in path.name]

    def test_output_to_devices(self, folder):
        run("predict", "iris.opforest", "test.csv", "--out", "/dev/null")
        run("predict", "iris.opforest", "test.csv", "--out", "/dev/full", code=2)


class TestKeep:
    """``--keep`` copies columns as they are written, beside the labels."""

    @pytest.fixture
    def new(self, folder, iris):
        header = ",".join(("id", "name", "zip", *iris.feature_names, "label"))
        rows = ['01,"Ann, Lee",007,5.10,3,1,0,x', "02,Bo,12.50,6,3,5,2,", "03,,1e5,6,3,5,2,NA"]
        (folder / "new.csv").write_text("\n".join([header, *rows]) + "\n")
        return [line.split("|") for line in ("01|Ann, Lee|007|5.10|x", "02|Bo|12.50|6|",
                                             "03||1e5|6|NA")]  # fmt: skip

    def table(self, *options, **more):
        shown = run("predict", "iris.opforest", "new.csv", *options, **more).stdout
        return list(csv.reader(shown.splitlines()))

    def test_columns_are_copied_to_the_letter(self, new):
        labels = run("predict", "iris.opforest", "new.csv").stdout.split()
        first, *rows = self.table("--keep", "name,zip", "--keep", "4")
        assert first == ["id", "name", "zip", "sepal length", "label"]
        assert rows == [[*one[:4], label] for one, label in zip(new, labels, strict=True)]

    def test_a_column_called_label(self, new):
        first, *rows = self.table("--keep", "label,id", "--proba")
        assert first[:3] == ["id", "label", "predicted label"]
        assert [row[:2] for row in rows] == [[one[0], one[4]] for one in new]

    def test_json(self, new):
        told = run_json("predict", "iris.opforest", "new.csv", "--keep", "zip")["predictions"]
        assert [one["kept"] for one in told] == [{"zip": one[2]} for one in new]

    def test_standard_input_and_chunks(self, new, folder):
        head, *rows = (folder / "new.csv").read_text().splitlines()
        (folder / "new.csv").write_text("\n".join([head, *(rows * 2000)]) + "\n")
        shown = run("predict", "iris.opforest", "-", "--keep", "zip",
                    stdin=(folder / "new.csv").read_bytes()).stdout  # fmt: skip
        assert shown == run("predict", "iris.opforest", "new.csv", "--keep", "zip").stdout
        rows = list(csv.reader(shown.splitlines()))[1:]
        assert [row[:2] for row in rows] == [[one[0], one[2]] for one in new] * 2000

    def test_other_formats(self, folder, iris):
        import polars as pl

        frame = pl.DataFrame(iris.X[:3], list(iris.feature_names)).with_columns(
            day=pl.date(2026, 1, pl.int_range(1, 4)), size=pl.Series([1.5, None, 3.0])
        )
        frame.write_parquet(folder / "new.parquet")
        shown = run("predict", "iris.opforest", "new.parquet", "--keep", "day,size",
                    "--label", "none").stdout  # fmt: skip
        rows = list(csv.reader(shown.splitlines()))[1:]
        assert [row[:2] for row in rows] == [
            ["2026-01-01", "1.5"], ["2026-01-02", ""], ["2026-01-03", "3.0"]
        ]  # fmt: skip

    def test_no_names(self, folder):
        (folder / "new.csv").write_text("5,3,1,0\n6,3,5,2\n")
        assert self.table("--keep", "2")[0] == ["column 2", "label"]

    def test_errors(self, new):
        said = run("predict", "iris.opforest", "new.csv", "--keep", "nam", code=3).stderr
        assert "did you mean 'name'" in said
        said = run("predict", "iris.opforest", "new.csv", "--keep", "zip", "--explain", code=2)
        assert "--keep does not go with --explain" in said.stderr

    def test_store(self, new, folder):
        run("store", "create", "a.db")
        run("store", "learn", "a.db", "train.csv")
        shown = run("store", "predict", "a.db", "new.csv", "--keep", "zip").stdout
        assert shown == run("predict", "iris.opforest", "new.csv", "--keep", "zip").stdout
