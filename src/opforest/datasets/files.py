"""Where data files lie, and how they get there: downloaded, checked, or not at all."""

import hashlib
import os
import sys
import urllib.error
import urllib.request
from contextlib import ExitStack
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any, NamedTuple

from opforest.io.atomic import replacing

#: Where files come from, by the folder they lie in. The authors' repository is named at one commit.
SOURCES = {
    "opfi": "https://raw.githubusercontent.com/maponti/opf-incremental/"
    "e51c2c7491e9b6403ed8993a1aa9d01787d332ab/bin/bases/",
    "uci": "https://archive.ics.uci.edu/ml/machine-learning-databases/00229/",
}

#: Names a folder with data files.
VARIABLE = "OPFOREST_DATA"

#: Seconds without an answer after which a download is given up.
TIMEOUT = 20.0

CHUNK = 1 << 16


class DataFile(NamedTuple):
    """A file that data comes in."""

    folder: str  #: a key of ``SOURCES``
    name: str
    sha256: str

    @property
    def url(self) -> str:
        """Where it can be downloaded."""
        return SOURCES[self.folder] + self.name


class DownloadError(OSError):
    """A data file is not there and could not be downloaded."""


def find_home(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder for data: this one, what ``OPFOREST_DATA`` names, or the user's cache."""
    chosen = data_home or os.environ.get(VARIABLE)
    if chosen:
        return Path(chosen).expanduser()
    return _cache_folder() / "opforest"


def obtain(file: DataFile, home: Path, download: bool) -> Path:
    """Return the path of a file that has been checked; download it if need be.

    Raises
    ------
    DownloadError
        If it is not there and cannot be downloaded, or must not be.
    ValueError
        If the file that is there is another one.
    """
    places = [home / file.name, home / file.folder / file.name]
    for path in places:
        if path.is_file():
            _check_found(path, file)
            return path
    if not download:
        raise DownloadError(f"{file.name} is neither in {home} nor in its folder {file.folder}.")
    _download(file, places[1])
    return places[1]


def _cache_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _check_found(path: Path, file: DataFile) -> None:
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != file.sha256:
        raise ValueError(
            f"{path} must have the SHA-256 {file.sha256}, got {found}. Remove it, and it is "
            "downloaded anew."
        )


def _download(file: DataFile, path: Path) -> None:
    """Write a file whole and checked, or not at all."""
    with ExitStack() as stack:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            stream = stack.enter_context(replacing(path))
        except OSError as error:
            raise DownloadError(
                f"{path.parent} cannot be written: {error}. Name another folder by data_home or "
                f"{VARIABLE}."
            ) from error
        try:
            found = _fetch(file.url, stream)
            if found != file.sha256:
                raise ValueError(f"what came has the SHA-256 {found}, not {file.sha256}")
        except (OSError, HTTPException, ValueError) as error:
            raise DownloadError(
                f"{file.url} could not be downloaded: {error}. Try again, or put the file into "
                f"{path.parent} by hand; data_home or {VARIABLE} names a folder that has "
                "it already."
            ) from error


def _fetch(url: str, stream: IO[bytes]) -> str:
    """Copy what an address has, and return its SHA-256."""
    digest = hashlib.sha256()
    with _open(url) as answer:
        while chunk := answer.read(CHUNK):
            digest.update(chunk)
            stream.write(chunk)
    return digest.hexdigest()


def _open(url: str) -> Any:
    try:
        return urllib.request.urlopen(url, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        error.close()  # it is an answer too, and holds the connection
        raise OSError(f"HTTP {error.code} {error.reason}") from None
