"""Layer 3: a classifier that learns from examples only some of which have labels."""

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted, column_or_1d

from opforest._progress import phase, printing
from opforest._spread import warn_of_spreads
from opforest.base import Array, check_labels, encode
from opforest.classifier import OPFClassifier, check_ids
from opforest.examples import taken
from opforest.forest import BaseForest, Forest
from opforest.kernels.conquering.tree import as_tree
from opforest.kernels.seeding.spread import UNLABELLED, spread_labels
from opforest.report import no_counts
from opforest.seeded import SeededForest
from opforest.updates.exact import grow, shrink
from opforest.updates.seeded import give_labels

#: Which examples the labels of others come from.
SEEDS = ("labelled", "prototypes")


def split_labels(y: Any) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Return the labels that are there, and which examples have none.

    None is −1, NaN or ``None``.
    """
    labels = np.asarray(y)
    if labels.dtype.kind == "U" and not isinstance(y, np.ndarray):
        labels = np.asarray(y, object)  # a NaN among strings has become one of them
    if labels.ndim != 1:
        labels = column_or_1d(labels, warn=True)
    if labels.dtype.kind in "iuf":
        missing = labels == UNLABELLED
        if labels.dtype.kind == "f":
            missing |= np.isnan(labels)
        return labels[~missing], missing
    if labels.dtype != object:
        return labels, np.zeros(len(labels), bool)
    missing = np.array([_is_missing(label) for label in labels], bool)
    present = labels[~missing]
    if len({type(label) for label in present}) == 1:
        plain = np.array(present.tolist())
        present = plain if plain.ndim == 1 else present
    return present, missing


def _is_missing(label: Any) -> bool:
    if label is None:
        return True
    is_number = isinstance(label, int | float | np.number) and not isinstance(label, bool)
    return is_number and bool(label != label or label == UNLABELLED)


class OPFSemiSupervised(OPFClassifier):
    """Optimum-path forest of examples only some of which have labels.

    All labelled examples are seeds, and share all others along the minimum spanning tree of all
    examples: each is joined to a seed by the way whose largest step is the smallest, and takes its
    label. A new example gets the label of the example that offers it the cheapest path, as with
    ``OPFClassifier``.

    That serves classes that hang together, whatever their shape: moons, rings, spirals. Where
    clouds of classes overlap, one bridge is enough for a wrong label to run through a whole cloud;
    compare with ``OPFClassifier`` on the labelled examples alone. Without unlabelled examples this
    is the nearest-neighbour classifier.

    Parameters
    ----------
    metric : str or callable, default="euclidean"
        As for ``OPFClassifier``.
    metric_params : dict, default=None
        As for ``OPFClassifier``.
    seeds : {"labelled", "prototypes"}, default="labelled"
        ``"labelled"``: all labelled examples are seeds, and keep their labels (Amorim et al. 2016).
        ``"prototypes"``: as LibOPF's ``opf_semi`` does it (Amorim et al. 2014), for comparison.
        Only the prototypes of a forest of the labelled examples are seeds, so that even examples
        with a label may be given another one; and the model is the supervised forest of all
        examples with these labels. Each change takes time linear in the number of all examples.
    algorithm : {"auto", "kd_tree", "brute"}, default="auto"
        As for ``OPFClassifier``.
    n_jobs : int, default=None
        As for ``OPFClassifier``.
    verbose : int, default=0
        As for ``OPFClassifier``.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    transduction_ : array of shape (n_samples,)
        The label of each example that is known, its own or that of its seed.
    forest_ : Forest
        What was learned; its prototypes are the seeds, unless ``seeds="prototypes"``.
    sharpness_ : float
        The exponent that makes probabilities of costs, as for ``OPFClassifier``.
    update_report_ : UpdateReport
        What the last call of ``partial_fit``, ``label`` or ``forget`` did.
    n_features_in_ : int
        The number of features seen by ``fit``.

    See Also
    --------
    OPFClassifier : Where all examples have labels.
    opforest.active : Which examples to ask somebody about.

    Notes
    -----
    With one more vertex that is joined to all seeds by edges shorter than any, the forest is a
    minimum spanning tree, unique under (distance, smaller index, larger index). So an example that
    comes changes it as it would change any spanning tree, and a label that comes takes out exactly
    one edge: the largest on the way to the seed that was. After each change the model is, bit for
    bit, what ``fit`` on the same data would give.

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

    def __init__(
        self,
        metric: str | Callable[..., float] = "euclidean",
        *,
        metric_params: Mapping[str, Any] | None = None,
        seeds: str = "labelled",
        algorithm: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            metric, metric_params=metric_params, algorithm=algorithm, n_jobs=n_jobs, verbose=verbose
        )
        self.seeds = seeds

    @property
    def transduction_(self) -> Array:
        """The label of each example that is known, its own or that of its seed."""
        if "forest_" not in vars(self):
            raise AttributeError("there is no transduction_ before fit")
        learned = self._learned()
        with learned.reading():
            if self._seeded().n_seeds:
                return learned.labels_of(np.arange(len(learned.forest)))
            missing = UNLABELLED if learned.classes.dtype.kind in "iuf" else None
            return np.full(len(learned.forest), missing)

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Learn the forest of examples with and without labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            The examples, or the distances between them if ``metric="precomputed"``.
        y : array-like of shape (n_samples,)
            Their labels, of any kind that can be sorted; −1, ``None`` or NaN where there is none.

        Returns
        -------
        OPFSemiSupervised
            The fitted classifier itself.
        """
        fresh = self._trained(X, y)
        if fresh._seeded().n_seeds == 0:
            raise ValueError(
                "y has no labels: at least one example must have one that is not −1, None or NaN. "
                "To begin without, call partial_fit instead, and label later."
            )
        self.__dict__ = fresh.__dict__
        return self

    def partial_fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike, classes: npt.ArrayLike | None = None
    ) -> Self:
        """Learn more examples, with and without labels.

        The first call is a ``fit``, but for that labels may all be missing: such a model predicts
        once it has been given one. If it fails, the model is exactly as it was before; if it is
        interrupted (Ctrl-C) or runs out of memory on the way, the model has learned the first
        examples of the batch, if any, and the error says how many.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The examples. If ``metric="precomputed"``, the distances from each to all known
            examples and then to all examples of this call.
        y : array-like of shape (n_samples,)
            Their labels; −1, ``None`` or NaN where there is none.
        classes : array-like, default=None
            Labels to announce; they join ``classes_`` even before an example does.

        Returns
        -------
        OPFSemiSupervised
            The classifier itself.
        """
        if not hasattr(self, "forest_"):
            return self._begin(X, y, classes)
        self._check_seeds()
        labels, missing = split_labels(y)
        X, _ = self._check_more(X, np.zeros(len(missing), np.int64))
        _check_present(labels)
        all_classes, label = _encode(labels, missing, self.classes_, classes)
        counts = no_counts()
        forest = self._renamed(self._seeded(), all_classes)
        with printing(type(self).__name__, self.verbose):
            phase("learning", len(X))
            if self.seeds == "labelled":
                steps = grow(forest, X, label, counts)
                return self._follow(steps, all_classes, counts, ("partial_fit", "learned", len(X)))
            *_, grown = grow(_copied(forest), X, label, counts)
            self._keep(grown, all_classes, counts)
        return self

    def label(self, ids: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Give labels to examples that are known and have none.

        The model becomes what ``fit`` with these labels would give. That takes as long as it takes
        to follow the way from the example to its seed, and to change the costs and labels of those
        for whom the new seed is the better one.

        Parameters
        ----------
        ids : int or array-like of int
            The arrival numbers of the examples, as in ``forest_.ids``: the first example learned
            has the id 0, the next one 1, and so on.
        y : label or array-like
            Their labels. New classes are welcome. An example that has this very label is left as
            it is; one that has another must be forgotten first.

        Returns
        -------
        OPFSemiSupervised
            The classifier itself.

        Examples
        --------
        >>> from opforest import OPFSemiSupervised
        >>> clf = OPFSemiSupervised().fit([[0.0], [1.0], [3.0], [4.0]], ["a", None, None, "b"])
        >>> clf.label(1, "c").transduction_
        array(['a', 'c', 'b', 'b'], dtype='<U1')
        """
        check_is_fitted(self, "forest_")
        self._check_seeds()
        self._check_metric()
        forest = self._seeded()
        given = np.atleast_1d(np.asarray(ids))
        ordered = check_ids(ids, forest)
        labels, missing = split_labels(np.atleast_1d(np.asarray(y)))
        if missing.any():
            raise ValueError("y must be labels, got −1, None or NaN among them.")
        if len(labels) != len(ordered):
            raise ValueError(
                f"y must be {len(ordered)} labels, one for each id, got {len(labels)}."
            )
        _check_present(labels)
        labels = labels[np.argsort(given, kind="stable")]
        all_classes, code = _encode(labels, np.zeros(len(labels), bool), self.classes_, None)
        forest = self._renamed(forest, all_classes)
        examples = forest.examples
        record = examples.state.vertices[examples.vertices_of(ordered)]
        before = np.where(record["cuts"] > 0, record["label"], UNLABELLED)
        wrong = np.flatnonzero((before != UNLABELLED) & (before != code))
        if len(wrong):
            i = wrong[0]
            raise ValueError(
                f"example {ordered[i]} has the label {all_classes[before[i]]!r} already, got "
                f"{all_classes[code[i]]!r}. To change it, forget the example and learn it anew."
            )
        counts = no_counts()
        new = before == UNLABELLED
        if new.any():
            if self.seeds == "prototypes":
                forest = _copied(forest)
            forest = give_labels(forest, ordered[new], code[new], counts)
        self._keep(forest, all_classes, counts)
        return self

    def forget(self, ids: npt.ArrayLike) -> Self:
        """Forget examples: the model becomes what ``fit`` on the others would give.

        Without the last label, it cannot predict until it is given another one.

        Parameters
        ----------
        ids : int or array-like of int
            The arrival numbers of the examples to forget, as for ``OPFClassifier.forget``.

        Returns
        -------
        OPFSemiSupervised
            The classifier itself.
        """
        check_is_fitted(self, "forest_")
        self._check_seeds()
        self._check_metric()
        forest = self._seeded()
        ids = check_ids(ids, forest)
        counts = no_counts()
        if self.seeds == "labelled":
            steps = shrink(forest, ids, counts)
            return self._follow(steps, self.classes_, counts, ("forget", "forgotten", len(ids)))
        *_, shrunk = shrink(_copied(forest), ids, counts)
        self._keep(shrunk, self.classes_, counts)
        return self

    # The forest of all labelled seeds has all that was learned; where prototypes are the seeds,
    # the other one is made of it.

    def _count_prototypes(self) -> int:
        return self._seeded().n_seeds

    def _seeded(self) -> SeededForest:
        forest: SeededForest = vars(self).get("labelled_forest_", vars(self)["forest_"])
        return forest

    def _keep(self, forest: BaseForest, classes: Array, counts: Array | None = None) -> None:
        if self.seeds == "labelled":
            super()._keep(forest, classes, counts)
            return
        twin = object.__new__(type(self))  # all at once: one assignment at the end
        twin.__dict__ = {**vars(self), "labelled_forest_": forest}
        model = spread_from_prototypes(forest)  # type: ignore[arg-type]
        super(OPFSemiSupervised, twin)._keep(model, classes, counts)
        self.__dict__ = twin.__dict__

    def _check_queries(self, X: npt.ArrayLike) -> Array:
        X = super()._check_queries(X)
        seeded = self._seeded()
        if seeded.n_seeds == 0 and len(seeded):
            raise ValueError(
                "no example has a label: there is nothing to predict. Use label first."
            )
        return X

    def _check_seeds(self) -> None:
        if self.seeds not in SEEDS:
            raise ValueError(f"seeds must be one of {list(SEEDS)}, got {self.seeds!r}.")
        if ("labelled_forest_" in vars(self)) != (self.seeds == "prototypes"):
            raise ValueError("seeds have been changed since the model was learned. Call fit first.")

    def _renamed(self, forest: SeededForest, classes: Array) -> SeededForest:
        """Return the forest with the codes of more classes; whoever has the old one keeps it."""
        if len(classes) == len(self.classes_):
            return forest
        return forest.relabelled(np.searchsorted(classes, self.classes_))

    def _trained(self, X: Any, y: Any, classes: npt.ArrayLike | None = None) -> Self:
        """Return a copy that has learned these examples and no others."""
        fresh = self._unfitted()
        if self.seeds not in SEEDS:
            raise ValueError(f"seeds must be one of {list(SEEDS)}, got {self.seeds!r}.")
        metric = fresh._find_metric()
        if y is None:
            fresh._check_examples(X, y)  # complains
        labels, missing = split_labels(y)
        X, _ = fresh._check_examples(X, np.zeros(len(missing), np.int64))
        _check_present(labels)
        all_classes, label = _encode(labels, missing, labels[:0], classes)
        warn_of_spreads(X, metric.name, getattr(fresh, "feature_names_in_", None))
        with printing(type(self).__name__, self.verbose):
            forest = SeededForest.train(metric.embed(X), label, metric, self.algorithm, self.n_jobs)
            fresh._keep(forest, all_classes)
        return fresh


