import os
from pathlib import Path

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # before SciPy is imported
os.environ.setdefault("MPLBACKEND", "Agg")

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "opforest",
    deadline=None,  # the first example may compile a kernel
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("opforest")


@pytest.fixture(scope="session")
def shared():
    """The folder with golden outputs and data sets, which lies beside the project."""
    folder = Path(__file__).parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("../shared is not there: no golden files and data sets to compare with")
    return folder
