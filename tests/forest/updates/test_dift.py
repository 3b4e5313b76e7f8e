"""DIFT makes every new example a prototype."""

import numpy as np

from opforest import OPFClassifier


def test_dift_makes_every_new_example_a_prototype():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 2)), rng.integers(0, 2, 50)
    clf = OPFClassifier(update="dift").fit(X[:20], y[:20])
    before = clf.forest_.cost, clf.forest_.root
    clf.partial_fit(X[20:], y[20:])
    assert np.array_equal(clf.forest_.cost, np.append(before[0], np.zeros(30)))
    assert np.array_equal(clf.forest_.root, np.append(before[1], np.arange(20, 50)))
    assert clf.update_report_.learned == clf.update_report_.prototypes_gained == 30
