"""Compiled kernels, kept from one run of the tests to the next.

Numba notices edits of the file that a kernel stands in, but not of the code that it calls. So the
folder has a name of its own for all that kernels are made of, and others are removed.
"""

import hashlib
import os
import platform
import shutil
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
CACHE = ROOT / ".numba_cache"
SOURCE = ROOT / "src" / "opforest"


def find_key(source=SOURCE):
    """Return a name for the code of all kernels, and for what compiles them."""
    kernels = sorted((source / "kernels").rglob("*.py"))
    key = hashlib.sha256()
    for path in (source / "_jit.py", source / "metrics.py", *kernels):
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
