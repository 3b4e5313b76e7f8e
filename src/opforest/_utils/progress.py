"""Progress of long work: named phases, reported to a listener."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter
from typing import Protocol

from opforest._utils import tuning


class Listener(Protocol):
    """Receives the phases of long work and their progress."""

    def begin(self, name: str, size: int | None = None) -> None:
        """Begin a phase that processes ``size`` examples."""

    def advance(self, fraction: float) -> None:
        """Update the fraction of the phase that is done."""


_listener: ContextVar[Listener | None] = ContextVar("opforest_progress", default=None)


def begin_phase(name: str, size: int | None = None) -> None:
    """Report the beginning of a phase, and its number of examples, to the listener if any."""
    listener = _listener.get()
    if listener is not None:
        listener.begin(name, size)


def advance(fraction: float) -> None:
    """Report the fraction of the phase that is done, between two calls of kernels."""
    listener = _listener.get()
    if listener is not None:
        listener.advance(fraction)


@contextmanager
def report_to(listener: Listener) -> Iterator[None]:
    """Report phases to ``listener`` within this context."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


class _Printer:
    """Prints each phase and the time it took, and its progress at intervals."""

    def __init__(self, name: str) -> None:
        self._name, self._phase = name, ""
        self._begin = self._last_line = 0.0

    def begin(self, name: str, size: int | None = None) -> None:
        self.end()
        self._phase = name if size is None else f"{name}, {size:,} examples"
        self._begin = self._last_line = perf_counter()

    def advance(self, fraction: float) -> None:
        now = perf_counter()
        if now - self._last_line >= tuning.values.print_interval:
            self._last_line = now
            self._print(f"{100 * fraction:.0f} % after {now - self._begin:.1f} s")

    def end(self) -> None:
        if self._phase:
            self._print(f"{perf_counter() - self._begin:.1f} s")
        self._phase = ""

    def _print(self, text: str) -> None:
        sys.stdout.write(f"[{self._name}] {self._phase}: {text}\n")
        sys.stdout.flush()


@contextmanager
def print_progress(name: str, verbose: object) -> Iterator[None]:
    """Print phases and the time they take if ``verbose``, as scikit-learn does."""
    if not verbose:
        yield
        return
    printer = _Printer(name)
    with report_to(printer):
        yield
    printer.end()
