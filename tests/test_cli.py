"""The command line, as people type it."""

import csv
import re
from itertools import pairwise

import numpy as np
import pytest

import opforest
from opforest import OPFClassifier
from opforest.io.tables import FORMATS, read_table, write_table

pytest.importorskip("typer")
pytest.importorskip("pyarrow")

from commands import run, run_json
from opforest.cli.options import Format, Update

COMMANDS = ("train", "update", "predict", "evaluate", "stream", "plot", "info", "convert", "split",
            "fold", "merge", "normalize", "distance", "metrics", "datasets", "demo",
            "reproduce")  # fmt: skip


def load_bare(path):
    """Load a model that takes features without names."""
    model = opforest.load(path)
    del model.feature_names_in_
    return model


def same_forest(a, b):
    names = ("label", "cost", "edges", "root", "predecessor", "prototypes", "ids")
    return np.array_equal(a.classes_, b.classes_) and all(
        np.array_equal(getattr(a.forest_, name), getattr(b.forest_, name)) for name in names
    )


class TestHelp:
    def test_all_commands_are_listed(self):
        shown = run("--help").stdout
        assert all(command in shown for command in (*COMMANDS, "--version"))

    @pytest.mark.parametrize("command", COMMANDS)
    def test_each_has_an_example(self, command):
        assert re.search(rf"Example: [^\n]*opforest {command}", run(command, "--help").stdout)

    def test_options_know_what_the_library_knows(self):
        from opforest.updates import UPDATES

        assert list(Format) == list(FORMATS)
        assert sorted(Update) == sorted(UPDATES)

    def test_version(self):
        assert run("--version").stdout == f"opforest {opforest.__version__}\n"

    def test_usage_errors(self):
        assert "No such command" in run("trian", code=2).stderr
        assert "--no-such" in run("train", "--no-such", code=2).stderr

    def test_metrics_complete(self):
        from opforest.cli.options import complete_metric

        assert complete_metric("man") == ["manhattan"]


class TestTrain:
    def test_it_is_fit(self, folder, iris):
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
            (("iris.csv", "a", "--metric", "euclid"), 2, "Did you mean 'euclidean'"),
            (("iris.csv", "a", "--metric-param", "p"), 2, "--metric-param must be like p=3"),
            (("iris.csv", "a", "--metric", "manhattan", "--metric-param", "p=3"), 2, "takes no"),
            (("iris.csv", "a", "--delimiter", "ab"), 2, "--delimiter must be a character"),
            (("iris.csv", "no/folder/a"), 2, "there is no folder no/folder"),
            (("iris.csv", "a", "--label", "specie"), 3, "did you mean 'species'"),
            (("iris.csv", "a", "--label", "none"), 3, "species' must hold numbers"),
            (("iris.csv", "a", "--label", "none", "--drop", "species"), 3, "--label 'petal width'"),
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


