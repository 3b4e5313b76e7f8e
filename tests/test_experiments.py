"""The whole experiment, on small sets: resumed, shared, replaced, reported, from the shell."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from multiprocessing import active_children

import numpy as np
import pytest

from opforest.datasets import PUBLISHED, files
from opforest.experiments import Settings, run, runner
from opforest.experiments.__main__ import main
from opforest.experiments.figures import _spread
from opforest.experiments.report import UNKNOWN, write_report
from opforest.experiments.summary import (
    Figure,
    Results,
    _is_outside,
    compare,
    make_cells,
    read_published,
)

pytest.importorskip("matplotlib")

FAST = ("1nn", "original")
SETS = ("Saturn", "Cone-Torus")


@pytest.fixture(autouse=True)
def offline(monkeypatch, tmp_path):
    """Nothing is downloaded; what can be is generated. Kernels are not made ready: no one times."""
    monkeypatch.setattr(files, "SOURCES", dict.fromkeys(files.SOURCES, "http://127.0.0.1:9/"))
    monkeypatch.setenv("OPFOREST_DATA", str(tmp_path / "no data"))
    monkeypatch.setattr(runner, "warm_up", lambda method, many: None)


def settings(tmp_path, **changes):
    chosen = {"datasets": SETS, "methods": FAST, "repeats": 2, "out": tmp_path / "out"}
    return Settings(**{**chosen, **changes})


def without_times(results):
    return [
        {key: value for key, value in one.items() if key not in ("seconds", "elapsed")}
        for one in results["runs"]
    ]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished experiment with every method, and its folder."""
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "SOURCES", dict.fromkeys(files.SOURCES, "http://127.0.0.1:9/"))
        patch.setenv("OPFOREST_DATA", str(folder / "no data"))
        patch.setattr(runner, "warm_up", lambda method, many: None)
        results = run(Settings(["Saturn", "C-vs-G", "NTL"], repeats=2, out=folder / "out"))
    write_report(results, folder / "out")
    return folder / "out", results


