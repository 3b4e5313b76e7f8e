"""Layer 3: smaller and better training sets, by examples to evaluate them on.

Both ways go through forests of examples that are taken from one pool. Examples are measured where
the metric embeds them, so nothing is rounded twice.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from opforest._jit import specialise
from opforest.base import encode
from opforest.classifier import OPFClassifier
from opforest.density import require_count, require_share
from opforest.examples import Parts, label_only, taken
from opforest.forest import Forest
from opforest.kernels.conquering.arcs import NOBODY, trace_arcs
from opforest.kernels.conquering.scan import Ranking
from opforest.kernels.distances import make_tiles
from opforest.metrics import Array
from opforest.scores import opf_accuracy
from opforest.searching import search_ranking

#: Ways to learn from errors.
MODES = ("swap", "add")


class Round(NamedTuple):
    """What was found in one round.

    Attributes
    ----------
    examples : int
        The number of examples that the forest was trained on.
    accuracy : float
        Its ``opf_accuracy`` on the evaluation set as it was then.

    Examples
    --------
    >>> import opforest
    >>> clf = opforest.OPFClassifier().fit([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1])
    >>> opforest.prune(clf, [[0.9], [5.1]], [0, 1])[1]
    [Round(examples=4, accuracy=1.0), Round(examples=2, accuracy=1.0)]
    """

    examples: int
    accuracy: float


class _Pool(NamedTuple):
    """Examples to train on and to evaluate with."""

    parts: Parts  #: of all of them
    label: Array

    def train(self, chosen: Array) -> Forest:
        """Return the forest of some examples."""
        return Forest.retrain(taken(self.parts, chosen, self.label))

    def queries(self, queries: Array, chosen: Array) -> Array:
        """Return what kernels read to measure others against the chosen ones."""
        rows = self.parts.rows[queries]
        return np.ascontiguousarray(rows[:, chosen]) if self.parts.metric.is_table else rows

    def judge(self, chosen: Array, queries: Array) -> tuple[Forest, Array, float]:
        """Train on the chosen ones, and return who conquers the others and the accuracy."""
        forest = self.train(chosen)
        conqueror, _ = forest.examples.find(self.queries(queries, chosen))
        answer = self.label[chosen[conqueror]]
        return forest, conqueror, opf_accuracy(self.label[queries], answer)


def _pool(clf: OPFClassifier, X: npt.ArrayLike, y: npt.ArrayLike) -> tuple[_Pool, int]:
    """Return what the classifier knows and the evaluation set behind it, and where that begins."""
    if not isinstance(clf, OPFClassifier) or getattr(clf, "update", "exact") != "exact":
        raise ValueError(f"clf must be an OPFClassifier with update='exact', got {clf!r}.")
    check_is_fitted(clf, "forest_")
    forest = clf.forest_
    if type(forest) is not Forest or len(forest) == 0:
        raise ValueError("clf must have learned labelled examples, and not forgotten them all.")
    X, y = clf._check_more(X, y)
    is_known = np.isin(y, clf.classes_)
    if not is_known.all():
        raise ValueError(
            f"the evaluation set has the class {y[~is_known].tolist()[0]!r}, which clf does not "
            "know."
        )
    _, label = encode(y, clf.classes_)
    parts = forest.parts()
    known = parts.rows if parts.vectors is None else parts.vectors
    vectors, rows = parts.metric.new_rows(X, known)
    n, m = len(parts.rows), len(X)
    if parts.metric.is_table:
        table = np.empty((n + m, n + m), parts.rows.dtype)
        table[:n, :n], table[n:], table[:n, n:] = parts.rows, rows, rows[:, :n].T
        rows = table
    else:
        rows = np.concatenate((parts.rows, rows))
    both = np.concatenate((parts.model.label, label))
    whole = parts._replace(
        rows=rows,
        model=label_only(both, rows.dtype),
        arrival=np.append(parts.arrival, np.arange(m) + n + parts.removed),
        vectors=None if parts.vectors is None else np.concatenate((parts.vectors, vectors)),
    )
    return _Pool(whole, both), n


def _model_of(clf: OPFClassifier, forest: Forest) -> OPFClassifier:
    model = clf._unfitted()
    model._keep(forest, clf.classes_)
    if hasattr(clf, "feature_names_in_"):
        model.feature_names_in_ = clf.feature_names_in_
    return model


def learn_from_errors(
    clf: OPFClassifier,
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    mode: str = "swap",
    rounds: int = 10,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[OPFClassifier, list[Round]]:
    """Let a classifier learn those examples of an evaluation set that it gets wrong.

    Where training is cheap, learning the whole evaluation set may do as well. This is for training
    sets that must stay as small as they are.

    Parameters
    ----------
    clf : OPFClassifier
        A fitted classifier with ``update="exact"``; it stays as it is.
    X, y : array-likes
        The evaluation set; as for ``partial_fit``.
    mode : {"swap", "add"}, default="swap"
        ``"swap"``: an error takes the place of an example of its class that is no prototype, chosen
        at random, which moves to the evaluation set; the model with the best ``opf_accuracy`` is
        returned. ``"add"``: all errors move to the training set until there are none.
    rounds : int, default=10
        How often to swap at the most.
    random_state : int, RandomState instance or None, default=None
        Decides who goes.

    Returns
    -------
    model : OPFClassifier
        A new classifier. Its ids are those of ``clf``; examples of the evaluation set have those
        that ``partial_fit`` would have given them.
    history : list of Round
        Examples and accuracy of each round, the first one being that of ``clf``.

    See Also
    --------
    prune : Make a training set smaller.

    Examples
    --------
    >>> import opforest
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = opforest.OPFClassifier().fit(X[::3], y[::3])
    >>> better, history = opforest.learn_from_errors(clf, X[1::3], y[1::3], random_state=0)
    >>> [round(step.accuracy, 3) for step in history]
    [0.955, 1.0]
    """
    if mode not in MODES:
        raise ValueError(f"mode must be one of {list(MODES)}, got {mode!r}.")
    require_count("rounds", rounds, 0)
    pool, n = _pool(clf, X, y)
    random = check_random_state(random_state)
    chosen, queries = np.arange(n), np.arange(n, len(pool.label))
    history: list[Round] = []
    best: Forest | None = None
    while True:
        forest, conqueror, accuracy = pool.judge(np.sort(chosen), queries)
        chosen = np.sort(chosen)
        if best is None or mode == "add" or accuracy > max(r.accuracy for r in history):
            best = forest
        history.append(Round(len(chosen), accuracy))
        errors = np.flatnonzero(pool.label[chosen[conqueror]] != pool.label[queries])
        if len(errors) == 0:
            break
        if mode == "add":
            chosen = np.append(chosen, queries[errors])
            queries = np.delete(queries, errors)
            if len(queries) == 0:
                best = pool.train(np.sort(chosen))
                break
        elif len(history) > rounds or not _swap(pool, chosen, queries, errors, forest, random):
            break
    return _model_of(clf, best), history


def _swap(
    pool: _Pool, chosen: Array, queries: Array, errors: Array, forest: Forest,
    random: np.random.RandomState,
) -> bool:  # fmt: skip
    """Let errors take the places of others of their class; tell whether any did."""
    is_free = ~forest.is_prototype()
    done = False
    for error in errors:
        options = np.flatnonzero(is_free & (pool.label[chosen] == pool.label[queries[error]]))
        if len(options):
            place = options[random.randint(len(options))]
            chosen[place], queries[error] = queries[error], chosen[place]
            is_free[place], done = False, True
    return done


def prune(
    clf: OPFClassifier, X: npt.ArrayLike, y: npt.ArrayLike, *, loss: float = 0.0
) -> tuple[OPFClassifier, list[Round]]:
    """Make a classifier smaller: keep only what an evaluation set needs.

    Kept are the examples that conquer one of the evaluation set, and those on the paths to them.
    The classifier is trained on these, and so on, until nothing more can go, a class would be lost,
    or ``opf_accuracy`` falls by more than ``loss``. What it costs in accuracy on other examples
    depends on the data: measure it.

    Parameters
    ----------
    clf : OPFClassifier
        A fitted classifier with ``update="exact"``; it stays as it is.
    X, y : array-likes
        The evaluation set; as for ``partial_fit``.
    loss : float, default=0
        How much accuracy on the evaluation set the model may lose, from 0 to 1, compared to
        ``clf``.

    Returns
    -------
    model : OPFClassifier
        A new classifier. The ids of its examples are those they have in ``clf``.
    history : list of Round
        Examples and accuracy: of ``clf`` first, of the model last.

    See Also
    --------
    learn_from_errors : Make a training set better.

    Examples
    --------
    >>> import opforest
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = opforest.OPFClassifier().fit(X[::2], y[::2])
    >>> smaller, history = opforest.prune(clf, X[1::2], y[1::2])
    >>> [step.examples for step in history]
    [75, 33, 32]
    """
    require_share("loss", loss)
    pool, n = _pool(clf, X, y)
    chosen, queries = np.arange(n), np.arange(n, len(pool.label))
    forest, conqueror, accuracy = pool.judge(chosen, queries)
    history = [Round(n, accuracy)]
    classes = np.unique(pool.label[chosen])
    while True:
        fewer = chosen[_needed(forest, pool.queries(queries, chosen), conqueror)]
        is_whole = len(np.unique(pool.label[fewer])) == len(classes)
        if len(fewer) == len(chosen) or not is_whole:
            break
        smaller, conqueror, accuracy = pool.judge(fewer, queries)
        if accuracy < history[0].accuracy - loss:
            break
        chosen, forest = fewer, smaller
        history.append(Round(len(chosen), accuracy))
    return _model_of(clf, forest), history


def _needed(forest: Forest, queries: Array, conqueror: Array) -> Array:
    """Tell which examples conquer others, or are on the path of one that does.

    Paths are those on the complete graph, which have fewer steps than those along the tree; and of
    several examples that offer the same, the first on a path counts.
    """
    examples, metric = forest.examples, forest.metric
    rows, cost, label = examples.state.rows, examples.costs(), forest.label
    before, order = np.where(forest.is_prototype(), -1, NOBODY), np.empty(len(cost), np.int64)
    trace = specialise(trace_arcs, metric.kernel)
    trace(rows, cost, label, before, order, metric.kernel)
    tiles = make_tiles(rows, order, metric.kernel)
    ranking = Ranking(order, cost[order], tiles, True)
    first, _ = search_ranking(len(queries), examples.state, ranking, metric).find(queries)
    needed = np.zeros(len(before), bool)
    reached = np.unique(np.where(label[first] == label[conqueror], first, conqueror))
    while len(reached):
        needed[reached] = True
        reached = np.unique(before[reached])
        reached = reached[reached >= 0]
        reached = reached[~needed[reached]]
    return needed
