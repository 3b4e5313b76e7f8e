"""Errors about the contents of files.

Both are a ``ValueError``. A file that does not exist, or may not be read, raises an ``OSError``.
"""

import os

Path = str | os.PathLike[str]


class DataFileError(ValueError):
    """A file of data, of distances or of another program's model cannot be read.

    Parameters
    ----------
    reason : str
        What is wrong.
    path : path, default=None
        The file.
    line, column : int, default=None
        The place in a text file, counted from 1.

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
        place = ["" if path is None else os.fspath(path)]
        place += [] if line is None else [f"line {line}"]
        place += [] if column is None else [f"column {column}"]
        where = ", ".join(part for part in place if part)
        super().__init__(f"{where}: {reason}" if where else reason)


class ModelFileError(ValueError):
    """A file is not a model that ``opforest.save`` has written, or it is damaged.

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
