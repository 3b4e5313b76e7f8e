"""Executor of forests in parts whose results are files in a folder."""

import os
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from joblib import effective_n_jobs

from opforest._utils.chunks import run_parallel
from opforest._utils.progress import advance, begin_phase
from opforest.errors import ModelFileError
from opforest.persistence.part_checks import ModelSize, check_record
from opforest.persistence.records import map_record, write_record

#: The suffix of the names of files.
SUFFIX = ".opforest"

#: The phases that are shown while results are computed, by their names.
PHASES = {"forest": "growing cells", "joined": "joining cells", "ports": "joining costs",
          "costs": "finding costs", "map": "finishing"}  # fmt: skip


class PartFile:
    """A record in a file, which is mapped into memory while it is used."""

    def __init__(self, path: str, checksum: str) -> None:
        self.path, self.checksum = os.path.abspath(path), checksum  # for workers of a cluster

    def load(self) -> Any:
        """Return the record; it must not have changed since it was written or verified."""
        try:
            record, checksum = map_record(self.path, verify=False)
        except FileNotFoundError:
            raise ModelFileError(
                f"{self.path}: the file is gone: the model was moved, replaced or deleted. Load it "
                "again."
            ) from None
        if checksum != self.checksum:
            raise ModelFileError(f"{self.path}: the file has changed. Load the model again.")
        return record


def verify_part(path: str, size: ModelSize) -> tuple[PartFile, Any]:
    """Return a file and the record in it, after all checks."""
    record, checksum = map_record(path, verify=True)
    check_record(record, size)
    return PartFile(path, checksum), record


class FolderExecutor:
    """Calls functions of cells in ``n_jobs`` threads, and stores results in files of a folder.

    A result whose file exists and is valid is not computed again. See ``forest.parts.Executor``.
    """

    def __init__(self, folder: str, size: ModelSize, n_jobs: int | None = None) -> None:
        self.folder, self.size, self.n_jobs = folder, size, n_jobs
        self.files: dict[str, PartFile] = {}  #: of results, by name

    def fetch(self, function: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:
        """Call a function for each set of arguments, as ``map`` does, and return the results."""
        calls = [partial(_call, function, group) for group in zip(*arguments, strict=True)]
        return run_parallel(*calls, n_jobs=effective_n_jobs(self.n_jobs))

    hold = fetch

    def store(
        self, name: str, function: Callable[..., Any], *arguments: Iterable[Any]
    ) -> list[PartFile]:
        """Call a function for each set of arguments, and store the results as files."""
        begin_phase(PHASES.get(name, name))
        groups = list(zip(*arguments, strict=True))
        finished: list[int] = []

        def make(cell: int) -> PartFile:
            call = partial(_call, function, groups[cell])
            part, _ = self._make(f"{name}-{cell:05}", call)
            finished.append(cell)
            advance(len(finished) / len(groups))  # ignored in helper threads
            return part

        calls = [partial(make, cell) for cell in range(len(groups))]
        return run_parallel(*calls, n_jobs=effective_n_jobs(self.n_jobs))

    def share(self, value: Any) -> Any:
        """Return a value, which all threads can read."""
        return value

    def remember(self, name: str, function: Callable[[], Any]) -> Any:
        """Return the result of a function, which is stored in a file."""
        begin_phase(PHASES.get(name, name))
        return self._make(name, function)[1]

    def _make(self, name: str, call: Callable[[], Any]) -> tuple[PartFile, Any]:
        """Return the file with a result, and the result, which is computed if it is not there."""
        path = os.path.join(self.folder, name + SUFFIX)
        if os.path.exists(path):
            try:
                self.files[name], record = verify_part(path, self.size)
                return self.files[name], record
            except ModelFileError:
                os.remove(path)  # damaged: compute it again
        record = call()
        self.files[name] = PartFile(path, write_record(path, record))
        return self.files[name], record


def _call(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    return function(*map(_load, arguments))


def _load(value: Any) -> Any:
    """Return a value, with files replaced by the records in them."""
    if isinstance(value, list):
        return [_load(one) for one in value]
    return value.load() if hasattr(value, "load") else value
