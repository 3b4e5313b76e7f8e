import os
import shutil
import signal

from tests.support import compile_cache

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # before SciPy is imported
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("NUMBA_CACHE_DIR", str(compile_cache.FOLDER))  # before Numba is imported

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from tests.support.data_files import LIBOPF, LIBOPF_SETS
from tests.support.tuning import reset

MEMORY = "/dev/shm"
if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > 4 << 30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", MEMORY)  # stores need not wait for a disk

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A suite in the background is told to ignore Ctrl-C, and so would be what it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples in every run; `pytest --hypothesis-profile=search` tries others each time.
for profile, is_fixed in (("fixed", True), ("search", False)):
    settings.register_profile(
        profile,
        max_examples=50 if is_fixed else 200,
        deadline=None,  # the first example may compile a kernel
        derandomize=is_fixed,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile("fixed")


def pytest_configure(config):
    if not hasattr(config, "workerinput"):  # workers of pytest-xdist remove nothing
        compile_cache.remove_others()


@pytest.fixture(autouse=True)
def usual_tuning():
    """Restore the thresholds that a test has changed by ``tune``."""
    yield
    reset()


@pytest.fixture(params=LIBOPF_SETS)
def golden(request):
    """A folder with a data set and what LibOPF made of it."""
    return LIBOPF / request.param


@pytest.fixture(scope="session")
def iris():
    """The flowers as a table of ours, shuffled."""
    from sklearn.datasets import load_iris

    from opforest.io.columns.table import Data

    flowers = load_iris()
    order = np.random.default_rng(0).permutation(150)
    kinds = flowers.target_names[flowers.target[order]].astype(str)
    names = ("sepal length", "sepal width", "petal length", "petal width")
    return Data(flowers.data[order], kinds, None, names, "species")


@pytest.fixture
def folder(tmp_path, monkeypatch, iris):
    """A folder to work in, with iris.csv, its halves train.csv and test.csv, and a model."""
    import opforest
    from opforest.io.tables import write_table

    monkeypatch.chdir(tmp_path)
    write_table("iris.csv", iris)
    write_table("train.csv", iris.take(slice(75)))
    write_table("test.csv", iris.take(slice(75, None)))
    model = opforest.OPFClassifier().fit(iris.X[:75], iris.y[:75])
    model.feature_names_in_ = np.array(iris.feature_names, object)
    opforest.save(model, "iris.opforest")
    return tmp_path


@pytest.fixture(scope="module")
def client():
    """Two Dask workers in processes of their own."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client
