"""Layer 4: the optimum-path forest as a river classifier, which learns from a stream."""

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from opforest._utils.rwlock import Holder, SharedLock
from opforest.core.label_spread.batch import UNLABELLED
from opforest.core.metrics.metric import Metric
from opforest.core.metrics.registry import resolve
from opforest.core.metrics.types import Array
from opforest.estimators.validation import check_ids
from opforest.forest.explanation import Explanation, explain
from opforest.forest.forest import BaseForest, Forest
from opforest.forest.probabilities import Sharpness
from opforest.forest.seeded import SeededForest
from opforest.forest.state import Parts
from opforest.forest.updates import Update, find_update
from opforest.forest.updates.late_labels import give_labels
from opforest.forest.updates.report import no_counts

try:
    from river.base import MiniBatchClassifier
    from river.base.typing import ClfTarget, FeatureName
except ImportError as error:
    raise ImportError("opforest.river needs river: pip install 'opforest[river]'.") from error

if TYPE_CHECKING:
    import pandas as pd

Method = TypeVar("Method", bound=Callable[..., Any])


def _alone(method: Method) -> Method:
    """Let one thread at a time call a method: even predictions change scratch space."""

    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        with self._lock.changing():
            return method(self, *args, **kwargs)

    return call  # type: ignore[return-value]


