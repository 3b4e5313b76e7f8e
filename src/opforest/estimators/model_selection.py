"""Selection of smaller or better training sets with the help of an evaluation set.

Both functions train forests on examples from one pool. Examples are measured in the space into
which the metric embeds them, so nothing is rounded twice.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from opforest.core.metrics.types import Array
from opforest.estimators.classifier import OPFClassifier
from opforest.estimators.semi_supervised import OPFSemiSupervised
from opforest.estimators.validation import encode_known, require_count, require_fraction
from opforest.forest.forest import Forest
from opforest.forest.pruning import find_needed
from opforest.forest.state import ForestState, TreeModel
from opforest.scores import opf_accuracy

#: The values of the parameter ``mode``.
MODES = ("swap", "add")


class PruningStep(NamedTuple):
    """The result of one round of ``prune`` or ``learn_from_errors``.

    Attributes
    ----------
    examples : int
        The number of training examples.
    accuracy : float
        The ``opf_accuracy`` on the evaluation set of that round.

    Examples
    --------
    >>> import opforest
    >>> clf = opforest.OPFClassifier().fit([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1])
    >>> opforest.prune(clf, [[0.9], [5.1]], [0, 1])[1]
    [PruningStep(examples=4, accuracy=1.0), PruningStep(examples=2, accuracy=1.0)]
    """

    examples: int
    accuracy: float


class _Pool(NamedTuple):
    """Examples to train on and to evaluate on."""

    state: ForestState  #: of all of them
    label: Array

    def train(self, chosen: Array) -> Forest:
        """Return the forest of some examples."""
        return Forest.retrain(self.state.select(chosen, self.label))

    def queries(self, queries: Array, chosen: Array) -> Array:
        """Return the rows by which kernels measure queries against the chosen examples."""
        rows = self.state.rows[queries]
        return np.ascontiguousarray(rows[:, chosen]) if self.state.metric.is_table else rows

    def evaluate(self, chosen: Array, queries: Array) -> tuple[Forest, Array, float]:
        """Train on chosen examples; return the forest, the queries' conquerors, the accuracy."""
        forest = self.train(chosen)
        conqueror, _ = forest.queries.find(self.queries(queries, chosen))
        answer = self.label[chosen[conqueror]]
        return forest, conqueror, opf_accuracy(self.label[queries], answer)


def _make_pool(
    clf: OPFClassifier, X: npt.ArrayLike, y: npt.ArrayLike
) -> tuple[_Pool, Array, Array]:
    """Return the examples of a classifier and the evaluation set, and the indices of either."""
    is_supervised = isinstance(clf, OPFClassifier) and not isinstance(clf, OPFSemiSupervised)
    if not is_supervised or clf.update != "exact":
        got = f"one with update={clf.update!r}" if is_supervised else type(clf).__name__
        advice = ""
        if hasattr(clf, "steps"):
            advice = " Of a pipeline, pass the last step, and examples as that step gets them."
        raise ValueError(f"clf must be an OPFClassifier with update='exact', got {got}.{advice}")
    check_is_fitted(clf, "forest_")
    forest = clf.forest_
    if not isinstance(forest, Forest) or len(forest) == 0:
        raise ValueError("clf has forgotten all examples: nothing is left to choose from.")
    X, y = clf.check_batch(X, y)
    label = encode_known(y, clf.classes_)
    state = forest.state()
    vectors, rows = state.metric.new_rows(X, state.points, state.arrival.item)
    n, m = len(state.rows), len(X)
    if state.metric.is_table:
        table = np.empty((n + m, n + m), state.rows.dtype)
        table[:n, :n], table[n:], table[:n, n:] = state.rows, rows, rows[:, :n].T
        rows = table
    else:
        rows = np.concatenate((state.rows, rows))
    both = np.concatenate((state.model.label, label))
    whole = state._replace(
        rows=rows,
        model=TreeModel.of_labels(both, rows.dtype),
        arrival=np.append(state.arrival, np.arange(m) + n + state.removed),
        vectors=None if state.vectors is None else np.concatenate((state.vectors, vectors)),
    )
    return _Pool(whole, both), np.arange(n), np.arange(n, n + m)


