"""The folder in which the tests keep compiled kernels."""

import os

import pytest

import compile_cache

#: What kernels are made of.
CODE = ["_jit.py", "metrics.py", "kernels/heap.py", "kernels/spanning/prim.py"]


@pytest.fixture
def source(tmp_path):
    """As few files as kernels can be made of."""
    source = tmp_path / "opforest"
    (source / "kernels" / "spanning").mkdir(parents=True)
    for name in (
        "_jit.py",
        "metrics.py",
        "forest.py",
        "kernels/heap.py",
        "kernels/spanning/prim.py",
    ):
        (source / name).write_text("x = 1\n")
    return source


@pytest.mark.parametrize(
    "name", ["_jit.py", "metrics.py", "kernels/heap.py", "kernels/spanning/prim.py"]
)
def test_other_code_has_another_key(source, name):
    key = compile_cache.find_key(source)
    assert compile_cache.find_key(source) == key
    (source / name).write_text("x = 2\n")
    assert compile_cache.find_key(source) != key
    (source / name).write_text("x = 1\n")
    assert compile_cache.find_key(source) == key
    (source / "forest.py").write_text("x = 2\n")  # no kernel calls it
    assert compile_cache.find_key(source) == key


def test_so_have_new_files_and_checks_of_bounds(source, monkeypatch):
    monkeypatch.delenv("NUMBA_BOUNDSCHECK", raising=False)
    key = compile_cache.find_key(source)
    monkeypatch.setenv("NUMBA_BOUNDSCHECK", "1")
    assert compile_cache.find_key(source) != key
    monkeypatch.delenv("NUMBA_BOUNDSCHECK")
    (source / "kernels" / "new.py").touch()
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
