"""Run functions of cells on the workers of a cluster, where the cells are."""

from collections.abc import Callable, Iterable
from typing import Any
from uuid import uuid4

import distributed
from dask.delayed import Delayed, delayed

from opforest.dask.cluster import compute, persist, send, submit


class DaskExecutor:
    """The ``Executor`` of forests in parts on Dask; its handles are futures.

    Results stay on the workers as long as a future, or a task that depends on it, is referenced.
    The scheduler remembers how each was made: if it is lost with a worker, it is computed again.
    """

    def __init__(self, client: distributed.Client | None) -> None:
        self.client = client

    def __reduce__(self) -> str:
        """Refuse to be pickled."""
        raise TypeError(
            "the parts of this model are on the workers of a cluster, and a pickle would not have "
            "them. Save it by opforest.save(model.parts_, folder), or pickle to_local() if it fits "
            "into memory."
        )

    def fetch(self, function: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:
        """Call a function for each set of arguments, as ``map`` does, and return the results."""
        return compute(self.plan(function, *arguments), self.client)

    def hold(self, function: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:
        """Call a function for each set of arguments, without waiting for the results."""
        return submit(self.plan(function, *arguments), self.client)

    def store(
        self, name: str, function: Callable[..., Any], *arguments: Iterable[Any]
    ) -> list[Any]:
        """Call a function for each set of arguments, and wait for the results."""
        return persist(self.plan(function, *arguments), self.client)

    def share(self, value: Any) -> Any:
        """Send a value to one worker, from which others fetch it."""
        (task,) = submit([send(value)], self.client)
        return task

    def remember(self, name: str, function: Callable[[], Any]) -> Any:
        """Return the result of a function."""
        return function()

    def plan(self, function: Callable[..., Any], *arguments: Iterable[Any]) -> list[Delayed]:
        """Return a task for each set of arguments; the dashboard shows the function's name."""
        if self.client is not None and self.client.status == "closed":
            raise RuntimeError(
                "the Dask client is closed, so the workers no longer have what it held there, such "
                "as a model in parts. Make another client, and call fit again, or from_parts with "
                "a model that was saved to a folder."
            )
        call = delayed(function, pure=False, traverse=False)
        sets = list(zip(*arguments, strict=True))
        name = f"opforest_{function.__name__}-{uuid4().hex}"
        return [call(*chosen, dask_key_name=f"{name}-{i}") for i, chosen in enumerate(sets)]
