"""Mutual information of a feature and a label in plain Python, by counting in quantile bins."""

import math
from collections import Counter


def number_of_bins(n):
    """Return the root of a fifth of the number of examples, from 4 to 32."""
    return min(max(round(math.sqrt(n / 5)), 4), 32)


def bins(values):
    """Return the bin of each value: the number of quantiles that are not larger."""
    n, ordered = len(values), sorted(values)
    count = number_of_bins(n)
    quantiles = [ordered[k * n // count] for k in range(1, count)]
    return [sum(quantile <= value for quantile in quantiles) for value in values]


def entropy(symbols):
    """Return the entropy of symbols, in nats, with the correction of Miller and Madow."""
    n, counts = len(symbols), Counter(symbols)
    plain = -math.fsum(m / n * math.log(m / n) for m in counts.values())
    return plain + (len(counts) - 1) / (2 * n)


def mutual_information(values, labels):
    """Return the information that a feature has about labels, at least 0."""
    found = bins(values)
    both = entropy(list(zip(found, labels, strict=True)))
    return max(0.0, entropy(found) + entropy(labels) - both)


def relevance(columns, labels):
    """Return the relevance of each column: a fraction of the largest one, at least 0.01."""
    information = [mutual_information(column, labels) for column in columns]
    if max(information) <= 1e-12:
        return [1.0] * len(columns)
    return [max(one / max(information), 0.01) for one in information]
