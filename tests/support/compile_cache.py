"""Compiled kernels, kept from one run of the tests to the next.

Numba notices edits of the file that a kernel stands in, but not of the code that it calls. So the
folder is named by a hash of all source files that kernels depend on, and other folders are removed.
"""

import ast
import hashlib
import os
import platform
import shutil
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".numba_cache"
SOURCE = ROOT / "src" / "opforest"


def find_sources(source=SOURCE):
    """Return all files that compiled code depends on: kernels and what they import, in order."""
    pending = list((source / "core").rglob("*.py"))
    found = set()
    while pending:
        path = pending.pop()
        if path not in found:
            found.add(path)
            pending += _imported(path, source)
    return sorted(found)


def _imported(path, source):
    """Return the files of this package that one of them imports, at its top or in a function."""
    names = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            parts = {f"{node.module}.{alias.name}" for alias in node.names}
            modules = {name for name in parts if _find_file(name, source)}
            names |= modules
            # The package itself holds no code; its __init__ would lead to everything.
            if modules != parts and node.module != source.name:
                names.add(node.module)
    return [file for file in (_find_file(name, source) for name in names) if file]


def _find_file(module, source):
    """Return the file of a module of this package; None for other modules and other names."""
    package, *parts = module.split(".")
    if package != source.name or not parts:
        return None
    path = source.joinpath(*parts)
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file():
            return file
    return None


def find_key(source=SOURCE):
    """Return a name for the code of all kernels, and for what compiles them."""
    key = hashlib.sha256()
    for path in find_sources(source):
        key.update(f"{path.relative_to(source).as_posix()}\n".encode())
        key.update(hashlib.sha256(path.read_bytes()).digest())
    for package in ("numba", "llvmlite", "numpy"):
        key.update(f"{package} {version(package)}\n".encode())
    key.update(f"Python {platform.python_version()}\n".encode())
    key.update(f"bounds {os.environ.get('NUMBA_BOUNDSCHECK', '')}\n".encode())
    return key.hexdigest()[:16]


#: Where to keep what is compiled of the code as it is now.
FOLDER = CACHE / find_key()


def remove_others(folder=FOLDER):
    """Remove what was compiled of other code, if this folder is the one in use."""
    if os.environ.get("NUMBA_CACHE_DIR") != str(folder) or not folder.parent.is_dir():
        return
    for other in folder.parent.iterdir():
        if other != folder:
            shutil.rmtree(other, ignore_errors=True)
