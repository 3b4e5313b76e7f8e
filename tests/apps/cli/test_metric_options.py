"""``--metric-param``: numbers, lists and files of numbers."""

import numpy as np
import pytest

import opforest
from opforest import OPFClassifier

pytest.importorskip("typer")
pytest.importorskip("pyarrow")
from tests.support.commands import run, run_json
from tests.support.comparison import same_forest


@pytest.fixture
def files(folder, iris):
    """The folder of iris.csv with variances and covariances in several files."""
    V = np.cov(iris.X.T)
    np.savetxt("V.csv", V, delimiter=",", fmt="%.17g")
    np.save("V.npy", V)
    np.savetxt("row.csv", V.diagonal()[None], delimiter=",", fmt="%.17g")
    np.savetxt("column.txt", V.diagonal(), fmt="%.17g")
    return V


@pytest.mark.parametrize("given", ["@V.csv", "@V.npy"])
@pytest.mark.parametrize("name", ["V", "VI"])
def test_matrices(files, iris, given, name):
    told = run_json("train", "iris.csv", "m", "-m", "mahalanobis", "--metric-param",
                    f"{name}={given}")  # fmt: skip
    model = OPFClassifier("mahalanobis", metric_params={name: files}).fit(iris.X, iris.y)
    assert same_forest(opforest.load("m"), model)
    assert told["metric_params"] == {name: files.tolist()}
    assert f"metric params\t{name}: 4 × 4 numbers\n" in run("info", "m").stdout


def test_lists(files, iris):
    variances = files.diagonal()
    model = OPFClassifier("seuclidean", metric_params={"V": variances}).fit(iris.X, iris.y)
    for given in ("@row.csv", "@column.txt", ",".join(map(repr, variances.tolist()))):
        run("train", "iris.csv", "m", "-m", "seuclidean", "--metric-param", f"V={given}")
        assert same_forest(opforest.load("m"), model)
    run("train", "iris.csv", "m", "-m", "minkowski", "--metric-param", "p=1", "--metric-param",
        "w=1,0,2,0.5")  # fmt: skip
    params = {"p": 1, "w": [1, 0, 2, 0.5]}
    model = OPFClassifier("minkowski", metric_params=params).fit(iris.X, iris.y)
    assert same_forest(opforest.load("m"), model)


def test_one_feature(folder):
    (folder / "a.csv").write_text("a,class\n1,x\n2,x\n5,y\n")
    (folder / "V").write_text("4\n")
    for metric, given in (("seuclidean", "4"), ("seuclidean", "@V"), ("mahalanobis", "@V")):
        run("train", "a.csv", "m", "-m", metric, "--metric-param", f"V={given}")
        assert opforest.load("m").forest_.cost.tolist() == [0.5, 0, 0]


def test_other_commands(files, iris):
    option = ("-m", "mahalanobis", "--metric-param", "V=@V.csv")
    assert run_json("evaluate", "iris.csv", *option, "--folds", 2)["examples"] == 150
    run("distance", "iris.csv", "d.npy", *option)
    assert np.load("d.npy")[0, 1] == pytest.approx(
        np.sqrt((iris.X[0] - iris.X[1]) @ np.linalg.inv(files) @ (iris.X[0] - iris.X[1]))
    )
    run("stream", "s", "iris.csv", *option)
    run("stream", "s", "iris.csv", *option, "--resume")
    said = run("stream", "s", "iris.csv", "--metric-param", "V=@row.csv", "--resume", code=2).stderr
    assert "was made with metric_params=" in said
    run("store", "create", "a.db", *option)
    run("store", "learn", "a.db", "iris.csv")
    run("train", "iris.csv", "m", *option)
    assert run("store", "predict", "a.db", "iris.csv").stdout == (
        run("predict", "m", "iris.csv").stdout
    )


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("-m", "seuclidean"), 2, "--metric seuclidean needs the variances of the features: --met"),
        (("-m", "mahalanobis"), 2, "needs the covariances of the features: --metric-param V=@FILE"),
        (("-m", "mahalanobis", "--metric-param", "V=1,2"), 2, "V=@FILE, a square table"),
        (("-m", "mahalanobis", "--metric-param", "V=@row.csv"), 2, "symmetric and positive"),
        (("-m", "seuclidean", "--metric-param", "V=@V.csv"), 2, "in one row or column"),
        (("-m", "seuclidean", "--metric-param", "V=1,2"), 3, "iris.csv: "),
        (("-m", "seuclidean", "--metric-param", "V=1,x"), 2, "must be like p=3, w=1,2.5,1 or V=@"),
        (("-m", "seuclidean", "--metric-param", "V=@no.csv"), 2, "there is no file no.csv"),
        (("-m", "seuclidean", "--metric-param", "V=@iris.csv"), 3, "iris.csv: "),
        (("-m", "minkowski", "--metric-param", "p=1,2"), 2, "needs a parameter p > 0"),
    ],
)
def test_errors(files, options, code, message):
    assert message in run("train", "iris.csv", "m", *options, code=code).stderr


@pytest.mark.parametrize("command", [
    ("train", "iris.csv", "V.csv"), ("audit", "iris.csv", "--out", "V.csv"),
    ("cluster", "iris.csv", "--out", "V.csv"), ("distance", "iris.csv", "V.csv"),
    ("stream", "V.csv", "iris.csv"), ("store", "create", "V.csv"),
])  # fmt: skip
def test_a_file_of_parameters_is_not_overwritten(files, folder, command):
    before = (folder / "V.csv").read_bytes()
    said = run(*command, "-m", "mahalanobis", "--metric-param", "V=@V.csv", code=2).stderr
    assert "V.csv must not be written, because this command reads it" in said
    assert (folder / "V.csv").read_bytes() == before
