"""Modules that commands import on first use, so that ``opforest --help`` does not wait for them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any


class LazyModule:
    """A module that is imported when an attribute is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        """Return an attribute of the module."""
        return getattr(import_module(self._name), attribute)


if TYPE_CHECKING:
    import numpy as np

    from opforest.io import libopf, tables
    from opforest.io.columns import table
else:
    np = LazyModule("numpy")
    libopf = LazyModule("opforest.io.libopf")
    tables = LazyModule("opforest.io.tables")
    table = LazyModule("opforest.io.columns.table")

__all__ = ["libopf", "np", "table", "tables"]
