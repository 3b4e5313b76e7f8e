"""How commands fail: one line that says what to do, and an exit code that says what it was."""

import errno
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

UNFORESEEN, USAGE, BAD_DATA, BAD_MODEL, NO_MEMORY, INTERRUPTED = 1, 2, 3, 4, 5, 130


@contextmanager
def say_errors(stopped: str = "Stopped; nothing was changed.") -> Iterator[None]:
    """Turn errors that the user can mend into one line and an exit code.

    After Ctrl-C, the line is ``stopped``.
    """
    from opforest.errors import DataFileError, ModelFileError
    from opforest.learner.errors import StoreError

    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        for about_names in ("X does not have valid feature names", "X has feature names, but"):
            warnings.filterwarnings("ignore", about_names)  # columns have been matched by us
        try:
            yield
        except BrokenPipeError:  # the reader has seen enough
            raise
        except DataFileError as error:
            _fail(error, BAD_DATA)
        except (ModelFileError, StoreError) as error:
            _fail(error, BAD_MODEL)
        except MemoryError as error:
            _fail(_short_of_memory(error), NO_MEMORY)
        except FileNotFoundError as error:
            _fail(_missing(error.filename) if error.filename else error, USAGE)
        except OSError as error:
            reason = error.strerror or str(error)
            _fail(f"{error.filename}: {reason}" if error.filename else reason, USAGE)
        except (ValueError, ImportError) as error:
            _fail(error, USAGE)
        except KeyboardInterrupt:
            sys.stderr.write(f"{stopped}\n")
            raise typer.Exit(INTERRUPTED) from None


@contextmanager
def locate_errors(path: str, data: Any = None) -> Iterator[None]:
    """Say of errors about examples which file the examples are in, and where if that is known."""
    from opforest.errors import DataFileError, ModelFileError
    from opforest.learner.errors import StoreError

    try:
        yield
    except (DataFileError, ModelFileError, StoreError):
        raise
    except ValueError as error:
        from opforest.estimators.preparation import MissingCellError

        row, find = getattr(error, "row", None), getattr(data, "find_line", None)
        line = find(row) if row is not None and find is not None else None
        reason = str(error)
        if isinstance(error, MissingCellError):
            reason = f"cells are missing in {error.columns}: train with --missing median or drop"
        raise DataFileError(reason, path, line) from error


def require_folder(path: str) -> None:
    """Raise an error, before any work is done, if a file cannot be written for want of a folder."""
    if not os.path.isdir(os.path.dirname(path) or "."):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def _missing(path: str) -> str:
    folder = os.path.dirname(path)
    is_there = os.path.isdir(folder or ".")
    return f"there is no file {path}" if is_there else f"there is no folder {folder}"


def _short_of_memory(error: MemoryError) -> str:
    """Return our text, if the error has one: those of NumPy and Python do not help."""
    known = type(error) is MemoryError and "memory" in str(error)
    return str(error) if known else "there is not enough memory for so many examples"


def say(error: object) -> None:
    """Print an error in one line."""
    sys.stderr.write(f"opforest: error: {' '.join(str(error).split())}\n")


def _fail(error: object, code: int) -> None:
    say(error)
    raise typer.Exit(code) from None


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    sys.stderr.write(f"opforest: warning: {' '.join(str(message).split())}\n")
