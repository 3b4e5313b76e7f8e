"""``opforest train --out-of-core``, and what commands do with a model in parts."""

from unittest.mock import patch

import numpy as np
import pytest
from tests.support.commands import run, run_json
from tests.support.tuning import tune

from opforest.estimators.parts import PartsClassifier

pl = pytest.importorskip("polars")


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 30, (300, 2)) / 2
    species = np.where(X.sum(axis=1) > 14, "cat", "dog")
    path = tmp_path / "big.parquet"
    pl.DataFrame({"u": X[:, 0], "v": X[:, 1], "species": species}).write_parquet(path)
    return path


@pytest.fixture
def model(data, tmp_path):
    tune(disk_cell=50)
    run("train", data, tmp_path / "model", "--out-of-core", "--memory", "1GB", "--jobs", 2)
    return tmp_path / "model"


def test_a_model_in_parts_predicts_as_one_in_memory(data, model, tmp_path):
    run("train", data, tmp_path / "whole.opforest")
    new = tmp_path / "new.csv"
    rng = np.random.default_rng(1)
    rows = [f"{b},{a}" for a, b in rng.random((50, 2)) * 15]
    new.write_text("\n".join(["v,u", *rows]) + "\n")  # by name, in another order
    expected = run("predict", tmp_path / "whole.opforest", new).stdout
    assert run("predict", f"{model}/", new, "--jobs", 2).stdout == expected
    assert set(expected.split()) == {"cat", "dog"}
    scores, whole = (
        run_json("evaluate", one, data) for one in (model, tmp_path / "whole.opforest")
    )
    assert scores["examples"] == 300
    assert all(scores[name] == whole[name] for name in ("accuracy", "classes", "confusion"))


def test_facts(data, model, tmp_path):
    facts = run_json("train", data, model, "--out-of-core", "--memory", "1 gb", "--jobs", 2)
    assert (facts["examples"], facts["features"], facts["classes"]) == (300, 2, 2)
    assert facts["parts"] == 8
    described = run_json("info", model)
    assert described["kind"] == "model"
    assert described["feature_names"] == ["u", "v"]
    assert described["parts"] == 8


@pytest.mark.parametrize(
    "command",
    [
        ("update", "MODEL", "DATA"),
        ("forget", "MODEL", "--ids", 3),
        ("plot", "MODEL", "plot.png"),
        ("convert", "MODEL", "out.opf"),
        ("prune", "MODEL", "DATA", "out.opforest"),
        ("stream", "MODEL", "DATA"),
    ],
)
def test_other_commands_say_that_they_cannot(data, model, tmp_path, command):
    names = {"MODEL": model, "DATA": data, "plot.png": tmp_path / "plot.png"}
    arguments = [names.get(one, one) for one in command]
    assert "a model in parts" in run(*arguments, code=4).stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--out-of-core", "--scale", "standard"], "does not go with --scale"),
        (["--out-of-core", "--test", "0.2"], "does not go with --test"),
        (["--out-of-core", "--metric", "canberra"], "cannot be used out of core"),
        (["--out-of-core", "--memory", "5XB"], "it must be like 2GB"),
        (["--out-of-core", "--memory", "5MB"], "--memory must be more than"),
        (["--out-of-core", "--jobs", "0"], "--jobs must be"),
        (["--memory", "1GB"], "--memory goes with --out-of-core"),
    ],
)
def test_options_that_make_no_sense_are_refused(data, tmp_path, options, message):
    assert message in run("train", data, tmp_path / "model", *options, code=2).stderr
    assert not (tmp_path / "model").exists()


def test_the_standard_input_is_refused(tmp_path):
    said = run("train", "-", tmp_path / "model", "--out-of-core", code=2, stdin="a,b\n").stderr
    assert "not the standard input" in said


def test_probabilities_need_a_whole_model(data, model):
    assert "without --out-of-core" in run("predict", model, data, "--proba", code=2).stderr


def test_a_stopped_fit_says_how_to_continue(data, tmp_path, monkeypatch):
    from opforest.out_of_core import job

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(job, "train_parts", interrupt)
        said = run("train", data, tmp_path / "model", "--out-of-core", code=130).stderr
    assert said == "Stopped; the same command continues.\n"
    assert "not a complete model" in run("predict", tmp_path / "model", data, code=4).stderr
    run("train", data, tmp_path / "model", "--out-of-core")
    assert run("predict", tmp_path / "model", data).stdout.count("\n") == 300


def test_too_little_memory_is_noticed_before_the_whole_file_is_read(tmp_path):
    path = tmp_path / "big.csv"
    rows = [f"{i % 97},{i % 89},{'ab'[i % 2]}" for i in range(70_000)]
    path.write_text("\n".join(["u,v,label", *rows, "this line is not a row"]) + "\n")
    said = run("train", path, tmp_path / "model", "--out-of-core", "--memory", "300.0001MB", code=2)
    assert "--memory must be about 305 MB or more for the first 65,536 examples" in said.stderr
    assert "threads" not in said.stderr
    assert "for the first 65,536 examples" in said.stderr
    assert "and --jobs 1, got 300 MB" in said.stderr
    run("train", path, tmp_path / "model", "--out-of-core", code=3)  # it is read to the end


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_a_model_in_parts_is_asked_about_many_rows_at_a_time(data, model, tmp_path, command):
    pl.concat([pl.read_parquet(data)] * 20).write_parquet(tmp_path / "many.parquet")
    with patch.object(PartsClassifier, "predict", autospec=True) as predict:
        predict.side_effect = lambda _, X: np.repeat("cat", len(X))
        run(command, model, tmp_path / "many.parquet")
    assert [len(call.args[1]) for call in predict.call_args_list] == [6000]


def test_no_memory_is_not_the_default(data, tmp_path):
    told = run("train", data, tmp_path / "model", "--out-of-core", "--memory", 0, code=2).stderr
    assert "--memory must be more than 300 MB" in told
    assert not (tmp_path / "model").exists()


def test_examples_of_a_model_in_parts_are_not_counted(data, model):
    done = run("evaluate", model, data)
    assert "a model in parts does not detect its own training examples in DATA" in done.stderr


def test_advice_about_missing_cells_fits_a_model_in_parts(data, model, tmp_path):
    table = pl.read_parquet(data)
    place = next(name for name, kind in table.schema.items() if kind.is_float())
    table[:5].with_columns(pl.lit(None, pl.Float64).alias(place)).write_csv(tmp_path / "new.csv")
    said = run("predict", model, tmp_path / "new.csv", code=3).stderr
    assert "fill them in" in said
    assert "--missing" not in said
