"""Models that delete training examples: ours, retrained ones, SISA, vector indexes, programs.

**Programs.** The environment variables ``DARE`` and ``DYNFRS`` name commands that wrap a build of
DaRE (Brophy and Lowd, 2021) and DynFrs (Wang et al., 2025). A command gets one more argument, a
folder with ``train.csv`` and ``test.csv``, without a header and with the label, an integer from 0,
in the last column, and ``deleted.txt``, one row number of ``train.csv``, from 0, on each line. It
trains, deletes these rows one after another, and prints one JSON object to standard output:

- ``train_seconds``, and ``delete_seconds``, a list with the time of each deletion;
- ``labels``, predicted for the rows of ``test.csv`` after the last deletion;
- ``retrained_labels`` (optional), predicted by the same program trained without these rows;
- ``saved`` (optional), the path of a file with the model, which is searched for deleted values.
"""

import json
import os
import pickle
import shlex
import subprocess
import tempfile
from collections.abc import Callable
from copy import copy
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

import opforest

PROGRAMS = {"DaRE": "DARE", "DynFrs": "DYNFRS"}
SHARDS, SLICES, TREES = 5, 4, 100
INVERTED_LISTS, PROBES = 32, 8


class Unlearner:
    """A classifier that can delete training examples, which are numbered from 0."""

    def train(self, X: np.ndarray, y: np.ndarray) -> None:
        """Learn examples; labels are integers from 0."""
        raise NotImplementedError

    def delete(self, i: int) -> None:
        """Delete one example."""
        raise NotImplementedError

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return labels."""
        raise NotImplementedError

    def saved(self) -> bytes:
        """Return the content of the file in which the model is saved."""
        raise NotImplementedError

    def retrained(self, X: np.ndarray, y: np.ndarray, stay: np.ndarray) -> Self:
        """Return a new model of the same kind that never saw the other examples."""
        other = copy(self)
        other.train(X[stay], y[stay])
        return other

    def equals(self, other: Self) -> bool | None:
        """Return whether two models are identical, or None if only their labels are compared."""
        return None


class Ours(Unlearner):
    """``OPFClassifier.forget``."""

    def __init__(self, **parameters: Any) -> None:
        self.parameters = parameters

    def train(self, X: np.ndarray, y: np.ndarray) -> None:
        self.model = opforest.OPFClassifier(**self.parameters).fit(X, y)

    def delete(self, i: int) -> None:
        self.model.forget(i)

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.model.predict(X)

    def equals(self, other: Self) -> bool:
        """Return whether all arrays of two forests are equal, bit for bit."""
        one, two = self.model.forest_, other.model.forest_
        names = ("cost", "root", "predecessor", "prototypes", "edges", "label")
        return all(np.array_equal(getattr(one, name), getattr(two, name)) for name in names)

    def saved(self) -> bytes:
        stream = BytesIO()
        opforest.save(self.model, stream)
        return stream.getvalue()


class Retrained(Unlearner):
    """An estimator of scikit-learn that is trained again without the deleted examples."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make

    def train(self, X: np.ndarray, y: np.ndarray) -> None:
        self.X, self.y, self.stay = X, y, np.ones(len(X), bool)
        self.model = self.make().fit(X, y)

    def delete(self, i: int) -> None:
        self.stay[i] = False
        self.model = self.make().fit(self.X[self.stay], self.y[self.stay])

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.model.predict(X)

    def saved(self) -> bytes:
        return pickle.dumps(self.model)


