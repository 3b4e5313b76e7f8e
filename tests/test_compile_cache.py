"""The folder in which the tests keep compiled kernels."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.support import compile_cache

#: What kernels are made of: themselves, and what they import, directly or not, at the top or later.
CODE = {
    "core/__init__.py": "",
    "core/jit.py": "from opforest._utils.interrupts import defer_interrupts",
    "_utils/interrupts.py": "",
    "core/heap.py": "import numba",
    "core/mst/prim.py": """
        from opforest.core.heap import push
        from opforest.types import SquaredEuclidean
        """,
    "types.py": "from opforest import rare as more, something",
    "rare.py": "def find(): from opforest.units.lengths import meter",
    "units/lengths.py": "import opforest.units.names",
    "units/names.py": "",
}

#: What they do not depend on.
REST = {
    "__init__.py": "from opforest.forest import Forest",
    "forest.py": "from opforest.core.heap import push",
}


@pytest.fixture
def source(tmp_path):
    """A package as small as one with kernels can be."""
    source = tmp_path / "opforest"
    for name, text in (CODE | REST).items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(textwrap.dedent(text) + "\n")
    return source


@pytest.mark.parametrize("name", CODE)
def test_other_code_has_another_key(source, name):
    key = compile_cache.find_key(source)
    assert compile_cache.find_key(source) == key
    before = (source / name).read_text()
    (source / name).write_text(before + "x = 2\n")
    assert compile_cache.find_key(source) != key
    (source / name).write_text(before)
    assert compile_cache.find_key(source) == key
    (source / "forest.py").write_text("x = 2\n")  # no kernel calls it
    assert compile_cache.find_key(source) == key


def test_sources_are_kernels_and_what_they_import(source):
    found = {path.relative_to(source).as_posix() for path in compile_cache.find_sources(source)}
    assert found == set(CODE)


def test_every_module_that_kernels_import_is_in_the_key():
    """As Python finds them, in a process of its own."""
    script = """
import importlib, pkgutil, sys
import opforest.core as package
for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    importlib.import_module(module.name)
print("\\n".join(m.__file__ for n, m in sys.modules.items() if n.partition(".")[0] == "opforest"))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = {Path(line).relative_to(compile_cache.SOURCE) for line in done.stdout.splitlines()}
    # Importing anything runs these, which only say where names are.
    only_names = ("__init__.py", "_utils/__init__.py", "_utils/lazy.py", "_utils/version.py")
    loaded -= {Path(name) for name in only_names}
    hashed = {path.relative_to(compile_cache.SOURCE) for path in compile_cache.find_sources()}
    assert len(loaded) > 50
    assert loaded <= hashed
    assert {
        Path("core/metrics/types.py"),
        Path("core/metrics/units.py"),
        Path("core/jit.py"),
    } <= hashed
    assert Path("forest/forest.py") not in hashed


def test_so_have_new_files_and_checks_of_bounds(source, monkeypatch):
    monkeypatch.delenv("NUMBA_BOUNDSCHECK", raising=False)
    key = compile_cache.find_key(source)
    monkeypatch.setenv("NUMBA_BOUNDSCHECK", "1")
    assert compile_cache.find_key(source) != key
    monkeypatch.delenv("NUMBA_BOUNDSCHECK")
    (source / "core" / "new.py").touch()
    assert compile_cache.find_key(source) != key


def test_only_folders_of_other_code_are_removed(tmp_path, monkeypatch):
    ours, other = tmp_path / "ours", tmp_path / "other"
    for folder in (ours, other):
        folder.mkdir()
        (folder / "kernel.nbc").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "elsewhere"))
    compile_cache.remove_others(ours)
    assert other.exists()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(ours))
    compile_cache.remove_others(ours)
    assert os.listdir(tmp_path) == ["ours"]
    assert os.listdir(ours) == ["kernel.nbc"]


def test_a_cache_of_types_that_have_moved_is_dropped(tmp_path):
    """Numba imports the types of arguments before it compares the source."""
    (tmp_path / "shapes.py").write_text(
        "from typing import NamedTuple\nclass Pair(NamedTuple):\n    x: int\n    y: int\n"
    )
    (tmp_path / "kernels.py").write_text(
        "from opforest.core.jit import kernel\n@kernel\ndef add(pair): return pair.x + pair.y\n"
    )
    env = {**os.environ, "OPFOREST_CACHE": "1", "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    program = "from kernels import add; from {} import Pair; print(add(Pair(1, 2)))"
    for module in ("shapes", "forms"):
        command = [sys.executable, "-c", program.format(module)]
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
        assert done.stdout == "3\n", done.stderr
        if module == "shapes":
            (tmp_path / "shapes.py").rename(tmp_path / "forms.py")
