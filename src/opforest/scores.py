"""Scores in the literature on optimum-path forests."""

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
    """Return all labels, and the confusion matrix."""
    check_consistent_length(y_true, y_pred)
    if column_or_1d(y_true).size == 0 or column_or_1d(y_pred).size == 0:
        raise ValueError("y_true must have at least one label, got none.")
    labels = unique_labels(y_true, y_pred)
    matrix = np.zeros((len(labels), len(labels)), np.int64)
    np.add.at(matrix, (np.searchsorted(labels, y_true), np.searchsorted(labels, y_pred)), 1)
    return labels, matrix


def opf_accuracy(y_true: npt.ArrayLike, y_pred: npt.ArrayLike) -> float:
    """Return the accuracy reported by LibOPF and by papers on optimum-path forests.

    It is 1 minus the mean, over the c classes in ``y_true``, of the average of the false positive
    rate and the false negative rate; a rate of no examples counts as 0. With two classes it equals
    scikit-learn's balanced accuracy.

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
    false_positives = matrix.sum(axis=0) - np.diag(matrix)
    is_present = own > 0
    rates = missed / np.maximum(own, 1) + false_positives / np.maximum(others, 1)
    return float(1 - rates[is_present].sum() / (2 * is_present.sum()))


def class_recall(y_true: npt.ArrayLike, y_pred: npt.ArrayLike) -> dict[Hashable, float]:
    """Return the recall of each class in ``y_true``.

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
