"""Find or download data files and check them.

``sklearn.datasets.fetch_file`` limits neither the time nor the size of a download.
"""

import hashlib
import os
import sys
import urllib.error
import urllib.request
from http.client import HTTPException
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from opforest._utils import tuning
from opforest._utils.atomic import open_atomic

#: Download addresses by folder. The authors' repository is pinned to a commit.
SOURCES = {
    "opfi": "https://raw.githubusercontent.com/maponti/opf-incremental/"
    "e51c2c7491e9b6403ed8993a1aa9d01787d332ab/bin/bases/",
    "uci": "https://archive.ics.uci.edu/ml/machine-learning-databases/00229/",
}

#: The environment variable that names a folder with data files.
VARIABLE = "OPFOREST_DATA"

CHUNK = 1 << 16


class DataFile(NamedTuple):
    """A file with a data set."""

    folder: str  #: a key of ``SOURCES``
    name: str
    sha256: str

    @property
    def url(self) -> str:
        """The download address."""
        return SOURCES[self.folder] + self.name


class DownloadError(OSError):
    """A data file is missing and could not be downloaded."""


class UnreachableError(DownloadError):
    """The host of a data file does not answer."""


def find_home(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Return the data folder: ``data_home``, ``$OPFOREST_DATA``, or the user's cache."""
    if chosen := data_home or os.environ.get(VARIABLE):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        cache = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    else:
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "opforest"


def fetch(file: DataFile, home: Path, download: bool) -> Path:
    """Return the path of a file with the right checksum; download it if it is missing.

    Raises
    ------
    DownloadError
        If the file is missing and cannot, or must not, be downloaded.
    ValueError
        If the file has another checksum.
    """
    places = [home / file.name, home / file.folder / file.name]
    digests = {path: _hash(path.read_bytes()) for path in places if path.is_file()}
    for path, digest in digests.items():
        if digest == file.sha256:
            return path
    if digests:
        path, digest = next(iter(digests.items()))
        raise ValueError(
            f"{path} must have the SHA-256 {file.sha256}, got {digest}. Remove it to download it "
            "again."
        )
    if not download:
        raise DownloadError(f"{file.name} is neither in {home} nor in its folder {file.folder}.")
    _download(file, places[1])
    return places[1]


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _download(file: DataFile, path: Path) -> None:
    """Write a file completely and checked, or not at all."""
    existing = next(folder for folder in path.parents if folder.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        raise _make_folder_error(path.parent, f"{existing} is not a writable folder")
    try:
        content = _request(file.url)
        if (digest := _hash(content)) != file.sha256:
            raise ValueError(f"the downloaded file has the SHA-256 {digest}, not {file.sha256}")
    except (OSError, HTTPException, ValueError) as error:
        unanswered = isinstance(error, urllib.error.URLError | TimeoutError | ConnectionError)
        kind = UnreachableError if unanswered else DownloadError
        raise kind(
            f"{file.url} could not be downloaded: {error}. Try again, or put the file into "
            f"{path.parent} by hand, or name a folder that has it with data_home or {VARIABLE}."
        ) from error
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open_atomic(path) as stream:
            stream.write(content)
    except OSError as error:
        raise _make_folder_error(path.parent, error) from error


def _make_folder_error(folder: Path, reason: object) -> DownloadError:
    return DownloadError(
        f"{folder} cannot be written to: {reason}. Choose another folder with data_home or "
        f"{VARIABLE}."
    )


def _request(url: str) -> bytes:
    content, limits = bytearray(), tuning.values
    deadline = monotonic() + limits.download_deadline
    try:
        response = urllib.request.urlopen(url, timeout=limits.download_timeout)
    except urllib.error.HTTPError as error:
        error.close()  # it is a response too, and holds the connection
        raise OSError(f"HTTP {error.code} {error.reason}") from None
    with response:
        while chunk := response.read(CHUNK):
            content += chunk
            if len(content) > limits.max_download_bytes:
                raise ValueError(f"it has more than {limits.max_download_bytes} bytes")
            if monotonic() > deadline:
                raise TimeoutError(f"it took more than {limits.download_deadline:.0f} seconds")
        length = response.headers.get("Content-Length")
        if length is not None and len(content) < int(length):
            raise ValueError(f"it was cut off after {len(content)} of {length} bytes")
    return bytes(content)
