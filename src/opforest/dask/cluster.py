"""Run tasks on a cluster or, without one, on a local scheduler."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from threading import Thread
from typing import Any

import dask.base
import dask.config
import distributed
from dask.delayed import Delayed, delayed
from dask.diagnostics.progress import ProgressBar

from opforest._utils import tuning

#: Seconds between two checks whether there are workers.
INTERVAL = 0.5

_shows_progress: ContextVar[bool] = ContextVar("_shows_progress", default=False)


@contextmanager
def progress() -> Iterator[None]:
    """Show a progress bar while tasks run in this context.

    It is the bar of ``distributed.progress`` on a cluster, otherwise that of
    ``dask.diagnostics.ProgressBar``. Each stage of ``fit`` has its own bar.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from opforest.dask import DaskOPFClassifier, progress
    >>> X = da.from_array(np.arange(8.0).reshape(-1, 1), chunks=(3, 1))
    >>> with progress():
    ...     model = DaskOPFClassifier().fit(X, X[:, 0] > 4)  # doctest: +ELLIPSIS
    [...
    """
    token = _shows_progress.set(True)
    try:
        yield
    finally:
        _shows_progress.reset(token)


def current_client(client: distributed.Client | None) -> distributed.Client | None:
    """Return this client or the current one; None if Dask would use a local scheduler."""
    if client is not None:
        return client
    if dask.config.get("scheduler", None) not in (None, "distributed", "dask.distributed"):
        return None
    with suppress(ValueError):
        client = distributed.default_client()
    return client


def compute(tasks: Sequence[Any], client: distributed.Client | None) -> list[Any]:
    """Return the results of short tasks; other objects are returned unchanged."""
    if client is None:
        return list(dask.base.compute(*tasks))
    with _use(client):
        futures = client.compute(tasks)
        _wait(distributed.futures_of(futures), client)
        results: list[Any] = client.gather(futures)
        return results


def submit(tasks: Sequence[Delayed], client: distributed.Client | None) -> list[Any]:
    """Let workers begin with tasks, and return their futures, which other tasks may depend on.

    A local scheduler computes them; then these are tasks that have their results.
    """
    if client is None:
        return list(dask.base.persist(*tasks))
    with _use(client):
        futures: list[Any] = client.compute(tasks)
        return futures


def persist(
    tasks: Sequence[Delayed], client: distributed.Client | None, used: Sequence[Any] = ()
) -> list[Any]:
    """Compute tasks, leave the results on the workers, and show progress; see ``submit``.

    ``used`` are results that only these tasks still need: they are released one by one.
    """
    if client is None:
        with ProgressBar() if _shows_progress.get() else nullcontext():
            return submit(tasks, client)
    futures = submit(tasks, client)
    release(used)
    bar = Thread(target=_show, args=(futures, client), daemon=True)  # it blocks until the end
    if _shows_progress.get():
        bar.start()
    _wait(futures, client)
    if bar.is_alive():
        bar.join(tuning.values.worker_timeout)  # lest its last line mix with later output
    return futures


def release(results: Sequence[Any]) -> None:
    """Release results on the workers now; Python may delete their futures much later."""
    for one in results:
        if isinstance(one, distributed.Future):
            one.release()


@contextmanager
def _use(client: distributed.Client) -> Iterator[None]:
    """Make a client the current one, and let graphs contain what is shared with all workers."""
    size = "distributed.admin.large-graph-warning-threshold"
    with client.as_current(), dask.config.set({size: "100GB"}):
        yield


def _show(futures: list[Any], client: distributed.Client) -> None:
    with client.as_current():
        distributed.progress(futures)


def send(model: Any) -> Any:
    """Return a task whose result is the model, for other tasks on any cluster or scheduler.

    The model is sent once to each worker that needs it, and again if a worker dies.
    """
    return delayed(opforest_model, pure=False, traverse=False)(model)


def opforest_model(model: Any) -> Any:
    """Return the model: the task that other tasks depend on."""
    return model


def _wait(futures: list[Any], client: distributed.Client) -> None:
    """Wait for all tasks; if one fails or there are no workers, cancel them and raise an error."""
    try:
        _wait_for_workers(futures, client)
        for future in futures:
            if future.status != "finished":
                future.result()  # raises the error of the task
    except BaseException:
        client.cancel(futures)
        raise


def _wait_for_workers(futures: list[Any], client: distributed.Client) -> None:
    last_seen = time.monotonic()
    while True:
        try:
            distributed.wait(futures, timeout=INTERVAL)
            return
        except TimeoutError:
            now = time.monotonic()
        if client.nthreads():
            last_seen = now
        elif now - last_seen > tuning.values.worker_timeout:
            address = client.scheduler.address if client.scheduler else "?"
            raise TimeoutError(
                f"the Dask cluster at {address} has had no workers for "
                f"{tuning.values.worker_timeout:g} seconds. Start some (its dashboard and logs may "
                "help), or use opforest.OPFClassifier on this machine."
            )
