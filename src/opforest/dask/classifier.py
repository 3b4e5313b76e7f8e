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
from sklearn.base import clone
from sklearn.metrics import accuracy_score
from sklearn.utils import check_X_y
from sklearn.utils.validation import check_is_fitted, validate_data

from opforest.core.jit import is_jitted
from opforest.core.metrics.metric import Metric
from opforest.core.metrics.types import Array
from opforest.core.mst.boruvka import root_tree
from opforest.dask.cluster import compute, current_client, persist, send
from opforest.dask.spanning import embed_blocks, span_blocks
from opforest.estimators.classifier import OPFClassifier
from opforest.estimators.validation import check_labels, encode
from opforest.forest.forest import Forest
from opforest.forest.updates import find_update

#: A Dask collection: an array, a data frame or a series.
Collection = Any


class DaskOPFClassifier(OPFClassifier):
    """Optimum-path forest classifier on Dask: exactly the model of ``OPFClassifier``.

    ``fit`` computes a spanning forest of each block of examples, and of each pair of blocks, in
    separate tasks, and merges them into the minimum spanning tree of all examples. The model is
    identical to that of ``OPFClassifier.fit`` on the same examples, including ties, for any blocks
    and any number of workers.

    Parameters
    ----------
    metric : str or callable, default="euclidean"
        As for ``OPFClassifier``, except ``"precomputed"`` and Python callables, whose models are
        tables of all pairs. ``@numba.njit`` functions are supported.
    metric_params, voters, update, algorithm, n_jobs
        As for ``OPFClassifier``. ``algorithm="auto"`` decides for each pair of blocks. ``n_jobs``
        is for computations on this machine; a task on a worker uses one thread.
    client : distributed.Client, default=None
        The client to compute with, by default the current one; without one, or if ``dask.config``
        names another scheduler, Dask's local scheduler. It never starts a cluster.

    Attributes
    ----------
    client_ : distributed.Client
        The client that a fitted classifier uses. It is not pickled.
    classes_, forest_, n_features_in_, feature_names_in_
        As for ``OPFClassifier``; the forest is in the memory of this machine.

    Notes
    -----
    The work of ``fit`` grows with the square of the number of examples, as on one machine, and is
    distributed to all workers. A task holds two blocks, two copies of them, and the edges it finds;
    the model must fit into the memory of this machine and of each worker that predicts. Blocks of
    10,000 to 20,000 examples, at least two for each thread of the cluster, work well. See
    ``docs/scaling.md``.

    If a worker dies, Dask recomputes its results. If there are no workers for 30 seconds, ``fit``
    raises a ``TimeoutError``. If it fails or is interrupted, the model does not change.

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
        self.client = client

    @property
    def client_(self) -> distributed.Client:
        """The client that a fitted classifier uses: the one given to it, or the current one."""
        check_is_fitted(self, "forest_")
        try:
            return self.client if self.client is not None else distributed.default_client()
        except ValueError as error:  # an AttributeError, so that hasattr and dir work
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
        local = self._make_local()
        _train(local, X, y, current_client(self.client))
        self.__dict__ = {**vars(local), **vars(self.copy_unfitted()), "_model_task": None}
        return self

    def partial_fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike, classes: npt.ArrayLike | None = None
    ) -> Self:
        """Learn more examples on this machine; see :meth:`opforest.OPFClassifier.partial_fit`."""
        self._model_task = None
        return super().partial_fit(X, y, classes)

    def forget(self, ids: npt.ArrayLike) -> Self:
        """Forget examples on this machine; see :meth:`opforest.OPFClassifier.forget`.

        The ids begin with 0 for the first row of the first block.
        """
        self._model_task = None
        return super().forget(ids)

    def predict(self, X: Any, priors: Any = None) -> Any:
        """Return predicted labels; see :meth:`opforest.OPFClassifier.predict`.

        For a Dask collection, the result is a lazy Dask array, with a block for each block of X.
        """
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
        check_is_fitted(self, "forest_")
        return self._map_blocks("class_costs", X, self.forest_.cost.dtype, len(self.classes_))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy, computed at once; see ``sklearn.base.ClassifierMixin.score``.

        The arguments may be Dask collections or array-like.
        """
        values = y, self.predict(X), sample_weight
        tasks = [delayed(value) if is_dask_collection(value) else value for value in values]
        y, predicted, weight = compute(tasks, current_client(self.client))
        return float(accuracy_score(y, predicted, sample_weight=weight))

    def to_local(self) -> OPFClassifier:
        """Return an independent, fitted ``opforest.OPFClassifier`` with the same model."""
        check_is_fitted(self, "forest_")
        local = self._make_local()
        excluded = (*self.get_params(deep=False), "_model_task", "forest_")
        fitted = {name: value for name, value in vars(self).items() if name not in excluded}
        local.__dict__.update(fitted, forest_=copy.deepcopy(self.forest_))
        return local

    def _make_local(self) -> OPFClassifier:
        """Return an unfitted ``OPFClassifier`` with the same parameters."""
        names = OPFClassifier._get_param_names()
        return OPFClassifier(**{name: getattr(self, name) for name in names})

    def _map_probabilities(self, X: Collection, log: bool, priors: Any = None) -> da.Array:
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
        """Return the lazy array of the results of a method for the blocks of X."""
        matrix = _to_matrix(X)
        validate_data(self, _empty_table(X, matrix), reset=False, skip_check_array=True)
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


