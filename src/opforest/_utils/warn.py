"""Warnings that point to the user's line of code."""

import sys
import warnings
from typing import Any

#: Packages whose frames are skipped: they call us on behalf of the user.
SKIPPED = ("opforest", "sklearn", "joblib", "dask", "distributed")


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning at the innermost frame outside these packages.

    It has the attribute ``is_from_opforest``, so that programs can tell it from those of others.
    """
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in SKIPPED:
        level, frame = level + 1, frame.f_back
    warning: Any = category(message)
    warning.is_from_opforest = True
    warnings.warn(warning, stacklevel=level)
