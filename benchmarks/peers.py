"""LibOPF and OPFython, the programs that we compare with, if they are installed."""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
from benchmarks.common import in_fresh_process

from opforest.io.libopf import write_dataset

NO_LIBOPF = "LIBOPF does not name a folder with opf_train and opf_classify"
NO_OPFYTHON = "opfython is not installed, and OPFYTHON_PYTHON does not name a Python that has it"


class LibOPF(NamedTuple):
    """LibOPF's programs, which communicate by files with fixed names in their working folder."""

    programs: Path
    folder: Path

    def write(self, name: str, X: np.ndarray, y: np.ndarray) -> None:
        """Write a data set whose labels are 1 and up."""
        write_dataset(self.folder / name, X, y)

    def seconds(self, program: str, name: str, *options: str) -> float:
        """Run a program on a data set and return the time of the algorithm alone.

        LibOPF reports wall time without reading and writing; the processor time is that of the
        whole program without waiting. Either may be too large, so the smaller one counts. Some
        programs report no time.
        """
        before = _processor_seconds_of_children()
        command = [str(self.programs / program), name, *options]
        subprocess.run(command, cwd=self.folder, stdout=subprocess.DEVNULL, check=True)
        whole = _processor_seconds_of_children() - before
        times = self.folder / f"{name}.time"
        return min(float(times.read_text().split()[-1]), whole) if times.exists() else whole

    def labels(self, name: str) -> np.ndarray:
        """Return the labels that the last run predicted for a data set."""
        return np.loadtxt(self.folder / f"{name}.out", int)


@contextmanager
def libopf() -> Iterator[LibOPF | None]:
    """Yield LibOPF with a temporary working folder, or None if it is not installed."""
    programs = Path(os.environ.get("LIBOPF") or "nowhere").resolve()
    if not all((programs / name).is_file() for name in ("opf_train", "opf_classify")):
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        yield LibOPF(programs, Path(folder))


def opfython_python() -> str | None:
    """Return a Python that can import opfython, or None."""
    named = os.environ.get("OPFYTHON_PYTHON")
    return named or (sys.executable if find_spec("opfython") else None)


OPFYTHON_FIT = """
import json, logging, sys, time
from importlib.metadata import version
import numpy as np

logging.disable(logging.CRITICAL)
from opfython.models import SupervisedOPF

with np.load(sys.argv[1]) as data:
    X, y = data["X"], data["y"]
SupervisedOPF().fit(X[:100], y[:100])  # compile first
start = time.process_time()
SupervisedOPF().fit(X, y)
print(json.dumps([time.process_time() - start, version("opfython")]))
"""


def opfython_fit(python: str, X: np.ndarray, y: np.ndarray) -> tuple[float, str]:
    """Return OPFython's processor time of one fit without compiling, and its version."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.npz"
        np.savez(path, X=X, y=y)
        seconds, version = in_fresh_process(OPFYTHON_FIT, str(path), python=python)
        return seconds, version


def _processor_seconds_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
