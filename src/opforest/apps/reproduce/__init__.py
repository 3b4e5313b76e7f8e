"""Layer 4: the experiment of the paper on OPF-Incremental, from the data to the report.

``python -m opforest.apps.reproduce`` or ``opforest reproduce`` runs it.
"""

from typing import TYPE_CHECKING

from opforest._utils.lazy import make_lazy_getattr

if TYPE_CHECKING:
    from opforest.apps.reproduce.runner import Progress, Settings, run

__all__ = ["Progress", "Settings", "run"]

__getattr__ = make_lazy_getattr(__name__, dict.fromkeys(__all__, "opforest.apps.reproduce.runner"))
