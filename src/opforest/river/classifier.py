"""Optimum-path forest classifier for streams, with the river API."""

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from opforest._utils.extras import install_command
from opforest._utils.rwlock import LockToken, ReadWriteLock
from opforest.core.label_spread.batch import UNLABELED
from opforest.core.metrics.types import Array
from opforest.estimators.validation import check_ids, check_voters, require_count
from opforest.forest.explanation import Explanation, explain
from opforest.forest.forest import BaseForest, Forest
from opforest.forest.probabilities import CostCalibration
from opforest.forest.seeded import SeededForest
from opforest.forest.state import ForestState
from opforest.forest.updates import Update, find_update
from opforest.forest.updates.exact import give_labels
from opforest.forest.updates.report import no_counts
from opforest.river.features import (
    Codes,
    Columns,
    add_labels,
    add_names,
    encode_labels,
    make_row,
    read_frame,
    read_one,
    resolve_for_streams,
)
from opforest.river.queries import (
    StagedQuery,
    can_predict,
    elect_staged,
    staged_probabilities,
    write_locked,
)

try:
    from river.base import MiniBatchClassifier
    from river.base.typing import ClfTarget, FeatureName
except ImportError as error:
    raise ImportError(f"opforest.river needs river: {install_command('river')}.") from error

if TYPE_CHECKING:
    import pandas as pd


