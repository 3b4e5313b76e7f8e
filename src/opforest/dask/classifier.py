"""Optimum-path forest classifier for Dask arrays and data frames."""

import copy
from collections.abc import Callable, Mapping
from typing import Any, Self

import dask.array as da
import distributed
import numpy as np
import numpy.typing as npt
from dask.base import is_dask_collection
from dask.delayed import Delayed, delayed
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted, validate_data

from opforest._utils.text import count
from opforest.core.jit import is_jitted
from opforest.core.metrics.metric import Metric
from opforest.core.metrics.types import Array
from opforest.dask.blocks import Collection, empty_table, to_matrix
from opforest.dask.cluster import compute, current_client, send
from opforest.dask.parts import (
    map_offers,
    measure_offers,
    move_parts,
    name_conquerors,
    name_labels,
)
from opforest.dask.training import fit_forest, fit_parts
from opforest.estimators.base import FittedForest
from opforest.estimators.classifier import OPFClassifier
from opforest.estimators.parts import PartsClassifier
from opforest.estimators.validation import check_voters
from opforest.forest.forest import Forest
from opforest.forest.parts import gather_parts
from opforest.forest.updates import find_update

#: Where a fitted model may be.
KEPT = ("forest", "parts")

#: What a model in parts cannot do, for messages.
OTHER_QUERIES = "do this: it only predicts labels and finds conquerors"