class TestRunning:
    def test_results_say_what_was_done(self, finished):
        folder, results = finished
        assert results == json.loads((folder / "results.json").read_text())
        assert set(results["versions"]) >= {"python", "numpy", "numba", "scikit-learn", "opforest"}
        assert results["machine"]["processors"] == os.cpu_count()
        assert len(results["runs"]) == 2 * 2 * 5
        seeds = {(r["dataset"], r["conditions"]["split_seed"]) for r in results["runs"]}
        assert len(seeds) == 4  # one for each data set and repetition, the same for all methods
        assert all(len(r["accuracy"]) == r["conditions"]["n_subsets"] for r in results["runs"])

    def test_what_cannot_be_had_is_generated_or_skipped_and_said(self, finished):
        folder, results = finished
        assert results["datasets"]["Saturn"]["origin"] == "generated"
        assert list(results["skipped"]) == ["NTL"]
        report = (folder / "report.md").read_text()
        assert "Generated in place of published data: Saturn, C-vs-G." in report
        assert "**NTL is missing**" in report
        assert not any(cell.is_marked for cell in make_cells(Results(results)))

    def test_published_data_is_used_where_it_is(self, shared, tmp_path):
        data_home = str(shared / "data")
        results = run(settings(tmp_path, data_home=data_home, repeats=1))
        for name in SETS:
            assert results["datasets"][name]["origin"] == PUBLISHED[name].file.sha256

    def test_a_finished_run_is_not_repeated(self, tmp_path, monkeypatch):
        first = run(settings(tmp_path))
        monkeypatch.setattr(runner, "follow", None)  # would fail if it were called
        again = run(settings(tmp_path))
        assert again["runs"] == first["runs"]

    def test_more_repetitions_and_methods_add_to_what_is_there(self, tmp_path):
        few = run(settings(tmp_path, repeats=1, methods=("1nn",)))["runs"]
        many = run(settings(tmp_path))["runs"]
        assert len(many) == 4 * len(few)
        assert all(one in many for one in few)

    def test_what_is_spoilt_or_of_other_conditions_is_run_anew(self, tmp_path, monkeypatch):
        first = run(settings(tmp_path))
        paths = sorted((tmp_path / "out" / "runs").iterdir())
        paths[0].write_text('{"dataset": "Sat')
        changed = json.loads(paths[1].read_text())
        changed["conditions"]["opforest"] = "0.0.1"
        paths[1].write_text(json.dumps(changed))
        for path, spoil in zip(paths[2:5], ("accuracy", "conditions", None), strict=True):
            run_there = json.loads(path.read_text())
            path.write_text(json.dumps([] if spoil is None else {**run_there, spoil: [1]}))
        again = run(settings(tmp_path))
        assert without_times(again) == without_times(first)

    def test_results_do_not_depend_on_the_number_of_processes(self, tmp_path):
        alone = run(settings(tmp_path / "1", methods=("opfi", "1nn")))
        shared = run(settings(tmp_path / "2", methods=("opfi", "1nn"), jobs=2))
        assert without_times(alone) == without_times(shared)

    def test_longest_jobs_come_first_and_progress_is_told(self, tmp_path):
        told = []
        run(settings(tmp_path, datasets=["Saturn", "Lithu"], repeats=1), told.append)
        finished = [progress.last for progress in told if progress.last]
        assert finished == ["Lithu #1 original", "Lithu #1 1nn", "Saturn #1 original",
                            "Saturn #1 1nn"]  # fmt: skip
        assert told[0].seconds_left is None
        notes = [progress.note for progress in told if progress.note]
        assert [note.split(":")[0] for note in notes] == ["Saturn is generated",
                                                          "Lithu is generated"]  # fmt: skip
        assert all("could not be downloaded" in note for note in notes)
        assert (told[-1].done, told[-1].total, told[-1].running) == (4, 4, ())
        assert told[-1].seconds_left == 0
        assert any(progress.running == ("Saturn #1 1nn",) for progress in told)

    def test_a_failure_stops_all_processes(self, tmp_path):
        (tmp_path / "out" / "runs" / "Saturn-001-1nn.json").mkdir(parents=True)
        with pytest.raises(OSError, match="Saturn-001-1nn"):
            run(settings(tmp_path, jobs=2))

    @pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
    def test_a_process_that_is_killed_is_said(self, tmp_path):
        def kill(progress):
            for process in active_children():
                process.kill()

        with pytest.raises(ChildProcessError, match="the same command goes on"):
            run(settings(tmp_path, jobs=2), kill)

    def test_no_folder_for_results_is_said_before_anything_runs(self, tmp_path, monkeypatch):
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "runs").write_text("in the way")
        monkeypatch.setattr(runner, "follow", None)
        with pytest.raises(OSError, match="cannot be made"):
            run(settings(tmp_path))

    def test_generated_data_never_take_the_place_of_published(self, shared, tmp_path):
        data_home = str(shared / "data")
        run(settings(tmp_path, data_home=data_home, repeats=1))
        paths = [tmp_path / "out" / "results.json", *(tmp_path / "out" / "runs").iterdir()]
        before = {path: path.read_text() for path in paths}
        for names in (SETS, ["NTL"]):
            with pytest.raises(ValueError, match="could not be downloaded"):
                run(settings(tmp_path, datasets=names, repeats=1))
        assert {path: path.read_text() for path in paths} == before

    @pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
    def test_a_killed_run_goes_on_and_loses_nothing(self, tmp_path):
        out = tmp_path / "out"
        command = [
            sys.executable, "-m", "opforest.experiments", "--datasets", "Lithu,Saturn",
            "--methods", "1nn", "--repeats", "8", "--jobs", "2", "--out", str(out),
        ]  # fmt: skip
        nowhere = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")
        environment = {**os.environ, **nowhere, "no_proxy": ""}
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   env=environment)  # fmt: skip
        begin = time.monotonic()
        while len(list(out.glob("runs/[!.]*.json"))) < 3 and time.monotonic() - begin < 60:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        time.sleep(1)
        before = {path.name: path.read_text() for path in out.glob("runs/[!.]*.json")}
        assert 3 <= len(before) < 16
        time.sleep(1)
        assert len(list(out.glob("runs/[!.]*.json"))) == len(before)  # no process lives on
        results = run(Settings(["Lithu", "Saturn"], ["1nn"], 8, out=out))
        assert len(results["runs"]) == 16
        for name, content in before.items():
            assert (out / "runs" / name).read_text() == content


