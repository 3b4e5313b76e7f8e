"""The interface of an update."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from opforest.core.metrics.types import Array
from opforest.forest.forest import BaseForest


@dataclass(frozen=True)
class Update:
    """A way in which a forest grows.

    Attributes
    ----------
    name : str
        What people call it.
    prepare : callable
        ``prepare(forest)`` returns the forest to continue with, which may be a new one, or raises
        a ``ValueError`` that says why it cannot.
    grow : callable
        ``grow(forest, X, label, counts)`` learns examples and yields the forest to keep, after each
        part. Everything that may fail happens before the first ``yield``, when nothing has changed
        yet. ``counts`` is the record of an ``UpdateReport``; from the first yield on it is always
        up to date.
    insert : callable
        ``insert(forest, conqueror, counts)`` learns the staged example, which has been measured
        unless ``conqueror`` is −1, and returns the forest.
    classifies_first : bool
        Whether a whole batch is classified before any of its examples is learned.
    shrink : callable or None
        ``shrink(forest, ids, counts)`` forgets examples and yields as ``grow`` does; None if the
        update cannot forget.
    """

    name: str
    prepare: Callable[[BaseForest], BaseForest]
    grow: Callable[[BaseForest, Array, Array, Array], Iterator[BaseForest]]
    insert: Callable[[BaseForest, int, Array], BaseForest]
    classifies_first: bool = False
    shrink: Callable[[BaseForest, Array, Array], Iterator[BaseForest]] | None = None

    @property
    def can_forget(self) -> bool:
        """Whether examples can be removed."""
        return self.shrink is not None