class TestUpdate:
    @pytest.mark.parametrize("command", ["update", "stream"])
    def test_what_somebody_else_wrote_meanwhile_is_not_lost(self, folder, monkeypatch, command):
        learn = OPFClassifier.partial_fit

        def learn_while_others_write(model, X, y):
            (folder / "iris.opforest").write_bytes(b"theirs")
            return learn(model, X, y)

        monkeypatch.setattr(OPFClassifier, "partial_fit", learn_while_others_write)
        result = run(command, "iris.opforest", "test.csv", code=2)
        assert "changed by somebody else" in result.stderr
        assert (folder / "iris.opforest").read_bytes() == b"theirs"
        assert not (folder / "iris.opforest.stream").exists()

    def test_it_is_partial_fit(self, folder, iris):
        told = run_json("update", "iris.opforest", "test.csv")
        assert (told["learned"], told["examples"]) == (75, 150)
        assert same_forest(opforest.load("iris.opforest"), OPFClassifier().fit(iris.X, iris.y))

    def test_a_bad_line_changes_nothing(self, folder):
        before = (folder / "iris.opforest").read_bytes()
        rows = (folder / "test.csv").read_text().splitlines()
        (folder / "bad.csv").write_text("\n".join([*rows, "1,2,x,4,setosa"]) + "\n")
        run("update", "iris.opforest", "bad.csv", code=3)
        assert (folder / "iris.opforest").read_bytes() == before

    def test_labels_are_of_the_models_kind(self, folder, iris):
        names = ",".join([*iris.feature_names, "species"])
        (folder / "more.csv").write_text(f"{names}\n1,2,3,4,7\n")
        run("update", "iris.opforest", "more.csv")
        assert opforest.load("iris.opforest").classes_[0] == "7"

    def test_bad_models(self, folder):
        (folder / "iris.opforest").write_bytes((folder / "iris.opforest").read_bytes()[:-1])
        assert "iris.opforest" in run("update", "iris.opforest", "test.csv", code=4).stderr
        run("update", "test.csv", "test.csv", code=4)
        run("update", "nothing", "test.csv", code=2)
        run("predict", "iris.opforest", "test.csv", code=4)
        run("info", "iris.opforest", code=4)


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
        assert shown.startswith(f"example 1: {path}\n")
        told = run_json("predict", "iris.opforest", "test.csv", "--explain")
        assert told["predictions"][0]["path"][0]["index"] == path.prototype

    def test_ids_are_told(self, folder, iris):
        (folder / "new.csv").write_text(f"id,{','.join(iris.feature_names)},more\nx7,5,3,1,0,9\n")
        assert run_json("predict", "iris.opforest", "new.csv")["predictions"][0]["id"] == "x7"
        assert run("predict", "iris.opforest", "new.csv").stdout == "setosa\n"
        assert "id x7: " in run("predict", "iris.opforest", "new.csv", "--explain").stdout

    @pytest.mark.parametrize(
        ("header", "message"),
        [
            ("sepal width,sepal length,petal length,petal width", "in the order of training"),
            ("sepal length,sepal width,petal length,petal", "are missing: 'petal width'"),
        ],
    )
    def test_columns_are_checked(self, folder, header, message):
        (folder / "new.csv").write_text(f"{header}\n5,3,1,0\n")
        assert message in run("predict", "iris.opforest", "new.csv", code=3).stderr

    def test_a_file_without_names_is_checked_by_number(self, folder):
        (folder / "new.csv").write_text("5,3,1,0\n")
        assert run("predict", "iris.opforest", "new.csv").stdout == "setosa\n"
        (folder / "new.csv").write_text("5,3,1\n")
        assert "expects 4 features" in run("predict", "iris.opforest", "new.csv", code=3).stderr

    @pytest.mark.parametrize("kind", ["parquet", "npz", "arff", "tsv"])
    def test_any_format(self, folder, iris, kind):
        write_table(f"test.{kind}", iris.take(slice(75, None)))
        expected = run("predict", "iris.opforest", "test.csv").stdout
        assert run("predict", "iris.opforest", f"test.{kind}").stdout == expected

    def test_a_bad_line_leaves_no_file(self, folder):
        (folder / "bad.csv").write_text("5,3,1,0\n5,x,1,0\n")
        run("predict", "iris.opforest", "bad.csv", "--out", "labels.txt", code=3)
        assert not [path for path in folder.iterdir() if "labels" in path.name]

    def test_evaluate(self, folder, iris):
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


