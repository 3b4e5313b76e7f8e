"""Probabilities for other frequencies of the classes than those of the known examples."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from opforest.core.metrics.types import Array


def read_priors(priors: Any, classes: Array) -> Array:
    """Return the prior probability of each class, given as ``OPFClassifier.predict`` describes."""
    if isinstance(priors, str) and priors == "balanced":
        return np.full(len(classes), 1 / len(classes))
    labels = classes.tolist()
    if isinstance(priors, Mapping):
        if set(priors) != set(labels):
            raise ValueError(
                f"priors must have a number for each of the classes {labels}, got {[*priors]}."
            )
        priors = [priors[label] for label in labels]
    try:
        found = np.array(priors, np.float64)
    except (TypeError, ValueError):
        found = np.empty(0)
    is_valid = found.shape == (len(classes),) and bool((found >= 0).all())
    if not is_valid or not 0 < found.sum() < np.inf:
        raise ValueError(
            "priors must be 'balanced', or numbers that are not negative, one for each of the "
            f"{len(classes)} classes, and not all 0, got {str(priors)[:100]}."
        )
    return np.asarray(found / found.sum())


def reweigh(log_probabilities: Array, counts: Array, priors: Array) -> Array:
    """Return the logarithms of the probabilities that hold if the classes have these priors.

    ``counts`` are the numbers of known examples, whose frequencies the probabilities imply. A
    class without examples keeps the probability 0.
    """
    with np.errstate(divide="ignore"):
        factor = np.log(priors) - np.log(np.where(counts > 0, counts, 1))
        factor[counts == 0] = -np.inf
    if not np.isfinite(factor).any():
        raise ValueError("priors must not be 0 for all classes that have examples.")
    weighted = log_probabilities + factor
    largest = weighted.max(axis=1, keepdims=True)
    is_lost = np.isneginf(largest)  # all classes with a prior are impossible
    weighted = np.where(is_lost, factor, weighted - np.where(is_lost, 0, largest))
    total = np.log(np.exp(weighted).sum(axis=1, keepdims=True))
    return np.asarray(weighted - total)
