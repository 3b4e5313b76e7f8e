"""Layer 4: the experiment of the paper on OPF-Incremental, from the data to the report.

``python -m opforest.experiments`` or ``opforest reproduce`` runs it.
"""

from typing import TYPE_CHECKING

from opforest._lazy import lazy

if TYPE_CHECKING:
    from opforest.experiments.runner import Progress, Settings, run

__all__ = ["Progress", "Settings", "run"]

__getattr__ = lazy(__name__, dict.fromkeys(__all__, "opforest.experiments.runner"))
