"""Classifier that learns from labeled and unlabeled examples."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted, column_or_1d

from opforest.core.label_spread.batch import UNLABELED, spread_labels
from opforest.core.metrics.types import Array
from opforest.core.tree_costs import as_tree
from opforest.estimators.base import FittedForest
from opforest.estimators.classifier import OPFClassifier
from opforest.estimators.validation import check_ids, check_labels, encode
from opforest.forest.forest import BaseForest, Forest
from opforest.forest.seeded import SeededForest
from opforest.forest.updates import EXACT, Update
from opforest.forest.updates.exact import give_labels
from opforest.forest.updates.report import no_counts

#: The values of the parameter ``seeds``.
SEEDS = ("labeled", "prototypes")


def split_labels(y: Any, minus_one: bool = True) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Return the labels of the labeled examples, and which examples are unlabeled.

    NaN, ``None`` and pandas' ``NA`` mean unlabeled; so does −1, unless ``minus_one`` is false.
    """
    labels = np.asarray(y)
    if labels.dtype.kind == "U" and not isinstance(y, np.ndarray):
        labels = np.asarray(y, object)  # NumPy has turned a NaN among strings into "nan".
    if labels.ndim != 1:
        labels = column_or_1d(labels, warn=True)
    if labels.dtype.kind in "iuf":
        missing = (labels == UNLABELED) & minus_one
        if labels.dtype.kind == "f":
            missing |= np.isnan(labels)
        return labels[~missing], missing
    if labels.dtype != object:
        return labels, np.zeros(len(labels), bool)
    missing = np.array([is_missing(label, minus_one) for label in labels], bool)
    present = labels[~missing]
    if len({type(label) for label in present}) == 1:
        plain = np.array(present.tolist())
        present = plain if plain.ndim == 1 else present
    return present, missing


def is_missing(label: Any, minus_one: bool = True) -> bool:
    """Return whether this is no label; see ``split_labels``."""
    if label is None or type(label).__name__ == "NAType":
        return True
    is_number = isinstance(label, int | float | np.number) and not isinstance(label, bool)
    return is_number and bool(label != label or (minus_one and label == UNLABELED))