class DaskOPFClassifier(OPFClassifier):
    """Optimum-path forest classifier on Dask: exactly the model of ``OPFClassifier``.

    In few dimensions, ``fit`` divides space into cells, spans each of them by a k-d tree, and joins
    the trees. Otherwise it computes a spanning forest of each block of examples, and of each
    pair of blocks, and merges them into the minimum spanning tree of all examples. The model is
    identical to that of ``OPFClassifier.fit`` on the same examples, including ties, for any blocks
    and any number of workers.

    Parameters
    ----------
    metric : str or callable, default="euclidean"
        As for ``OPFClassifier``, except ``"precomputed"`` and Python callables, whose models are
        tables of all pairs. ``@numba.njit`` functions are supported.
    metric_params, voters, update, algorithm, n_jobs
        As for ``OPFClassifier``. ``algorithm="kd_tree"`` divides space into cells, ``"brute"``
        uses pairs of blocks, ``"auto"`` decides by a sample. ``n_jobs`` is for computations on this
        machine; a task on a worker uses one thread.
    keep : {"forest", "parts"}, default="forest"
        Where the model is after ``fit``: ``"forest"`` in the memory of this machine, ``"parts"`` in
        cells on the workers, so that it may be larger than the memory of any machine. A model in
        parts answers ``predict``, ``conquerors`` and ``score``; it needs a metric that a k-d tree
        supports.
    client : distributed.Client, default=None
        The client to compute with, by default the current one; without one, or if ``dask.config``
        names another scheduler, Dask's local scheduler. It never starts a cluster.

    Attributes
    ----------
    client_ : distributed.Client
        The client that a fitted classifier uses. It is not pickled.
    classes_, n_features_in_, feature_names_in_
        As for ``OPFClassifier``.
    forest_ : Forest
        The model in the memory of this machine, if ``keep="forest"``.
    parts_ : PartsClassifier
        The model on the workers, if ``keep="parts"``.

    Notes
    -----
    By cells, the work grows little faster than the number of examples, and a worker needs about
    100 bytes beside each example; blocks of 100,000 to a million examples work well. By pairs of
    blocks, it grows with the square of the number, as on one machine; a task holds two blocks,
    two copies of them, and the edges it finds; blocks of 10,000 to 20,000 examples work well. Use
    at least two blocks for each thread of the cluster. See ``docs/scaling.md``.

    If a worker dies, Dask recomputes its results, also parts of a model. If there are no workers
    for 30 seconds, ``fit`` raises a ``TimeoutError``. If ``fit`` fails or is interrupted, the model
    does not change.

    Only ``fit`` requires Dask collections; other methods process other inputs on this machine.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_iris
    >>> from opforest.dask import DaskOPFClassifier
    >>> X, y = (da.from_array(array) for array in load_iris(return_X_y=True))
    >>> clf = DaskOPFClassifier().fit(X[::2].rechunk((20, 4)), y[::2])
    >>> clf.predict(X[1::2].rechunk((30, 4)))
    dask.array<opforest_answer, shape=(75,), dtype=int64, chunksize=(30,), chunktype=numpy.ndarray>
    >>> clf.score(X[1::2], y[1::2])
    0.96
    """

    parts_: PartsClassifier

    #: The task whose result is the model, for other tasks.
    _model_task: Delayed | None = None

    def __init__(
        self,
        metric: str | Callable[..., float] = "euclidean",
        *,
        metric_params: Mapping[str, Any] | None = None,
        voters: int | str = 1,
        update: str = "exact",
        algorithm: str = "auto",
        n_jobs: int | None = None,
        keep: str = "forest",
        client: distributed.Client | None = None,
    ) -> None:
        super().__init__(
            metric,
            metric_params=metric_params,
            voters=voters,
            update=update,
            algorithm=algorithm,
            n_jobs=n_jobs,
        )
        self.keep = keep
        self.client = client

    @property
    def client_(self) -> distributed.Client:
        """The client that a fitted classifier uses: the one given to it, or the current one."""
        check_is_fitted(self, "classes_")
        try:
            return self.client if self.client is not None else distributed.default_client()
        except ValueError as error:  # hasattr and dir expect an AttributeError
            raise AttributeError("there is no client_ without a distributed client") from error

    def fit(self, X: Collection, y: Collection) -> Self:
        """Learn the forest of the examples, and return the classifier itself.

        Parameters
        ----------
        X : dask array or data frame of shape (n_samples, n_features)
            The examples, in blocks of any size, known or not.
        y : dask array or series of shape (n_samples,), or array-like
            Their labels, of any type that can be sorted.
        """
        local, client = self._make_local(), current_client(self.client)
        metric = _check_parameters(local, self.keep)
        matrix = to_matrix(X)
        validate_data(local, empty_table(X, matrix), skip_check_array=True)
        if self.keep == "parts":
            parts = PartsClassifier(self.metric, metric_params=self.metric_params)
            parts.__dict__.update(vars(local))
            fit_parts(parts, matrix, y, metric, client)
            local.__dict__.update(parts_=parts, classes_=parts.classes_)
        else:
            fit_forest(local, matrix, y, metric, client)
        self.__dict__ = {**vars(local), **vars(self.copy_unfitted()), "_model_task": None}
        return self

    def partial_fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike, classes: npt.ArrayLike | None = None
    ) -> Self:
        """Learn more examples on this machine; see :meth:`opforest.OPFClassifier.partial_fit`."""
        self._require_forest("learn more examples", "or call fit with all of them")
        self._model_task = None
        return super().partial_fit(X, y, classes)

    def forget(self, ids: npt.ArrayLike) -> Self:
        """Forget examples on this machine; see :meth:`opforest.OPFClassifier.forget`.

        The ids begin with 0 for the first row of the first block.
        """
        self._require_forest("forget examples", "or call fit without them")
        self._model_task = None
        return super().forget(ids)

    def predict(self, X: Any, priors: Any = None) -> Any:
        """Return predicted labels; see :meth:`opforest.OPFClassifier.predict`.

        For a Dask collection, the result is a lazy Dask array, with a block for each block of X.
        """
        if "parts_" in vars(self):
            if self.voters != 1 or priors is not None:
                self._require_forest("count votes or use priors")
            if not is_dask_collection(X):
                return self.parts_.predict(X)
            return self._map_parts(X, name_labels, self.classes_)
        if not is_dask_collection(X):
            return super().predict(X, priors)
        check_is_fitted(self, "forest_")
        learned = self.fitted_forest()
        with learned.read():
            is_plain = self.voters == 1 and priors is None
            calibration = None if is_plain else self._find_calibration(learned.forest)
            dtype = learned.classes.dtype
            return self._map_blocks("_labels", X, dtype, None, calibration, priors)

    def predict_proba(self, X: Any, priors: Any = None) -> Any:
        """Return class probabilities; see :meth:`opforest.OPFClassifier.predict_proba`.

        For a Dask collection, the result is a lazy Dask array. The calibration is computed on this
        machine, when this method is called, and once for each change of the model.
        """
        if not is_dask_collection(X):
            return super().predict_proba(X, priors)
        return self._map_probabilities(X, log=False, priors=priors)

    def predict_log_proba(self, X: Any) -> Any:
        """Return logarithms of probabilities, lazily for a Dask collection.

        See :meth:`opforest.OPFClassifier.predict_log_proba`.
        """
        if not is_dask_collection(X):
            return super().predict_log_proba(X)
        return self._map_probabilities(X, log=True)

    def class_costs(self, X: Any) -> Any:
        """Return the cheapest offer of each class, lazily for a Dask collection.

        See :meth:`opforest.OPFClassifier.class_costs`.
        """
        if not is_dask_collection(X):
            return super().class_costs(X)
        self._require_forest(OTHER_QUERIES)
        check_is_fitted(self, "forest_")
        return self._map_blocks("class_costs", X, self.forest_.cost.dtype, len(self.classes_))

    def conquerors(self, X: Any, k: int | None = None) -> tuple[Any, Any]:
        """Return the id of each example's conqueror, and its offer, lazily for Dask collections.

        See :meth:`opforest.OPFClassifier.conquerors`.
        """
        if "parts_" not in vars(self):
            return super().conquerors(X, k)
        if k is not None:
            self._require_forest("list several offers")
        if not is_dask_collection(X):
            return self.parts_.conquerors(X)
        ids = self._map_parts(X, name_conquerors, np.empty(0, np.int64))
        empty = np.empty(0, self.parts_.parts_.map.box.dtype)
        units = self.resolve_metric(), self.n_features_in_
        return ids, self._map_parts(X, measure_offers, empty, *units)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy, computed at once; see ``sklearn.base.ClassifierMixin.score``.

        The arguments may be Dask collections or array-like.
        """
        values = y, self.predict(X), sample_weight
        tasks = [delayed(value) if is_dask_collection(value) else value for value in values]
        y, predicted, weight = compute(tasks, current_client(self.client))
        return float(accuracy_score(y, predicted, sample_weight=weight))

    @classmethod
    def from_parts(
        cls, model: PartsClassifier, client: distributed.Client | None = None
    ) -> "DaskOPFClassifier":
        """Return a classifier with a model in parts, which the workers load.

        Parameters
        ----------
        model : PartsClassifier
            A model in a folder, as ``opforest.load`` returns it. The workers must be able to read
            the folder at the same path.
        client : distributed.Client, default=None
            As for the class.

        Examples
        --------
        >>> import tempfile
        >>> import dask.array as da
        >>> import opforest
        >>> from opforest.dask import DaskOPFClassifier
        >>> X = da.arange(8.0, chunks=3).reshape(-1, 1)
        >>> model = DaskOPFClassifier(keep="parts").fit(X, X[:, 0] > 4)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     opforest.save(model.parts_, folder)
        ...     loaded = DaskOPFClassifier.from_parts(opforest.load(folder))
        ...     print(loaded.predict(X).compute()[3:6])
        [False False  True]
        """
        if not isinstance(model, PartsClassifier):
            raise TypeError(
                "model must be a PartsClassifier, as opforest.load(folder) returns it, "
                f"got {type(model).__name__}."
            )
        clf = cls(model.metric, metric_params=model.metric_params, keep="parts", client=client)
        moved = move_parts(model, current_client(client))
        clf.__dict__.update(parts_=moved, classes_=model.classes_)
        if hasattr(model, "feature_names_in_"):
            clf.feature_names_in_ = model.feature_names_in_
        return clf

    def to_local(self) -> OPFClassifier:
        """Return an independent, fitted ``opforest.OPFClassifier`` with the same model."""
        check_is_fitted(self, "classes_")
        local = self._make_local()
        excluded = (*self.get_params(deep=False), "_model_task", "forest_", "parts_")
        fitted = {name: value for name, value in vars(self).items() if name not in excluded}
        local.__dict__.update(fitted)
        if "parts_" in vars(self):
            parts, metric = self.parts_.parts_, self.resolve_metric()
            executor, n = self.parts_.executor_, self.parts_.n_examples_
            rows, label, tree = gather_parts(executor, parts.forests, parts.joined, n)
            forest = Forest.train(rows, label, metric, self.algorithm, self.n_jobs, tree)
            local.set_forest(forest, self.classes_)
        else:
            local.__dict__["forest_"] = copy.deepcopy(self.forest_)
        return local

    # Models in parts.

    @property
    def n_features_in_(self) -> int:
        """The number of features."""
        if "parts_" in vars(self):
            return int(self.parts_.n_features_in_)
        return super().n_features_in_

    @n_features_in_.setter
    def n_features_in_(self, n_features: int) -> None:
        """Ignore the number that scikit-learn sets: the model has it."""

    def fitted_forest(self, name: str = "forest_") -> FittedForest:
        """Return the forest and the classes that belong to it; see ``ForestEstimator``."""
        if "parts_" in vars(self):
            raise AttributeError(f"there is no {name}: the model is in parts (keep='parts')")
        return super().fitted_forest(name)

    def _require_forest(self, what: str, instead: str = "or use keep='forest'") -> None:
        """Raise a ``ValueError`` that says what a model in parts cannot do."""
        if "parts_" in vars(self):
            raise ValueError(
                f"a model in parts (keep='parts') cannot {what}. Call to_local() if it fits into "
                f"the memory of this machine, {instead}."
            )

    def _check_queries(self, X: npt.ArrayLike) -> Array:
        self._require_forest(OTHER_QUERIES)
        return super()._check_queries(X)

    def _map_parts(
        self, X: Collection, function: Callable[..., Array], empty: Array, *arguments: Any
    ) -> da.Array:
        """Return a lazy array: the results of a function of the offers to each block of X."""
        matrix = to_matrix(X)
        validate_data(self, empty_table(X, matrix), reset=False, skip_check_array=True)
        return map_offers(matrix, self.parts_, function, empty, *arguments)

    def _facts(self) -> str:
        if "parts_" not in vars(self):
            return super()._facts()
        model = self.parts_
        facts = (
            count(model.n_examples_, "example"),
            count(model.n_features_in_, "feature"),
            count(len(self.classes_), "class", "classes"),
            count(len(model.parts_.forests), "part"),
        )
        return ", ".join(facts)

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        if "parts_" not in vars(self):
            return super()._get_fitted_attr_html(doc_link)
        return BaseEstimator._get_fitted_attr_html(self, doc_link)

    # Tasks.

    def _make_local(self) -> OPFClassifier:
        """Return an unfitted ``OPFClassifier`` with the same parameters."""
        names = OPFClassifier._get_param_names()
        return OPFClassifier(**{name: getattr(self, name) for name in names})

    def _map_probabilities(self, X: Collection, log: bool, priors: Any = None) -> da.Array:
        self._require_forest(OTHER_QUERIES)
        check_is_fitted(self, "forest_")
        learned = self.fitted_forest()
        with learned.read():
            calibration = self._find_calibration(learned.forest)  # here, not on each worker
            n_classes = len(learned.classes)
            return self._map_blocks(
                "_probabilities", X, np.dtype(np.float64), n_classes, log, calibration, priors
            )

    def _map_blocks(
        self,
        method: str,
        X: Collection,
        dtype: np.dtype[Any],
        n_columns: int | None = None,
        *arguments: Any,
    ) -> da.Array:
        """Return a lazy array: the results of a method for each block of X."""
        matrix = to_matrix(X)
        validate_data(self, empty_table(X, matrix), reset=False, skip_check_array=True)
        empty = np.empty((0,) if n_columns is None else (0, n_columns), dtype)
        shape: dict[str, Any] = {"drop_axis": 1}
        if n_columns is not None:
            shape = {"chunks": (matrix.chunks[0], (n_columns,))}
        shared = self._send_model(), method, empty, arguments
        answer: da.Array = da.map_blocks(opforest_answer, matrix, *shared, meta=empty, **shape)
        return answer

    def _send_model(self) -> Any:
        """Return a task whose result is the current model."""
        if self._model_task is None:
            # A worker has its own threads, and gets the calibration of votes with each task.
            model = self.to_local().set_params(n_jobs=None, voters=1)
            model.__dict__.pop("feature_names_in_", None)  # checked before; blocks have no names
            self._model_task = send(model)
        return self._model_task

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the client and its task."""
        state: dict[str, Any] = super().__getstate__() | {"client": None}
        state.pop("_model_task", None)
        return state

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted classifier with the same parameters and the same client."""
        params = self.get_params(deep=False)
        client = params.pop("client")
        params = {name: clone(value, safe=False) for name, value in params.items()}
        fresh = type(self)(client=client, **params)
        for name in ("_metadata_request", "_sklearn_output_config"):
            if name in vars(self):
                setattr(fresh, name, copy.deepcopy(vars(self)[name]))
        return fresh


def opforest_answer(
    block: Array, model: OPFClassifier, method: str, empty: Array, arguments: tuple[Any, ...]
) -> Array:
    """Return the result of a method for a block; ``empty`` if the block is empty."""
    if len(block) == 0:
        return empty
    return np.asarray(getattr(model, method)(block, *arguments))


def _check_parameters(local: OPFClassifier, keep: str) -> Metric:
    find_update(local.update)
    voters = check_voters(local.voters)
    if keep not in KEPT:
        raise ValueError(f"keep must be one of {list(KEPT)}, got {keep!r}.")
    if callable(local.metric) and not is_jitted(local.metric):
        raise ValueError(
            "the model of a Python function is a table of all pairs, which does not scale. "
            "Decorate the function with @numba.njit, or use opforest.OPFClassifier."
        )
    metric = local.resolve_metric()
    if metric.is_precomputed:
        raise ValueError(
            "metric='precomputed' needs a table of all pairs, which does not scale. Use "
            "opforest.OPFClassifier instead."
        )
    if keep == "parts" and not (metric.is_indexable and local.algorithm != "brute" and voters == 1):
        raise ValueError(
            "keep='parts' needs a k-d tree and one voter, that is a metric of the Euclidean "
            "family, 'cosine', 'correlation', 'squared_chord', 'manhattan', 'chebyshev', or "
            f"'minkowski' with p >= 1, algorithm='auto' or 'kd_tree', and voters=1; got metric "
            f"{metric.name!r}, algorithm={local.algorithm!r}, voters={voters!r}. Use keep='forest'."
        )
    return metric