class SISA(Unlearner):
    """Trees in shards and slices (Bourtoule et al., 2021).

    Each shard has its own part of the examples, in slices. The trees of a slice are trained on it
    and on all slices before it, so a deletion trains again those of its slice and of later ones.
    The mean probability over all trees decides.
    """

    def train(self, X: np.ndarray, y: np.ndarray) -> None:
        place = np.random.default_rng(0).permutation(len(X)) % (SHARDS * SLICES)
        self._train(X, y, place // SLICES, place % SLICES, np.ones(len(X), bool))

    def _train(self, X: np.ndarray, y: np.ndarray, shard: Any, part: Any, stay: Any) -> None:
        self.X, self.y, self.shard, self.part, self.stay = X, y, shard, part, stay.copy()
        self.n_classes = y.max() + 1
        self.models = {(s, p): self._fit(s, p) for s in range(SHARDS) for p in range(SLICES)}

    def _fit(self, shard: int, part: int) -> RandomForestClassifier | None:
        chosen = self.stay & (self.shard == shard) & (self.part <= part)
        if not chosen.any():
            return None
        model = RandomForestClassifier(TREES // (SHARDS * SLICES), random_state=shard * 100 + part)
        return model.fit(self.X[chosen], self.y[chosen])

    def delete(self, i: int) -> None:
        self.stay[i] = False
        for part in range(self.part[i], SLICES):
            self.models[self.shard[i], part] = self._fit(self.shard[i], part)

    def predict(self, X: np.ndarray) -> np.ndarray:
        votes = np.zeros((len(X), self.n_classes))
        for model in self.models.values():
            if model is not None:
                votes[:, model.classes_] += model.predict_proba(X)
        return votes.argmax(axis=1)

    def retrained(self, X: np.ndarray, y: np.ndarray, stay: np.ndarray) -> Self:
        other = copy(self)
        other._train(X, y, self.shard, self.part, np.isin(np.arange(len(X)), stay))
        return other

    def saved(self) -> bytes:
        return pickle.dumps(self.models)


class HNSW(Unlearner):
    """hnswlib's graph of neighbors, one neighbor; ``mark_deleted`` hides an example."""

    def train(self, X: np.ndarray, y: np.ndarray) -> None:
        import hnswlib

        self.y = y
        self.index = hnswlib.Index("l2", X.shape[1])
        self.index.init_index(len(X), ef_construction=200, M=16, random_seed=0)
        self.index.set_ef(100)
        self.index.add_items(X, num_threads=1)

    def delete(self, i: int) -> None:
        self.index.mark_deleted(i)

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.y[self.index.knn_query(X, 1, num_threads=1)[0][:, 0]]

    def saved(self) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "index")
            self.index.save_index(str(path))
            return path.read_bytes()


class Faiss(Unlearner):
    """faiss's inverted lists, one neighbor; ``remove_ids`` keeps the centers of the lists."""

    def train(self, X: np.ndarray, y: np.ndarray) -> None:
        import faiss

        faiss.omp_set_num_threads(1)
        self.y = y
        n_lists = min(INVERTED_LISTS, max(1, len(X) // 40))  # faiss warns below 39 examples each
        self.index = faiss.index_factory(X.shape[1], f"IVF{n_lists},Flat")
        self.index.nprobe = PROBES
        self.index.train(X)
        self.index.add_with_ids(X, np.arange(len(X)))

    def delete(self, i: int) -> None:
        self.index.remove_ids(np.array([i]))

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.y[self.index.search(X, 1)[1][:, 0]]

    def saved(self) -> bytes:
        import faiss

        return faiss.serialize_index(self.index).tobytes()


def unlearners() -> dict[str, Callable[[], Unlearner]]:
    """Return constructors of all models that are installed, by name."""
    retrained = {
        "random forest": lambda: RandomForestClassifier(TREES, random_state=0, n_jobs=1),
        "boosted trees": lambda: HistGradientBoostingClassifier(random_state=0),
        "SVM": lambda: SVC(),
        "1-NN": lambda: KNeighborsClassifier(1),
    }
    found: dict[str, Callable[[], Unlearner]] = {
        "opforest": Ours,
        "opforest, voters=auto": lambda: Ours(voters="auto"),
        **{f"{name}, retrained": lambda make=make: Retrained(make)
           for name, make in retrained.items()},
        "SISA, trees": SISA,
    }  # fmt: skip
    if find_spec("hnswlib"):
        found["hnswlib, mark_deleted"] = HNSW
    if find_spec("faiss"):
        found["faiss IVF, remove_ids"] = Faiss
    return found


def run_program(
    variable: str, train: tuple[Any, Any], test: tuple[Any, Any], deleted: np.ndarray
) -> dict[str, Any] | None:
    """Return what a program reports, with the bytes of its file, or None if there is none."""
    command = os.environ.get(variable)
    if not command:
        return None
    with tempfile.TemporaryDirectory() as folder:
        for name, (X, y) in {"train": train, "test": test}.items():
            table = np.column_stack((X.astype(np.float64), y))
            np.savetxt(Path(folder, f"{name}.csv"), table, "%.17g", delimiter=",")
        np.savetxt(Path(folder, "deleted.txt"), deleted, "%d")
        words = [*shlex.split(command), folder]
        done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
        report = json.loads(done.stdout)
        path = report.get("saved")
        report["saved"] = Path(folder, path).read_bytes() if path else None
    return report
