"""Progress of long work: named phases, reported to a listener."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter
from typing import Protocol

#: Seconds between two lines about the same phase.
SOME_TIME = 2.0


class Listener(Protocol):
    """Hears of phases as they begin, and of how much of one is done."""

    def begin(self, name: str, size: int | None = None) -> None:
        """Hear that a phase begins, of so many examples."""

    def advance(self, share: float) -> None:
        """Hear which share of it is done, from 0 to 1."""


_listener: ContextVar[Listener | None] = ContextVar("opforest_progress", default=None)


def begin_phase(name: str, size: int | None = None) -> None:
    """Tell the listener, if there is one, that a phase begins, and for how many examples."""
    listener = _listener.get()
    if listener is not None:
        listener.begin(name, size)


def advance(share: float) -> None:
    """Tell whoever listens which share of the phase is done; between calls of kernels."""
    listener = _listener.get()
    if listener is not None:
        listener.advance(share)


@contextmanager
def report_to(listener: Listener) -> Iterator[None]:
    """Report phases to ``listener`` within this context."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


class _Printer:
    """Prints each phase and the time it took, and every now and then how far it is."""

    def __init__(self, name: str) -> None:
        self._name, self._phase = name, ""
        self._begin = self._said = 0.0

    def begin(self, name: str, size: int | None = None) -> None:
        self.end()
        self._phase = name if size is None else f"{name}, {size:,} examples"
        self._begin = self._said = perf_counter()

    def advance(self, share: float) -> None:
        now = perf_counter()
        if now - self._said >= SOME_TIME:
            self._said = now
            self._say(f"{100 * share:.0f} % after {now - self._begin:.1f} s")

    def end(self) -> None:
        if self._phase:
            self._say(f"{perf_counter() - self._begin:.1f} s")
        self._phase = ""

    def _say(self, text: str) -> None:
        sys.stdout.write(f"[{self._name}] {self._phase}: {text}\n")
        sys.stdout.flush()


@contextmanager
def print_progress(name: str, wanted: object) -> Iterator[None]:
    """Print phases and the time they take, as scikit-learn does for ``verbose``."""
    if not wanted:
        yield
        return
    printer = _Printer(name)
    with report_to(printer):
        yield
    printer.end()
