"""Report of an update, from the counters of the kernels."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class UpdateReport:
    """What one call of ``partial_fit`` or ``forget`` did.

    Attributes
    ----------
    learned : int
        Examples learned.
    prototypes_gained, prototypes_lost : int
        Examples that became prototypes, or ceased to be prototypes. If one changed back and forth
        within the call, each change counts. After a batch so large that it is learned by
        refitting, the numbers compare the models before and after.
    reconquered : int
        How often the cost of an example was recomputed; after refitting, how many costs are new or
        have changed.
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

    def as_counts(self) -> npt.NDArray[Any]:
        """Return the numbers as one record, in which kernels can continue to count."""
        return np.array([tuple(vars(self).values())], COUNTS)


#: The record in which kernels count.
COUNTS = np.dtype([(field.name, np.int64) for field in fields(UpdateReport)])


def no_counts() -> npt.NDArray[Any]:
    """Return a record of zeros, in which kernels count."""
    return np.zeros(1, COUNTS)
