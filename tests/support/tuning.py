"""Temporary changes of thresholds."""

from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from opforest._utils import tuning

#: Learn and forget examples one by one, however many there are.
NO_REFIT = {"refit_fraction": np.inf, "refit_fraction_to_forget": np.inf}


@contextmanager
def tuned(**changes):
    """Replace some thresholds inside a block."""
    saved, tuning.values = tuning.values, replace(tuning.values, **changes)
    try:
        yield
    finally:
        tuning.values = saved


def tune(**changes):
    """Replace some thresholds until the end of the test."""
    tuning.values = replace(tuning.values, **changes)


def reset():
    """Restore all thresholds."""
    tuning.values = tuning.Tuning()
