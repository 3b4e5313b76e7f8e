"""Active learning: choose the examples to label next.

With ``OPFSemiSupervised``, learning an answer by ``label`` takes little more time than following a
path.

Examples
--------
>>> from opforest import OPFSemiSupervised, active
>>> X = [[0.0], [1.0], [2.0], [3.0], [6.0], [7.0]]
>>> clf = OPFSemiSupervised().fit(X, [0, -1, -1, -1, -1, 1])
>>> ask = active.query(clf, X)  # rows of X
>>> clf.label(clf.forest_.ids[ask], [1]).transduction_  # ids
array([0, 0, 0, 1, 1, 1])
"""

import numpy as np
import numpy.typing as npt

from opforest.core.metrics.types import Array
from opforest.estimators.classifier import OPFClassifier
from opforest.estimators.validation import require_count

__all__ = ["margin", "query"]


def margin(clf: OPFClassifier, X: npt.ArrayLike) -> Array:
    """Return the margin of a classifier for each example: 0 if undecided, 1 if certain.

    If a ≤ b are the offers of the two cheapest classes, the margin is (b − a) / (b + a). It is 0
    if both are 0, or if there is only one class.

    Parameters
    ----------
    clf : OPFClassifier or OPFSemiSupervised
        A fitted classifier.
    X : array-like of shape (n_samples, n_features)
        The examples, as for ``predict``.

    Returns
    -------
    array of shape (n_samples,)
        The margins.

    Examples
    --------
    >>> from opforest import OPFClassifier, active
    >>> clf = OPFClassifier().fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> active.margin(clf, [[2.0], [2.5], [3.0]])
    array([0. , 0.5, 1. ])
    """
    if not hasattr(clf, "class_costs"):
        raise ValueError(
            "clf must have class_costs, as OPFClassifier, OPFSemiSupervised and an "
            f"opforest.Pipeline of either have, got {type(clf).__name__}."
        )
    cost = clf.class_costs(X).astype(np.float64)
    if cost.shape[1] < 2:
        return np.zeros(len(cost))
    first, second = np.sort(cost, axis=1)[:, :2].T
    total = first + second
    is_certain = np.isfinite(first) & np.isinf(second)  # no examples of other classes are known
    margins: Array = is_certain.astype(np.float64)
    is_defined = np.isfinite(total) & (total > 0)  # a metric may be infinite for both
    margins[is_defined] = (second[is_defined] - first[is_defined]) / total[is_defined]
    return margins


def query(
    clf: OPFClassifier, X: npt.ArrayLike, n_instances: int = 1, *, diverse: bool = False
) -> Array:
    """Return the examples to ask about, smallest margin first.

    This is not always better than random choice: compare on your kind of data.

    Parameters
    ----------
    clf : OPFClassifier or OPFSemiSupervised
        A fitted classifier. The labeled examples of an ``OPFSemiSupervised`` have a margin of 1,
        or of 0 if a duplicate has another label; leave them out of X.
    X : array-like of shape (n_samples, n_features)
        The examples to choose from, as for ``predict``.
    n_instances : int, default=1
        The number of examples to ask about; all of them if X has fewer.
    diverse : bool, default=False
        Whether to ask about one example per conqueror before asking about a second one of any.

    Returns
    -------
    array of shape (n_instances,)
        Indices of rows of X, which may have any examples, known or not. Ties go to the smaller
        index. If X are the known examples, in the order of ``clf.forest_.ids``, their ids for
        ``label`` and ``forget`` are ``clf.forest_.ids[query(clf, X)]``.

    Examples
    --------
    >>> from opforest import OPFClassifier, active
    >>> clf = OPFClassifier().fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> active.query(clf, [[0.5], [2.1], [3.5], [1.9]], n_instances=2)
    array([1, 3])
    """
    require_count("n_instances", n_instances, 1)
    order = np.argsort(margin(clf, X), kind="stable")
    if diverse:
        conqueror = clf.conquerors(X)[0][order]
        first = np.sort(np.unique(conqueror, return_index=True)[1])
        order = np.concatenate((order[first], np.delete(order, first)))
    return order[:n_instances]
