"""Progress of long work: named phases, reported to a listener."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter

Listener = Callable[[str, int | None], None]

_listener: ContextVar[Listener | None] = ContextVar("opforest_progress", default=None)


def phase(name: str, size: int | None = None) -> None:
    """Tell the listener, if there is one, that a phase begins, and for how many examples."""
    listener = _listener.get()
    if listener is not None:
        listener(name, size)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Report phases to ``listener`` within this context."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


@contextmanager
def printing(name: str, wanted: object) -> Iterator[None]:
    """Print each phase and the time it takes, as scikit-learn does for ``verbose``."""
    if not wanted:
        yield
        return
    begun: list[tuple[str, float]] = []

    def end() -> None:
        if begun:
            what, begin = begun.pop()
            sys.stdout.write(f"[{name}] {what}: {perf_counter() - begin:.1f} s\n")
            sys.stdout.flush()

    def begin(what: str, size: int | None) -> None:
        end()
        begun.append((what if size is None else f"{what}, {size:,} examples", perf_counter()))

    with listening(begin):
        yield
    end()
