"""The journal of a stream: how many rows a model has learned, so that ``--resume`` can continue."""

import json
import os
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from opforest._utils.atomic import open_atomic
from opforest.apps.cli.models import ModelFile, count_learned
from opforest.io.source import STANDARD

#: The suffix of a journal, which stands beside its model.
SUFFIX = ".stream"


@dataclass
class StreamCounts:
    """Counts of a stream, as they are saved in its journal.

    ``learned`` counts the examples that the model has ever learned, which identifies it; ``rows``
    those of the data so far; ``tested`` and ``right`` the predictions and the correct ones;
    ``tested_lately`` and ``right_lately`` those since the last report. ``window`` is the number of
    examples that are kept, 0 for all.
    """

    learned: int = 0
    rows: int = 0
    tested: int = 0
    right: int = 0
    tested_lately: int = 0
    right_lately: int = 0
    window: int = 0

    def add(self, is_right: Any) -> None:
        """Count predictions, given whether each is correct."""
        right = int(is_right.sum())
        self.tested += len(is_right)
        self.right += right
        self.tested_lately += len(is_right)
        self.right_lately += right

    def report(self) -> dict[str, Any]:
        """Return a line of the output: accuracy in total, and since the last report."""
        rolling = self.right_lately / self.tested_lately if self.tested_lately else None
        return {"examples": self.rows, "accuracy": self.accuracy, "rolling": rolling}

    @property
    def accuracy(self) -> float | None:
        """The fraction of correct predictions."""
        return self.right / self.tested if self.tested else None


class Journal:
    """The file beside a model that records the progress of a stream.

    It is written before the model, with the counts of the old model and of the new one, so that
    either model finds its own counts after a crash.
    """

    def __init__(
        self, file: ModelFile, data: str, counts: StreamCounts, known_rows: int = 0
    ) -> None:
        self.file, self.data, self.counts = file, data, counts
        self.known_rows = known_rows  #: of the data, which will be learned again
        self._saved = replace(counts)

    @classmethod
    def open(
        cls, file: ModelFile, data: str, model: Any, resume: bool, window: int = 0
    ) -> Self:  # fmt: skip
        """Begin a stream, or resume one."""
        learned, path = count_learned(model), file.path
        known, finished = cls._read(path, data)
        counts = next((one for one in known if one.learned == learned), None)
        if resume and learned and counts is None:
            raise ValueError(
                f"{path}{SUFFIX} does not say how many rows of {data} {path} has learned, so the "
                "stream cannot be resumed. Without --resume, all rows are learned."
            )
        if not resume and not finished:
            raise ValueError(
                f"an earlier stream of {data} into {path} was stopped: --resume continues it. To "
                f"start over, remove {path}{SUFFIX}, and also {path} for a new model."
            )
        if not (resume and counts):
            known_rows = counts.rows if counts and data != STANDARD else 0
            return cls(file, data, StreamCounts(learned, window=window), known_rows)
        if counts.window != window:
            was = f"--window {counts.window}" if counts.window else "no --window"
            raise ValueError(f"the stream into {path} had {was}; resume it with the same option.")
        return cls(file, data, counts)

    @staticmethod
    def _read(model: str, data: str) -> tuple[list[StreamCounts], bool]:
        """Return the counts that a journal has for the data, and whether the stream was ended."""
        try:
            with open(model + SUFFIX, encoding="utf-8") as stream:
                saved = json.load(stream)
            counts = [StreamCounts(**state) for state in saved["states"]]
            name, finished = saved["data"], saved["finished"]
        except FileNotFoundError:
            return [], True
        except (ValueError, TypeError, KeyError):
            raise ValueError(f"{model}{SUFFIX} is not a journal of a stream; remove it.") from None
        return (counts, finished) if name == _absolute(data) else ([], True)

    def save(self, model: Any, *, finished: bool = False) -> None:
        """Save the model and its counts."""
        self.counts.learned = count_learned(model)
        if self.counts.learned == 0:
            return
        self.file.check()
        self._write([self._saved, self.counts], finished=False)
        self.file.replace(model)
        self._saved = replace(self.counts)
        if finished:
            self._write([self.counts], finished=True)

    def _write(self, states: list[StreamCounts], *, finished: bool) -> None:
        saved = {"data": _absolute(self.data), "finished": finished,
                 "states": list(map(asdict, states))}  # fmt: skip
        with open_atomic(self.file.path + SUFFIX) as stream:
            stream.write(json.dumps(saved).encode())


def _absolute(data: str) -> str:
    return data if data == STANDARD else os.path.abspath(data)
