"""The fourteen data sets of the paper on OPF-Incremental, by the names it gives them."""

import os
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


#: The published data sets by name, in the order of the paper's Table 1. Each is a named tuple of
#: the file, the numbers of examples, features, classes and subsets, and a description.
PUBLISHED = {
    "Base1": Published(DataFile("opfi", "base1.opf",
        "1464e7dc436121745b45d25e67c6bf3d276a0f36ae74532e878993f8e736adf9"),
        10_000, 2, 2, 100, "uniform in four strips, of classes 1, 2, 1, 2"),
    "Base2": Published(DataFile("opfi", "base2.opf",
        "4902a9f277bbf2458c8e9345144ccea46b9560834dfe3f9c36e76d378ca832b2"),
        10_000, 2, 4, 100, "uniform in four strips, of classes 1, 2, 3, 4"),
    "Base3": Published(DataFile("opfi", "base3.opf",
        "fdd3af3ed4515d71c3dd6d8ec0059af9bb5c1dc5dca0b2557e8b96abc4783493"),
        10_000, 2, 3, 100, "uniform in four strips, of classes 1, 2, 1, 3"),
    "C-vs-G": Published(DataFile("opfi", "CircleGaussian.opf",
        "ffab98948d70d7a33e95ead414646d1fe2a2dd3fcebcde0bdc34903f7a343cd2"),
        600, 2, 2, 100, "a circle around a Gaussian cloud"),
    "Lithu": Published(DataFile("opfi", "L.opf",
        "4ba01d28549d90b15cf6fc0f1dc9d4d67330e7c3fcf85840bc4373f4b87c3349"),
        1000, 2, 4, 100, "four Lithuanian classes: noisy sickles, two by two"),
    "Cone-Torus": Published(DataFile("opfi", "cone-torus.opf",
        "806b4ca6a74ebc258ae749fd0701ed42230766396d87a4721073ae48bc710e3f"),
        400, 2, 3, 10, "a cone, half a torus, a normal cloud"),
    "Saturn": Published(DataFile("opfi", "saturn.opf",
        "409ddb59c3897f74cd9d60eec93cb350d6b431daf5cb4d191593130d532283e7"),
        200, 2, 2, 10, "a planet's outline and its ring"),
    "CTG": Published(DataFile("opfi", "CTG.opf",
        "79cefa9671badfd9b8c23377c575c660b027d1534f716623e10e73ad2cccb614"),
        2126, 22, 2, 100, "cardiotocograms; the paper's text says 21 features and 3 classes"),
    "NTL": Published(DataFile("opfi", "ntl.opf",
        "dfe0164715a32e667bd76c6204523a12098d1697d1f5cb892c501657febb9896"),
        4952, 8, 2, 100, "energy profiles, with and without theft"),
    "Parkinsons": Published(DataFile("opfi", "parkinsons.opf",
        "8110857e2a5dcacd0454a3df28c9d7c0af3a72d513443d55cc6342d52975e774"),
        193, 22, 2, 100, "voices of patients and of healthy people"),
    "Produce": Published(DataFile("opfi", "produce.opf",
        "70b69d0b812ab8b24a8dcff906d65cbf8afe34594e5163a9e35b42929dc0d0c1"),
        1400, 64, 14, 100, "pictures of fruit and vegetables"),
    "SpamBase": Published(DataFile("opfi", "SpamBase2.opf",
        "d8a709598bd74e8db995509a9a444051f68c0e5bd7f8ab9ad94d25ef407c015a"),
        4600, 40, 2, 100, "e-mails; the paper's text says 4601, with 56 features"),
    "MPEG7-B": Published(DataFile("opfi", "mpeg7_BAS.opf",
        "dc1849ac2671ede6a4f34f980622abc633baea9503b4b846cfbb96c7dbad1bee"),
        1400, 180, 70, 10, "outlines, by their beam angle statistics"),
    "Skin": Published(DataFile("uci", "Skin_NonSkin.txt",
        "008f1fb6a169498dec54fb5951be6478e5465942cc4f6df3b5dabbe484c9a98f"),
        245_057, 3, 2, 100, "colors of skin and of other things; 51,433 of them distinct"),
}  # fmt: skip


def load_published(
    name: str, *, data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True, return_X_y: bool = False, as_frame: bool = False,
) -> Any:  # fmt: skip
    """Load one of the fourteen data sets of the paper on OPF-Incremental.

    The file is searched in ``data_home`` and in its folders ``opfi`` and ``uci``. A missing file
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
