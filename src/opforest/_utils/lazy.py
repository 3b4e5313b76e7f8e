"""Names that are imported when they are first used.

``opforest --help`` imports the package, too, and must not wait until Numba is loaded.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def make_lazy_getattr(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package whose names live in, or are, these modules."""

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = import_module(homes[name])
        value = home if homes[name] == f"{package}.{name}" else getattr(home, name)
        setattr(sys.modules[package], name, value)
        return value

    return find