def _train(
    local: OPFClassifier, X: Collection, y: Collection, client: distributed.Client | None
) -> None:
    """Fit a new classifier to blocks."""
    metric = _check_parameters(local)
    matrix = _to_matrix(X)
    validate_data(local, _empty_table(X, matrix), skip_check_array=True)
    points, sizes, y = _load_blocks(embed_blocks(matrix, metric), y, client)
    check_labels(y)
    classes, label = encode(y, y[:0], None)
    spanned = persist([span_blocks(points, sizes, metric, local.algorithm)], client)
    (edges,) = compute(spanned, client)
    tree = root_tree(len(y), *(np.require(array, requirements="W") for array in edges))
    rows = _gather(points, np.empty((len(y), matrix.shape[1]), edges.weight.dtype), client)
    forest = Forest.train(rows, label, metric, local.algorithm, local.n_jobs, tree)
    local.set_forest(forest, classes)


def _load_blocks(
    points: list[Delayed], y: Collection, client: distributed.Client | None
) -> tuple[list[Delayed], list[int], Array]:
    """Return the computed blocks of points, their sizes, and the labels on this machine."""
    labels = [delayed(y)] if is_dask_collection(y) else []
    kept = persist([*points, *labels], client)  # together: both may be read from one file
    points, labels = kept[: len(points)], kept[len(points) :]
    sizes = compute([delayed(len)(block) for block in points], client)
    (y,) = compute(labels, client) or (y,)
    if sum(sizes) == 0:
        raise ValueError("X must have at least one row, got none.")
    _, y = check_X_y(np.zeros((sum(sizes), 1)), y)  # X has been checked block by block
    return points, sizes, y


def _check_parameters(local: OPFClassifier) -> Metric:
    find_update(local.update)
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
    return metric


def _to_matrix(X: Collection) -> da.Array:
    """Return a collection as a matrix whose blocks contain whole rows."""
    matrix = X.to_dask_array() if hasattr(X, "to_dask_array") else X
    if not isinstance(matrix, da.Array):
        raise TypeError(
            f"X must be a Dask array or data frame, got {type(X).__name__}. Use "
            "opforest.OPFClassifier for data in memory, or dask.array.from_array."
        )
    if matrix.ndim != 2:
        raise ValueError(f"X must have two dimensions, got shape {matrix.shape}.")
    if np.isnan(matrix.shape[1]):
        matrix = matrix.copy().compute_chunk_sizes()
    return matrix.rechunk({1: -1})  # type: ignore[no-any-return]


def _empty_table(X: Collection, matrix: da.Array) -> Any:
    """Return an empty table with the features of X and their names."""
    return X._meta if hasattr(X, "columns") else np.empty((0, matrix.shape[1]))


def _gather(points: list[Delayed], rows: Array, client: distributed.Client | None) -> Array:
    """Fetch blocks of points, one at a time, and write them into ``rows``."""
    end = 0
    for block in points:
        (part,) = compute([block], client)
        rows[end : end + len(part)] = part
        end += len(part)
    return rows
