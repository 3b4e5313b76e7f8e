"""``stream``."""

import pytest

import opforest
from opforest import OPFClassifier

pytest.importorskip("typer")
pytest.importorskip("pyarrow")
from commands import run, run_json
from comparing import same_forest


class TestStream:
    @pytest.mark.parametrize("update", ["exact", "opfi", "dift"])
    def test_it_is_test_then_train(self, folder, iris, update):
        told = run_json("stream", "s", "iris.csv", "--every", "50", "--update", update)
        model, right = OPFClassifier(update=update), 0
        for i, (x, label) in enumerate(zip(iris.X, iris.y, strict=True)):
            right += i > 0 and model.predict([x])[0] == label
            model.partial_fit([x], [label])
        assert (told["tested"], told["accuracy"]) == (149, right / 149)
        assert [line["examples"] for line in told["course"]] == [50, 100, 150]
        assert same_forest(opforest.load("s"), model)

    def test_it_shows_how_it_goes(self, folder):
        lines = run("stream", "s", "iris.csv", "--every", "60").stdout.splitlines()
        assert lines[0] == "examples\taccuracy\trolling"
        assert [line.split("\t")[0] for line in lines[1:]] == ["60", "120", "150"]

    @pytest.mark.parametrize("batch", [1, 4])
    def test_what_was_stopped_goes_on(self, folder, batch):
        rows = (folder / "iris.csv").read_text().splitlines()
        whole = run_json("stream", "whole", "iris.csv", "--batch", batch, "--every", 20)
        (folder / "data.csv").write_text("\n".join([*rows[:83], "1,2,broken"]))
        run("stream", "s", "data.csv", "--batch", batch, "--every", 20, "--json", code=3)
        (folder / "data.csv").write_text("\n".join(rows))
        assert len(opforest.load("s").forest_) == 80
        told = run("stream", "s", "data.csv", code=2).stderr
        assert "--resume goes on" in told
        told = run_json("stream", "s", "data.csv", "--batch", batch, "--every", 20, "--resume")
        assert (folder / "s").read_bytes() == (folder / "whole").read_bytes()
        assert (told["accuracy"], told["tested"]) == (whole["accuracy"], whole["tested"])

    def test_what_has_come_since_is_learned(self, folder, iris):
        rows = (folder / "iris.csv").read_text().splitlines(keepends=True)
        (folder / "log.csv").write_text("".join(rows[:100]))
        run("stream", "s", "log.csv")
        with (folder / "log.csv").open("a") as stream:
            stream.writelines(rows[100:])
        assert run_json("stream", "s", "log.csv", "--resume")["examples"] == 150
        assert same_forest(opforest.load("s"), OPFClassifier().fit(iris.X, iris.y))

    def test_a_model_goes_on_with_more_data(self, folder, iris):
        run("stream", "iris.opforest", "test.csv")
        assert same_forest(opforest.load("iris.opforest"), OPFClassifier().fit(iris.X, iris.y))
        assert (
            "does not say" in run("stream", "iris.opforest", "train.csv", "--resume", code=2).stderr
        )
        told = run("stream", "iris.opforest", "test.csv", "--metric", "manhattan", code=2).stderr
        assert "was made with metric='euclidean'" in told

    def test_a_note_of_something_else(self, folder):
        (folder / "s.stream").write_text("{}")
        assert "no note of a stream" in run("stream", "s", "iris.csv", code=2).stderr
