"""Output on a terminal and elsewhere."""

import contextlib
import io
import os
import re
import sys
import warnings

import pytest

pytest.importorskip("typer")
pytest.importorskip("pyarrow")
from tests.support.commands import run, run_json

from opforest._utils.warn import warn
from opforest.apps.cli import output
from opforest.apps.cli.errors import report_errors


class Terminal(io.StringIO):
    """A standard output that is a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def shown_by(monkeypatch):
    """Return what a function prints on a terminal, without colors."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")

    def run_there(function, *arguments):
        with contextlib.redirect_stdout(Terminal()) as stream:
            function(*arguments)
        return re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue())

    return run_there


class TestTerminal:
    def test_facts_have_no_headings_and_no_empty_rows(self, shown_by):
        facts = {"model": "m", "metric_params": {}, "label": None, "share": 0.25, "names": ["a"]}
        shown = shown_by(output.print_facts, facts, False)
        lines = [line.rstrip() for line in shown.splitlines()]
        assert lines == ["model  m", "share  0.25", "names  a"]

    def test_tables_have_no_empty_columns(self, shown_by):
        rows = [["x", None, 0.123456789, 0], ["y", "", 2.0, 1]]
        headings = ["name", "file", "share", "missing"]
        shown = shown_by(output.print_table, headings, rows, "Title")
        lines = [line.split() for line in shown.splitlines()]
        assert lines[0] == []
        assert lines[1] == ["Title"]
        assert lines[2] == ["name", "share", "missing"]
        assert lines[4:] == [["x", "0.1235", "0"], ["y", "2", "1"]]

    def test_wide_tables_are_folded(self, shown_by):
        rows = [["a" * 50, "b " * 60], ["c", "d" * 100]]
        shown = shown_by(output.print_table, ["name", "about"], rows)
        assert max(map(len, shown.splitlines())) <= 80
        assert shown.count("a") == 50 + 2  # and the headings

    def test_wide_confusion_becomes_a_list(self, shown_by):
        from opforest.apps.cli.evaluate import _print_confusion

        labels = [f"class {k}" for k in range(12)]
        matrix = [[5 * (i == j) + (j == i + 1) * (i + 1) for j in range(12)] for i in range(12)]
        shown = shown_by(_print_confusion, labels, matrix)
        lines = [line.split("  ")[0].strip() for line in shown.splitlines()]
        assert lines[1] == "Confusion"
        assert lines[4:6] == ["class 10", "class 9"]
        assert max(map(len, shown.splitlines())) <= 80

    def test_info_fits(self, folder, shown_by):
        from opforest.apps.cli.files import _describe_data
        from opforest.io.columns.table import ReadOptions

        shown = shown_by(_describe_data, "iris.csv", ReadOptions(), False)
        assert max(map(len, shown.splitlines())) <= 80
        assert "feature" in shown
        assert "label: by its name" in shown

    def test_messages_are_wrapped_between_words(self, monkeypatch):
        monkeypatch.setenv("COLUMNS", "60")
        words = "the label is column 'kind', the only one: --label names-another " * 3 + "x" * 70
        with contextlib.redirect_stderr(Terminal()) as stream:
            output.print_notes([words])
        lines = stream.getvalue().splitlines()
        assert lines[0].startswith("opforest: note: the label")
        assert all(line.startswith("  ") for line in lines[1:])
        assert max(map(len, lines[:-1])) <= 60
        assert lines[-1] == "  " + "x" * 70  # a word that can be copied
        assert " ".join(" ".join(lines).split()) == f"opforest: note: {words}"
        with contextlib.redirect_stderr(io.StringIO()) as stream:
            output.print_notes([words])
        assert stream.getvalue() == f"opforest: note: {words}\n"

    def test_progress_needs_a_terminal_that_can_overwrite(self, monkeypatch):
        monkeypatch.setattr(sys, "stderr", Terminal())
        monkeypatch.setenv("TERM", "xterm")
        assert output.has_progress()
        monkeypatch.setenv("TERM", "dumb")
        assert not output.has_progress()


@pytest.mark.filterwarnings("always")
class TestWarnings:
    def test_only_ours_are_printed(self, capsys, monkeypatch):
        monkeypatch.delenv("OPFOREST_DEBUG", raising=False)
        with report_errors("stopped"):
            warn("features differ")
            warn("the log is busy", RuntimeWarning)
            warnings.warn("a library changes soon", FutureWarning, stacklevel=1)
            warnings.warn("too many classes", UserWarning, stacklevel=1)
        said = capsys.readouterr().err
        assert said == (
            "opforest: warning: features differ\nopforest: warning: the log is busy\n"
        )  # fmt: skip

    def test_all_for_debugging(self, capsys, monkeypatch):
        monkeypatch.setitem(os.environ, "OPFOREST_DEBUG", "1")
        with report_errors("stopped"):
            warnings.warn("a library changes soon", FutureWarning, stacklevel=1)
        assert "a library changes soon" in capsys.readouterr().err


class TestInfo:
    def test_a_store_is_recognized(self, folder):
        run("store", "create", "a.db", "--scale", "standard")
        run("store", "learn", "a.db", "train.csv")
        told = run_json("info", "a.db")
        assert (told["kind"], told["examples"]) == ("store", 75)
        assert told["preparation"] == {"scale": "standard"}
        (folder / "b.db").write_bytes(b"SQLite format 3\0" + bytes(100))
        run("info", "b.db", code=4)

    def test_a_preparation_that_does_nothing_is_not_mentioned(self, folder):
        run("train", "train.csv", "m", "--scale", "standard")
        for shown in (run("info", "m").stdout, run("train", "train.csv", "m").stdout):
            assert "error" not in shown
            assert not [line for line in shown.splitlines() if line.endswith("\t")]
        run("train", "train.csv", "m", "--scale", "standard", "--missing", "drop")
        assert run_json("info", "m")["preparation"] == {"missing": "drop", "scale": "standard"}
