"""Layer 4: the experiment of the paper on OPF-Incremental, from the data to the report.

``python -m opforest.experiments`` or ``opforest reproduce`` runs it.
"""

from opforest.experiments.runner import Progress, Settings, run

__all__ = ["Progress", "Settings", "run"]
