"""Warnings that point to the user's line of code."""

import sys
import warnings

#: Packages whose frames are skipped: they call us on behalf of the user.
SKIPPED = ("opforest", "sklearn", "joblib", "dask", "distributed")


def warn(message: str) -> None:
    """Issue a UserWarning at the innermost frame outside these packages."""
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in SKIPPED:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=level)
