"""The interface of an update."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from opforest.core.metrics.types import Array
from opforest.forest.forest import BaseForest


class Update(ABC):
    """An algorithm by which a forest grows.

    ``counts`` is always the record of an ``UpdateReport``.

    Attributes
    ----------
    name : str
        The value of the parameter ``update``.
    classifies_first : bool
        Whether a whole batch is classified before any of its examples is learned.
    can_forget : bool
        Whether examples can be removed.
    """

    name: str
    classifies_first = False
    can_forget = False

    @abstractmethod
    def prepare(self, forest: BaseForest) -> BaseForest:
        """Return the forest to continue with, or raise a ``ValueError`` if it cannot be grown."""

    @abstractmethod
    def grow(self, forest: Any, X: Array, label: Array, counts: Array) -> Iterator[BaseForest]:
        """Learn examples, and yield the forest to keep after each part.

        Everything that may fail happens before the first ``yield``, when nothing has changed yet.
        From then on ``counts`` is always up to date.
        """

    @abstractmethod
    def insert(self, forest: Any, conqueror: int, counts: Array) -> BaseForest:
        """Learn the staged example, measured unless ``conqueror`` is −1; return the forest."""

    def shrink(self, forest: Any, ids: Array, counts: Array) -> Iterator[BaseForest]:
        """Forget examples, and yield as ``grow`` does."""
        raise NotImplementedError(f"update={self.name!r} cannot forget.")

    def require_forgetting(self) -> None:
        """Raise a ``ValueError`` if examples cannot be removed."""
        if not self.can_forget:
            raise ValueError(
                f"update={self.name!r} cannot forget: the effect of a single example on the "
                "forest is not recorded. Use update='exact'."
            )
