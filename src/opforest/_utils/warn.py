"""Warnings that point at the user's own line."""

import sys
import warnings

#: Packages whose frames are skipped: they call us on behalf of the user.
BETWEEN = ("opforest", "sklearn", "joblib", "dask", "distributed")


def warn(message: str) -> None:
    """Warn the caller of the library, however deep inside it we are."""
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in BETWEEN:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=level)