def _check_present(labels: Array) -> None:
    if len(labels):
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            raise ValueError("Input y contains infinity or a value too large.")
        check_labels(labels)


def _encode(
    labels: Array, missing: Array, known: Array, classes: npt.ArrayLike | None
) -> tuple[Array, Array]:
    """Return all classes in order, and the labels of all examples as indices of them."""
    code = np.full(len(missing), UNLABELLED)
    if len(labels) or classes is not None:
        known, code[~missing] = encode(labels, known, classes)
    return known, code


def _copied(forest: SeededForest) -> SeededForest:
    parts = forest.parts()
    return forest.from_parts(parts._replace(rows=parts.rows.copy()))


def spread_from_prototypes(forest: SeededForest) -> Forest:
    """Return the supervised forest of examples with the labels that prototypes spread.

    Prototypes are those of the forest of the labelled examples alone.
    """
    parts, given = forest.parts(), forest.given()
    labelled = np.flatnonzero(given != UNLABELLED)
    if len(labelled) == 0:
        return forest
    seed_label = np.full(len(given), UNLABELLED)
    alone = Forest.retrain(taken(parts, labelled, given))
    seeds = labelled[alone.prototypes]
    seed_label[seeds] = given[seeds]
    tree = as_tree(parts.model.parent, parts.model.weight)
    label = spread_labels(tree, seed_label).label
    everyone = taken(parts, np.arange(len(given)), label)
    return Forest.retrain(everyone, tree)
