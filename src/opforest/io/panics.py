"""Panics of Rust: what is raised for one, and what is printed of it beside."""

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

#: What Rust prints of a panic by itself.
_REPORT = re.compile(
    rb"\n?thread '[^\n]*' (?:\(\d+\) )?panicked at .*?(?:\nnote: [^\n]*\n|(?=\nthread ')|\Z)",
    re.DOTALL,
)

_is_hushed = False


def is_panic(error: BaseException) -> bool:
    """Tell whether an error is a panic; each library has a class of its own, no ``Exception``."""
    return type(error).__name__ == "PanicException"


def hush() -> None:
    """Keep reports of panics from the standard error of this process from now on.

    Only the owner of a process may ask for it, because file descriptor 2 is redirected while a
    library reads a file. What Python prints takes a descriptor of its own, and is not held up.
    """
    global _is_hushed
    try:
        sys.stderr.flush()
        sys.stderr = open(  # noqa: SIM115
            os.dup(2), "w", 1, encoding=sys.stderr.encoding, errors=sys.stderr.errors
        )
    except (AttributeError, OSError, ValueError):
        return  # there is no standard error
    _is_hushed = True


@contextmanager
def unreported() -> Iterator[None]:
    """Drop what Rust reports of panics meanwhile, if that was asked for, and nothing else."""
    if not _is_hushed:
        yield
        return
    with tempfile.TemporaryFile() as kept:
        shown = os.dup(2)
        os.dup2(kept.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(shown, 2)
            os.close(shown)
            kept.seek(0)
            os.write(2, _REPORT.sub(b"", kept.read()))
