"""Layer 2: the ways a forest grows.

Each is a module with three functions. ``prepare(forest)`` returns the forest to go on with, which
may be a new one. ``grow(forest, X, label, counts)`` is a generator: up to its first ``yield`` it
does all that may fail and changes nothing; then it learns the examples in their order, counting
what it does, and the forest is valid whenever it yields. ``learn_staged(forest, conqueror,
counts)`` learns the one example that ``Forest.stage_one`` and ``Forest.measure_staged`` have seen,
without measuring it again.

``shrink(forest, ids, counts)``, which only ``exact`` has, forgets examples: it does not fail, and
the forest is valid whenever it yields.
"""

from dataclasses import dataclass
from types import ModuleType

from opforest.updates import dift, exact, opfi

UPDATES: dict[str, ModuleType] = {"exact": exact, "opfi": opfi, "dift": dift}


@dataclass(frozen=True)
class UpdateReport:
    """What one call of ``partial_fit`` or ``forget`` did.

    Attributes
    ----------
    learned : int
        Examples learned.
    prototypes_gained, prototypes_lost : int
        Examples that became prototypes, or were prototypes and are no more; where one changed
        back and forth within the call, each change counts. A batch so large that it is learned
        by training anew is compared before and after.
    reconquered : int
        How often the cost of an example was found anew; after training anew, how many costs are
        new or others than before.
    case_1, case_2, case_3 : int
        For ``update="opfi"``: examples conquered by an ordinary example of their own class, by a
        prototype of their own class, by an example of another class.
    takeovers : int
        For ``update="opfi"``: those of case 2 that took the prototype's place.
    forgotten : int
        Examples forgotten.

    Examples
    --------
    >>> from opforest import OPFClassifier
    >>> clf = OPFClassifier(update="opfi").fit([[0.0], [1.0], [4.0]], [0, 0, 1])
    >>> clf.partial_fit([[2.0], [3.5]], [0, 0]).update_report_
    UpdateReport(learned=2, prototypes_gained=2, prototypes_lost=1, reconquered=4, case_1=0,
        case_2=1, case_3=1, takeovers=1, forgotten=0)
    """

    learned: int = 0
    prototypes_gained: int = 0
    prototypes_lost: int = 0
    reconquered: int = 0
    case_1: int = 0
    case_2: int = 0
    case_3: int = 0
    takeovers: int = 0
    forgotten: int = 0
