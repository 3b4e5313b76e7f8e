"""Finding data files, or downloading them; either way they are checked."""

import hashlib
import os
import sys
import urllib.error
import urllib.request
from http.client import HTTPException
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from opforest._utils.atomic import open_atomic

#: Where to download files from, by their folder. The authors' repository is pinned to a commit.
SOURCES = {
    "opfi": "https://raw.githubusercontent.com/maponti/opf-incremental/"
    "e51c2c7491e9b6403ed8993a1aa9d01787d332ab/bin/bases/",
    "uci": "https://archive.ics.uci.edu/ml/machine-learning-databases/00229/",
}

#: The environment variable that names a folder with data files.
VARIABLE = "OPFOREST_DATA"

#: A download is given up after this many seconds without an answer.
TIMEOUT = 20.0

#: A download is given up after this many seconds, however steadily it comes in.
PATIENCE = 600.0

CHUNK, LARGEST = 1 << 16, 1 << 26


class DataFile(NamedTuple):
    """A file with a data set."""

    folder: str  #: a key of ``SOURCES``
    name: str
    sha256: str

    @property
    def url(self) -> str:
        """Where it can be downloaded."""
        return SOURCES[self.folder] + self.name


class DownloadError(OSError):
    """A data file is not there and could not be downloaded."""


class UnreachableError(DownloadError):
    """Nothing can be downloaded, because the host does not answer."""


def find_home(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder for data: this one, what ``OPFOREST_DATA`` names, or the user's cache."""
    chosen = data_home or os.environ.get(VARIABLE)
    if chosen:
        return Path(chosen).expanduser()
    return _cache_folder() / "opforest"


def fetch(file: DataFile, home: Path, download: bool) -> Path:
    """Return the path of a file that has been checked; download it if need be.

    Raises
    ------
    DownloadError
        If it is not there and cannot be downloaded, or must not be.
    ValueError
        If the file that is there is another one.
    """
    places = [home / file.name, home / file.folder / file.name]
    found = {path: _digest(path) for path in places if path.is_file()}
    for path, digest in found.items():
        if digest == file.sha256:
            return path
    for path, digest in found.items():
        raise ValueError(
            f"{path} must have the SHA-256 {file.sha256}, got {digest}. Remove it, and it will "
            "be downloaded again."
        )
    if not download:
        raise DownloadError(f"{file.name} is neither in {home} nor in its folder {file.folder}.")
    _download(file, places[1])
    return places[1]


def _cache_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _download(file: DataFile, path: Path) -> None:
    """Write a file whole and checked, or not at all."""
    there = next(folder for folder in path.parents if folder.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise _unwritable(path.parent, f"{there} is not a writable folder")
    try:
        content = _fetch(file.url)
        found = hashlib.sha256(content).hexdigest()
        if found != file.sha256:
            raise ValueError(f"the file that came has the SHA-256 {found}, not {file.sha256}")
    except (OSError, HTTPException, ValueError) as error:
        unanswered = isinstance(error, urllib.error.URLError | TimeoutError | ConnectionError)
        kind = UnreachableError if unanswered else DownloadError
        raise kind(
            f"{file.url} could not be downloaded: {error}. Try again, or put the file into "
            f"{path.parent} by hand; data_home or {VARIABLE} names a folder that has "
            "it already."
        ) from error
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open_atomic(path) as stream:
            stream.write(content)
    except OSError as error:
        raise _unwritable(path.parent, error) from error


def _unwritable(folder: Path, reason: object) -> DownloadError:
    return DownloadError(
        f"{folder} cannot be written to: {reason}. Name another folder by data_home or {VARIABLE}."
    )


def _fetch(url: str) -> bytes:
    """Return the content of an address; no data set is larger than ``LARGEST``."""
    content, deadline = bytearray(), monotonic() + PATIENCE
    with _open(url) as answer:
        while chunk := answer.read(CHUNK):
            content += chunk
            if len(content) > LARGEST:
                raise ValueError(f"it has more than {LARGEST} bytes")
            if monotonic() > deadline:
                raise TimeoutError(f"it took more than {PATIENCE:.0f} seconds")
        wanted = answer.headers.get("Content-Length")
        if wanted is not None and len(content) < int(wanted):
            raise ValueError(f"it was cut off after {len(content)} of {wanted} bytes")
    return bytes(content)


def _open(url: str) -> Any:
    try:
        return urllib.request.urlopen(url, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        error.close()  # it is an answer too, and holds the connection
        raise OSError(f"HTTP {error.code} {error.reason}") from None
