"""Compiling in advance, and the message about compiling."""

import gc
import os
import signal
import subprocess
import sys

import pytest
from tests.support.tuning import tune

from opforest.apps import compile as ahead
from opforest.core.jit import _defer_interrupts, _Watcher

ENVIRONMENT = {**os.environ, "OPFOREST_CACHE": "1"}


def test_every_metric_is_compiled_for_every_precision():
    assert set(ahead.JOBS) == {(m, d) for m in ahead.METRICS for d in ahead.PRECISIONS}


@pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
def test_what_is_compiled_works(metric):
    assert ahead.exercise((metric, "float64")) == (metric, "float64")


def test_what_is_compiled_ahead_is_not_compiled_again():
    script = """
from numba.core import event
from opforest.apps import compile as ahead

JOBS = (("euclidean", "float64"),)
if __name__ == "__main__":
    assert list(ahead.compile_all(1, JOBS)) == list(JOBS)
    with event.install_recorder("numba:compile") as found:
        ahead.exercise(JOBS[0])
    ours = [e.data["dispatcher"].py_func.__module__ for _, e in found.buffer if e.is_start]
    print([name for name in ours if name.startswith("opforest.core")])
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert done.stdout.strip() == "[]"


def test_no_folder_to_keep_it_in(monkeypatch):
    monkeypatch.setattr(ahead, "CACHE", False)
    with pytest.raises(ValueError, match="Set NUMBA_CACHE_DIR to a writable folder"):
        ahead.run()


def test_a_bar_on_a_terminal_and_lines_elsewhere(monkeypatch, capsys):
    monkeypatch.setattr(ahead, "CACHE", True)
    monkeypatch.setattr(ahead, "JOBS", (("euclidean", "float64"),))
    monkeypatch.setattr(ahead, "compile_all", lambda n_jobs: iter(ahead.JOBS))
    ahead.run()
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[-1] for line in lines if line] == ["beginning", "float64", "done"]
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    ahead.run()
    assert capsys.readouterr().err.count("\r") == 3


class Event:
    def __init__(self, module):
        self.data = {"dispatcher": self}
        self.py_func = self
        self.__module__ = module


@pytest.mark.parametrize("is_terminal", [True, False])
def test_it_is_said_once_where_a_person_waits(monkeypatch, capsys, is_terminal):
    tune(compile_patience=0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal, raising=False)
    watcher, ours, other = _Watcher(), Event("opforest.core.x"), Event("numba.np")
    for _ in range(2):
        watcher.on_start(ours)
        watcher.on_start(other)
        if watcher.timer is not None:
            watcher.timer.join(5)
        watcher.on_end(other)
        watcher.on_end(ours)
    said = capsys.readouterr().err
    assert said.count("compiling kernels") == is_terminal


def test_garbage_is_collected_again_afterwards():
    assert gc.isenabled()
    watcher, ours = _Watcher(), Event("opforest.core.x")
    watcher.on_start(ours)
    watcher.on_start(ours)
    watcher.on_end(ours)
    assert not gc.isenabled()
    watcher.on_end(ours)
    assert gc.isenabled()
    gc.disable()  # as a user might
    try:
        watcher.on_start(ours)
        watcher.on_end(ours)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_short_compilations_are_silent(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    watcher, ours = _Watcher(), Event("opforest.core.x")
    watcher.on_start(ours)
    watcher.on_end(ours)
    assert watcher.timer.finished.is_set()
    assert not capsys.readouterr().err


class Interrupted:
    """Stands in for a dispatcher that is interrupted while it compiles."""

    is_done = False

    def _compile_for_args(self):
        os.kill(os.getpid(), signal.SIGINT)
        self.is_done = True


def test_ctrl_c_waits_until_a_function_is_compiled():
    compiled = _defer_interrupts(Interrupted())
    with pytest.raises(KeyboardInterrupt):
        compiled._compile_for_args()
    assert compiled.is_done
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
