"""What an update is."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from opforest.forest import BaseForest
from opforest.metrics import Array


@dataclass(frozen=True)
class Update:
    """A way in which a forest grows.

    Attributes
    ----------
    name : str
        What people call it.
    prepare : callable
        ``prepare(forest)`` returns the forest to go on with, which may be a new one, or says in a
        ``ValueError`` why it cannot.
    grow : callable
        ``grow(forest, X, label, counts)`` yields the forest as it is to be kept from then on. Up
        to its first ``yield`` it does all that may fail and changes nothing. ``counts`` is the
        record of an ``UpdateReport``; it is true of each forest that is yielded and, from the
        first yield on, at all times.
    insert : callable
        ``insert(forest, conqueror, counts)`` learns the one example that has been staged, and
        measured unless ``conqueror`` is −1, and returns the forest.
    classifies_first : bool
        Whether it must know who conquers an example, before any of a batch is learned.
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
        """Whether examples can be taken out again."""
        return self.shrink is not None
