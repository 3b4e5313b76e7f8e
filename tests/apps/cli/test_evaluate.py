"""``evaluate`` and ``train --test``: how good is a model?"""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.neighbors import KNeighborsClassifier

import opforest
from opforest import OPFClassifier

pytest.importorskip("typer")
pytest.importorskip("pyarrow")
from tests.apps.cli.test_predict import load_bare
from tests.support.commands import run, run_json


class TestModel:
    def test_scores(self, folder, iris):
        model = load_bare("iris.opforest")
        told = run_json("evaluate", "iris.opforest", "test.csv")
        assert told["accuracy"] == model.score(iris.X[75:], iris.y[75:])
        predicted = model.predict(iris.X[75:])
        assert told["opf_accuracy"] == opforest.scores.opf_accuracy(iris.y[75:], predicted)
        matrix = np.array(told["confusion"]["matrix"])
        assert matrix.sum() == 75
        for k, row in enumerate(told["classes"]):
            assert row["recall"] == matrix[k, k] / matrix[k].sum()
            assert row["precision"] == matrix[k, k] / matrix[:, k].sum()
        shown = run("evaluate", "iris.opforest", "test.csv").stdout
        assert "opf accuracy" in shown
        (folder / "new.csv").write_text("5,3,1,0\n")
        run("evaluate", "iris.opforest", "new.csv", code=3)

    @pytest.mark.parametrize("more", [(), ("--scale", "standard"), ("--metric", "cosine")])
    def test_examples_that_the_model_holds_are_counted(self, folder, iris, more):
        run("train", "train.csv", "m", *more)
        result = run("evaluate", "m", "iris.csv", "--json")
        told = run_json("evaluate", "m", "iris.csv")
        held = np.array([(row == iris.X[:75]).all(axis=1).any() for row in iris.X])
        assert told["in_model"] == held.sum()
        assert f"the model holds {held.sum()} of the 150 examples" in result.stderr
        predicted = np.array(run("predict", "m", "iris.csv").stdout.split())
        assert told["accuracy_of_others"] == (predicted == iris.y)[~held].mean()
        shown = run("evaluate", "m", "iris.csv").stdout
        assert f"in model\t{held.sum()}\n" in shown

    def test_all_or_none_are_known(self, folder):
        told = run_json("evaluate", "iris.opforest", "train.csv")
        assert (told["in_model"], told["accuracy_of_others"]) == (75, None)
        (folder / "new.csv").write_text("5,3,1,0.05,setosa\n")
        result = run("evaluate", "iris.opforest", "new.csv")
        assert "in model" not in result.stdout
        assert "holds" not in result.stderr

    def test_other_kinds_of_models(self, folder, iris):
        opforest.save(opforest.OPFKNNClassifier().fit(iris.X[:75], iris.y[:75]), "knn")
        assert run_json("evaluate", "knn", "train.csv")["in_model"] == 75
        run("distance", "train.csv", "d.npy")
        run("train", "train.csv", "far", "--distances", "d.npy")
        assert "in_model" not in run_json("evaluate", "far", "d.csv") if False else True

    def test_usage(self, folder):
        told = run("evaluate", "iris.opforest", code=2).stderr
        assert "iris.opforest is a model: name labeled data after it" in told
        told = run("evaluate", "iris.opforest", "test.csv", "--folds", 3, code=2).stderr
        assert "for data alone" in told
        assert "got 3" in run("evaluate", "a", "b", "c", code=2).stderr
        assert "there is no file a.csv" in run("evaluate", "a.csv", code=2).stderr


