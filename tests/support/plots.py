"""Data and helpers for tests of plots."""

import numpy as np


def blobs(n=40, d=2, n_classes=2, seed=0):
    """Return overlapping classes around different centers; features are positive."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    return rng.uniform(1, 3, (n_classes, d))[y] + rng.uniform(0, 1, (n, d)), y


def legend_texts(display):
    return [text.get_text() for text in display.legend_.get_texts()]
