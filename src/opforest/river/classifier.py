"""Optimum-path forest classifier for streams, with the river API."""

import copy
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from opforest._utils.rwlock import LockToken, ReadWriteLock
from opforest.core.label_spread.batch import UNLabeled
from opforest.core.metrics.types import Array
from opforest.estimators.validation import check_ids
from opforest.forest.explanation import Explanation, explain
from opforest.forest.forest import BaseForest
from opforest.forest.probabilities import CostCalibration
from opforest.forest.state import ForestState
from opforest.forest.updates import Update
from opforest.forest.updates.report import no_counts
from opforest.river import updates
from opforest.river.features import (
    Codes,
    Columns,
    codes_of,
    extended,
    read_frame,
    read_one,
    resolve_for_streams,
    row_of,
    with_labels,
)
from opforest.river.queries import StagedQuery, can_predict, exclusive, staged_shares

try:
    from river.base import MiniBatchClassifier
    from river.base.typing import ClfTarget, FeatureName
except ImportError as error:
    raise ImportError("opforest.river needs river: pip install 'opforest[river]'.") from error

if TYPE_CHECKING:
    import pandas as pd


class OPFClassifier(MiniBatchClassifier):
    """Optimum-path forest classifier for streams.

    It remembers all examples, or the last ones in a window. Learning or predicting one takes time
    linear in their number, and far less where a spatial index helps: in few dimensions.
    With ``update="exact"`` it is, at any time, exactly the model that ``opforest.OPFClassifier``
    would fit to all examples learned so far, with their features in the order of ``features``.
    There is nothing to tune.

    Features may appear, vanish and come in any order. A missing feature counts as 0, also in all
    earlier examples. A feature that only queries have counts in their distances, but is not
    learned. New classes may appear at any time.

    Parameters
    ----------
    metric
        A name or a function of two vectors, as for ``opforest.OPFClassifier``, except
        ``"precomputed"``, because a stream has no table, and ``"correlation"``, which changes with
        a feature that is 0 everywhere. A function must ignore features that are 0 in both vectors,
        and gets them in no particular order.
    metric_params
        ``{"p": …}`` for ``"minkowski"`` (default 2), ``{"gamma": …}`` for ``"gaussian"``
        (default 1), keyword arguments for a Python callable.
    update
        How the forest grows: ``"exact"``, ``"opfi"`` or ``"dift"``, as for
        ``opforest.OPFClassifier``. The forest begins with the first example alone, and with
        ``"opfi"`` each example of a mini-batch is classified just before it is learned.
    window_size
        How many examples to remember, with ``update="exact"``: each new one replaces the oldest
        one, and the model is exactly what ``opforest.OPFClassifier`` would fit to the window. By
        default all are remembered.
    semi_supervised
        Whether labels may be missing (``None``). Then the model is what
        ``opforest.OPFSemiSupervised`` would fit, and labels may come late, by ``learn_label``. It
        needs ``update="exact"``.

    Notes
    -----
    A prediction keeps its distances, and ``learn_one`` uses them if it is given the same x next:
    test-then-train costs one pass over the examples, not two. So predictions change scratch space,
    and threads that share a classifier take turns: each call waits until the others have returned.

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

    _calibration: CostCalibration | None = None  # found last

    def __init__(
        self,
        metric: str | Callable[..., float] = "euclidean",
        metric_params: Mapping[str, Any] | None = None,
        update: str = "exact",
        window_size: int | None = None,
        semi_supervised: bool = False,
    ) -> None:
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
    @exclusive
    def forest(self) -> BaseForest | None:
        """What was learned; its integer labels number the classes in order of appearance."""
        width = max(1, len(self._column))
        if self._forest is not None and self._forest.n_features > width:
            self._query.set_width(self._forest, width)  # remove the columns added for queries
        return self._forest

    @property
    def features(self) -> list[FeatureName]:
        """The names of the features learned, in the order in which distances sum them up."""
        return list(self._column)

    @property
    def labels(self) -> list[ClfTarget]:
        """The labels learned, in order of appearance."""
        return list(self._labels)

    @property
    def exponent(self) -> float | None:
        """The exponent of probabilities that was found last; ``None`` before the first one."""
        return None if self._calibration is None else self._calibration.exponent

    def restore(
        self, forest: BaseForest | None, features: list[FeatureName], labels: list[ClfTarget]
    ) -> None:
        """Restore a model from its forest, features and labels.

        Parameters
        ----------
        forest
            The forest, made with the metric of this model, including the calibration found last;
            None if nothing was learned.
        features, labels
            The names of its features, and its labels.
        """
        self._check_update()
        column, code = extended({}, features), with_labels(self._code, labels, self.semi_supervised)
        if len(column) != len(features) or len(code) != len(labels):
            raise ValueError("features and labels must be unique.")
        if forest is not None:
            updates.check_restored(forest, self.semi_supervised, len(features))
        self._accept(forest, column, code)
        self._calibration = None if forest is None else forest.found_calibration

    def parts(self) -> ForestState | None:
        """Return the parts of the forest, with the calibration that was found last."""
        forest = self.forest
        return None if forest is None else forest.parts()._replace(calibration=self._calibration)

    def alone(self) -> LockToken:
        """Return a context in which no other thread can use the model."""
        return self._lock.write()

    @exclusive
    def __getstate__(self) -> dict[str, Any]:
        """Return a snapshot of what was learned: the forest may change before it is pickled."""
        return {**vars(self), "_forest": copy.copy(self._forest), "_query": StagedQuery()}

    @property
    def _multiclass(self) -> bool:
        return True

    @exclusive
    def learn_one(self, x: dict[FeatureName, Any], y: ClfTarget | None) -> None:
        """Learn one example.

        Parameters
        ----------
        x
            Its features: finite numbers by name.
        y
            Its label, which may be new; ``None`` if it has none, with ``semi_supervised``.
        """
        values, column = read_one(x, self._column)
        code: dict[Any, int] = (
            self._code if y in self._code else with_labels(self._code, (y,), self.semi_supervised)
        )
        update, forest = self._prepare()
        if forest is None:
            X, label = row_of(values, self._forest)[None], codes_of((y,), code)
            self._learn(X, label, column, code)
            return
        conqueror, is_met = -1, self._query.values == values
        if is_met or update.classifies_first or forest.metric.may_be_undefined:
            conqueror = self._query.measure(forest, values)
        else:
            self._query.stage(forest, values)
        forest.examples.label_staged(code.get(y, UNLabeled))
        before, known = self.__dict__, len(forest.examples)
        try:
            self._accept(forest, column, code)
            self._forest = update.insert(forest, conqueror, no_counts())
        except BaseException:
            if len(forest.examples) == known:  # the example was not learned
                self.__dict__ = before
            raise
        if self.window_size is not None:
            self.forget_oldest(max(0, len(forest.examples) - self.window_size))

    @exclusive
    def learn_label(self, number: int, y: ClfTarget) -> bool:
        """Learn the label of an example that was learned without one.

        Parameters
        ----------
        number
            Its id: the first example learned is 0, the next one 1, and so on. Forgetting does not
            change ids.
        y
            The label, which may be new.

        Returns
        -------
        Whether the example is still remembered; if it is not, nothing changes.
        """
        if not self.semi_supervised:
            raise ValueError("labels may come late only with semi_supervised=True.")
        if y is None or y != y:
            raise ValueError(f"a label must be given, got {y!r}.")
        updates.check_count("number", number, 0)
        _, forest = self._prepare()
        if not updates.is_known(forest, number):
            return False
        code = with_labels(self._code, (y,), self.semi_supervised)
        known = updates.given_label(forest, number)
        if known is None:
            self._accept(forest, self._column, code)
            self._forest = updates.give_label(forest, number, code[y])
        elif known != code[y]:
            raise ValueError(
                f"example {number} has the label {self._labels[known]!r} already, got {y!r}."
            )
        return True

    @exclusive
    def forget_oldest(self, count: int = 1) -> None:
        """Forget the oldest examples, for windows of time or after a drift.

        Parameters
        ----------
        count
            How many, at most all of them. Their classes and features stay known.
        """
        updates.check_count("count", count, 0)
        if self._forest is not None and count:
            self._forget(lambda forest: forest.examples.oldest(count))

    @exclusive
    def forget(self, ids: Any) -> None:
        """Forget examples: exactly as if they had never been learned.

        Parameters
        ----------
        ids
            Their ids, one or several, as ``explain_one`` names examples: the first one learned is
            0, the next one 1, and so on. Their classes and features stay known.

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
            raise ValueError("there is nothing to forget: nothing has been learned.")
        self._forget(lambda forest: check_ids(ids, forest))

    def _forget(self, choose: Callable[[BaseForest], Array]) -> None:
        """Forget the examples whose ids are chosen."""
        update, forest = self._prepare()
        self._query.clear()
        for shrunk in updates.shrink(update, forest, choose):
            self._forest = shrunk

    @exclusive
    def predict_one(self, x: dict[FeatureName, Any], **kwargs: Any) -> ClfTarget | None:
        """Return the label of the conqueror.

        Parameters
        ----------
        x
            Features: finite numbers by name.
        **kwargs
            Ignored; part of river's interface.

        Returns
        -------
        The label; ``None`` before anything was learned.
        """
        if not can_predict(self._forest):
            return None
        conqueror = self._query.measure(self._forest, read_one(x, self._column)[0])
        code: int = self._forest.examples.state.vertices[conqueror]["label"]
        return self._labels[code]

    @exclusive
    def predict_proba_one(self, x: dict[FeatureName, Any], **kwargs: Any) -> dict[ClfTarget, float]:
        """Return the probability of each class.

        The formula is in the notes of ``opforest.OPFClassifier``. Its exponent, ``exponent``, is
        updated from time to time: after the number of examples learned or forgotten has reached a
        tenth of those known at the last update, and five times the sample used for it, which has
        at most 1000 examples.

        Parameters
        ----------
        x
            Features: finite numbers by name.
        **kwargs
            Ignored; part of river's interface.

        Returns
        -------
        The probabilities by label; empty before anything was learned. The largest belongs to the
        label that ``predict_one`` returns.
        """
        if not can_predict(self._forest):
            return {}
        values, calibration = read_one(x, self._column)[0], self._find_calibration(self._forest)
        conqueror = self._query.measure(self._forest, values)
        share = staged_shares(self._forest, conqueror, len(self._code), calibration)
        return dict(zip(self._labels, share.tolist(), strict=True))

    @exclusive
    def explain_one(self, x: dict[FeatureName, Any]) -> Explanation | None:
        """Return the path that gives an example its label, and that of the nearest rival.

        Parameters
        ----------
        x
            Features: finite numbers by name.

        Returns
        -------
        The path prototype → … → conqueror → x, as ``opforest.OPFClassifier.explain`` returns it;
        ``None`` before anything was learned. Examples on it are named by their ids, which are
        their numbers in the stream, from 0; ``forget`` takes them.

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
        """
        if not can_predict(self._forest):
            return None
        values, column = read_one(x, self._column)
        self._query.make_room(self._forest, len(values))
        return explain(self._forest, self._labels, row_of(values, self._forest)[None], list(column))

    @exclusive
    def learn_many(self, X: "pd.DataFrame", y: "pd.Series") -> None:
        """Learn examples one after another, as ``learn_one`` would.

        If it is interrupted (Ctrl-C), the model is valid and has learned the first examples.

        Parameters
        ----------
        X
            A column of finite numbers for each feature.
        y
            The labels.
        """
        labels = y.tolist()
        if len(X) != len(labels):
            raise ValueError(f"X and y must have the same length, got {len(X)} and {len(labels)}.")
        if labels:
            table, column = read_frame(X, self._column, self._forest)
            code = with_labels(self._code, labels, self.semi_supervised)
            label = codes_of(labels, code)
            self._learn(table, label, column, code)

    @exclusive
    def predict_many(self, X: "pd.DataFrame") -> "pd.Series":
        """Return the label of each example's conqueror.

        Parameters
        ----------
        X
            A column of finite numbers for each feature.

        Returns
        -------
        The labels, under the index of X; ``None`` before anything was learned.
        """
        import pandas as pd

        if not can_predict(self._forest) or len(X) == 0:
            return pd.Series([None] * len(X), index=X.index, dtype=object)
        queries = self._read_queries(self._forest, X)
        labels = [self._labels[code] for code in self._forest.classify(queries)]
        return pd.Series(labels, index=X.index)

    @exclusive
    def predict_proba_many(self, X: "pd.DataFrame") -> "pd.DataFrame":
        """Return the probability of each class for each example.

        Parameters
        ----------
        X
            A column of finite numbers for each feature.

        Returns
        -------
        A column for each label, under the index of X; no columns before anything was learned.
        """
        import pandas as pd

        if not can_predict(self._forest) or len(X) == 0:
            share = np.empty((len(X), len(self._code)))
        else:
            queries = self._read_queries(self._forest, X)
            costs = self._forest.class_costs(queries, len(self._code))
            share = self._find_calibration(self._forest).shares(*costs)
        return pd.DataFrame(share, index=X.index, columns=self._labels)

    def _read_queries(self, forest: BaseForest, X: "pd.DataFrame") -> Array:
        table, _ = read_frame(X, self._column, forest)
        self._query.make_room(forest, table.shape[1])
        return table

    def _find_calibration(self, forest: BaseForest) -> CostCalibration:
        """Return how probabilities follow from costs, updated if that is due."""
        if self._calibration is None or self._calibration.is_due(forest.examples):
            self._calibration = forest.calibration()
        return self._calibration

    def _prepare(self) -> tuple[Update, BaseForest | None]:
        """Return the update, and the forest to grow by it."""
        update = self._check_update()
        forest = None if self._forest is None else update.prepare(self._forest)
        if forest is not self._forest:
            self._query.clear()
        return update, forest

    def _check_update(self) -> Update:
        return updates.check_update(
            self.update, self.semi_supervised, self.window_size, self._forest
        )

    def _learn(self, X: Array, label: Array, column: Columns, code: Codes) -> None:
        """Learn the rows of ``X``; the first row ever learned starts the forest."""
        update, forest = self._prepare()
        self._query.clear()
        if forest is None:
            metric = resolve_for_streams(self.metric, self.metric_params)
            forest = updates.start(update, X, label, metric, self.semi_supervised)
            X, label = X[1:], label[1:]
        else:
            self._query.make_room(forest, X.shape[1])
        for grown in updates.grow(update, forest, X, label):
            self._accept(grown, column, code)
        if self.window_size is not None:
            self.forget_oldest(max(0, len(self._forest or ()) - self.window_size))

    def _accept(self, forest: BaseForest | None, column: Columns, code: Codes) -> None:
        """Keep what was learned, by one assignment."""
        if forest is self._forest and column is self._column and code is self._code:
            self._query.clear()
            return
        labels = self._labels if code is self._code else list(code)
        learned = {"_forest": forest, "_column": column, "_code": code, "_labels": labels}
        self.__dict__ = {**vars(self), **learned, "_query": StagedQuery()}
