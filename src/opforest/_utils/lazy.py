"""Names that are imported when they are first used.

``opforest --help`` imports the package, too, and must not wait until Numba is loaded.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def attach(
    package: str, attributes: Mapping[str, Sequence[str]], submodules: Sequence[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package, as ``lazy_loader`` does.

    ``attributes`` has the names to import from each module of the package.
    """
    module_of = {name: module for module, names in attributes.items() for name in names}
    public = sorted([*module_of, *submodules])

    def getattr_(name: str) -> Any:
        if name in submodules:
            return import_module(f"{package}.{name}")
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{module_of[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return getattr_, lambda: sorted({*vars(sys.modules[package]), *public}), public
