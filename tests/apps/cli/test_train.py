"""``train``, as people type it."""

import numpy as np
import pytest

import opforest
from opforest import OPFClassifier

pytest.importorskip("typer")
pytest.importorskip("pyarrow")
from tests.support.commands import run, run_json
from tests.support.comparison import same_forest


class TestTrain:
    def test_train_equals_fit(self, folder, iris):
        told = run_json("train", "iris.csv", "a.opforest")
        assert (told["examples"], told["features"], told["classes"]) == (150, 4, 3)
        model = opforest.load("a.opforest")
        assert same_forest(model, OPFClassifier().fit(iris.X, iris.y))
        assert tuple(model.feature_names_in_) == iris.feature_names
        assert "examples\t150" in run("train", "iris.csv", "a.opforest").stdout

    def test_options_are_those_of_the_classifier(self, folder, iris):
        run("train", "iris.csv", "a", "-m", "minkowski", "--metric-param", "p=3",
            "--update", "opfi", "-j", "1")  # fmt: skip
        model = opforest.load("a")
        assert (model.metric, model.metric_params, model.update) == (
            "minkowski",
            {"p": 3.0},
            "opfi",
        )

    def test_from_distances(self, folder, iris):
        run("distance", "iris.csv", "distances.dat")
        run("distance", "iris.csv", "distances.npy")
        run("train", "iris.csv", "a", "--distances", "distances.npy")
        run("train", "iris.csv", "b", "--distances", "distances.dat")
        direct = OPFClassifier().fit(iris.X, iris.y).forest_
        assert np.array_equal(opforest.load("a").forest_.cost, direct.cost)
        close = np.isclose(opforest.load("b").forest_.cost, direct.cost, rtol=1e-6)
        assert close.mean() > 0.9  # what rounds to a tie may be settled otherwise

    def test_stdin(self, folder):
        run("train", "-", "a", stdin=(folder / "iris.csv").read_bytes())
        assert len(opforest.load("a").forest_) == 150

    @pytest.mark.parametrize(
        ("arguments", "code", "message"),
        [
            (("nothing.csv", "a"), 2, "there is no file nothing.csv"),
            (("iris.csv", "a", "--metric", "euclidian"), 2, "Did you mean 'euclidean'"),
            (("iris.csv", "a", "--metric-param", "p"), 2, "--metric-param must be like p=3"),
            (("iris.csv", "a", "--metric", "manhattan", "--metric-param", "p=3"), 2, "takes no"),
            (("iris.csv", "a", "--delimiter", "ab"), 2, "--delimiter must be a character"),
            (("iris.csv", "no/folder/a"), 2, "there is no folder no/folder"),
            (("iris.csv", "a", "--label", "specie"), 3, "did you mean 'species'"),
            (("iris.csv", "a", "--label", "none"), 3, "labels are needed here; --label"),
            (("iris.csv", "a", "--drop", "species"), 3, "; --label names a column of classes"),
            (("iris.csv", "a", "-l", "petal width"), 3, "text, which has no distances: species"),
            (("negative.csv", "a", "--metric", "chi_squared"), 3, "negative.csv: Negative values"),
            (("bad.csv", "a"), 3, "bad.csv, line 3, column 2: column 'b' must hold numbers"),
            (("iris.opforest", "a"), 3, "iris.opforest: "),
        ],
    )
    def test_errors(self, folder, arguments, code, message):
        (folder / "negative.csv").write_text("a,b,class\n1,-2,x\n1,2,y\n")
        (folder / "bad.csv").write_text("a,b,class\n1,-2,x\n1,two,y\n")
        assert message in run("train", *arguments, code=code).stderr
        assert not (folder / "a").exists()

    def test_a_missing_label_is_an_error(self, folder):
        (folder / "a.csv").write_text("a,b,label\n1,2,1\n3,4,\n5,6,2\n")
        result = run("train", "a.csv", "m", code=3)
        assert "a.csv, line 3, column 3: the label is missing" in result.stderr

    def test_a_model_does_not_overwrite_data(self, folder):
        before = (folder / "test.csv").read_bytes()
        assert "is not a model" in run("train", "train.csv", "test.csv", code=2).stderr
        assert (folder / "test.csv").read_bytes() == before
