"""Optimum-path forest classifier for Dask, when one machine would take too long."""

from opforest._utils.extras import install_command

try:
    from opforest.dask.classifier import DaskOPFClassifier
    from opforest.dask.cluster import progress
except ModuleNotFoundError as error:
    if (error.name or "").startswith("opforest"):
        raise
    raise ImportError(
        f"opforest.dask needs Dask: {install_command('dask')} (no module {error.name})."
    ) from error

__all__ = ["DaskOPFClassifier", "progress"]