class TestSettings:
    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"datasets": ["Moon"]}, "name must be one of"),
            ({"methods": ["svm"]}, "methods must be of"),
            ({"methods": []}, "at least one"),
            ({"repeats": 0}, "repeats must be from 1 to 1000"),
            ({"repeats": 10**9}, "repeats must be from 1 to 1000"),
            ({"jobs": 0}, "jobs must be from 1"),
            ({"seed": -1}, "seed must be from 0"),
        ],
    )
    def test_impossible_ones_are_refused(self, tmp_path, changes, message):
        with pytest.raises(ValueError, match=message):
            settings(tmp_path, **changes)

    def test_results_of_another_seed_are_not_overwritten(self, tmp_path):
        run(settings(tmp_path, repeats=1))
        with pytest.raises(ValueError, match="holds results of seed 0, not of 1"):
            settings(tmp_path, seed=1)

    def test_names_are_spelled_properly_and_named_once(self, tmp_path):
        assert settings(tmp_path, datasets=["saturn", "Saturn"]).datasets == ("Saturn",)


class TestReport:
    def test_the_published_table_is_whole(self):
        published = read_published()
        assert len(published) == len(PUBLISHED) * 3 * 6
        assert published["NTL", "opfi", "50 %"] == Figure(72.2, 0.9)

    def test_the_published_table_is_the_papers(self, shared):
        names = {"Incremental": "opfi", "Original": "original", "DIFT": "dift"}
        columns = {"S0": "S0", "1st": "inc1", "2nd": "inc2", "3rd": "inc3", "50 %": "inc50pct",
                   "100 %": "inc100pct"}  # fmt: skip
        published = read_published()
        with (shared / "paper" / "table1.csv").open() as stream:
            for row in csv.DictReader(stream):
                for ours, theirs in columns.items():
                    figure = published[row["dataset"], names[row["method"]], ours]
                    assert figure == (float(row[f"{theirs}_mean"]), float(row[f"{theirs}_std"]))

    @pytest.mark.parametrize(
        ("ours", "theirs", "marked"),
        [
            ((90.0, 1.0), (92.0, 0.5), False),  # twice the larger deviation exactly
            ((90.0, 1.0), (92.1, 0.5), True),
            ((90.0, 0.5), (92.1, 1.5), False),
            ((99.94, 0.0), (99.9, 0.0), False),  # as printed
        ],
    )
    def test_marks(self, ours, theirs, marked):
        assert _is_outside(Figure(*ours), Figure(*theirs)) is marked

    def test_cells_are_means_of_the_runs(self, finished):
        _, raw = finished
        cells = {(c.dataset, c.method, c.column): c for c in make_cells(Results(raw))}
        runs = [
            r["accuracy"] for r in raw["runs"] if (r["dataset"], r["method"]) == ("Saturn", "opfi")
        ]
        for column, increment in {"S0": 0, "2nd": 2, "50 %": 5, "100 %": 9}.items():
            values = [100 * accuracy[increment] for accuracy in runs]
            ours = cells["Saturn", "opfi", column].ours
            assert ours == pytest.approx((np.mean(values), np.std(values, ddof=1)))
        assert cells["Saturn", "exact", "S0"].published is None

    def test_published_data_is_marked_and_every_mark_explained(self, finished, tmp_path):
        _, raw = finished
        fake = json.loads(json.dumps(raw))
        fake["datasets"]["Saturn"]["origin"] = "published"
        for one in fake["runs"]:
            one["accuracy"] = [0.5] * len(one["accuracy"])
        marked = [cell for cell in make_cells(Results(fake)) if cell.is_marked]
        assert {cell.dataset for cell in marked} == {"Saturn"}
        assert len(marked) == 5 * 3  # S0 is within its large deviation
        write_report(fake, tmp_path)
        report = (tmp_path / "report.md").read_text()
        assert "15 of 36 means are marked." in report
        assert "**Saturn**: Incremental 1st (50.0 against 68.5), " in report
        assert UNKNOWN in report

    def test_comparisons(self, finished):
        _, raw = finished
        compared = compare(Results(raw), "original")
        assert set(compared.last) == {"Saturn", "C-vs-G"}
        assert 0 <= compared.p_last <= 1
        same = json.loads(json.dumps(raw))
        for one in same["runs"]:
            one["accuracy"] = [0.5] * len(one["accuracy"])
        assert compare(Results(same), "dift")[3:] == (1.0, 1.0)

    def test_tables_and_figures_are_there(self, finished):
        folder, _ = finished
        with (folder / "table1.csv").open() as stream:
            rows = list(csv.DictReader(stream))
        assert len(rows) == 2 * 5 * 6
        assert {row["marked"] for row in rows} == {"0"}
        markdown = (folder / "table1.md").read_text()
        assert "**Saturn** | Incremental" in markdown
        assert "58.9 ± 11.6" in markdown
        assert (folder / "report.md").read_text().count(markdown) == 1
        latex = (folder / "table1.tex").read_text()
        assert latex.count(r"\\") == 1 + 2 * 5
        assert latex.count("&") == 7 * 11
        names = {path.name for path in (folder / "figures").iterdir()}
        assert names == {
            f"{name}.{kind}"
            for name in ("cases", "curves", "time", "prototypes")
            for kind in ("png", "svg")
        }
        for name in names:
            assert f"figures/{name}" in (folder / "report.md").read_text() or "svg" in name

    def test_report_only_writes_the_same_bytes_and_runs_nothing(self, finished, tmp_path, capsys):
        folder, _ = finished
        (tmp_path / "results.json").write_text((folder / "results.json").read_text())
        main(["--report-only", "--out", str(tmp_path)])
        assert capsys.readouterr().out.strip() == str(tmp_path / "report.md")
        for path in folder.rglob("*"):
            if path.is_file() and path.parent.name != "runs":
                assert (tmp_path / path.relative_to(folder)).read_bytes() == path.read_bytes()
        assert not (tmp_path / "runs").exists()

    def test_a_single_repetition_of_one_method(self, tmp_path):
        out = tmp_path / "out"
        write_report(run(settings(tmp_path, datasets=["Saturn"], methods=["1nn"], repeats=1)), out)
        report = (out / "report.md").read_text()
        assert "1 repetition of" in report
        assert "OPFI against" not in report

    def test_labels_are_spread(self):
        places = _spread(np.array([0.5, 0.5, 0.52, 0.99]), 0.1)
        assert (np.diff(places) >= 0.1 - 1e-12).all()
        assert places.max() <= 1
        assert places[:3].mean() == pytest.approx(0.5067, abs=1e-3)