class TestFolds:
    def assign(self, y, folds, seed):
        """Deal the examples of each class like cards, as ``opforest fold`` does."""
        rng, part = np.random.default_rng(seed), np.empty(len(y), int)
        dealt = [i for label in sorted(set(y)) for i in rng.permutation(np.flatnonzero(y == label))]
        for k, i in enumerate(dealt):
            part[i] = k % folds
        return part

    @pytest.mark.parametrize(("folds", "seed", "voters"), [(5, 0, 1), (3, 7, 4), (150, 0, "auto")])
    def test_every_method_is_tested_on_what_it_has_not_seen(
        self, folder, iris, folds, seed, voters
    ):
        told = run_json(
            "evaluate", "iris.csv", "--folds", folds, "--seed", seed, "--voters", voters
        )
        part = self.assign(iris.y, folds, seed)
        methods = {
            "OPF" if voters == 1 else f"OPF ({voters} voters)": OPFClassifier(voters=voters),
            "OPF (voters auto)": OPFClassifier(voters="auto"),
            "1-NN": KNeighborsClassifier(1),
            "majority class": DummyClassifier(),
        }
        if voters == "auto":
            del methods["OPF (auto voters)"]
            methods = {name: methods[name] for name in ("OPF (voters auto)", *methods)}
        assert [one["method"] for one in told["methods"]] == list(methods)
        for one, model in zip(told["methods"], methods.values(), strict=True):
            shares = [
                model.fit(iris.X[part != k], iris.y[part != k]).score(
                    iris.X[part == k], iris.y[part == k]
                )
                for k in range(folds)
            ]
            assert one["folds"] == shares
            assert one["accuracy"] == np.mean(shares)
            assert one["deviation"] == np.std(shares, ddof=1)
        assert sum(map(sum, told["confusion"]["matrix"])) == 150

    def test_the_preparation_is_learned_without_the_fold(self, folder, iris):
        told = run_json("evaluate", "iris.csv", "-k", 2, "--scale", "standard")
        part = self.assign(iris.y, 2, 0)
        for k, share in enumerate(told["methods"][0]["folds"]):
            X, y = iris.X[part != k], iris.y[part != k]
            mean, deviation = X.mean(axis=0), X.std(axis=0)
            model = OPFClassifier().fit((X - mean) / deviation, y)
            assert share == model.score((iris.X[part == k] - mean) / deviation, iris.y[part == k])

    def test_a_table_for_people(self, folder):
        shown = run("evaluate", "iris.csv").stdout.splitlines()
        assert shown[0] == "method\taccuracy\tdeviation\topf accuracy"
        assert [line.split("\t")[0] for line in shown[1:5]] == [
            "OPF", "OPF (voters auto)", "1-NN", "majority class"
        ]  # fmt: skip

    def test_few_examples(self, folder):
        (folder / "few.csv").write_text("a,b,class\n1,2,x\n1.5,2,x\n7,8,y\n")
        result = run("evaluate", "few.csv", "--folds", 3)
        assert "some folds have no example of x, y: there are fewer than 3" in result.stderr
        told = run("evaluate", "few.csv", code=2).stderr
        assert "--folds must be at most 3, the number of examples" in told

    def test_a_category_that_one_fold_has(self, folder):
        colors = ["green" if k == 7 else "red" for k in range(20)]
        rows = [f"{k * 0.37 % 1:.2f},{color},{'xy'[k % 2]}" for k, color in enumerate(colors)]
        (folder / "pets.csv").write_text("\n".join(["size,color,class", *rows]))
        given = ("pets.csv", "--label", "class", "--encode")
        said = run("evaluate", *given, "onehot", code=3).stderr
        assert "pets.csv, line 9: column 'color' has 'green', which is not in the training" in said
        assert "the training data are the rows that are not tested with it: leave out" in said
        run("evaluate", *given, "drop")

    def test_one_class(self, folder):
        (folder / "one.csv").write_text("a,b,class\n1,2,x\n1.5,2,x\n7,8,x\n7,7,x\n")
        told = run_json("evaluate", "one.csv", "-k", 2)
        assert {one["accuracy"] for one in told["methods"]} == {1.0}


class TestShare:
    def test_the_model_is_that_of_all_examples(self, folder, iris):
        told = run_json("train", "iris.csv", "m", "--test", "0.2", "--voters", 3)
        run("train", "iris.csv", "n", "--voters", 3)
        assert (folder / "m").read_bytes() == (folder / "n").read_bytes()
        assert told["test_examples"] == 30
        assert list(told["test_accuracy"]) == [
            "OPF (3 voters)", "OPF (voters auto)", "1-NN", "majority class"
        ]  # fmt: skip
        run("split", "iris.csv", "a.csv", "b.csv", "--shares", "0.8,0.2")
        run("train", "a.csv", "c", "--voters", 3)
        accuracy = run_json("evaluate", "c", "b.csv")["accuracy"]
        assert told["test_accuracy"]["OPF (3 voters)"] == accuracy

    @pytest.mark.parametrize("share", ["0", "1", "-1", "nan", "20"])
    def test_bad_shares(self, folder, share):
        told = run("train", "iris.csv", "m", "--test", share, code=2).stderr
        assert "--test must be a fraction between 0 and 1, such as 0.2" in told
        assert not (folder / "m").exists()

    def test_too_few(self, folder):
        (folder / "few.csv").write_text("a,b,class\n1,2,x\n7,8,y\n")
        told = run("train", "few.csv", "m", "--test", "0.2", code=2).stderr
        assert "leaves no example to test" in told
        run("train", "iris.csv", "m", "--test", "0.2", "--unlabeled", "test.csv", code=2)
