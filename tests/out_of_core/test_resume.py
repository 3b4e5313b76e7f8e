"""A fit that is killed, or runs out of disk, continues and ends with the same files."""

import os
import resource
import signal
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from tests.support.children import forks, in_a_child
from tests.support.tuning import tune

import opforest
from opforest import out_of_core
from opforest._utils import name_lock
from opforest.out_of_core import cells, job

N = 200


def some(seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 12, (N, 2)).astype(float), rng.integers(0, 3, N)


@pytest.fixture(autouse=True)
def small_cells():
    tune(disk_cell=60, disk_piece=2500)


@pytest.fixture
def fit():
    """Return a function that fits the same examples to a folder."""
    X, y = some()
    return lambda folder, **options: out_of_core.fit(X, folder, y, **options)


def contents(folder):
    """Return the files of a folder."""
    return {str(path.relative_to(folder)): path.read_bytes()
            for path in folder.rglob("*") if path.is_file()}  # fmt: skip


def count_steps(exit_at):
    """Count pieces that are written and files that are renamed; end the process before one."""
    steps = [0]

    def step(function, *args, **options):
        if steps[0] == exit_at:
            os._exit(0)
        steps[0] += 1
        return function(*args, **options)

    replaced = [(os, "replace"), (os, "remove"), (cells, "write_piece"),
                (job, "write_manifest"), (job.shutil, "rmtree")]  # fmt: skip
    originals = [(place, name, getattr(place, name)) for place, name in replaced]
    for place, name, function in originals:
        setattr(place, name, partial(step, function))
    return steps, originals


@forks
def test_a_kill_at_any_step_changes_nothing(fit, tmp_path):
    steps, originals = count_steps(-1)
    fit(tmp_path / "whole")
    for place, name, function in originals:
        setattr(place, name, function)
    expected = contents(tmp_path / "whole")
    assert len(expected) > 10
    for k in range(steps[0]):
        folder = tmp_path / f"killed-{k}"

        def fit_and_die(k=k, folder=folder):
            count_steps(k)
            fit(folder)

        assert in_a_child(fit_and_die) == ""
        if not (folder / "manifest.json").exists() and folder.exists() and any(folder.iterdir()):
            with pytest.raises((opforest.ModelFileError, OSError)):
                opforest.load(folder)
        before = {path: path.stat().st_mtime_ns for path in folder.rglob("forest-*.opforest")}
        fit(folder)
        assert contents(folder) == expected
        assert all(path.stat().st_mtime_ns == time for path, time in before.items())


KILLED = """
import os, sys
from opforest import out_of_core
from opforest._utils import tuning
from opforest.out_of_core import cells, source

tuning.values = tuning.Tuning(disk_cell=60, disk_piece=2500)
source.CHUNK = 50
place = {"reading": (source, "_encode"), "dealing": (cells, "write_piece")}[sys.argv[1]]
known, calls = getattr(*place), []

def count(*args):
    calls.append(1)
    if len(calls) == 3:
        os._exit(7)
    return known(*args)

setattr(*place, count)
out_of_core.fit(*sys.argv[2:])
"""


@pytest.mark.parametrize("phase", ["reading", "dealing"])
def test_a_kill_while_a_file_is_read_changes_nothing(tmp_path, phase):
    """Polars cannot be forked, so this is a new process."""
    pytest.importorskip("polars")
    X, y = some()
    path, folder = tmp_path / "data.csv", tmp_path / "killed"
    lines = [f"{u},{v},{label}" for (u, v), label in zip(X, y, strict=True)]
    path.write_text("\n".join(["u,v,label", *lines]) + "\n")
    arguments = [sys.executable, "-c", KILLED, phase, str(path), str(folder)]
    assert subprocess.run(arguments, check=False).returncode == 7
    assert any(folder.rglob("table.json")) == (phase == "dealing")
    out_of_core.fit(path, folder)
    out_of_core.fit(path, tmp_path / "whole")
    assert contents(folder) == contents(tmp_path / "whole")


@forks
def test_a_full_disk_is_an_error_and_the_fit_continues_later(fit, tmp_path):
    fit(tmp_path / "whole")
    expected = contents(tmp_path / "whole")
    for limit in (700, 2500):  # while dealing, and while growing cells
        folder = tmp_path / f"full-{limit}"

        def fit_on_full_disk(folder=folder, limit=limit):
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
            fit(folder)

        said = in_a_child(fit_on_full_disk)
        assert "OSError" in said
        assert "the disk is full" in said
        assert "continue" in said
        assert not (folder / "manifest.json").exists()
        fit(folder)
        assert contents(folder) == expected