class TestTools:
    def parts(self, *names):
        return [read_table(name) for name in names]

    def test_split_is_stratified_and_seeded(self, folder, iris):
        arguments = ("split", "iris.csv", "a.csv", "b.npz", "--shares", "0.8,0.2")
        told = run_json(*arguments, "--seed", 1)
        assert [part["examples"] for part in told["parts"]] == [120, 30]
        first, second = self.parts("a.csv", "b.npz")
        assert np.unique(second.y, return_counts=True)[1].tolist() == [10, 10, 10]
        rows = sorted([*first.X.tolist(), *second.X.tolist()])
        assert rows == sorted(iris.X.tolist())
        before = (folder / "a.csv").read_bytes()
        run(*arguments, "--seed", 1)
        assert (folder / "a.csv").read_bytes() == before
        run(*arguments, "--seed", 2)
        assert (folder / "a.csv").read_bytes() != before

    def test_classes_of_one_example_hang_nothing(self, folder):
        (folder / "few.csv").write_text("a,class\n1,x\n2,y\n3,z\n4,z\n5,z\n6,z\n")
        run("split", "few.csv", "a.csv", "b.csv", "--shares", "0.7,0.3")
        first, second = self.parts("a.csv", "b.csv")
        assert set(first.y) == {"x", "y", "z"}
        assert set(second.y) == {"z"}

    def test_three_parts_of_any_shares(self, folder):
        told = run_json("split", "iris.csv", "a.csv", "b.csv", "c.csv", "--shares", "50,30,20")
        assert [part["examples"] for part in told["parts"]] == [75, 45, 30]

    def test_fold(self, folder, iris):
        run("fold", "iris.csv", "f{}.csv", "-k", "4")
        parts = self.parts(*(f"f{k}.csv" for k in range(1, 5)))
        assert sorted(len(part) for part in parts) == [37, 37, 38, 38]
        for part in parts:
            assert set(np.unique(part.y, return_counts=True)[1]) <= {12, 13}
        rows = sorted(row for part in parts for row in part.X.tolist())
        assert rows == sorted(iris.X.tolist())

    def test_merge(self, folder, iris):
        write_table("test.parquet", iris.take(slice(75, None)))
        run("merge", "train.csv", "test.parquet", "--out", "all.csv")
        assert (folder / "all.csv").read_bytes() == (folder / "iris.csv").read_bytes()
        (folder / "other.csv").write_text("a,b,c,d,species\n1,2,3,4,x\n")
        message = run("merge", "iris.csv", "other.csv", "-o", "x.csv", code=3).stderr
        assert "feature 1 must be 'sepal length', as before, got 'a'" in message

    def test_normalize(self, folder, iris):
        run("normalize", "iris.csv", "z.csv")
        z = read_table("z.csv").X
        assert np.allclose(z.mean(axis=0), 0)
        assert np.allclose(z.std(axis=0), 1)
        run("normalize", "test.csv", "z.csv", "--by", "train.csv")
        train = iris.X[:75]
        expected = (iris.X[75:] - train.mean(axis=0)) / train.std(axis=0)
        assert np.array_equal(read_table("z.csv").X, expected)
        (folder / "same.csv").write_text("a,b,class\n1,1,x\n1,2,x\n")
        run("normalize", "same.csv", "same.dat", code=3)  # labels that LibOPF cannot hold
        run("normalize", "same.csv", "z.csv")
        assert read_table("z.csv").X.tolist() == [[0, -1], [0, 1]]

    def test_distance(self, folder, iris):
        from sklearn.metrics import pairwise_distances

        for metric in ("manhattan", "chebyshev", "cosine"):
            run("distance", "iris.csv", "d.npy", "-m", metric)
            found = np.load("d.npy")
            assert np.allclose(found, pairwise_distances(iris.X, metric=metric), atol=1e-7)
            assert np.array_equal(found, found.T)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("split", "iris.csv", "a.csv"), "at least two parts"),
            (("split", "iris.csv", "a.csv", "b.csv", "--shares", "1"), "2 positive numbers"),
            (("split", "iris.csv", "a.csv", "a.csv"), "a file of its own"),
            (("split", "iris.csv", "a.what", "b.csv"), "must end in one of"),
            (("fold", "iris.csv", "f.csv"), "must have {}"),
            (("fold", "iris.csv", "f{}.csv", "-k", "999"), "at most 150"),
            (("distance", "iris.csv", "d.npy", "-m", "what"), "metric must be one of"),
        ],
    )
    def test_errors(self, folder, arguments, message):
        before = sorted(folder.iterdir())
        assert message in run(*arguments, code=2).stderr
        assert sorted(folder.iterdir()) == before


