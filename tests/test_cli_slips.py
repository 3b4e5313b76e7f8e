"""The command line when people slip: nothing is lost, and one line says what to do."""

import pytest

pytest.importorskip("typer")
pytest.importorskip("pyarrow")

from commands import run, run_json


class TestSlips:
    def test_a_missing_label_is_no_class(self, folder):
        (folder / "a.csv").write_text("a,b,label\n1,2,1\n3,4,\n5,6,2\n")
        result = run("train", "a.csv", "m", code=3)
        assert "a.csv, line 3, column 3: the label is missing" in result.stderr

    def test_data_are_not_overwritten_by_a_model(self, folder):
        before = (folder / "test.csv").read_bytes()
        assert "is no model" in run("train", "train.csv", "test.csv", code=2).stderr
        assert (folder / "test.csv").read_bytes() == before

    @pytest.mark.parametrize("arguments", [("x.csv",), ("x.opf", "--to", "csv"), ("-",)])
    def test_a_model_becomes_no_table(self, folder, arguments):
        run("convert", "iris.opforest", *arguments, code=2)
        assert not (folder / "x.csv").exists()
        assert not (folder / "-").exists()

    def test_options_that_make_no_sense(self, folder):
        assert "--jobs" in run("train", "train.csv", "m", "--jobs", 0, code=2).stderr
        assert "--jobs" in run("predict", "iris.opforest", "test.csv", "--jobs", 0, code=2).stderr
        assert "p=3" in run("train", "train.csv", "m", "--metric-param", "=3", code=2).stderr
        run("info", "train.csv", "--delimiter", '"', code=2)

    def test_every_command_speaks_json(self, folder):
        assert run_json("merge", "train.csv", "test.csv", "--out", "a.csv")["examples"] == 150
        assert run_json("normalize", "train.csv", "b.csv")["features"] == 4
        assert run_json("distance", "train.csv", "c.dat")["examples"] == 75
        assert run_json("plot", "iris.opforest", "train.csv", "d.png")["examples"] == 75
        assert run_json("convert", "iris.opforest", "e.opf")["classes"] == 3
        (folder / "f.csv").write_text("a,label\ninf,x\n1,y\n")
        assert run_json("info", "f.csv")["feature_list"][0]["most"] is None

    def test_distances_to_the_standard_output(self, folder):
        rows = run("distance", "train.csv", "-").stdout.splitlines()
        assert len(rows) == 76
        assert not (folder / "-").exists()

    def test_devices_are_written_to(self, folder):
        run("predict", "iris.opforest", "test.csv", "--out", "/dev/null")
        run("predict", "iris.opforest", "test.csv", "--out", "/dev/full", code=2)