def test_a_finished_fit_is_not_repeated(fit, tmp_path, monkeypatch):
    fit(tmp_path / "model")
    expected = contents(tmp_path / "model")
    monkeypatch.setattr(job, "train_parts", None)
    model = fit(tmp_path / "model")
    assert len(model.predict([[0.0, 1.0]])) == 1
    assert contents(tmp_path / "model") == expected


@pytest.mark.parametrize("max_bytes", [2e9, np.int64(2_000_000_000), np.float32(2e9)])
def test_equal_numbers_of_bytes_are_the_same_call(fit, tmp_path, monkeypatch, max_bytes):
    fit(tmp_path / "model")
    monkeypatch.setattr(job, "train_parts", None)
    fit(tmp_path / "model", max_bytes=max_bytes)


def test_a_damaged_model_is_fitted_again(fit, tmp_path):
    fit(tmp_path / "model")
    expected = contents(tmp_path / "model")
    damaged = next((tmp_path / "model").rglob("costs-00001.opforest"))
    damaged.write_bytes(damaged.read_bytes()[:-1])
    fit(tmp_path / "model")
    assert contents(tmp_path / "model") == expected


@pytest.mark.parametrize(
    "name", ["forest-00001.opforest", "joined.opforest", "costs-00000.opforest"]
)
def test_a_damaged_result_of_a_stopped_fit_is_computed_again(fit, tmp_path, monkeypatch, name):
    fit(tmp_path / "whole")
    with monkeypatch.context() as patch:
        patch.setattr(job, "write_manifest", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            fit(tmp_path / "model")
    path = next((tmp_path / "model").rglob(name))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    fit(tmp_path / "model")
    assert contents(tmp_path / "model") == contents(tmp_path / "whole")


def _interrupt(*_):
    raise KeyboardInterrupt


def test_damaged_working_files_are_refused(fit, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(job, "train_parts", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            fit(tmp_path / "model")
    path = next((tmp_path / "model").rglob("cell-00001"))
    content = bytearray(path.read_bytes())
    content[-1] ^= 64
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"cell-00001: the file is damaged.*starts again"):
        fit(tmp_path / "model")
    assert not list((tmp_path / "model").iterdir())
    fit(tmp_path / "model")
    fit(tmp_path / "whole")
    assert contents(tmp_path / "model") == contents(tmp_path / "whole")


def test_ctrl_c_leaves_the_old_model(fit, tmp_path, monkeypatch):
    X, y = some(seed=1)
    old = out_of_core.fit(X, tmp_path / "model", y)
    with monkeypatch.context() as patch:
        patch.setattr(job, "deal_examples", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            fit(tmp_path / "model")
    again = opforest.load(tmp_path / "model")
    assert np.array_equal(again.predict(X), old.predict(X))
    new = fit(tmp_path / "model")
    assert len(list((tmp_path / "model").iterdir())) == 2
    assert np.array_equal(opforest.load(tmp_path / "model").predict(X), new.predict(X))


@pytest.mark.parametrize("change", ["examples", "labels", "metric", "max_bytes"])
def test_another_call_starts_again(tmp_path, monkeypatch, change):
    X, y = some()
    with monkeypatch.context() as patch:
        patch.setattr(job, "write_manifest", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            out_of_core.fit(X, tmp_path / "model", y)
    options = {}
    if change == "examples":
        X = X + 1
    elif change == "labels":
        y = y[::-1].copy()
    else:
        options = {"metric": "manhattan"} if change == "metric" else {"max_bytes": 1e9}
    out_of_core.fit(X, tmp_path / "model", y, **options)
    out_of_core.fit(X, tmp_path / "fresh", y, **options)
    assert contents(tmp_path / "model") == contents(tmp_path / "fresh")


def test_a_changed_file_starts_again(tmp_path):
    X, y = some()
    np.save(tmp_path / "X.npy", X)
    for shift in (0.0, 1.0):
        np.save(tmp_path / "X.npy", X + shift)
        os.utime(tmp_path / "X.npy", (shift, shift))
        model = out_of_core.fit(np.load(tmp_path / "X.npy", mmap_mode="r"), tmp_path / "model", y)
        assert np.array_equal(model.to_local().forest_.points, X + shift)


@forks
def test_two_processes_in_one_folder_are_refused(fit, tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    with name_lock.lock_folder(str(folder)) as is_free:
        assert is_free
        assert "another process is writing" in in_a_child(lambda: fit(folder))
        with pytest.raises(ValueError, match="another process is writing"):
            fit(folder)
    fit(folder)
    assert sorted(path.name for path in folder.iterdir())[0] == "manifest.json"


def test_a_lock_ends_with_its_process(tmp_path):
    with name_lock.lock_folder(str(tmp_path)) as is_free:
        assert is_free
    with name_lock.lock_folder(str(tmp_path)) as is_free:
        assert is_free
    assert not list(tmp_path.iterdir())
