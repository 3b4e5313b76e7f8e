"""Layer 4: the optimum-path forest on Dask, for more examples than one machine has time for."""

try:
    from opforest.dask.classifier import DaskOPFClassifier
    from opforest.dask.cluster import progress
except ModuleNotFoundError as error:
    if (error.name or "").startswith("opforest"):
        raise
    raise ImportError(
        f"opforest.dask needs Dask: pip install 'opforest[dask]'. There is no {error.name}."
    ) from error

__all__ = ["DaskOPFClassifier", "progress"]