class TestCases:
    def test_the_three_cases_are_what_they_are_drawn_for(self):
        from opforest.experiments.cases import CASES, insert

        for case in CASES:
            _, before, after = insert(case)
            before.check()
            after.check()
            assert len(after) == len(before) + 1
        assert len(after.prototypes) == len(before.prototypes) + 2  # of the last: a tree splits


class TestCommand:
    def run_cli(self, *arguments):
        from typer.testing import CliRunner

        from opforest.cli.main import make_app

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
    def test_bad_input_takes_one_line_and_exit_code_2(self, tmp_path, capsys, arguments):
        arguments = (*arguments, "--out", str(tmp_path / "out"))
        result = self.run_cli("reproduce", *arguments)
        assert result.exit_code == 2
        assert result.stderr.startswith("opforest: error: ")
        assert result.stderr.count("\n") == 1
        with pytest.raises(SystemExit, match="2"):
            main(arguments)
        assert capsys.readouterr().err.count("\n") == 1
        assert not (tmp_path / "out").exists()

    def test_out_must_be_a_folder(self, tmp_path):
        (tmp_path / "file").write_text("")
        result = self.run_cli("reproduce", "--out", str(tmp_path / "file"))
        assert result.exit_code == 2
        assert "--out must be a folder" in result.stderr

    def test_no_data_at_all_is_an_error(self, tmp_path):
        result = self.run_cli("reproduce", "--datasets", "NTL", "--out", str(tmp_path / "out"))
        assert result.exit_code == 2
        assert "none of the data sets could be had" in result.stderr
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
        code = "import sys; sys.modules['typer'] = None; from opforest.cli.main import main; main()"
        result = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
        assert result.returncode != 0
        assert "pip install 'opforest[cli]'" in result.stderr