class OPFClassifier(MiniBatchClassifier):
    """Optimum-path forest classifier for streams.

    It remembers all examples, or a window of the last ones. Learning or predicting an example takes
    time linear in their number, and far less in few dimensions, where a spatial index helps. With
    ``update="exact"`` the model is, at any time, exactly the one that ``opforest.OPFClassifier``
    would fit to all examples learned so far, with their features in the order of ``features``.

    Features may appear, vanish and come in any order. A missing feature counts as 0, also in all
    earlier examples. A feature that only a query has counts in its distances, but is not learned.
    New classes may appear at any time.

    Parameters
    ----------
    metric
        A name or a function of two vectors, as for ``opforest.OPFClassifier``, except
        ``"precomputed"``, because a stream has no table, ``"correlation"``, which changes with a
        feature that is 0 everywhere, and those for certain features: ``"haversine"``,
        ``"seuclidean"``, ``"mahalanobis"``, ``"minkowski"`` with weights. A function must
        ignore features that are 0 in both vectors, and gets them in no particular order.
    metric_params
        ``{"p": …}`` for ``"minkowski"`` (default 2), ``{"gamma": …}`` for ``"gaussian"``
        (default 1), keyword arguments for a Python callable.
    update
        How the forest grows: ``"exact"``, ``"opfi"`` or ``"dift"``, as for
        ``opforest.OPFClassifier``. The forest begins with the first example alone, and with
        ``"opfi"`` each example of a mini-batch is classified just before it is learned.
    window_size
        The number of examples to remember, by default all. It needs ``update="exact"``: each new
        example replaces the oldest one, and the model is exactly the one that
        ``opforest.OPFClassifier`` would fit to the window.
    semi_supervised
        Whether labels may be missing (``None``). Then the model is the one that
        ``opforest.OPFSemiSupervised`` would fit, and labels may be given later with
        ``learn_label``. It needs ``update="exact"``.
    voters
        How many of the cheapest offers vote, as for ``opforest.OPFClassifier``. The weights of the
        votes, and with ``"auto"`` the number of voters, are found again as often as ``exponent``,
        see ``predict_proba_one``; between, the last ones are used.

    Notes
    -----
    A prediction stores its distances, and ``learn_one`` uses them if it gets the same x next:
    test-then-train takes one pass over the examples, not two. So predictions change the object, and
    calls from several threads wait for each other.

    If a call fails, the model does not change.

    Examples
    --------
    >>> from opforest.river import OPFClassifier
    >>> from river import datasets, evaluate, metrics
    >>> model = OPFClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 86.47%
    >>> model.forest
    <Forest of 1250 examples, 200 of them prototypes>
    """

    _calibration: CostCalibration | None = None

    def __init__(
        self,
        metric: str | Callable[..., float] = "euclidean",
        metric_params: Mapping[str, Any] | None = None,
        update: str = "exact",
        window_size: int | None = None,
        semi_supervised: bool = False,
        voters: int | str = 1,
    ) -> None:
        self.voters = voters
        self.metric = metric
        self.metric_params = metric_params
        self.update = update
        self.window_size = window_size
        self.semi_supervised = semi_supervised
        self._forest: BaseForest | None = None
        self._column: Columns = {}  # the forest may have more columns, all of them 0
        self._code: Codes = {}
        self._labels: list[ClfTarget] = []
        self._query = StagedQuery()
        self._lock = ReadWriteLock()

    @property
    @write_locked
    def forest(self) -> BaseForest | None:
        """The forest, or None; its integer labels number the classes in order of appearance."""
        width = max(1, len(self._column))
        if self._forest is not None and self._forest.n_features > width:
            self._query.set_width(self._forest, width)  # remove the columns added for queries
        return self._forest

    @property
    def features(self) -> list[FeatureName]:
        """The names of the features learned, in the order of summation in distances."""
        return list(self._column)

    @property
    def labels(self) -> list[ClfTarget]:
        """The labels learned, in order of appearance."""
        return list(self._labels)

    @property
    def exponent(self) -> float | None:
        """The current exponent of probabilities; ``None`` before the first one."""
        return None if self._calibration is None else self._calibration.exponent

    def restore(
        self, forest: BaseForest | None, features: list[FeatureName], labels: list[ClfTarget]
    ) -> None:
        """Restore a saved model from its forest (None if empty), feature names and labels."""
        self._check_update()
        column, code = add_names({}, features), add_labels(self._code, labels, self.semi_supervised)
        if len(column) != len(features) or len(code) != len(labels):
            raise ValueError("features and labels must be unique.")
        if forest is not None and self.semi_supervised != isinstance(forest, SeededForest):
            raise ValueError("semi_supervised does not match the forest.")
        n = len(features)
        if forest is not None and forest.n_features != max(1, n):
            raise ValueError(f"the forest has {forest.n_features} features, but {n} names.")
        self._accept(forest, column, code)
        self._calibration = None if forest is None else forest.found_calibration

    def parts(self) -> ForestState | None:
        """Return the parts of the forest, with the current calibration."""
        forest = self.forest
        return None if forest is None else forest.state()._replace(calibration=self._calibration)

    def lock(self) -> LockToken:
        """Return a context in which no other thread can use the model."""
        return self._lock.write()

    @write_locked
    def __getstate__(self) -> dict[str, Any]:
        """Return a snapshot: the forest may change before it is pickled."""
        return {**vars(self), "_forest": copy.copy(self._forest), "_query": StagedQuery()}

    @property
    def _multiclass(self) -> bool:
        return True

    @write_locked
    def learn_one(self, x: dict[FeatureName, Any], y: ClfTarget | None) -> None:
        """Learn one example: finite numbers by name, and a label, which may be new.

        With ``semi_supervised``, the label may be ``None``.
        """
        values, column = read_one(x, self._column)
        code: dict[Any, int] = (
            self._code if y in self._code else add_labels(self._code, (y,), self.semi_supervised)
        )
        update, forest = self._prepare()
        if forest is None:
            X, label = make_row(values, self._forest)[None], encode_labels((y,), code)
            self._learn(X, label, column, code)
            return
        conqueror, is_met = -1, self._query.values == values
        if is_met or update.classifies_first or forest.metric.may_be_undefined:
            conqueror = self._query.measure(forest, values)
        else:
            self._query.stage(forest, values)
        forest.storage.label_staged(code.get(y, UNLABELED))
        before, known = self.__dict__, len(forest.storage)
        try:
            self._accept(forest, column, code)
            self._forest = update.insert(forest, conqueror, no_counts())
        except BaseException:
            if len(forest.storage) == known:  # the example was not learned
                self.__dict__ = before
            raise
        if self.window_size is not None:
            self.forget_oldest(max(0, len(forest.storage) - self.window_size))

    @write_locked
    def learn_label(self, number: int, y: ClfTarget) -> bool:
        """Learn the label of an example that was learned without one.

        ``number`` is its id: 0 for the first example learned, 1 for the next one, and so on;
        forgetting does not change ids. Return whether the example is still remembered.
        """
        if not self.semi_supervised:
            raise ValueError("learn_label needs semi_supervised=True.")
        if y is None or y != y:
            raise ValueError(f"y must be a label, got {y!r}.")
        require_count("number", number, 0)
        _, forest = self._prepare()
        seen = 0 if forest is None else forest.next_id
        if not isinstance(forest, SeededForest) or number >= seen:
            raise ValueError(
                f"number must be the id of a learned example, less than {seen}, got {number}."
            )
        ids = np.array([number])
        if forest.storage.vertices_of(ids)[0] < 0:
            return False
        code = add_labels(self._code, (y,), self.semi_supervised)
        known = int(forest.given_labels(ids)[0])
        if known == UNLABELED:
            self._accept(forest, self._column, code)
            self._forest = give_labels(forest, ids, np.array([code[y]]), no_counts())
        elif known != code[y]:
            raise ValueError(
                f"example {number} already has the label {self._labels[known]!r}, got {y!r}."
            )
        return True

    @write_locked
    def forget_oldest(self, count: int = 1) -> None:
        """Forget the oldest examples, for windows of time or after a drift.

        Their classes and features stay known.
        """
        require_count("count", count, 0)
        if self._forest is not None and count:
            self._forget(lambda forest: forest.storage.oldest(count))

    @write_locked
    def forget(self, ids: Any) -> None:
        """Forget examples, exactly as if they had never been learned.

        ``ids`` is one id or several, as in ``learn_label`` and ``explain_one``. Their classes and
        features stay known.

        Examples
        --------
        >>> from opforest.river import OPFClassifier
        >>> model = OPFClassifier(window_size=3)
        >>> for size, y in ((0.0, "low"), (1.0, "low"), (3.0, "high"), (4.5, "high")):
        ...     model.learn_one({"size": size}, y)
        >>> model.forget(model.explain_one({"size": 5.0}).conqueror)
        >>> model.forest.ids
        array([1, 2])
        """
        if self._forest is None:
            raise ValueError("the model has not learned any examples to forget.")
        self._forget(lambda forest: check_ids(ids, forest))

    def _forget(self, choose: Callable[[Any], Array]) -> None:
        update, forest = self._prepare()
        self._query.clear()
        update.require_forgetting()
        for shrunk in update.shrink(forest, choose(forest), no_counts()):
            self._forest = shrunk

    @write_locked
    def predict_one(self, x: dict[FeatureName, Any], **kwargs: Any) -> ClfTarget | None:
        """Return the label of the conqueror, or of the vote; ``None`` before anything was learned.

        ``kwargs`` are ignored; river's interface has them.
        """
        if not can_predict(self._forest):
            return None
        forest, calibration = self._forest, self._vote_calibration(self._forest)
        conqueror = self._query.measure(forest, read_one(x, self._column)[0])
        if calibration is None:
            return self._labels[int(forest.storage.labels_of(conqueror))]
        return self._labels[int(elect_staged(forest, calibration).winner[0])]

    @write_locked
    def predict_proba_one(self, x: dict[FeatureName, Any], **kwargs: Any) -> dict[ClfTarget, float]:
        """Return the probability of each class.

        The formula is in the notes of ``opforest.OPFClassifier``. Its exponent, ``exponent``, is
        updated after the number of examples learned or forgotten has reached a tenth of those known
        at the last update, and five times the sample used for it, which has at most 1000 examples.

        Before anything was learned, the result is empty. ``kwargs`` are ignored.
        """
        if not can_predict(self._forest):
            return {}
        values, calibration = read_one(x, self._column)[0], self._find_calibration(self._forest)
        conqueror = self._query.measure(self._forest, values)
        found = staged_probabilities(self._forest, conqueror, len(self._code), calibration)
        return dict(zip(self._labels, found.tolist(), strict=True))

    @write_locked
    def explain_one(self, x: dict[FeatureName, Any]) -> Explanation | None:
        """Return the path that gave an example its label, and that of the nearest rival.

        See ``opforest.OPFClassifier.explain``. Before anything was learned, it is ``None``.

        Examples
        --------
        >>> from opforest.river import OPFClassifier
        >>> model = OPFClassifier()
        >>> for size, y in ((0.0, "low"), (1.0, "low"), (3.0, "high"), (4.5, "high")):
        ...     model.learn_one({"size": size}, y)
        >>> print(model.explain_one({"size": 5.0}))
        'high' at cost 1.5: conquered by example 3, on the path of prototype 2
          prototype  example 2  'high'
                     example 3  'high'  distance 1.5  cost 1.5
                 ->  x          'high'  distance 0.5  cost 1.5
        nearest rival: 'low' at cost 4, from example 1
        features, those that differ most first:
                                        size
          prototype  example 2  'high'     3
          conqueror  example 3  'high'   4.5
          rival      example 1  'low'      1
          x                     'high'     5
        """
        if not can_predict(self._forest):
            return None
        values, column = read_one(x, self._column)
        self._query.make_room(self._forest, len(values))
        row = make_row(values, self._forest)[None]
        calibration = self._vote_calibration(self._forest)
        return explain(self._forest, self._labels, row, list(column), calibration)[0]

    @write_locked
    def learn_many(self, X: "pd.DataFrame", y: "pd.Series") -> None:
        """Learn examples one after another, as ``learn_one`` would.

        An interrupt (Ctrl-C) leaves a valid model that has learned the first examples.
        """
        labels = y.tolist()
        if len(X) != len(labels):
            raise ValueError(f"X and y must have the same length, got {len(X)} and {len(labels)}.")
        if labels:
            table, column = read_frame(X, self._column, self._forest)
            code = add_labels(self._code, labels, self.semi_supervised)
            label = encode_labels(labels, code)
            self._learn(table, label, column, code)

    @write_locked
    def predict_many(self, X: "pd.DataFrame") -> "pd.Series":
        """Return the labels as ``predict_one`` would, with the index of X."""
        import pandas as pd

        if not can_predict(self._forest) or len(X) == 0:
            return pd.Series([None] * len(X), index=X.index, dtype=object)
        queries = self._read_queries(self._forest, X)
        calibration = self._vote_calibration(self._forest)
        codes = self._forest.classify(queries, calibration=calibration)
        labels = [self._labels[code] for code in codes]
        return pd.Series(labels, index=X.index)

    @write_locked
    def predict_proba_many(self, X: "pd.DataFrame") -> "pd.DataFrame":
        """Return the probabilities as ``predict_proba_one`` would: a column for each label."""
        import pandas as pd

        if not can_predict(self._forest) or len(X) == 0:
            probabilities = np.empty((len(X), len(self._code)))
        else:
            queries = self._read_queries(self._forest, X)
            calibration = self._find_calibration(self._forest)
            probabilities, _ = self._forest.probabilities(queries, len(self._code), calibration)
        return pd.DataFrame(probabilities, index=X.index, columns=self._labels)

    def _read_queries(self, forest: BaseForest, X: "pd.DataFrame") -> Array:
        table, _ = read_frame(X, self._column, forest)
        self._query.make_room(forest, table.shape[1])
        return table

    def _find_calibration(self, forest: BaseForest) -> CostCalibration:
        """Return the calibration of probabilities, updated if due."""
        found = self._calibration
        if found is None or found.requested != self.voters or found.is_due(forest.storage):
            found = forest.calibration(voters=check_voters(self.voters))
            self._calibration = found
        return found

    def _vote_calibration(self, forest: BaseForest) -> CostCalibration | None:
        """Return the calibration if labels depend on it because there are several voters."""
        if self.voters == 1:
            return None
        found = self._find_calibration(forest)
        return found if found.voters > 1 else None

    def _prepare(self) -> tuple[Update, BaseForest | None]:
        """Return the update, and the forest in the form it needs."""
        update = self._check_update()
        forest = None if self._forest is None else update.prepare(self._forest)
        if forest is not self._forest:
            self._query.clear()
        return update, forest

    def _check_update(self) -> Update:
        """Return the update; raise an error if other parameters do not match."""
        update, forest = find_update(self.update), self._forest
        if self.semi_supervised and update.name != "exact":
            raise ValueError(f"semi_supervised needs update='exact', got update={self.update!r}.")
        if forest is not None and self.semi_supervised != isinstance(forest, SeededForest):
            raise ValueError("semi_supervised must not be changed after learning.")
        if self.window_size is not None:
            require_count("window_size", self.window_size, 1)
            if not update.can_forget:
                raise ValueError(
                    f"window_size needs update='exact': update={self.update!r} cannot forget."
                )
        return update

    def _learn(self, X: Array, label: Array, column: Columns, code: Codes) -> None:
        """Learn the rows of ``X``; the first row ever learned starts the forest."""
        update, forest = self._prepare()
        self._query.clear()
        if forest is None:
            metric = resolve_for_streams(self.metric, self.metric_params)
            kind = SeededForest if self.semi_supervised else Forest
            forest = update.prepare(kind.train(metric.embed(X[:1]), label[:1], metric))
            X, label = X[1:], label[1:]
        else:
            self._query.make_room(forest, X.shape[1])
        for grown in _grow(update, forest, X, label):
            self._accept(grown, column, code)
        if self.window_size is not None:
            self.forget_oldest(max(0, len(self._forest or ()) - self.window_size))

    def _accept(self, forest: BaseForest | None, column: Columns, code: Codes) -> None:
        """Replace the state of the model by one assignment."""
        if forest is self._forest and column is self._column and code is self._code:
            self._query.clear()
            return
        labels = self._labels if code is self._code else list(code)
        learned = {"_forest": forest, "_column": column, "_code": code, "_labels": labels}
        self.__dict__ = {**vars(self), **learned, "_query": StagedQuery()}


def _grow(update: Update, forest: BaseForest, X: Array, label: Array) -> Iterator[BaseForest]:
    """Learn rows one after another; nothing changes before the first ``yield``."""
    counts = no_counts()
    if len(X) == 0:
        yield forest
    elif not update.classifies_first:
        yield from update.grow(forest, X, label, counts)
    else:  # classify each example just before learning it
        forest.storage.stage(X, label)
        yield forest
        for _ in range(len(X)):
            yield update.insert(forest, forest.queries.measure_staged(), counts)