class TestFiles:
    def test_convert_and_back(self, folder):
        for path, following in pairwise(
            ["iris.csv", "a.parquet", "a.arff", "a.npz", "a.tsv", "b.csv"]
        ):
            run("convert", path, following)
        assert (folder / "b.csv").read_bytes() == (folder / "iris.csv").read_bytes()
        shown = run("convert", "iris.csv", "-", "--to", "tsv").stdout
        assert shown == (folder / "a.tsv").read_text()

    def test_what_is_lost_must_be_asked_for(self, folder, iris):
        assert "--encode-labels" in run("convert", "iris.csv", "a.dat", code=3).stderr
        assert "--round" in run("convert", "iris.csv", "a.dat", "--encode-labels", code=3).stderr
        told = run_json("convert", "iris.csv", "a.dat", "--encode-labels", "--round")
        assert told["labels"] == {"1": "setosa", "2": "versicolor", "3": "virginica"}
        data = read_table("a.dat")
        assert np.array_equal(data.X, iris.X.astype(np.float32))
        assert data.y.tolist() == (np.unique(iris.y, return_inverse=True)[1] + 1).tolist()

    def test_libopf_files_round_trip(self, folder, shared):
        for name in ("cone-torus", "parkinsons"):
            path = shared / "golden" / "libopf" / name / "training.dat"
            for step in ("a.csv", "a.arff", "a.parquet", "a.opf.txt", "a.npz", "a.dat"):
                run("convert", path, step)
                path = step
            original = shared / "golden" / "libopf" / name / "training.dat"
            assert (folder / "a.dat").read_bytes() == original.read_bytes()

    def test_golden_predictions(self, folder, shared):
        for name in ("cone-torus", "data1", "parkinsons"):
            golden = shared / "golden" / "libopf" / name
            run("train", golden / "training.dat", "m")
            answers = run("predict", "m", golden / "testing.dat").stdout.split()
            assert answers == (golden / "testing.dat.out").read_text().split()
            again = run("predict", golden / "classifier.opf", golden / "testing.dat")
            assert again.stdout.split() == answers

    def test_models_of_libopf_and_back(self, folder, shared):
        golden = shared / "golden" / "libopf" / "data1"
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
        assert told["feature_list"][0]["feature"] == "sepal length"
        assert told["label"] == "species"
        told = run_json("info", "iris.opforest")
        assert (told["kind"], told["examples"], told["metric"]) == ("model", 75, "euclidean")
        assert told["feature_names"] == list(iris.feature_names)
        assert "petal width" in run("info", "iris.csv").stdout
        assert "prototypes" in run("info", "iris.opforest").stdout
        assert "150" in run("info", "-", stdin=(folder / "iris.csv").read_bytes()).stdout

    def test_plot(self, folder):
        pytest.importorskip("matplotlib")
        run("plot", "iris.opforest", "train.csv", "a.png")
        assert (folder / "a.png").read_bytes().startswith(b"\x89PNG")
        assert "the 75 examples" in run("plot", "iris.opforest", "iris.csv", "b.png", code=3).stderr
        run("plot", "iris.opforest", "train.csv", "b.what", code=2)
        assert not (folder / "b.png").exists()

    def test_lists(self):
        from opforest.datasets import PUBLISHED
        from opforest.metrics import METRIC_NAMES

        told = run_json("metrics")["metrics"]
        assert [one["metric"] for one in told] == list(METRIC_NAMES)
        assert [one["name"] for one in run_json("datasets")["datasets"]] == list(PUBLISHED)
        assert "minkowski\tp" in run("metrics").stdout
        assert "Cone-Torus" in run("datasets").stdout