def _make_model(clf: OPFClassifier, forest: Forest) -> OPFClassifier:
    model = clf.copy_unfitted()
    model.set_forest(forest, clf.classes_)
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
) -> tuple[OPFClassifier, list[PruningStep]]:
    """Let a classifier learn the examples of an evaluation set that it gets wrong.

    This is for training sets that must not grow. If yours may grow, learning the whole evaluation
    set with ``partial_fit`` may be as good.

    Parameters
    ----------
    clf : OPFClassifier
        A fitted classifier with ``update="exact"``, evaluated with one voter. It is not changed.
    X, y : array-likes
        The evaluation set, as for ``partial_fit``.
    mode : {"swap", "add"}, default="swap"
        ``"swap"``: each misclassified example takes the place of a random non-prototype of its
        class, which moves to the evaluation set; the model with the best ``opf_accuracy`` is
        returned. ``"add"``: misclassified examples move to the training set until there are none.
    rounds : int, default=10
        The largest number of rounds of swapping.
    random_state : int, RandomState instance or None, default=None
        Decides which examples are replaced.

    Returns
    -------
    model : OPFClassifier
        A new classifier. Examples keep the ids they have in ``clf``; those of the evaluation set
        have the ids that ``partial_fit`` would have given them.
    history : list of PruningStep
        The number of examples and the accuracy in each round, beginning with ``clf``.

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
    pool, chosen, queries = _make_pool(clf, X, y)
    if mode == "add":
        forest, history = _add_errors(pool, chosen, queries)
    else:
        forest, history = _swap_errors(pool, chosen, queries, rounds, random_state)
    return _make_model(clf, forest), history


def _add_errors(pool: _Pool, chosen: Array, queries: Array) -> tuple[Forest, list[PruningStep]]:
    """Move errors to the training set until there are none."""
    history = []
    while True:
        forest, conqueror, accuracy = pool.evaluate(chosen, queries)
        history.append(PruningStep(len(chosen), accuracy))
        is_error = pool.label[chosen[conqueror]] != pool.label[queries]
        if not is_error.any():
            return forest, history
        chosen = np.sort(np.append(chosen, queries[is_error]))
        queries = queries[~is_error]
        if len(queries) == 0:
            return pool.train(chosen), history


def _swap_errors(
    pool: _Pool, chosen: Array, queries: Array, rounds: int, random_state: Any
) -> tuple[Forest, list[PruningStep]]:
    """Swap errors for free examples, round by round; return the best forest."""
    random = check_random_state(random_state)
    history: list[PruningStep] = []
    while True:
        chosen = np.sort(chosen)
        forest, conqueror, accuracy = pool.evaluate(chosen, queries)
        if not history or accuracy > max(step.accuracy for step in history):
            best = forest
        history.append(PruningStep(len(chosen), accuracy))
        errors = np.flatnonzero(pool.label[chosen[conqueror]] != pool.label[queries])
        is_last = len(errors) == 0 or len(history) > rounds
        if is_last or not _swap(pool, chosen, queries, errors, forest, random):
            return best, history


def _swap(
    pool: _Pool, chosen: Array, queries: Array, errors: Array, forest: Forest,
    random: np.random.RandomState,
) -> bool:  # fmt: skip
    """Swap errors for free examples of their classes; return whether any was swapped."""
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
) -> tuple[OPFClassifier, list[PruningStep]]:
    """Make a classifier smaller: keep only the examples that an evaluation set needs.

    These are the examples that conquer one of the evaluation set, and those on the paths to them.
    The classifier is trained again on these, and so on, until no more can be removed, a class would
    be lost, or ``opf_accuracy`` would fall by more than ``loss``. How much accuracy this costs on
    other examples depends on the data: measure it.

    Parameters
    ----------
    clf, X, y
        As for ``learn_from_errors``.
    loss : float, default=0
        How much accuracy on the evaluation set the model may lose compared to ``clf``, from 0 to
        1.

    Returns
    -------
    model : OPFClassifier
        A new classifier. Examples keep the ids they have in ``clf``, and the next one it learns
        gets the id that it would get from ``clf``.
    history : list of PruningStep
        As for ``learn_from_errors``.

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
    require_fraction("loss", loss)
    pool, chosen, queries = _make_pool(clf, X, y)
    forest, conqueror, accuracy = pool.evaluate(chosen, queries)
    history = [PruningStep(len(chosen), accuracy)]
    classes = np.unique(pool.label[chosen])
    while True:
        fewer = chosen[find_needed(forest, pool.queries(queries, chosen), conqueror)]
        is_whole = len(np.unique(pool.label[fewer])) == len(classes)
        if len(fewer) == len(chosen) or not is_whole:
            break
        smaller, conqueror, accuracy = pool.evaluate(fewer, queries)
        if accuracy < history[0].accuracy - loss:
            break
        chosen, forest = fewer, smaller
        history.append(PruningStep(len(chosen), accuracy))
    forest.renumber(clf.forest_.next_id)  # it has not learned the evaluation set
    return _make_model(clf, forest), history
