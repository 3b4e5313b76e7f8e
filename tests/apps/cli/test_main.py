"""The command line: what it offers, and says of itself."""

import re

import pytest

import opforest
from opforest.io.formats import FORMATS

pytest.importorskip("typer")
pytest.importorskip("pyarrow")
from tests.support.commands import run, run_json
from typer.main import get_command

from opforest.apps.cli.main import make_app
from opforest.apps.cli.options import Format, Scale, Update

APP = get_command(make_app()).commands
COMMANDS = [name for name in APP if name != "store"]  # a group
STORE_COMMANDS = [*APP["store"].commands]


class TestHelp:
    def test_all_commands_are_listed(self):
        shown = run("--help").stdout
        assert all(command in shown for command in (*COMMANDS, "--version"))

    @pytest.mark.parametrize("command", COMMANDS)
    def test_each_has_an_example(self, command):
        shown = run(command, "--help").stdout
        assert re.search(rf"Example: [^\n]*opforest {command}", shown)
        assert max(map(len, shown.splitlines())) <= 80

    @pytest.mark.parametrize("command", STORE_COMMANDS)
    def test_commands_of_stores_have_an_example(self, command):
        shown = run("store", command, "--help").stdout
        assert re.search(rf"Example: opforest store {command}", shown)
        assert max(map(len, shown.splitlines())) <= 80

    def test_keys_are_described(self):
        shown = " ".join(run("store", "forget", "--help").stdout.split())
        assert "their ids in the data file, or, if it has none, :1, :2 and so on" in shown

    @pytest.mark.parametrize("command", ["", "store", "store learn", "train", "reproduce"])
    def test_short_option(self, command):
        words = command.split()
        shown = run(*words, "-h").stdout
        assert shown == run(*words, "--help").stdout
        assert shown.startswith(f"Usage: {' '.join(['root', *words])} ")

    @pytest.mark.parametrize("command", [(), ("store",)])
    def test_groups_alone_show_their_help(self, command):
        assert run(*command).stdout == run(*command, "--help").stdout

    def test_commands_are_in_groups_with_whole_sentences(self):
        shown = run("--help").stdout
        assert max(map(len, shown.splitlines())) <= 80
        assert "..." not in shown.split("Options:")[1]
        headings = re.findall(r"^(\w.*):$", shown, re.MULTILINE)
        assert headings == [
            "Options", "Learn and predict", "Streams and stores", "Data files", "LibOPF tools",
            "Service", "About opforest",
        ]  # fmt: skip

    def test_options_are_listed_once_and_without_types_of_python(self):
        for command in COMMANDS:
            shown = run(command, "--help").stdout
            assert not re.search(r"(--[a-z-]+), \1\b", shown)
            assert not re.search(r"<str>|list\[|<int|{[A-Z]", shown), command

    def test_options_match_the_library(self):
        from opforest.estimators.preparation import SCALES
        from opforest.forest.updates import UPDATES

        assert list(Format) == list(FORMATS)
        assert sorted(Update) == sorted(UPDATES)
        assert list(Scale) == [*SCALES, "auto"]

    def test_version(self):
        assert run("--version").stdout == f"opforest {opforest.__version__}\n"

    def test_usage_errors(self):
        assert "No such command" in run("trian", code=2).stderr
        assert "--no-such" in run("train", "--no-such", code=2).stderr

    def test_metrics_complete(self):
        from opforest.apps.cli.options import complete_metric

        assert complete_metric("man") == ["manhattan"]


class TestOptions:
    def test_invalid_options(self, folder):
        assert "--jobs" in run("train", "train.csv", "m", "--jobs", 0, code=2).stderr
        assert "--jobs" in run("predict", "iris.opforest", "test.csv", "--jobs", 0, code=2).stderr
        assert "p=3" in run("train", "train.csv", "m", "--metric-param", "=3", code=2).stderr
        run("info", "train.csv", "--delimiter", '"', code=2)

    def test_json_output(self, folder):
        assert run_json("merge", "train.csv", "test.csv", "--out", "a.csv")["examples"] == 150
        assert run_json("normalize", "train.csv", "b.csv")["features"] == 4
        assert run_json("distance", "train.csv", "c.dat")["examples"] == 75
        assert run_json("plot", "iris.opforest", "d.png")["examples"] == 75
        assert run_json("convert", "iris.opforest", "e.opf")["classes"] == 3
        (folder / "f.csv").write_text("a,label\ninf,x\n1,y\n")
        assert run_json("info", "f.csv")["columns"][0]["max"] is None