class OPFSemiSupervised(OPFClassifier):
    """Semi-supervised optimum-path forest: learns from labeled and unlabeled examples.

    All labeled examples are seeds. Labels spread from them along the minimum spanning tree of all
    examples: an unlabeled example takes the label of the seed that it reaches by the path whose
    largest step is the smallest. A new example gets the label of the training example that offers
    it the cheapest path, as with ``OPFClassifier``.

    ``fit`` and ``partial_fit`` take −1, ``None`` or NaN for a missing label. Unlike ``fit``, the
    first ``partial_fit`` may have no labels at all; the model can predict as soon as one example is
    labeled.

    This works well for connected classes of any shape: moons, rings, spirals. Where classes
    overlap, a single bridge can carry a wrong label through a whole cloud; compare with
    ``OPFClassifier`` on the labeled examples alone. Without unlabeled examples this is the
    1-nearest-neighbor classifier.

    Parameters
    ----------
    seeds : {"labeled", "prototypes"}, default="labeled"
        ``"labeled"``: all labeled examples are seeds, and keep their labels (Amorim et al. 2016).
        ``"prototypes"``: what LibOPF's ``opf_semi`` does (Amorim et al. 2014), for comparison. Only
        the prototypes of a forest of the labeled examples are seeds, so even labeled examples may
        get another label. The model is the supervised forest of all examples with the resulting
        labels. Each change takes time linear in the number of examples.
    metric, metric_params, voters, algorithm, n_jobs, verbose
        As for ``OPFClassifier``. Examples without a given label vote, too, with the label of their
        seed.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    transduction_ : array of shape (n_samples,)
        The label of each known example, in the order of ``forest_.ids``: its own, or the one of
        its seed.
    forest_ : Forest
        The model. Its prototypes are the seeds, unless ``seeds="prototypes"``.
    exponent_, voters_, calibration_
        As for ``OPFClassifier``, found by leaving out the given labels, one by one; inferred
        labels are not evidence. Of several voters, only those in the trees of other seeds judge a
        label that is left out.
    update_report_, n_features_in_, feature_names_in_
        As for ``OPFClassifier``.

    See Also
    --------
    OPFClassifier : For data in which all examples are labeled.
    opforest.active : Chooses which examples to have labeled.

    Notes
    -----
    Add a vertex that is joined to all seeds by edges shorter than any other. Then the forest is a
    minimum spanning tree, unique under (distance, smaller index, larger index). So a new example
    changes it like any spanning tree, and a new label removes exactly one edge: the largest on the
    path to the former seed. After each change the model is identical, bit for bit, to one fitted on
    the same data.

    References
    ----------
    W. P. Amorim, A. X. Falcão, J. P. Papa, M. H. Carvalho: Improving semi-supervised learning
    through optimum connectivity. Pattern Recognition 60, 2016.

    W. P. Amorim, A. X. Falcão, M. H. Carvalho: Semi-supervised pattern classification using
    optimum-path forest. SIBGRAPI 2014.

    Examples
    --------
    >>> from opforest import OPFSemiSupervised
    >>> X = [[0.0], [1.0], [2.0], [5.0], [6.0], [7.0]]
    >>> clf = OPFSemiSupervised().fit(X, [0, -1, -1, -1, -1, 1])
    >>> clf.transduction_
    array([0, 0, 0, 1, 1, 1])
    >>> clf.label([3], [0]).transduction_
    array([0, 0, 0, 0, 0, 1])
    """

    update = "exact"
    _forest_type = SeededForest

    def __init__(
        self,
        metric: str | Callable[..., float] = "euclidean",
        *,
        metric_params: Mapping[str, Any] | None = None,
        seeds: str = "labeled",
        voters: int | str = 1,
        algorithm: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            metric,
            metric_params=metric_params,
            voters=voters,
            algorithm=algorithm,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.seeds = seeds

    @property
    def transduction_(self) -> Array:
        """The label of each training example: its own, or the one of its seed."""
        fitted = self.fitted_forest("transduction_")
        with fitted.read():
            forest, classes = fitted
            if self.source_forest().n_seeds:
                labels: Array = classes[forest.label]
                return labels
            return np.full(len(forest), UNLABELED if classes.dtype.kind in "iuf" else None)

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Learn the forest of examples with and without labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            The examples, or the distances between them if ``metric="precomputed"``.
        y : array-like of shape (n_samples,)
            Their labels, of any kind that can be sorted; −1, ``None`` or NaN where there is none.
        """
        fresh = self._train(X, y)
        if fresh.source_forest().n_seeds == 0:
            raise ValueError(
                "y has no labels: at least one must not be −1, None or NaN. To begin without "
                "labels, call partial_fit instead, and label later."
            )
        self.__dict__ = fresh.__dict__
        return self

    def label(self, ids: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Label examples that are already known; the result is exactly the model refitted.

        Parameters
        ----------
        ids : int or array-like of int
            The ids of the examples, as for ``forget``.
        y : label or array-like
            Their labels, which may be of new classes. An example that already has this label is
            left as it is. To change the label of an example, forget it and learn it again.

        Examples
        --------
        >>> from opforest import OPFSemiSupervised
        >>> clf = OPFSemiSupervised().fit([[0.0], [1.0], [3.0], [4.0]], ["a", None, None, "b"])
        >>> clf.label(1, "c").transduction_
        array(['a', 'c', 'b', 'b'], dtype='<U1')
        """
        check_is_fitted(self, "forest_")
        update = self._find_update()
        self._check_metric()
        forest = self._forest_to_change(update)
        ordered = check_ids(ids, forest)
        labels, missing = split_labels(np.atleast_1d(np.asarray(y)))
        if missing.any():
            raise ValueError("y must be labels, but some are −1, None or NaN.")
        if len(labels) != len(ordered):
            raise ValueError(
                f"y must be {len(ordered)} labels, one for each id, got {len(labels)}."
            )
        _check_present(labels)
        labels = labels[np.argsort(np.atleast_1d(np.asarray(ids)), kind="stable")]
        all_classes, code = _encode(labels, np.zeros(len(labels), bool), self.classes_, None)
        forest = self._rename_classes(forest, all_classes)
        before = forest.given_labels(ordered)
        wrong = np.flatnonzero((before != UNLABELED) & (before != code))
        if len(wrong):
            i = wrong[0]
            known, new = all_classes[[before[i], code[i]]].tolist()
            raise ValueError(
                f"example {ordered[i]} already has the label {known!r}, got {new!r}. To change "
                "it, forget the example and learn it again."
            )
        counts = no_counts()
        new = before == UNLABELED
        if new.any():
            forest = give_labels(forest, ordered[new], code[new], counts)
        self.set_forest(forest, all_classes, counts)
        return self

    # The whole model is the forest seeded by all labeled examples. If prototypes are the seeds,
    # forest_ is derived from it.

    def fitted_source(self) -> FittedForest:
        """Return the ``SeededForest`` whose seeds are all labeled examples, and its classes."""
        attributes = vars(self)  # another thread may replace it
        forest = attributes.get("labeled_forest_", attributes["forest_"])
        return FittedForest(forest, attributes["classes_"])

    def set_forest(self, forest: BaseForest, classes: Array, counts: Array | None = None) -> None:
        """Replace the seeded forest, its classes and the counts of an update."""
        if self.seeds == "labeled":
            super().set_forest(forest, classes, counts)
            return
        twin = object.__new__(type(self))  # so that everything changes by one assignment
        twin.__dict__ = {**vars(self), "labeled_forest_": forest}
        model = _spread_from_prototypes(forest)  # type: ignore[arg-type]
        super(OPFSemiSupervised, twin).set_forest(model, classes, counts)
        self.__dict__ = twin.__dict__

    def _apply(
        self, steps: Iterator[BaseForest], classes: Array, counts: Array, what: tuple[str, str, int]
    ) -> Self:
        if self.seeds == "labeled":
            return super()._apply(steps, classes, counts, what)
        *_, forest = steps
        self.set_forest(forest, classes, counts)
        return self

    def _check_queries(self, X: npt.ArrayLike) -> Array:
        X = super()._check_queries(X)
        seeded = self.source_forest()
        if seeded.n_seeds == 0 and len(seeded):
            raise ValueError(
                "no example is labeled, so there is nothing to predict. Call label first."
            )
        return X

    def _find_update(self) -> Update:
        if self.seeds not in SEEDS:
            raise ValueError(f"seeds must be one of {list(SEEDS)}, got {self.seeds!r}.")
        is_derived = "labeled_forest_" in vars(self)
        if hasattr(self, "forest_") and is_derived != (self.seeds == "prototypes"):
            raise ValueError("seeds has been changed since the model was fitted. Call fit first.")
        return EXACT

    def _forest_to_change(self, update: Update) -> SeededForest:
        forest: SeededForest = self.source_forest()
        return forest if self.seeds == "labeled" else forest.copy()

    def _read(self, X: Any, y: Any, classes: npt.ArrayLike | None) -> tuple[Array, Array, Array]:
        is_first = not hasattr(self, "forest_")
        check = self._check_examples if is_first else self.check_batch
        if y is None:
            check(X, y)  # raises scikit-learn's error
        labels, missing = split_labels(y)
        X, _ = check(X, np.zeros(len(missing), np.int64))
        _check_present(labels)
        return X, *_encode(labels, missing, labels[:0] if is_first else self.classes_, classes)


def _check_present(labels: Array) -> None:
    if len(labels):
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            raise ValueError("Input y contains infinity or a value too large.")
        check_labels(labels)


def _encode(
    labels: Array, missing: Array, known: Array, classes: npt.ArrayLike | None
) -> tuple[Array, Array]:
    """Return all classes in order, and the labels of all examples as indices of them."""
    code = np.full(len(missing), UNLABELED)
    if len(labels) or classes is not None:
        known, code[~missing] = encode(labels, known, classes)
    return known, code


def _spread_from_prototypes(forest: SeededForest) -> Forest:
    """Return the supervised forest of all examples, with labels spread from prototypes.

    These are the prototypes of a forest of the labeled examples alone.
    """
    state, given = forest.state(), forest.given_labels()
    labeled = np.flatnonzero(given != UNLABELED)
    if len(labeled) == 0:
        return forest
    seed_label = np.full(len(given), UNLABELED)
    seeds = labeled[Forest.retrain(state.select(labeled, given)).prototypes]
    seed_label[seeds] = given[seeds]
    tree = as_tree(state.model.parent, state.model.weight)
    label = spread_labels(tree, seed_label).label
    return Forest.retrain(state.select(np.arange(len(given)), label), tree)
