"""Fixtures of the tests of pages: a browser, and a store to show."""

import numpy as np
import pytest
from tests.support.browser import launch

from opforest import Learner


@pytest.fixture(scope="module")
def browser():
    with launch() as browser:
        yield browser


@pytest.fixture
def store(tmp_path):
    """Return a store of forty animals with two features, learned in two batches."""
    X = np.random.default_rng(0).random((40, 2))
    y = np.where(X[:, 0] > 0.5, "dog", "cat")
    keys, names = [f"img-{i}" for i in range(40)], ("size", "weight")
    learner = Learner(tmp_path / "animals.db", score=True)
    learner.learn_named(X[:20], y[:20], keys[:20], False, names)
    learner.learn_named(X[20:], y[20:], keys[20:], False, names)
    return learner
