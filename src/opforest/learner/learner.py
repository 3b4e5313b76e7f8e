"""Durable classifier: learned examples are on disk, and forgotten ones are gone."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from opforest._utils.text import count
from opforest.estimators.label_issues import LabelIssue
from opforest.estimators.validation import check_voters, require_count
from opforest.learner.audit import Audit, audit_store
from opforest.learner.changes import Change
from opforest.learner.errors import StoreError
from opforest.learner.rows import PreparedRows
from opforest.learner.session import Session
from opforest.learner.settings import Settings, check_new, name_of
from opforest.learner.validation import Array, as_text, read_labels
from opforest.learner.writer import Writer

#: Settings in ``Learner.stats``, beside those of the features.
SHOWN_SETTINGS = (
    "metric", "metric_params", "precision", "labels", "semi_supervised", "preparation",
    "voters",
)  # fmt: skip


class Learner:
    """An optimum-path forest on a table of examples in an SQLite file.

    The model is a function of the table alone: after any crash, it is exactly the model you would
    get by refitting on the table, bit for bit. When ``learn`` returns, the examples are on disk.
    When ``forget`` returns, they are in no file of the store: not in the table, not in a snapshot,
    not in the write-ahead log.

    Parameters
    ----------
    path : path
        The file, which is created if it does not exist; ``":memory:"`` for a store that is lost
        when it is closed.
    metric : str or callable, default=None
        For a new store, any metric of ``OPFClassifier`` but ``"precomputed"``; ``"euclidean"`` by
        default. A function must be passed each time. For an existing store, the metric may be left
        out; another one is an error.
    metric_params : dict, default=None
        Parameters of the metric.
    feature_names : sequence of str, default=None
        For a new store, the names of the features; by default those of the columns of the first
        data frame, or none.
    precision : {"float64", "float32"}, default=None
        For a new store, the type of stored features; by default that of the first examples.
    score : bool, default=False
        For a new store, whether to predict each example before it is learned, and to count the
        correct predictions. A batch is predicted before any of it is learned; of the first batch,
        each example is predicted by at least half of those before it. Replaced and corrected
        examples do not count.
    semi_supervised : bool, default=False
        For a new store, whether examples may have no label, as for ``OPFSemiSupervised``.
        ``correct``, or ``learn`` with the same key and content, gives them one.
    preparation : Preparation or fitted transformer, default=None
        For a new store, the preparation of rows before the model learns them. A ``Preparation``
        that is not fitted learns categories, medians and scales from the first batch. A fitted
        one, and a fitted transformer or ``Pipeline`` that ``opforest.save`` supports, never
        changes. The table keeps the original rows.
    voters : int or "auto", default=None
        For a new store, how many of the cheapest offers vote on a label, as for ``OPFClassifier``;
        1 by default. With more, the first prediction after a change takes as long as those of a
        thousand examples.
    read_only : bool, default=False
        Whether to follow the changes of another process. Any number of processes may read, and
        one may write.

    Attributes
    ----------
    path : str
        The file.
    session : Session
        The open tables and the model, for programs that display them.

    Notes
    -----
    The file is an ordinary SQLite database in WAL mode with ``synchronous=FULL``; the empty
    ``FILE-lock`` stays beside it. ``FILE-ack`` exists while the store is open, and after a kill: it
    holds the number of acknowledged changes. Threads may share a learner, and predictions never
    wait for the disk. Processes may not share one: after a fork, open the store again.

    ``forget``, ``correct`` and ``learn`` with ``replace=True`` rewrite the file, so that no trace
    is left: forget many examples in one call. Copies that a file system, a disk or a backup keeps
    are beyond a program's reach.

    A preparation forgets as well: when one of the examples on which it was fitted is forgotten or
    corrected, it is refitted on all others, and so is the model. That takes as long as ``fit``.
    With ``scale="relevance"`` or ``"auto"``, which depend on labels, this also happens when one of
    these examples gets its first label.

    Examples
    --------
    >>> import opforest
    >>> with opforest.Learner(":memory:") as learner:
    ...     X, y = [[0.0], [1.0], [3.0]], ["low", "low", "high"]
    ...     change = learner.learn(X, y, keys=["a", "b", "c"])
    ...     print(learner.predict([[1.4], [2.5]]))
    ...     change = learner.correct("b", "high")
    ...     change = learner.forget(["c"])
    ...     print(learner.predict([[1.4], [2.5]]), learner.audit().ok)
    ['low' 'high']
    ['high' 'high'] True
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        metric: str | Callable[..., float] | None = None,
        metric_params: Mapping[str, Any] | None = None,
        feature_names: Sequence[str] | None = None,
        precision: str | None = None,
        score: bool | None = None,
        semi_supervised: bool | None = None,
        preparation: Any = None,
        voters: int | str | None = None,
        read_only: bool = False,
    ) -> None:
        names = None if feature_names is None else tuple(map(str, feature_names))
        own_metric = "euclidean" if metric is None else metric
        wanted = Settings(
            metric=name_of(own_metric),
            metric_params=None if metric_params is None else dict(metric_params),
            precision=precision,
            n_features=None if names is None else len(names),
            feature_names=names,
            score=bool(score),
            semi_supervised=bool(semi_supervised),
            voters=check_voters(1 if voters is None else voters),
        ).with_preparation(preparation)
        check_new(wanted, own_metric)
        given = {"feature_names": wanted.feature_names, "precision": precision, "score": score,
                 "semi_supervised": semi_supervised, "voters": voters}  # fmt: skip
        required = [name for name, value in given.items() if value is not None]
        self.path = os.fsdecode(path)
        self.session = Session(self.path, wanted, metric, required, read_only)
        self._writer = Writer(self.session)

    def close(self) -> None:
        """Take a snapshot if it is worthwhile, and close the file.

        Ctrl-C closes it without a snapshot.
        """
        self.session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        """Return a summary."""
        state = "closed" if self.session.is_closed else count(len(self), "example")
        return f"<Learner {self.path}: {state}>"

    def __len__(self) -> int:
        """Return the number of examples."""
        return len(self.session.refresh())

    @property
    def model(self) -> Any:
        """The classifier, for reading. Do not train it: the store would not know.

        With a preparation it is an ``opforest.Pipeline`` that ends with the classifier. Its ids are
        those of the store, which count examples from 1 and never change.
        """
        replica = self.session.refresh()
        if not isinstance(replica.rows, PreparedRows) or replica.is_empty:
            return replica.model
        from opforest.estimators.pipeline import Pipeline

        return Pipeline([*replica.rows.steps, ("classify", replica.model)])

    @property
    def settings(self) -> Settings:
        """The properties of all examples: metric, features, precision, kind of labels."""
        self.session.refresh()
        return self.session.settings

    # Changing.

    def learn(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        keys: Sequence[str] | None = None,
        *,
        replace: bool = False,
    ) -> Change:
        """Learn examples, which are on disk when this returns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a data frame
            The examples. Columns of a data frame are found by name if the store has names.
        y : array-like of shape (n_samples,)
            Their labels: text, whole numbers or booleans, of one kind in a store. In a
            semi-supervised store ``None``, NaN and −1 mean no label.
        keys : sequence of str, default=None
            Their names in ``correct`` and ``forget``. An example whose key is known and whose
            content is the same changes nothing, so a batch may be sent again. Without keys, some
            are generated: ``Change.keys`` has them.
        replace : bool, default=False
            Whether an example replaces another one with the same key. If not, that is an error.

        Returns
        -------
        Change
            The result: all of the batch was learned, or, after an error, nothing.
        """
        names = tuple(map(str, X.columns)) if hasattr(X, "columns") else None
        return self.learn_named(X, y, keys, replace, names)

    def learn_named(
        self, X: Any, y: Any, keys: Any, replace: bool, names: tuple[str, ...] | None,
        cells: dict[str, Any] | None = None,
    ) -> Change:  # fmt: skip
        """Learn examples as ``learn`` does, with feature names and the format of cells."""
        return self._writer.learn(X, y, keys, replace, names, cells)

    def correct(self, key: str | Sequence[str], label: Any) -> Change:
        """Relabel examples: they are forgotten and learned again in one transaction.

        Parameters
        ----------
        key : str or sequence of str
            The key of an example, or several.
        label : label or sequence of labels
            Its label, or one for each key.

        Returns
        -------
        Change
            The result. Examples that already have this label are unchanged.
        """
        return self._writer.correct(key, label)

    def forget(self, keys: str | Sequence[str], *, missing_ok: bool = False) -> Change:
        """Forget examples: they leave the model, the table and every byte of the files.

        Parameters
        ----------
        keys : str or sequence of str
            The keys of the examples.
        missing_ok : bool, default=False
            Whether keys may be unknown, for a request that is sent again. If not, that is an error,
            and nothing is forgotten.

        Returns
        -------
        Change
            The number of forgotten examples.
        """
        return self._writer.forget(keys, missing_ok)

    # Predicting.

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
        replica, rows = self.session.prepare_queries(X)
        return replica.predict(rows)

    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """Return the probability of each class, as ``OPFClassifier.predict_proba`` does.

        Parameters
        ----------
        X : array-like or data frame
            The examples, as for ``predict``.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Probabilities, in the order of ``model.classes_``: the classes that have examples.
        """
        replica, rows = self.session.prepare_queries(X)
        return replica.predict_proba(rows)[2]

    def explain(self, x: npt.ArrayLike) -> Any:
        """Return the path that gives an example its label, with the keys of the examples on it.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (n_samples, n_features), or a data frame
            The example.

        Returns
        -------
        Explanation, or a list of them for several rows
            The path, which prints as a table. ``forget`` and ``correct`` take the ``key`` of a
            step; its ``id`` counts the examples of the store from 1, as in the generated keys
            ``:1``, ``:2``.
        """
        table = x if hasattr(x, "columns") or np.ndim(x) == 2 else [x]
        replica, rows = self.session.prepare_queries(table)
        paths = (self.session.explain(replica, row)[0] for row in rows)
        cells = replica.rows.read(table)
        found = [replica.rows.show_units(*one) for one in zip(paths, cells, strict=True)]
        return found if len(found) > 1 else found[0]

    def suspects(self, n: int = 20) -> list[LabelIssue]:
        """Return the examples whose labels are probably wrong, the most suspicious first.

        They are those of ``opforest.find_label_issues``, found again after each change, which takes
        about as long as predicting all examples.

        Parameters
        ----------
        n : int, default=20
            The largest number to return.

        Returns
        -------
        list of LabelIssue
            The examples, with their keys for ``correct`` and ``forget``, the suggested labels, and
            the examples that voted. In a semi-supervised store, only given labels are judged.

        Examples
        --------
        >>> from opforest import Learner
        >>> with Learner(":memory:", voters=3) as learner:
        ...     X = [[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2], [5.3]]
        ...     change = learner.learn(X, ["a", "a", "a", "a", "b", "a", "b", "b"])
        ...     worst = learner.suspects()[0]
        ...     print(worst.key, worst.label, worst.suggested)
        ...     change = learner.correct(worst.key, worst.suggested)
        ...     print(learner.suspects())
        :6 a b
        []
        """
        require_count("n", n, 1)
        return self.session.find_suspects(n)

    # Reading.

    def rows(self) -> tuple[list[str], Array, Array]:
        """Return keys, rows and labels of all examples, in the order they were learned.

        With a preparation, rows are the cells before it: numbers, text, and ``None`` for missing
        ones. The label of an unlabeled example is ``None``.
        """
        session = self.session
        session.check_open()
        with session.lock:
            replica = session.refresh()
            rows = session.database.read(lambda _: list(session.store.rows()))
            try:
                _, X, y = replica.decode(rows)
            except ValueError as error:
                raise StoreError(f"{self.path}: {error}.") from error
        return [row.name for row in rows], X, y

    def contains(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Array:
        """Return which examples the store holds already, under any key.

        Parameters
        ----------
        X, y : array-likes
            The examples and their labels, as for ``learn``.

        Returns
        -------
        array of bool of shape (n_samples,)
            Whether an example with the same features and the same label is in the table.

        Examples
        --------
        >>> from opforest import Learner
        >>> with Learner(":memory:") as learner:
        ...     change = learner.learn([[0.0], [1.0]], ["low", "high"])
        ...     learner.contains([[0.0], [0.0]], ["low", "high"])
        array([ True, False])
        """
        session = self.session
        session.check_open()
        with session.lock:
            replica = session.refresh()
            known = session.settings
            if replica.is_empty:
                return np.zeros(len(np.asarray(y)), bool)
            rows = replica.rows.read(X)
            labels, _ = read_labels(y, known.labels, known.semi_supervised)
            wanted = list(zip(replica.rows.pack(rows), labels, strict=True))
            asked = set(wanted)
            found = session.database.read(
                lambda _: {
                    (row.x, row.y) for row in session.store.rows() if (row.x, row.y) in asked
                }
            )
        return np.array([one in found for one in wanted], bool)

    def stats(self) -> dict[str, Any]:
        """Return numbers and settings of the store, in types that JSON has."""
        session, replica = self.session, self.session.refresh()
        known, database = session.settings, session.database
        forest = None if replica.is_empty else replica.model.forest_
        correct, total = session.score
        accuracy = correct / total if total else None
        score = {"correct": correct, "total": total, "accuracy": accuracy}
        return {
            "store": self.path,
            "examples": len(replica),
            "prototypes": 0 if forest is None else len(forest.prototypes),
            "classes": {as_text(k): replica.counts[k] for k in sorted({*replica.counts} - {None})},
            "unlabeled": replica.counts[None],
            "features": known.n_features,
            "feature_names": None if known.feature_names is None else list(known.feature_names),
            **{name: getattr(known, name) for name in SHOWN_SETTINGS},
            "score": score if known.score else None,
            "bytes_on_disk": database.size(),
            "bytes_in_memory": 0 if forest is None else forest.n_bytes,
            "commits": database.commits,
            "commit_seconds": database.commit_seconds,
        }

    def audit(self) -> Audit:
        """Refit on the table and compare the model with the result, array by array.

        Returns
        -------
        Audit
            Errors in the file and differences of the model: none, if ``ok``.
        """
        return audit_store(self.session)

    def export(self, path: str | os.PathLike[str], format: str | None = None) -> None:
        """Write all examples to a data file, or the model to a model file.

        Parameters
        ----------
        path : path
            The file. A name that ends with ``.opforest`` gets the model, as ``opforest.save``
            writes it; any other gets all examples, with their keys as ids.
        format : str, default=None
            One of ``opforest.io.tables.FORMATS``; by default it follows from the name. CSV, TSV,
            Parquet, Arrow and NDJSON can hold text in features and examples without labels.
        """
        target = os.fspath(path)
        self.session.check_open()
        if self.session.database.is_own_file(target):
            raise ValueError(f"{target} is a file of this store: choose another name.")
        if format is None and target.endswith(".opforest"):
            from opforest.persistence.files import save

            if len(self) == 0:
                raise ValueError("the store has no examples yet: there is no model to export.")
            save(self.model, target)
            return
        from opforest.io.columns.table import Data
        from opforest.io.tables import write_table

        keys, X, y = self.rows()
        if y.dtype.kind in "bf":
            y = y.astype(np.int64)
        names = self.session.settings.feature_names
        if X.dtype == object:
            X = _as_frame(X, names)
        write_table(target, Data(X, y, np.array(keys, np.str_), names, "label"), format)


def _as_frame(cells: Array, names: tuple[str, ...] | None) -> Any:
    """Return cells as an array if all are numbers, or as a data frame."""
    if not any(type(cell) is str for cell in cells.flat):
        return cells.astype(np.float64)
    import polars as pl

    names = names or tuple(f"f{k + 1}" for k in range(cells.shape[1]))
    columns = zip(names, cells.T, strict=True)
    return pl.DataFrame([pl.Series(name, column.tolist()) for name, column in columns])
