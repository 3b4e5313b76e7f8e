"""Scores that the optimum-path forest literature reports."""

from collections.abc import Hashable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_consistent_length
from sklearn.utils.multiclass import unique_labels
from sklearn.utils.validation import column_or_1d


def _confusion(
    y_true: npt.ArrayLike, y_pred: npt.ArrayLike
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Return all labels, and how often each was taken for each."""
    check_consistent_length(y_true, y_pred)
    if column_or_1d(y_true).size == 0 or column_or_1d(y_pred).size == 0:
        raise ValueError("y_true must hold at least one label, got none.")
    labels = unique_labels(y_true, y_pred)
    matrix = np.zeros((len(labels), len(labels)), np.int64)
    np.add.at(matrix, (np.searchsorted(labels, y_true), np.searchsorted(labels, y_pred)), 1)
    return labels, matrix


def opf_accuracy(y_true: npt.ArrayLike, y_pred: npt.ArrayLike) -> float:
    """Return the accuracy that LibOPF and the papers on optimum-path forests report.

    For each of the c classes in ``y_true``, the share of the other examples that were taken for
    this class and the share of its own that were not are averaged; the accuracy is 1 minus the
    mean of that. A share of nothing counts as 0. With two classes it is scikit-learn's balanced
    accuracy; with more it is not.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The true labels.
    y_pred : array-like of shape (n_samples,)
        The predicted labels.

    Returns
    -------
    float
        1 − Σᵢ (FPᵢ / (N − Nᵢ) + FNᵢ / Nᵢ) / 2c, between 0 and 1.

    Examples
    --------
    >>> from opforest.scores import opf_accuracy
    >>> opf_accuracy([1, 1, 2, 2], [1, 1, 1, 2])
    0.75
    """
    _, matrix = _confusion(y_true, y_pred)
    own = matrix.sum(axis=1)
    others = own.sum() - own
    missed = own - np.diag(matrix)
    taken = matrix.sum(axis=0) - np.diag(matrix)
    present = own > 0
    errors = missed[present] / own[present] + taken[present] / np.maximum(others[present], 1)
    return float(1 - errors.sum() / (2 * present.sum()))


def class_recall(y_true: npt.ArrayLike, y_pred: npt.ArrayLike) -> dict[Hashable, float]:
    """Return, for each class in ``y_true``, the share of its examples that were recognized.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The true labels.
    y_pred : array-like of shape (n_samples,)
        The predicted labels.

    Returns
    -------
    dict
        Recall by label, in the order of the labels.

    Examples
    --------
    >>> from opforest.scores import class_recall
    >>> class_recall(["a", "a", "b", "b"], ["a", "b", "b", "b"])
    {'a': 0.5, 'b': 1.0}
    """
    labels, matrix = _confusion(y_true, y_pred)
    own = matrix.sum(axis=1)
    return {
        label: float(matrix[i, i] / own[i]) for i, label in enumerate(labels.tolist()) if own[i] > 0
    }
