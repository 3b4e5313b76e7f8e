"""Read operations of a store: predictions, explanations, statistics, audits and copies."""

import os
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from opforest.forest.explanation import Explanation
from opforest.learner.changes import Audit
from opforest.learner.errors import StoreError
from opforest.learner.replica import Memory, differences, read_examples
from opforest.learner.rows import PreparedRows, learn_preparation
from opforest.learner.session import OpenStore
from opforest.learner.settings import Settings
from opforest.learner.store import MEMORY, Row
from opforest.learner.validation import Array, as_text


class Answering(OpenStore):
    """A store that is asked; what changes it is in ``Learner``."""

    @property
    def model(self) -> Any:
        """The classifier, to look at. Do not train it: the store would not know.

        With a preparation it is an ``opforest.Pipeline`` that ends with the classifier. Its ids are
        those of the store, which count examples from 1 and stay when the store is opened again.
        """
        memory = self._fresh()
        if not isinstance(memory.rows, PreparedRows) or memory.is_empty:
            return memory.model
        from opforest.estimators.pipeline import Pipeline

        return Pipeline([*memory.rows.steps, ("classify", memory.model)])

    @property
    def settings(self) -> Settings:
        """What is true of all examples: metric, features, precision, kind of labels."""
        self._fresh()
        return self._settings

    def __len__(self) -> int:
        """Return the number of examples."""
        return len(self._fresh())

    def __repr__(self) -> str:
        """Return a summary."""
        state = "closed" if self._is_closed else f"{len(self)} examples"
        return f"<Learner {self.path}: {state}>"

    def _queries(self, X: Any) -> tuple[Memory, Array]:
        memory = self._fresh()
        if memory.is_empty:
            raise ValueError("the store has no examples yet: learn some first.")
        if not memory.can_predict:
            raise ValueError("no example in the store has a label yet: correct some first.")
        return memory, memory.rows.prepare(memory.rows.read(X))

    def predict(self, X: npt.ArrayLike) -> Array:
        """Return the label of each example.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a data frame
            The examples.

        Returns
        -------
        array of shape (n_samples,)
            The labels.
        """
        memory, rows = self._queries(X)
        return memory.predict(rows)

    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """Return the probability of each class, as ``OPFClassifier.predict_proba`` does.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a data frame
            The examples.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Probabilities, in the order of ``model.classes_``: of the classes that have examples.
        """
        memory, rows = self._queries(X)
        return memory.predict_proba(rows)[2]

    def explain(self, x: npt.ArrayLike) -> Explanation:
        """Return the path that gives an example its label, with the keys of those on it.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features)
            The example.

        Returns
        -------
        Explanation
            The path. It prints as a table. The ``key`` of a step is what ``forget`` and ``correct``
            take; its ``id`` counts the examples of the store from 1, as in the keys ``#1``, ``#2``
            of examples that were given none.
        """
        one = x if hasattr(x, "columns") or np.ndim(x) == 2 else [x]
        memory, rows = self._queries(one)
        if len(rows) != 1:
            raise ValueError(f"explain takes one example at a time, got {len(rows)}.")
        return self._explain(memory, rows[0])[0]

    def _explain(self, memory: Memory, x: Array) -> tuple[Explanation, dict[int, Array]]:
        """Explain one prepared example; return the path and the points on it, by id."""
        path, points = memory.explain(x)
        names: dict[Any, str] = self._store.names_of(list(points))

        def named(path: Explanation) -> Explanation:
            steps = [replace(step, key=names.get(step.id)) for step in path.steps]
            return replace(path, steps=tuple(steps))

        path = named(path)
        if path.rival is not None:
            path = replace(path, rival=named(path.rival))
        return path, points

    # Looking.

    def rows(self) -> tuple[list[str], Array, Array]:
        """Return keys, rows and labels of all examples, in the order they were learned.

        With a preparation, rows are the cells before it: numbers, text, and ``None`` where one is
        missing. The label of an example without one is ``None``.
        """
        self._check_open()
        with self._lock:
            memory = self._fresh()
            rows = self._store.read(lambda _: list(self._store.rows()))
            try:
                _, X, y = read_examples(rows, memory.rows, self._settings.labels)
            except ValueError as error:
                raise StoreError(f"{self.path}: {error}.") from error
        return [row.name for row in rows], X, y

    def stats(self) -> dict[str, Any]:
        """Return numbers and settings of the store, in values that JSON has."""
        memory, known = self._fresh(), self._settings
        prototypes = 0 if memory.is_empty else len(memory.model.forest_.prototypes)
        file = self._store.file
        files = [file, f"{file}-wal"] if file != MEMORY else []
        return {
            "store": self.path,
            "examples": len(memory),
            "prototypes": prototypes,
            "classes": {as_text(k): memory.counts[k] for k in sorted({*memory.counts} - {None})},
            "unlabeled": memory.counts[None],
            "features": known.n_features,
            "feature_names": None if known.feature_names is None else list(known.feature_names),
            "metric": known.metric,
            "metric_params": known.metric_params,
            "precision": known.precision,
            "labels": known.labels,
            "semi_supervised": known.semi_supervised,
            "preparation": known.preparation,
            "score": None if not known.score else {
                "correct": self._correct,
                "total": self._total,
                "accuracy": self._correct / self._total if self._total else None,
            },
            "bytes_on_disk": sum(os.path.getsize(name) for name in files if os.path.exists(name)),
            "bytes_in_memory": 0 if memory.is_empty else memory.model.forest_.n_bytes,
            "commits": self._store.commits,
            "commit_seconds": self._store.commit_seconds,
        }  # fmt: skip

    def audit(self) -> Audit:
        """Train on the table and compare the model with the result, array by array.

        Returns
        -------
        Audit
            What is wrong with the file or the model: nothing, if ``ok``.
        """
        self._check_open()
        with self._lock:
            memory, store = self._fresh(), self._store
            found, rows = store.read(
                lambda database: (
                    [line for (line,) in database.execute("PRAGMA integrity_check(20)")],
                    list(store.rows()),
                )
            )
            damage = [] if found == ["ok"] else found
            bad = [row.id for row in rows if not row.is_whole()]
            damage += [f"example {id} is not as it was written" for id in bad]
            if bad:
                return Audit(len(rows), tuple(damage), ())
            settings, different = self._settings, []
            if settings.preparation and settings.prepared is not None:
                learned = self._prepared_by(rows, memory)
                different = [] if learned == settings.prepared else ["preparation"]
                settings = replace(settings, prepared=learned)
            fresh = self._new_memory(settings)
            self._unsaved, unsaved = 0, self._unsaved
            self._learn_rows(fresh, rows)
            self._unsaved = unsaved
            different += differences(memory.model, fresh.model)
            if memory.counts != fresh.counts:
                different.append("counts")
            return Audit(len(rows), tuple(damage), tuple(different))

    def _prepared_by(self, rows: list[Row], memory: Memory) -> Any:
        """Return what the preparation learns from the rows it was learned from."""
        known = self._settings
        try:
            founders = [row for row in rows if row.id < known.founded]
            _, cells, _ = read_examples(founders, memory.rows, known.labels)
            return learn_preparation(known.preparation or {}, cells, known.feature_names)
        except ValueError as error:
            raise StoreError(f"{self.path}: {error}.") from error

    def export(self, path: str | os.PathLike[str], format: str | None = None) -> None:
        """Write all examples to a data file, or the model to a model file.

        Parameters
        ----------
        path : path
            The file. One that ends with ``.opforest`` gets the model, as ``opforest.save`` writes
            it; any other all examples, with their keys as ids.
        format : str, default=None
            One of ``opforest.io.tables.FORMATS``; by default what the name says. Text in features,
            and examples without labels, have room in CSV, TSV, Parquet, Arrow and NDJSON.
        """
        target = os.fspath(path)
        if self._store.is_own_file(target):
            raise ValueError(f"{target} is a file of this store: choose another name.")
        if format is None and target.endswith(".opforest"):
            from opforest.persistence.files import save

            model = self.model
            if self._memory.is_empty:
                raise ValueError("the store has no examples yet: there is no model to export.")
            save(model, target)
            return
        from opforest.io.columns.table import Data
        from opforest.io.tables import write_table

        keys, X, y = self.rows()
        if y.dtype.kind in "bf":
            y = y.astype(np.int64)
        names = self._settings.feature_names
        if X.dtype == object:
            X = _as_frame(X, names)
        write_table(target, Data(X, y, np.array(keys, np.str_), names, "label"), format)


def _as_frame(cells: Array, names: tuple[str, ...] | None) -> Any:
    """Return cells as files take them: an array if all are numbers, else a data frame."""
    if not any(type(cell) is str for cell in cells.flat):
        return cells.astype(np.float64)
    import polars as pl

    titles = names or [f"f{k + 1}" for k in range(cells.shape[1])]
    return pl.DataFrame([pl.Series(name, column.tolist()) for name, column in
                         zip(titles, cells.T, strict=True)])  # fmt: skip
