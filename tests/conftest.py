import os
from pathlib import Path

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # before SciPy is imported
os.environ.setdefault("MPLBACKEND", "Agg")

import numpy as np
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


@pytest.fixture(scope="session")
def iris():
    """The flowers as a table of ours, shuffled."""
    from sklearn.datasets import load_iris

    from opforest.io.data import Data

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
