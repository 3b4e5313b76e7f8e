"""Questions at a terminal: one key answers, and the answer is repeated as an option."""

import os
import select
import shlex
import signal
import sys
import time

import pytest

pytest.importorskip("typer")
pytest.importorskip("polars")
import click
from sklearn.datasets import load_wine
from tests.support.commands import run, run_json
from tests.support.workbooks import write_workbook

import opforest
from opforest.apps.cli import question

#: Features that no rule tells from a label.
ROWS = "".join(f"{'pq'[k % 2]},{k % 7},{k * 37 % 11 / 8},{k % 3},{'uv'[k * 5 % 7 % 2]}\n"
               for k in range(70))  # fmt: skip


@pytest.fixture
def keys(monkeypatch, tmp_path):
    """Return the keys that will be pressed, to be filled in by a test."""
    pressed = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(question, "_can_ask", lambda: True)
    monkeypatch.setattr(click, "getchar", lambda: pressed.pop(0))
    (tmp_path / "d.csv").write_text("a,b,c,d,e\n" + ROWS)
    return pressed


@pytest.mark.parametrize(("key", "label"), [("1", "e"), ("2", "a"), ("\r", "e"), ("3", "d")])
def test_one_key_answers(keys, key, label):
    keys += ["x", "9", key]  # others are ignored
    done = run("train", "d.csv", "m", "--encode", "onehot")
    assert "d.csv: Which column is the label?" in done.stderr
    assert "  1  --label e  column 'e', 2 classes: u, v\n" in done.stderr
    assert f"opforest: note: next time, add --label {label}\n" in done.stderr
    facts = run_json("train", "d.csv", "n", "--encode", "onehot", "--label", label)
    assert facts["label"] == label
    assert opforest.load("m").classes_.tolist() == opforest.load("n").classes_.tolist()


def test_no_answer_changes_nothing(keys, tmp_path):
    keys += ["q"]
    done = run("train", "d.csv", "m", code=130)
    assert done.stderr.endswith("nothing was changed.\n")
    assert not (tmp_path / "m").exists()


def test_the_option_that_is_repeated_works_in_a_shell(keys, tmp_path):
    names = "a,b,c,it's d,it's e\n"
    (tmp_path / "e.csv").write_text(names + ROWS)
    keys += ["1"]
    told = run("train", "e.csv", "m", "--encode", "onehot").stderr
    option = told.partition("next time, add ")[2].splitlines()[0]
    assert shlex.split(option) == ["--label", "it's e"]


def test_decimal_marks(keys, tmp_path):
    (tmp_path / "f.csv").write_text("n,b,label\n" + '"1,234",5,x\n"2,345",6,y\n' * 20)
    keys += ["2"]
    done = run("train", "f.csv", "m")
    assert "Which number is '1,234' in column 'n'?" in done.stderr
    assert "next time, add --decimal ,\n" in done.stderr


def test_sheets(keys, tmp_path):
    pytest.importorskip("fastexcel")
    sheet = [["a", "label"], *([k % 5 / 2, "xy"[k % 2]] for k in range(20))]
    write_workbook(tmp_path / "b.xlsx", [sheet, sheet[:12]])
    keys += ["2"]
    done = run("train", "b.xlsx", "m", "--json")
    assert "2  --sheet S2  11 rows, 2 columns" in done.stderr
    assert '"examples": 11' in done.stdout


def test_without_a_terminal_it_is_an_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.csv").write_text("a,b,c,d,e\n" + ROWS)
    done = run("train", "d.csv", "m", code=3)
    order = ["--label e (2 classes)", "--label a (2 classes)", "--label d (3 classes)"]
    places = [done.stderr.index(option) for option in order]
    assert places == sorted(places)


@pytest.mark.parametrize("place", ["last", "first"])
def test_first_and_last(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.csv").write_text("".join(f"{k % 3},{k % 2},{k / 8},{k % 4}\n"
                                            for k in range(40)))  # fmt: skip
    end, beside = (4, 2) if place == "last" else (1, 2)
    assert run_json("train", "d.csv", "m", "--label", place)["label"] == end
    drop = "3-4" if place == "last" else "1"
    assert run_json("train", "d.csv", "m", "--label", place, "--drop", drop)["label"] == beside


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudoterminals")
def test_a_real_terminal(tmp_path):
    import pty

    wine = load_wine()
    lines = [",".join(map(str, [label + 1, *row])) for row, label in zip(wine.data, wine.target,
                                                                         strict=True)]  # fmt: skip
    (tmp_path / "wine.data").write_text("\n".join(lines).replace(".0\n", "\n") + "\n")
    child, terminal = pty.fork()
    if child == 0:  # pragma: no cover
        command = "from opforest.apps.cli.main import main; main()"
        arguments = ["train", str(tmp_path / "wine.data"), str(tmp_path / "m"), "--json"]
        os.execv(sys.executable, [sys.executable, "-c", command, *arguments])
    output, deadline = b"", time.monotonic() + 120
    while time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.5)[0]:
            try:
                part = os.read(terminal, 1 << 16)
            except OSError:  # the end, on Linux
                part = b""
            if not part:
                break
            output += part
        elif b"q stops" in output:  # what is typed before the terminal is ready gets lost
            os.write(terminal, b"1")
    else:
        os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(terminal)
    assert status == 0, output
    assert b"--label 1  column 1, 3 classes: 1, 2, 3" in output
    assert b"next time, add --label 1" in output
