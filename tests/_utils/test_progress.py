"""Phases of long work and their progress."""

import numpy as np
import pytest
from tests.support.tuning import tune

from opforest import OPFClassifier
from opforest._utils.progress import report_to


class Listener:
    """Records phases and fractions."""

    def __init__(self):
        self.phases, self.shares = [], []

    def begin(self, name, size=None):
        self.phases.append((name, size))

    def advance(self, share):
        self.shares.append(share)


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
def test_a_listener_hears_of_phases_and_of_rising_shares(algorithm):
    tune(work_per_call=600)
    X = np.random.default_rng(0).normal(size=(300, 2))
    listener = Listener()
    with report_to(listener):
        OPFClassifier(algorithm=algorithm).fit(X, X[:, 0] > 0)
    assert listener.phases == [("spanning tree", 300), ("index", 300)]
    assert len(listener.shares) > 2
    assert listener.shares == sorted(listener.shares)
    assert 0 <= listener.shares[0] <= listener.shares[-1] <= 1


def test_verbose_prints_phases_and_how_far_they_are(capsys):
    tune(print_interval=0.0)
    OPFClassifier(verbose=1).fit([[0.0], [1], [3]], [0, 0, 1])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("[OPFClassifier] spanning tree, 3 examples: 0 % after 0.0 s")
    assert lines[-1].startswith("[OPFClassifier] index, 3 examples: 0.")


def test_nobody_hears_of_anything_unless_asked(capsys):
    OPFClassifier().fit([[0.0], [1], [3]], [0, 0, 1])
    assert capsys.readouterr().out == ""
