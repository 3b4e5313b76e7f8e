"""What people see first: the import, the README, the version."""

import ast
import importlib
import inspect
import pkgutil
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import opforest
from opforest import OPFClassifier

ROOT = Path(__file__).parents[1]


def test_python_calls_no_helper():
    """They are compiled without what Python would call, so that would be a crash."""
    compiled = {"kernel", "helper", "overload", "intrinsic"}

    def calls(node):
        """Yield what is called in Python, or handed over, by name."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef):
                marks = (getattr(mark, "func", mark) for mark in child.decorator_list)
                if compiled & {getattr(mark, "id", "") for mark in marks}:
                    continue
            if isinstance(child, ast.Call):
                yield from (child.func, *child.args)
            yield from calls(child)

    for found in pkgutil.walk_packages(opforest.__path__, "opforest."):
        if found.name.endswith("__main__") or found.name == "opforest.core.metrics.formulas":
            continue  # all formulas are compiled, by overloads
        module = importlib.import_module(found.name)
        for called in calls(ast.parse(inspect.getsource(module))):
            function = getattr(module, getattr(called, "id", ""), None)
            options = getattr(function, "targetoptions", {})
            assert not options.get("no_cpython_wrapper"), (found.name, called.lineno)


def test_the_readmes_code_works_when_pasted():
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    (shown,) = re.findall(r"```text\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert result.stdout == shown


def test_the_readmes_claim_about_partial_fit_holds():
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    grown = OPFClassifier().fit(X[:1400], y[:1400]).partial_fit(X[1400:], y[1400:])
    whole = OPFClassifier().fit(X, y)
    for name in ("edges", "cost", "root", "predecessor", "prototypes"):
        assert np.array_equal(getattr(grown.forest_, name), getattr(whole.forest_, name))


def test_the_import_brings_no_extras():
    code = "import sys, opforest; print(*(m for m in sys.modules if '.' not in m))"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    extras = {"matplotlib", "polars", "river", "dask", "distributed", "typer", "rich"}
    assert not extras & set(result.stdout.split())


def test_version_and_types():
    assert metadata.version("opforest") == opforest.__version__
    assert (ROOT / "src" / "opforest" / "py.typed").exists()


@pytest.mark.parametrize("name", opforest.__all__)
def test_public_names_have_docstrings_with_examples(name):
    doc = getattr(opforest, name).__doc__
    assert doc
    assert name == "Step" or ">>>" in doc


def run_without_cache(environment, code):
    """Run code that prints the result of a kernel."""
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1", **environment},
        check=False,
    )
    assert result.stdout.strip() == "[1]", result.stderr


def test_kernels_compile_without_a_cache_on_request(tmp_path):
    """With a cache, code without a file could not be compiled."""
    code = """
from opforest.core import jit
assert not jit.CACHE
print([jit.kernel(lambda x: x + 1)(0)])
"""
    run_without_cache({"OPFOREST_CACHE": "0", "HOME": str(tmp_path)}, code)


def test_kernels_compile_where_no_cache_can_be_written(tmp_path):
    """Neither beside the code nor at home nor where Numba is told to: files are in the way.

    There is no permission that root lacks.
    """
    shutil.copytree(
        ROOT / "src" / "opforest",
        tmp_path / "opforest",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    for folder in (tmp_path, *tmp_path.rglob("*/")):
        (folder / "__pycache__").write_text("in the way")
    in_the_way = str(tmp_path / "__pycache__" / "folder")
    code = f"""
import opforest.core.jit
from numba.core.caching import FunctionCache
assert opforest.__file__.startswith({str(tmp_path)!r})
try:
    FunctionCache(opforest.core.jit._probe)
except RuntimeError as error:
    assert "cannot cache function" in str(error)
else:
    raise AssertionError("there is a place to cache")
assert not opforest.core.jit.CACHE
print(opforest.OPFClassifier().fit([[0.0], [1.0]], [0, 1]).predict([[0.9]]))
"""
    environment = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR"), in_the_way)
    run_without_cache({**environment, "PYTHONPATH": str(tmp_path)}, code)
