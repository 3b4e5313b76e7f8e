"""How far a stream has come, so that it can go on after any end; and signals that end it."""

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from types import FrameType
from typing import Any, Self

from opforest.apps.cli.models import ModelFile, count_learned
from opforest.io.source import STANDARD

#: What is added to a model's name for the note beside it.
SUFFIX = ".stream"

#: Signals that end a stream in good order.
CAUGHT = (signal.SIGINT, signal.SIGTERM)

#: Seconds until a signal that was not heard is sent again.
PAUSE = 0.05


@dataclass
class State:
    """Counts of a stream.

    Attributes
    ----------
    learned : int
        Examples that the model has learned in its life, by which it is recognized.
    rows : int
        Examples of the data that have come.
    tested, right : int
        Those that were questions; those that were answered rightly.
    tested_lately, right_lately : int
        The same, since the last report.
    window : int
        How many of the last examples are kept; 0 for all.
    """

    learned: int = 0
    rows: int = 0
    tested: int = 0
    right: int = 0
    tested_lately: int = 0
    right_lately: int = 0
    window: int = 0

    def note(self, hits: Any) -> None:
        """Count answers, of which some are right."""
        right = int(hits.sum())
        self.tested += len(hits)
        self.right += right
        self.tested_lately += len(hits)
        self.right_lately += right

    def begin_anew(self) -> None:
        """Forget what was since the last report."""
        self.tested_lately = self.right_lately = 0

    def line(self) -> dict[str, Any]:
        """Return what is to be said now."""
        return {"examples": self.rows, "accuracy": self.accuracy, "rolling": self.rolling}

    def whole(self) -> dict[str, Any]:
        """Return what is to be said at the end."""
        return {"examples": self.rows, "tested": self.tested, "accuracy": self.accuracy}

    @property
    def accuracy(self) -> float | None:
        """The share of right answers."""
        return self.right / self.tested if self.tested else None

    @property
    def rolling(self) -> float | None:
        """The share of right answers since the last report."""
        return self.right_lately / self.tested_lately if self.tested_lately else None


class Journal:
    """The note beside a model that says how far a stream has come.

    It is written before the model, with the counts of the old model and of the new one, so that
    whichever of the two is there after a kill finds its own.
    """

    def __init__(self, file: ModelFile, data: str, state: State) -> None:
        self.file, self.data, self.state = file, data, state
        self._saved = replace(state)

    @classmethod
    def open(
        cls, file: ModelFile, data: str, classifier: Any, resume: bool, window: int = 0
    ) -> Self:  # fmt: skip
        """Begin a stream, or go on with one."""
        learned, model = count_learned(classifier), file.path
        noted = cls._read(model)
        of_this = noted is not None and noted["data"] == _whole_name(data)
        found = [State(**state) for state in noted["states"]] if noted and of_this else []
        state = next((state for state in found if state.learned == learned), None)
        if resume and learned and state is None:
            raise ValueError(
                f"{model}{SUFFIX} does not say how far {model} has come in {data}, so it cannot "
                "go on. Without --resume, the data is learned from its beginning."
            )
        if not resume and noted and of_this and not noted["finished"]:
            raise ValueError(
                f"an earlier stream of {data} into {model} was stopped: --resume goes on. To "
                f"begin anew, remove {model}{SUFFIX}, and {model} as well if it is to be made anew."
            )
        if resume and state:
            if state.window != window:
                was = f"--window {state.window}" if state.window else "no --window"
                raise ValueError(f"the stream into {model} had {was}; go on with the same.")
            return cls(file, data, state)
        return cls(file, data, State(learned, window=window))

    @staticmethod
    def _read(model: str) -> Any:
        try:
            with open(model + SUFFIX, encoding="utf-8") as stream:
                noted = json.load(stream)
            [State(**state) for state in noted["states"]]
            _ = noted["data"], noted["finished"]
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError):
            raise ValueError(f"{model}{SUFFIX} is no note of a stream; remove it.") from None
        return noted

    def save(self, classifier: Any, *, finished: bool = False) -> None:
        """Save the model, and how far it has come."""
        self.state.learned = count_learned(classifier)
        if self.state.learned == 0:
            return
        self.file.check()
        self._write([self._saved, self.state], finished=False)
        self.file.replace(classifier)
        self._saved = replace(self.state)
        if finished:
            self._write([self.state], finished=True)

    def _write(self, states: list[State], *, finished: bool) -> None:
        from opforest._utils.atomic import open_atomic

        noted = {
            "data": _whole_name(self.data),
            "finished": finished,
            "states": list(map(asdict, states)),
        }
        with open_atomic(self.file.path + SUFFIX) as stream:
            stream.write(json.dumps(noted).encode())


def _whole_name(data: str) -> str:
    return data if data == STANDARD else os.path.abspath(data)


class Stop:
    """Whether someone has asked a stream to end."""

    def __init__(self) -> None:
        self.asked = False
        self._waiting = False

    def ask(self, signum: int, frame: FrameType | None) -> None:
        """Take note of a signal; what waits for data need not wait any longer."""
        self.asked = True
        if self._waiting:
            raise KeyboardInterrupt

    def wait_for(self, chunks: Iterator[Any]) -> Any:
        """Return the next chunk, None at the end or when someone has asked for it."""
        try:
            self._waiting = True
            return None if self.asked else next(chunks, None)
        except KeyboardInterrupt:
            return None
        finally:
            self._waiting = False


@contextmanager
def catch_signals() -> Iterator[Stop]:
    """Let SIGINT and SIGTERM end a stream in good order."""
    stop = Stop()
    before = [signal.signal(number, stop.ask) for number in CAUGHT]
    try:
        with _insisting(stop):
            yield stop
    finally:
        for number, handler in zip(CAUGHT, before, strict=True):
            signal.signal(number, handler)


@contextmanager
def _insisting(stop: Stop) -> Iterator[None]:
    """See to it that a signal is heard that comes just before the main thread waits for data.

    Python takes note of a signal and acts on it when its own code goes on. A wait for data is
    ended by a signal that comes meanwhile, but not by one that came a moment before, or that
    another thread got. So a thread of ours sends it again, until it is heard.
    """
    if not hasattr(signal, "pthread_kill"):  # Windows
        yield
        return
    receive, send = os.pipe()
    os.set_blocking(send, False)
    main = threading.get_ident()

    def insist() -> None:
        while number := os.read(receive, 1):
            while number[0] in CAUGHT and not stop.asked:
                time.sleep(PAUSE)
                if not stop.asked:
                    signal.pthread_kill(main, number[0])

    thread = threading.Thread(target=insist, daemon=True)
    before = signal.set_wakeup_fd(send, warn_on_full_buffer=False)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.close(send)
        thread.join()
        os.close(receive)
