"""Whole experiments on small sets: resumed, in several processes, with other data."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from multiprocessing import active_children

import numpy as np
import pytest

from opforest.apps.reproduce import Settings, run, runner
from opforest.apps.reproduce.summary import Results, make_cells
from opforest.datasets import PUBLISHED, make_cone_torus, make_saturn
from opforest.io.libopf import write_dataset

pytest.importorskip("matplotlib")
from tests.support.small_experiments import SETS, settings, without_times


@pytest.fixture
def taken_for_published(tmp_path, monkeypatch):
    """Return a folder with generated files that pass for the published ones."""
    folder = tmp_path / "published"
    folder.mkdir()
    for name, make in (("Saturn", make_saturn), ("Cone-Torus", make_cone_torus)):
        about = PUBLISHED[name]
        X, y = make(random_state=0)
        assert X.shape == (about.n_samples, about.n_features)
        write_dataset(folder / about.file.name, X.astype(np.float32), y)
        digest = hashlib.sha256((folder / about.file.name).read_bytes()).hexdigest()
        taken = about._replace(file=about.file._replace(sha256=digest))
        monkeypatch.setitem(PUBLISHED, name, taken)
    return folder


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

    def test_published_data_is_used_where_it_is(self, taken_for_published, tmp_path):
        data_home = str(taken_for_published)
        results = run(settings(tmp_path, data_home=data_home, repeats=1))
        for name in SETS:
            assert results["datasets"][name]["origin"] == PUBLISHED[name].file.sha256

    def test_a_finished_run_is_not_repeated(self, tmp_path, monkeypatch):
        first = run(settings(tmp_path))
        monkeypatch.setattr(runner, "evaluate", None)  # would fail if it were called
        again = run(settings(tmp_path))
        assert again["runs"] == first["runs"]

    def test_more_repetitions_and_methods_add_to_what_is_there(self, tmp_path):
        few = run(settings(tmp_path, repeats=1, methods=("1nn",)))["runs"]
        many = run(settings(tmp_path))["runs"]
        assert len(many) == 4 * len(few)
        assert all(one in many for one in few)

    def test_what_is_spoilt_or_of_other_conditions_is_run_again(self, tmp_path):
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

        with pytest.raises(ChildProcessError, match="the same command continues"):
            run(settings(tmp_path, jobs=2), kill)

    def test_no_folder_for_results_is_said_before_anything_runs(self, tmp_path, monkeypatch):
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "runs").write_text("in the way")
        monkeypatch.setattr(runner, "evaluate", None)
        with pytest.raises(OSError, match="cannot be created"):
            run(settings(tmp_path))

    def test_generated_data_never_take_the_place_of_published(self, taken_for_published, tmp_path):
        data_home = str(taken_for_published)
        run(settings(tmp_path, data_home=data_home, repeats=1))
        paths = [tmp_path / "out" / "results.json", *(tmp_path / "out" / "runs").iterdir()]
        before = {path: path.read_text() for path in paths}
        for names in (SETS, ["NTL"]):
            with pytest.raises(ValueError, match="could not be downloaded"):
                run(settings(tmp_path, datasets=names, repeats=1))
        assert {path: path.read_text() for path in paths} == before

    @pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
    def test_a_killed_run_goes_on_and_loses_nothing(self, tmp_path):
        psutil = pytest.importorskip("psutil")

        def is_alive(worker):
            try:
                return worker.status() != psutil.STATUS_ZOMBIE
            except psutil.NoSuchProcess:
                return False

        out = tmp_path / "out"
        command = [
            sys.executable, "-c", "from opforest.apps.cli.main import main; main()", "reproduce",
            "--datasets", "Lithu,Saturn", "--methods", "1nn", "--repeats", "8", "--jobs", "2",
            "--out", str(out),
        ]  # fmt: skip
        nowhere = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")
        environment = {**os.environ, **nowhere, "no_proxy": ""}
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   env=environment)  # fmt: skip
        while not list(out.glob("runs/[!.]*.json")):
            assert process.poll() is None
            time.sleep(0.02)
        workers = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGKILL)
        process.wait()
        while any(map(is_alive, workers)):  # none of them lives on
            time.sleep(0.02)
        before = {path.name: path.read_text() for path in out.glob("runs/[!.]*.json")}
        assert 1 <= len(before) < 16
        results = run(Settings(["Lithu", "Saturn"], ["1nn"], 8, out=out))
        assert len(results["runs"]) == 16
        for name, content in before.items():
            assert (out / "runs" / name).read_text() == content


class TestSettings:
    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"datasets": ["Moon"]}, "name must be one of"),
            ({"methods": ["svm"]}, "methods must be among"),
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
