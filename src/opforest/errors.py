"""Errors in the content of files and stores.

All are subclasses of ``ValueError``. A file that does not exist, or cannot be opened, raises an
``OSError``.
"""

import os

Path = str | os.PathLike[str]


class DataFileError(ValueError):
    """A file of data, of distances or of another program's model is invalid.

    Parameters
    ----------
    reason : str
        The reason.
    path : path, default=None
        The file.
    line, column : int, default=None
        The position in a text file, counted from 1.

    Attributes
    ----------
    reason, path, line, column
        As given.

    Examples
    --------
    >>> from opforest.errors import DataFileError
    >>> print(DataFileError("a number must come here, got 'x'", "a.csv", 3, 2))
    a.csv, line 3, column 2: a number must come here, got 'x'
    """

    def __init__(
        self,
        reason: str,
        path: Path | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        self.reason, self.path, self.line, self.column = reason, path, line, column
        place = "" if path is None else os.fspath(path)
        place += "" if line is None else f", line {line}"
        place += "" if column is None else f", column {column}"
        place = place.removeprefix(", ")
        super().__init__(f"{place}: {reason}" if place else reason)


class ModelFileError(ValueError):
    """A file is not a model written by ``opforest.save``, or it is damaged.

    Examples
    --------
    >>> import tempfile
    >>> import opforest
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     try:
    ...         opforest.load(file.name)
    ...     except opforest.ModelFileError as error:
    ...         print(str(error).split(": ")[1])
    the file is empty.
    """


class StoreError(ValueError):
    r"""A store cannot be opened, read or written; the message says what to do.

    Examples
    --------
    >>> import tempfile
    >>> import opforest
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(b"a,b\n1,2\n" * 100)
    ...     file.flush()
    ...     try:
    ...         opforest.Learner(file.name)
    ...     except opforest.StoreError as error:
    ...         print(str(error).split(": ")[1])
    it is neither an opforest store nor any other SQLite database.
    """