class _Query(NamedTuple):
    """The last example predicted: staged and measured, but not learned."""

    values: tuple[float, ...]
    conqueror: int

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """Copy to ``None``, because a copy of the forest has no staged example."""
        return type(None), ()


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

    _sharpness: Sharpness | None = None  # found last

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
        self._column: dict[FeatureName, int] = {}  # the forest may have more columns, all of them 0
        self._code: dict[ClfTarget, int] = {}
        self._labels: list[ClfTarget] = []
        self._query: _Query | None = None
        self._lock = SharedLock()

    @property
    @_alone
    def forest(self) -> BaseForest | None:
        """What was learned; its integer labels number the classes in order of appearance."""
        width = max(1, len(self._column))
        if self._forest is not None and self._forest.n_features > width:
            self._query = None
            self._forest.examples.set_width(width)  # remove the columns added for queries
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
    def sharpness(self) -> float | None:
        """The exponent of probabilities that was found last; ``None`` before the first one."""
        return None if self._sharpness is None else self._sharpness.exponent

    def restore(
        self, forest: BaseForest | None, features: list[FeatureName], labels: list[ClfTarget]
    ) -> None:
        """Restore a model from its forest, features and labels.

        Parameters
        ----------
        forest
            The forest, made with the metric of this model, including the sharpness found last;
            None if nothing was learned.
        features, labels
            The names of its features, and its labels.
        """
        self._check_update()
        column, code = _extended({}, features), self._code_with(labels)
        if len(column) != len(features) or len(code) != len(labels):
            raise ValueError("features and labels must be unique.")
        if forest is not None and self.semi_supervised != isinstance(forest, SeededForest):
            raise ValueError(
                "semi_supervised=True needs a semi-supervised forest, and only that one."
            )
        if forest is not None and forest.n_features != max(1, len(features)):
            raise ValueError(f"{len(features)} features are named of {forest.n_features}.")
        self._accept(forest, column, code)
        self._sharpness = None if forest is None else forest.found_sharpness

    def parts(self) -> Parts | None:
        """Return the parts of the forest, with the sharpness that was found last."""
        forest = self.forest
        return None if forest is None else forest.parts()._replace(sharpness=self._sharpness)

    def alone(self) -> Holder:
        """Return a context in which no other thread can use the model."""
        return self._lock.changing()

    @_alone
    def __getstate__(self) -> dict[str, Any]:
        """Return a snapshot of what was learned: the forest may change before it is pickled."""
        return {**vars(self), "_forest": copy.copy(self._forest), "_query": None}

    @property
    def _multiclass(self) -> bool:
        return True

    @_alone
    def learn_one(self, x: dict[FeatureName, Any], y: ClfTarget | None) -> None:
        """Learn one example.

        Parameters
        ----------
        x
            Its features: finite numbers by name.
        y
            Its label, which may be new; ``None`` if it has none, with ``semi_supervised``.
        """
        values, column = self._read(x)
        code: dict[Any, int] = self._code if y in self._code else self._code_with((y,))
        update, forest = self._prepare()
        if forest is None:
            X, label = self._row(values)[None], self._labels_as((y,), code)
            self._learn(update, forest, X, label, column, code)
            return
        is_met = self._query is not None and self._query.values == values
        conqueror = -1
        if is_met or update.classifies_first or forest.metric.may_be_undefined:
            conqueror = self._meet(forest, values).conqueror
        else:
            self._stage(forest, values)
        forest.examples.label_staged(code.get(y, UNLABELLED))
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

    @_alone
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
        _check_count("number", number, 0)
        _, forest = self._prepare()
        seen = 0 if forest is None else forest.examples.next_id
        if number >= seen:
            raise ValueError(f"number must be that of an example, less than {seen}, got {number}.")
        if not isinstance(forest, SeededForest):
            raise TypeError("this forest has no seeds.")
        ids = np.array([number])
        vertex = forest.examples.vertices_of(ids)[0]
        if vertex < 0:
            return False
        code = self._code_with((y,))
        record = forest.examples.state.vertices[vertex]
        if record["cuts"] > 0:
            if record["label"] != code[y]:
                raise ValueError(
                    f"example {number} has the label {self._labels[record['label']]!r} already, "
                    f"got {y!r}."
                )
            return True
        counts = no_counts()
        self._accept(forest, self._column, code)
        self._forest = give_labels(forest, ids, np.array([code[y]]), counts)
        return True

    @_alone
    def forget_oldest(self, count: int = 1) -> None:
        """Forget the oldest examples, for windows of time or after a drift.

        Parameters
        ----------
        count
            How many, at most all of them. Their classes and features stay known.
        """
        _check_count("count", count, 0)
        if self._forest is not None and count:
            self._forget(lambda forest: forest.examples.oldest(count))

    @_alone
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
        if update.shrink is None or forest is None:
            raise ValueError(
                f"update={self.update!r} cannot forget: the effect of a single example on the "
                "forest is not recorded. Use update='exact'."
            )
        chosen = choose(forest)
        self._query = None
        for shrunk in update.shrink(forest, chosen, no_counts()):
            self._forest = shrunk

    @_alone
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
        if not self._can_predict():
            return None
        assert self._forest is not None
        query = self._meet(self._forest, self._read(x)[0])
        code: int = self._forest.examples.state.vertices[query.conqueror]["label"]
        return self._labels[code]

    @_alone
    def predict_proba_one(self, x: dict[FeatureName, Any], **kwargs: Any) -> dict[ClfTarget, float]:
        """Return the probability of each class.

        The formula is in the notes of ``opforest.OPFClassifier``. Its exponent, ``sharpness``, is
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
        if not self._can_predict():
            return {}
        assert self._forest is not None
        values, sharpness = self._read(x)[0], self._find_sharpness(self._forest)
        query = self._meet(self._forest, values)
        examples = self._forest.examples
        offer = examples.offers_to_staged(len(self._code))[None]
        winner = examples.state.vertices["label"][query.conqueror : query.conqueror + 1]
        cost, known = self._forest.to_units(offer), np.isfinite(offer)
        share = sharpness.shares(cost, winner.astype(np.int64), known)
        return dict(zip(self._labels, share[0].tolist(), strict=True))

    @_alone
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
        if self._forest is None or not self._can_predict():
            return None
        values, column = self._read(x)
        self._make_room(self._forest, len(values))
        return explain(self._forest, self._labels, self._row(values)[None], list(column))

    @_alone
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
            table, column = self._read_frame(X)
            code = self._code_with(labels)
            label = self._labels_as(labels, code)
            self._learn(*self._prepare(), table, label, column, code)

    @_alone
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

        if self._forest is None or not self._can_predict() or len(X) == 0:
            return pd.Series([None] * len(X), index=X.index, dtype=object)
        queries = self._read_queries(self._forest, X)
        labels = [self._labels[code] for code in self._forest.classify(queries)]
        return pd.Series(labels, index=X.index)

    @_alone
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

        if self._forest is None or not self._can_predict() or len(X) == 0:
            share = np.empty((len(X), len(self._code)))
        else:
            queries = self._read_queries(self._forest, X)
            costs = self._forest.class_costs(queries, len(self._code))
            share = self._find_sharpness(self._forest).shares(*costs)
        return pd.DataFrame(share, index=X.index, columns=self._labels)

    # From dicts and frames to rows. Reading changes nothing: it returns the columns as they would
    # be. They are accepted later, when nothing can fail any more.

    def _read(self, x: dict[FeatureName, Any]) -> tuple[tuple[float, ...], dict[FeatureName, int]]:
        """Return the values of all columns, including those of unknown features."""
        if len(x) == len(self._column):
            values: tuple[Any, ...] = tuple(map(x.get, self._column))
            try:
                if math.isfinite(math.fsum(values)):  # then all of them are finite numbers
                    return values, self._column
            except (TypeError, ValueError, OverflowError):
                pass
        column = self._column_with(x)
        return tuple(_number(name, x.get(name, 0.0)) for name in column), column

    def _row(self, values: tuple[float, ...]) -> Array:
        known = 1 if self._forest is None else self._forest.examples.n_features
        return np.array(values + (0.0,) * (known - len(values)), np.float64)

    def _read_frame(self, X: "pd.DataFrame") -> tuple[Array, dict[FeatureName, int]]:
        if not X.columns.is_unique:
            raise ValueError("X must have one column for each feature, but names are repeated.")
        column = self._column_with(X.columns)
        known = 1 if self._forest is None else self._forest.examples.n_features
        table = np.zeros((len(X), max(known, len(column))))
        for name in X.columns:
            table[:, column[name]] = _numbers(name, X[name])
        return table, column

    def _read_queries(self, forest: BaseForest, X: "pd.DataFrame") -> Array:
        table, _ = self._read_frame(X)
        self._make_room(forest, table.shape[1])
        return table

    def _column_with(self, names: Iterable[FeatureName]) -> dict[FeatureName, int]:
        # Sorted, so that the order of summation does not depend on the order within x.
        new = sorted((name for name in names if name not in self._column), key=repr)
        return _extended(self._column, new)

    def _code_with(self, labels: Iterable[Any]) -> dict[ClfTarget, int]:
        missing = [label for label in labels if label is None or label != label]
        if missing and not self.semi_supervised:
            raise ValueError(
                f"an example to learn must have a label, got {missing[0]!r}. Use "
                "semi_supervised=True to learn examples without labels."
            )
        given = [label for label in labels if label is not None and label == label]
        return _extended(self._code, given if missing else labels)

    @staticmethod
    def _labels_as(labels: Iterable[Any], code: dict[ClfTarget, int]) -> Array:
        """Return the codes of labels, ``UNLABELLED`` for missing ones."""
        return np.array([code.get(label, UNLABELLED) for label in labels])

    def _can_predict(self) -> bool:
        """Tell whether there are examples to predict with, and a label among them."""
        forest = self._forest
        if forest is None or len(forest.examples) == 0:
            return False
        return not isinstance(forest, SeededForest) or forest.n_seeds > 0

    # The forest.

    def _make_room(self, forest: BaseForest, n_features: int) -> None:
        """Give the forest enough columns, but not far too many.

        A query with unknown features needs more columns; later queries should not be slower for it.
        """
        n_features = max(1, n_features)
        if not n_features <= forest.examples.n_features <= 2 * n_features:
            self._query = None
            forest.examples.set_width(n_features)

    def _meet(self, forest: BaseForest, values: tuple[float, ...]) -> _Query:
        """Stage and measure an example, unless it was the last one."""
        if self._query is None or self._query.values != values:
            self._stage(forest, values)
            self._query = _Query(values, forest.examples.measure_staged())
        return self._query

    def _stage(self, forest: BaseForest, values: tuple[float, ...]) -> None:
        self._query = None
        self._make_room(forest, len(values))
        forest.examples.stage_one(self._row(values))

    def _find_sharpness(self, forest: BaseForest) -> Sharpness:
        """Return how probabilities follow from costs, updated if that is due."""
        if self._sharpness is None or self._sharpness.is_due(forest.examples):
            self._sharpness = forest.sharpness()
        return self._sharpness

    def _prepare(self) -> tuple[Update, BaseForest | None]:
        """Return the update, and the forest to grow by it."""
        update = self._check_update()
        forest = None if self._forest is None else update.prepare(self._forest)
        if forest is not self._forest:
            self._query = None
        return update, forest

    def _check_update(self) -> Update:
        update = find_update(self.update)
        if self.semi_supervised and update.name != "exact":
            raise ValueError(f"semi_supervised needs update='exact', got update={self.update!r}.")
        if self._forest is not None and self.semi_supervised != isinstance(
            self._forest, SeededForest
        ):
            raise ValueError("semi_supervised must not be changed after something was learned.")
        if self.window_size is not None:
            _check_count("window_size", self.window_size, 1)
            if not update.can_forget:
                raise ValueError(
                    f"window_size needs update='exact': update={self.update!r} cannot forget."
                )
        return update

    def _learn(
        self,
        update: Update,
        forest: BaseForest | None,
        X: Array,
        label: Array,
        column: dict[FeatureName, int],
        code: dict[ClfTarget, int],
    ) -> None:
        """Learn the rows of ``X``; the first row ever learned starts the forest."""
        self._query = None
        if forest is None:
            metric = resolve_for_streams(self.metric, self.metric_params)
            kind = SeededForest if self.semi_supervised else Forest
            forest = update.prepare(kind.train(metric.embed(X[:1]), label[:1], metric))
            X, label = X[1:], label[1:]
        else:
            self._make_room(forest, X.shape[1])
        for grown in _grow(update, forest, X, label):
            self._accept(grown, column, code)
        if self.window_size is not None:
            self.forget_oldest(max(0, len(self._forest or ()) - self.window_size))

    def _accept(
        self, forest: BaseForest | None, column: dict[FeatureName, int], code: dict[ClfTarget, int]
    ) -> None:
        """Keep what was learned, by one assignment."""
        if forest is self._forest and column is self._column and code is self._code:
            self._query = None
            return
        labels = self._labels if code is self._code else list(code)
        learned = {"_forest": forest, "_column": column, "_code": code, "_labels": labels}
        self.__dict__ = {**vars(self), **learned, "_query": None}


def _extended(known: dict[Any, int], names: Iterable[Any]) -> dict[Any, int]:
    """Return the numbers of known names, extended by new names in their order."""
    new = dict.fromkeys(name for name in names if name not in known)
    return {**known, **{name: len(known) + i for i, name in enumerate(new)}} if new else known


def _check_count(name: str, count: object, least: int) -> None:
    if not isinstance(count, int | np.integer) or isinstance(count, bool) or count < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {count!r}.")


def _number(name: FeatureName, value: Any) -> float:
    try:
        number = math.fsum((value,))  # float() would accept a string
        if math.isfinite(number):
            return number
    except (TypeError, OverflowError):
        pass
    raise ValueError(
        f"feature {name!r} must be a finite number, got {value!r}. Encode or impute it first "
        "(river.preprocessing), or leave it out, which counts as 0."
    )


def _numbers(name: FeatureName, series: "pd.Series") -> Array:
    values: Array = series.to_numpy()
    if values.dtype.kind in "biuf" and np.isfinite(values).all():
        return values
    return np.array([_number(name, value) for value in series.tolist()])


def resolve_for_streams(metric: object, params: Mapping[str, Any] | None) -> Metric:
    """Return the ``Metric`` for a name or a function, if streams can use it."""
    if isinstance(metric, str) and metric in ("correlation", "precomputed"):
        reason = {
            "correlation": "a feature that is new, and 0 in all earlier examples, changes it",
            "precomputed": "it needs the distances to all earlier examples",
        }
        raise ValueError(
            f"metric {metric!r} cannot learn from a stream: {reason[metric]}. Choose a metric such "
            "as 'euclidean' or 'cosine'."
        )
    found = resolve(metric, params)
    if found.positive:
        raise ValueError(
            f"metric {found.name!r} cannot learn from a stream: a feature that is missing counts "
            "as 0, for which it is not defined. Choose a metric such as 'squared_chi_squared'."
        )
    return found


def _grow(update: Update, forest: BaseForest, X: Array, label: Array) -> Iterator[BaseForest]:
    """Learn rows one after another; nothing changes before the first ``yield``."""
    counts = no_counts()
    if len(X) == 0:
        yield forest
    elif not update.classifies_first:
        yield from update.grow(forest, X, label, counts)
    else:  # in streams, each example is classified just before it is learned
        forest.examples.stage(X, label)
        yield forest
        for _ in range(len(X)):
            yield update.insert(forest, forest.examples.measure_staged(), counts)
