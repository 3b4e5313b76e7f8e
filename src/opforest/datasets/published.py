"""The fourteen data sets of the paper on OPF-Incremental, by the names it gives them."""

import csv
import os
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import Bunch

from opforest.datasets.files import DataFile, fetch, find_home
from opforest.io.libopf import read_dataset


class Published(NamedTuple):
    """A data set of the paper."""

    file: DataFile
    n_samples: int
    n_features: int
    n_classes: int
    n_subsets: int  #: parts into which the paper divides the training half
    about: str


def _read_table() -> dict[str, Published]:
    text = files("opforest.datasets").joinpath("published.csv").read_text("utf-8")
    return {
        name: Published(DataFile(folder, file, sha256), int(n), int(d), int(c), int(k), about)
        for name, folder, file, sha256, n, d, c, k, about in csv.reader(text.splitlines()[1:])
    }


#: The published data sets by name, in the order of the paper's Table 1. Each is a named tuple of
#: the file, the numbers of examples, features, classes and subsets, and a description.
PUBLISHED = _read_table()


def load_published(
    name: str, *, data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True, return_X_y: bool = False, as_frame: bool = False,
) -> Any:  # fmt: skip
    """Load one of the fourteen data sets of the paper on OPF-Incremental.

    The file is looked up in ``data_home`` and in its folders ``opfi`` and ``uci``. A missing file
    is downloaded: Skin from the UCI repository, all others from the authors' repository. The
    SHA-256 is always checked. Duplicates are kept.

    Parameters
    ----------
    name : str
        A key of ``PUBLISHED``, in upper or lower case.
    data_home : path, default=None
        Folder with the files; by default the environment variable ``OPFOREST_DATA``, or
        ``opforest`` in the user's cache folder.
    download_if_missing : bool, default=True
        Whether to download a missing file.
    return_X_y : bool, default=False
        Whether to return features and classes only.
    as_frame : bool, default=False
        Whether to return a pandas data frame and series.

    Returns
    -------
    Bunch or (X, y)
        ``data`` of shape (n_samples, n_features), ``target`` (classes from 1), ``frame`` (both,
        if ``as_frame``), ``feature_names``, ``target_names``, ``DESCR``, ``filename``.

    Raises
    ------
    DownloadError
        If the file is missing and cannot be downloaded.

    Examples
    --------
    >>> from opforest.datasets import load_published
    >>> X, y = load_published("NTL", return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (4952, 8)
    """
    name = proper_name(name)
    about = PUBLISHED[name]
    path = fetch(about.file, find_home(data_home), download_if_missing)
    X, y, names = _read(name, path)
    frame = None
    if as_frame:
        frame = _as_frame(X, y, names)
        X, y = frame[names], frame["target"]
    if return_X_y:
        return X, y
    return Bunch(
        data=X, target=y, frame=frame, feature_names=names, target_names=np.unique(y),
        DESCR=f"{name}, {about.about}: {about.n_samples} examples, {about.n_features} features, "
        f"{about.n_classes} classes. From {about.file.url}",
        filename=str(path),
    )  # fmt: skip


def _read(name: str, path: Any) -> tuple[Any, Any, list[str]]:
    """Return features, classes, and the names of features."""
    if name == "Skin":
        rows = np.loadtxt(path, np.int64)
        return rows[:, :-1].astype(np.float64), rows[:, -1], ["B", "G", "R"]
    X, y = read_dataset(path)[:2]
    return X.astype(np.float64), y, [f"feature {k}" for k in range(X.shape[1])]


def _as_frame(X: Any, y: Any, names: list[str]) -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("as_frame=True needs pandas: pip install pandas") from error
    return pd.DataFrame(X, columns=names).assign(target=y)


def proper_name(name: str) -> str:
    """Return the name of a published data set as the paper spells it."""
    spelled = {known.lower(): known for known in PUBLISHED}
    if str(name).lower() not in spelled:
        raise ValueError(f"name must be one of {list(PUBLISHED)}, got {name!r}.")
    return spelled[str(name).lower()]
