"""The experiment from the shell."""

import json
import subprocess
import sys

import pytest

from opforest._utils.extras import install_command

pytest.importorskip("matplotlib")


class TestCommand:
    def run_cli(self, *arguments):
        from typer.testing import CliRunner

        from opforest.apps.cli.main import make_app

        return CliRunner().invoke(make_app(), arguments)

    def test_reproduce_runs_and_prints_the_report(self, tmp_path):
        out = str(tmp_path / "out")
        result = self.run_cli("reproduce", "--datasets", "Saturn", "--methods", "1nn",
                              "--repeats", "1", "--jobs", "1", "--out", out)  # fmt: skip
        assert result.exit_code == 0, result.output
        assert result.stdout.strip().endswith("report.md")
        assert (tmp_path / "out" / "report.md").exists()

    @pytest.mark.parametrize(
        "arguments",
        [
            ("--datasets", "Moon"),
            ("--methods", "svm"),
            ("--repeats", "0"),
            ("--report-only",),
            ("--report-only", "--datasets", "NTL"),
            ("--seed", "-3"),
            ("--datasets", ",,"),
            ("--methods", ""),
        ],
    )
    def test_bad_input_takes_one_line_and_exit_code_2(self, tmp_path, arguments):
        arguments = (*arguments, "--out", str(tmp_path / "out"))
        result = self.run_cli("reproduce", *arguments)
        assert result.exit_code == 2
        assert result.stderr.startswith("opforest: error: ")
        assert result.stderr.count("\n") == 1
        assert not (tmp_path / "out").exists()

    def test_out_must_be_a_folder(self, tmp_path):
        (tmp_path / "file").write_text("")
        result = self.run_cli("reproduce", "--out", str(tmp_path / "file"))
        assert result.exit_code == 2
        assert "--out must be a folder" in result.stderr

    def test_no_data_at_all_is_an_error(self, tmp_path):
        result = self.run_cli("reproduce", "--datasets", "NTL", "--out", str(tmp_path / "out"))
        assert result.exit_code == 2
        assert "none of the data sets is available" in result.stderr
        assert not (tmp_path / "out" / "results.json").exists()
        assert self.run_cli("reproduce", "--out", "").exit_code == 2

    def test_results_of_something_else_are_refused(self, tmp_path):
        for content in ("{}", "[]", "no"):
            (tmp_path / "results.json").write_text(content)
            result = self.run_cli("reproduce", "--report-only", "--out", str(tmp_path))
            assert result.exit_code == 2
            assert "must hold the results of an experiment" in result.stderr

    def test_damaged_results_are_refused(self, finished, tmp_path):
        _, results = finished
        for part in ("settings", "datasets", "runs"):
            for spoilt in ([], {}, [{"dataset": "Saturn"}], {"a": 1}):
                (tmp_path / "results.json").write_text(json.dumps({**results, part: spoilt}))
                result = self.run_cli("reproduce", "--report-only", "--out", str(tmp_path))
                assert (result.exit_code, result.stderr.count("\n")) == (2, 1)

    def test_demo_and_help(self, tmp_path):
        assert "reproduce" in self.run_cli("--help").output
        result = self.run_cli("demo", "--out", str(tmp_path))
        assert result.exit_code == 2

    def test_it_says_which_extra_is_missing(self, tmp_path):
        code = (
            "import sys; sys.modules['typer'] = None\n"
            "from opforest.apps.cli.main import main; main()"
        )
        result = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
        assert result.returncode != 0
        assert install_command("cli") in result.stderr
