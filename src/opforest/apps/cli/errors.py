"""Errors of commands: one line on the standard error, and an exit code for each kind."""

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer

from opforest._utils.atomic import NO_FOLDER
from opforest.apps.cli.output import print_message
from opforest.errors import DataFileError, ModelFileError, StoreError

BUG, USAGE, BAD_DATA, BAD_MODEL, NO_MEMORY, INTERRUPTED = 1, 2, 3, 4, 5, 130


@contextmanager
def report_errors(stopped: str) -> Iterator[None]:
    """Turn errors that the user can fix into one line and an exit code.

    ``stopped`` is printed after Ctrl-C.
    """
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        for about_names in ("X does not have valid feature names", "X has feature names, but"):
            warnings.filterwarnings("ignore", about_names)  # the reader has matched the columns
        try:
            yield
        except KeyboardInterrupt:
            sys.stderr.write(f"{stopped}\n")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:  # the reader of our output has closed it
            raise
        except DataFileError as error:
            _fail(error, BAD_DATA)
        except (ModelFileError, StoreError) as error:
            _fail(error, BAD_MODEL)
        except MemoryError as error:
            # Only our own messages say which operation ran out of memory.
            is_ours = type(error) is MemoryError and "memory" in str(error)
            _fail(error if is_ours else "there is not enough memory for the examples", NO_MEMORY)
        except FileNotFoundError as error:
            _fail(_describe_missing(error) if error.filename else error, USAGE)
        except OSError as error:
            reason = error.strerror or str(error)
            _fail(f"{error.filename}: {reason}" if error.filename else reason, USAGE)
        except (ValueError, ImportError) as error:
            _fail(error, USAGE)


@contextmanager
def locate_errors(path: str, data: Any = None) -> Iterator[None]:
    """Add the file, and the line if it is known, to errors about examples."""
    try:
        yield
    except (DataFileError, ModelFileError, StoreError):
        raise
    except ValueError as error:
        from opforest.estimators.preparation import MissingCellError

        row, reason = getattr(error, "row", None), str(error)
        if isinstance(error, MissingCellError):
            reason = f"cells are missing in {error.columns}: fill them in, or train with "
            reason += "--missing median, which does"
        if row is None or data is None:
            raise DataFileError(reason, path) from error
        raise data.error_at(row, reason, path, is_label=False) from error


def _fail(error: object, code: int) -> NoReturn:
    print_message("error", error)
    raise typer.Exit(code) from None


def _describe_missing(error: FileNotFoundError) -> str:
    path = str(error.filename)
    if error.strerror == NO_FOLDER:
        return f"there is no folder {path}"
    folder = os.path.dirname(path)
    has_folder = os.path.isdir(folder or ".")
    return f"there is no file {path}" if has_folder else f"there is no folder {folder}"


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning, unless it is one of a library, about our use of it."""
    if getattr(message, "is_from_opforest", False) or os.environ.get("OPFOREST_DEBUG"):
        print_message("warning", message)
