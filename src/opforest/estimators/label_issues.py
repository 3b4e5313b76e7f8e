"""Labels that are probably wrong: known examples that are outvoted by the others."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from opforest._utils.text import count
from opforest.core.metrics.types import Array
from opforest.estimators.pipeline import classifier_of
from opforest.estimators.validation import check_voters, require_count
from opforest.forest.explanation import Voter, list_voters
from opforest.forest.forest import BaseForest
from opforest.forest.judgment import Judgment, find_judging_rules, judge, judge_exactly

#: Rows of a printed table.
PRINTED_ISSUES = 10


@dataclass(frozen=True)
class LabelIssue:
    """A known example whose label is probably wrong.

    Attributes
    ----------
    id : int
        The id of the example, as in ``OPFClassifier.forget``.
    label : object
        The label that it was given.
    suggested : object
        The label that the others vote for.
    probability : float
        The probability of the suggested label.
    given_probability : float
        The probability of the given label.
    voters : tuple of Voter
        The examples that vote, the cheapest offer first.
    key : str or None
        The key of the example in a ``Learner``.

    Examples
    --------
    >>> from opforest import OPFClassifier, find_label_issues
    >>> X = [[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2], [5.3]]
    >>> clf = OPFClassifier(voters=3).fit(X, ["a", "a", "a", "a", "b", "a", "b", "b"])
    >>> issue = find_label_issues(clf)[0]
    >>> issue.id, issue.label, issue.suggested
    (5, 'a', 'b')
    >>> [voter.id for voter in issue.voters]
    [4, 6, 7]
    """

    id: int
    label: Any
    suggested: Any
    probability: float
    given_probability: float
    voters: tuple[Voter, ...] = field(repr=False)
    key: str | None = None

    @property
    def name(self) -> str:
        """Its name in a table."""
        return str(self.id) if self.key is None else self.key

    @property
    def agreeing(self) -> Voter | None:
        """The voter with the cheapest offer that has the given label; None if there is none."""
        return next((voter for voter in self.voters if voter.label == self.label), None)

    @property
    def disagreeing(self) -> Voter:
        """The voter with the cheapest offer that has the suggested label."""
        return next(voter for voter in self.voters if voter.label == self.suggested)


class KnownLabels(NamedTuple):
    """The examples that a classifier knows, for tables and pictures."""

    ids: Array
    codes: Array  #: of their given classes; −1 without a label
    classes: list[Any]
    points: Array | None = None  #: where they have two features


class LabelIssues(Sequence[LabelIssue]):
    """Known examples whose labels are probably wrong, the most suspicious first.

    ``find_label_issues`` makes it. It is a sequence of ``LabelIssue``, ordered by the probability
    of the suggested label, then by id. It prints as a table, and notebooks show one.

    Attributes
    ----------
    ids : array of int
        The ids of the examples, as for ``OPFClassifier.forget``.
    n_judged : int
        The number of examples that were judged.
    n_voters : int
        The largest number of examples that vote on one.

    Examples
    --------
    >>> from opforest import OPFClassifier, find_label_issues
    >>> X = [[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2], [5.3]]
    >>> clf = OPFClassifier(voters=3).fit(X, ["a", "a", "a", "a", "b", "a", "b", "b"])
    >>> issues = find_label_issues(clf)
    >>> issues.ids
    array([5])
    >>> clf.forget(issues.ids).predict([[5.1]])
    array(['b'], dtype='<U1')
    """

    def __init__(
        self, issues: Iterable[LabelIssue], n_judged: int, n_voters: int, known: KnownLabels
    ) -> None:
        self._issues = tuple(issues)
        self.n_judged, self.n_voters, self.known = n_judged, n_voters, known

    @property
    def ids(self) -> Array:
        """The ids of the examples, the most suspicious first."""
        return np.array([issue.id for issue in self._issues], np.int64)

    def __len__(self) -> int:
        """Return the number of examples whose labels are probably wrong."""
        return len(self._issues)

    @overload
    def __getitem__(self, index: int) -> LabelIssue: ...

    @overload
    def __getitem__(self, index: slice) -> "LabelIssues": ...

    def __getitem__(self, index: int | slice) -> "LabelIssue | LabelIssues":
        """Return one of them, or some of them as an object of this class."""
        if isinstance(index, slice):
            return LabelIssues(self._issues[index], self.n_judged, self.n_voters, self.known)
        return self._issues[index]

    def __repr__(self) -> str:
        """Return a summary."""
        return f"<LabelIssues: {len(self)} of {count(self.n_judged, 'label')} probably wrong>"

    def __str__(self) -> str:
        """Return a summary and a table of the first ones."""
        head = ("id", "given", "suggested", "probability")
        rows = [
            (one.name, repr(one.label), repr(one.suggested), f"{one.probability:.3f}")
            for one in self._issues[:PRINTED_ISSUES]
        ]
        width = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        lines = [
            "  ".join(cell.ljust(wide) for cell, wide in zip(row, width, strict=True)).rstrip()
            for row in ([head, *rows] if rows else [])
        ]
        if len(self) > PRINTED_ISSUES:
            lines.append(f"... {len(self) - PRINTED_ISSUES} more ...")
        return "\n".join([repr(self)[1:-1], *lines])

    def _repr_html_(self) -> str:
        from opforest.display.label_issues import issues_html

        return issues_html(self)

    def columns(self, X: Any = None, names: Sequence[str] | None = None) -> dict[str, list[Any]]:
        """Return the columns of ``to_frame`` as lists.

        Parameters
        ----------
        X : array-like of shape (n_known, n_features) or data frame, default=None
            As for ``to_frame``.
        names : sequence of str, default=None
            The names of the features; by default those of the data frame, or numbers from 0.

        Returns
        -------
        dict
            Lists of equal lengths, by the names of the columns.

        Examples
        --------
        >>> from opforest import OPFClassifier, find_label_issues
        >>> X = [[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2], [5.3]]
        >>> clf = OPFClassifier(voters=3).fit(X, ["a", "a", "a", "a", "b", "a", "b", "b"])
        >>> find_label_issues(clf).columns()["suggested"]
        ['b']
        """
        fields = ("id", "label", "suggested", "probability", "given_probability")
        found = {name: [getattr(one, name) for one in self._issues] for name in fields}
        beside: dict[str, list[int | None]] = {
            "agreeing": [None if v is None else v.id for v in (i.agreeing for i in self._issues)],
            "disagreeing": [one.disagreeing.id for one in self._issues],
        }
        found |= beside
        if X is not None:
            features, rows = self._select_rows(X)
            for prefix, ids in {"": found["id"], **beside}.items():
                for k, feature in enumerate(features if names is None else names):
                    found[f"{prefix} {feature}".strip()] = [
                        None if id is None else rows[id][k] for id in ids
                    ]
        return found

    def _select_rows(self, X: Any) -> tuple[list[str], dict[int, list[Any]]]:
        """Return the names of features, and the rows of the examples in the table by id."""
        ids = self.known.ids
        if not hasattr(X, "columns"):
            X = np.asarray(X)
        if len(X) != len(ids) or len(X.shape) != 2:
            raise ValueError(
                f"X must hold the {len(ids)} examples that the classifier knows, in the order of "
                f"forest_.ids, got shape {X.shape}."
            )
        wanted = {one.id for one in self._issues}
        wanted |= {one.disagreeing.id for one in self._issues}
        wanted |= {one.agreeing.id for one in self._issues if one.agreeing is not None}
        named = [f"feature {k}" for k in range(X.shape[1])]
        named = [str(name) for name in getattr(X, "columns", named)]
        order = sorted(wanted)
        place = np.searchsorted(ids, order)
        chosen = X.iloc[place].to_numpy(object) if hasattr(X, "iloc") else X[place]
        rows = chosen.rows() if hasattr(chosen, "rows") else chosen.tolist()
        return named, dict(zip(order, map(list, rows), strict=True))

    def to_frame(self, X: Any = None) -> Any:
        """Return a data frame with a row for each example, the most suspicious first.

        Parameters
        ----------
        X : array-like of shape (n_known, n_features) or data frame, default=None
            The examples that the classifier knows, in the order of ``forest_.ids``. If it is given,
            the features of each example are added, and those of the two voters beside it.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            The columns ``id``, ``label``, ``suggested``, ``probability``, ``given_probability``,
            and the ids of the voters with the cheapest offers that have the given label
            (``agreeing``, if there is one) and the suggested one (``disagreeing``). It is made by
            pandas, or by polars if pandas is not installed.

        Examples
        --------
        >>> from opforest import OPFClassifier, find_label_issues
        >>> X = [[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2], [5.3]]
        >>> clf = OPFClassifier(voters=3).fit(X, ["a", "a", "a", "a", "b", "a", "b", "b"])
        >>> find_label_issues(clf).to_frame(X)[["id", "feature 0", "disagreeing feature 0"]]
           id  feature 0  disagreeing feature 0
        0   5        5.1                    5.0
        """
        from opforest.display.label_issues import make_frame

        return make_frame(self.columns(X))

    def plot(self, X: npt.ArrayLike | None = None, n: int = 10) -> Any:
        """Draw the most suspicious examples.

        Parameters
        ----------
        X : array-like of shape (n_known, 2), default=None
            Where to draw the examples that the classifier knows, in the order of ``forest_.ids``;
            by default their features, if there are two. Examples with other numbers of features
            are drawn as bars: the probabilities of the given and of the suggested label.
        n : int, default=10
            The number of examples.

        Returns
        -------
        matplotlib.figure.Figure
            The picture.

        Examples
        --------
        >>> from opforest import OPFClassifier, find_label_issues
        >>> X = [[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2], [5.3]]
        >>> clf = OPFClassifier(voters=3).fit(X, ["a", "a", "a", "a", "b", "a", "b", "b"])
        >>> find_label_issues(clf).plot(n=3).axes[0].get_title()
        '1 of 8 labels is probably wrong'
        """
        from opforest.display.label_issues import plot_issues

        require_count("n", n, 1)
        return plot_issues(self, X, n)


def find_label_issues(clf: Any, *, exact: bool = False, n_jobs: int | None = None) -> LabelIssues:
    """Find the known examples whose labels are probably wrong.

    Each example is judged by the votes of the cheapest offers of the others, with the costs of the
    forest that knows them all. Its label is probably wrong if the others vote for another one, and
    if its probability is at most the mean probability that a given label is wrong: 1 minus the
    mean probability of the given labels; or if no other example has it.

    Parameters
    ----------
    clf : OPFClassifier, OPFSemiSupervised, DaskOPFClassifier, or a pipeline that ends in one
        A fitted classifier. If its ``voters`` are a number above 1, that many judge; otherwise,
        the number of largest leave-one-out likelihood, but at least 10. Of an
        ``OPFSemiSupervised``, only given labels are judged, by the examples of other trees.
    exact : bool, default=False
        Whether to judge each example by the forest refitted without it. That is slow: it takes 10
        to 60 times as long for up to a thousand examples, more for larger sets, and rarely changes
        the result.
    n_jobs : int, default=None
        The number of threads; by default that of the classifier. The result does not depend on it.

    Returns
    -------
    LabelIssues
        The examples, the most suspicious first.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from opforest import OPFClassifier, find_label_issues
    >>> X, y = load_iris(return_X_y=True)
    >>> y[[3, 60]] = 2, 0
    >>> issues = find_label_issues(OPFClassifier().fit(X, y))
    >>> {3, 60} <= set(issues.ids.tolist())
    True
    >>> issues[0].label, issues[0].suggested
    (2, 0)
    """
    _check_options(clf, exact, n_jobs)
    last = classifier_of(clf)
    voters, fitted = check_voters(last.voters), last.fitted_source()
    n_jobs = last.n_jobs if n_jobs is None else n_jobs
    with fitted.read():
        forest, classes = fitted
        known = _list_labels(forest, classes.tolist())
        rules = find_judging_rules(forest, voters, n_jobs)
        if exact:
            blocks = judge_exactly(forest, len(classes), rules)
        else:
            blocks = judge(forest, len(classes), rules, n_jobs)
        n_given = np.bincount(known.codes[known.codes >= 0], minlength=len(classes))
        n_judged, suspects = _find_suspects(blocks, n_given == 1)
    issues = [issue for one in suspects for issue in _describe(one, known.classes)]
    issues.sort(key=lambda issue: (-issue.probability, issue.id))
    return LabelIssues(issues, n_judged, min(rules.voters, max(0, len(known.ids) - 1)), known)


def _check_options(clf: Any, exact: object, n_jobs: object) -> None:
    if hasattr(clf, "parts_"):
        raise ValueError(
            "the labels of a model in parts cannot be judged. Call find_label_issues with "
            "model.to_local(), if that fits into the memory of this machine."
        )
    if not isinstance(exact, bool | np.bool_):
        raise ValueError(f"exact must be True or False, got {exact!r}.")
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise ValueError(f"n_jobs must be an integer that is not 0, or None, got {n_jobs!r}.")


def _list_labels(forest: BaseForest, classes: list[Any]) -> KnownLabels:
    """Return the examples of a forest. Callers hold a read lock."""
    has_places = forest.n_features == 2 and forest.metric.keeps_points
    points = forest.points if has_places else None
    return KnownLabels(forest.ids, forest.given_labels(), classes, points)


def _find_suspects(blocks: Iterable[Judgment], is_unique: Array) -> tuple[int, list[Judgment]]:
    """Return the number of examples, and those whose labels are probably wrong.

    ``is_unique`` tells, by class, whether only one example was given it.
    """
    outvoted, given = [], []
    for block in blocks:
        given += block.own_probability().tolist()
        outvoted.append(block.take(np.flatnonzero(block.election.winner != block.own)))
    # The sum is exact, so that the size of blocks does not matter.
    wrong = 1 - math.fsum(given) / max(1, len(given))
    suspects = [
        one.take(np.flatnonzero((one.own_probability() <= wrong) | is_unique[one.own]))
        for one in outvoted
    ]
    return len(given), suspects


def _describe(judgment: Judgment, classes: list[Any]) -> Iterator[LabelIssue]:
    """Yield the records of examples whose labels are probably wrong."""
    given = judgment.own_probability().tolist()
    for i, winner in enumerate(judgment.election.winner.tolist()):
        yield LabelIssue(
            int(judgment.id[i]),
            classes[judgment.own[i]],
            classes[winner],
            float(judgment.probability[i, winner]),
            given[i],
            list_voters(judgment.voter, judgment.election, classes, i),
        )
