"""The experiment of the paper on OPF-Incremental, from the data to the report.

``opforest reproduce`` runs it.
"""

from typing import TYPE_CHECKING

from opforest._utils.lazy import lazy

if TYPE_CHECKING:
    from opforest.apps.reproduce.runner import Progress, Settings, run

__all__ = ["Progress", "Settings", "run"]

__getattr__ = lazy(__name__, dict.fromkeys(__all__, "opforest.apps.reproduce.runner"))
