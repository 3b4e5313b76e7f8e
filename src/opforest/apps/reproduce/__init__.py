"""The experiment of the paper on OPF-Incremental, from the data to the report.

``opforest reproduce`` runs it.
"""

from typing import TYPE_CHECKING

from opforest._utils.lazy import attach

if TYPE_CHECKING:
    from opforest.apps.reproduce.runner import Progress as Progress
    from opforest.apps.reproduce.runner import Settings as Settings
    from opforest.apps.reproduce.runner import run as run

METHODS = (
    "opfi",  # the paper's algorithm
    "original",  # refitting
    "dift",  # the paper's baseline
    "exact",  # our exact update
    "1nn",  # the nearest neighbor, for comparison
)

__getattr__, __dir__, __all__ = attach(__name__, {"runner": ["Progress", "Settings", "run"]})
