"""Rules for all kernels, so that they compile fast and survive a signal."""

import importlib
import inspect
import pkgutil

import numpy as np
import pytest
from numba import types
from numba.core.errors import TypingError

from opforest import OPFClassifier
from opforest import core as kernels
from opforest.apps.compile import exercise
from opforest.core.jit import OPTIONS, borrow, is_jitted, kernel

MODULES = [
    importlib.import_module(module.name)
    for module in pkgutil.walk_packages(kernels.__path__, "opforest.core.")
]


def is_kernel(function):
    return is_jitted(function) and not function.targetoptions.get("no_cpython_wrapper")


KERNELS = {
    f"{module.__name__}.{name}": function
    for module in MODULES
    for name, function in vars(module).items()
    if is_kernel(function) and function.py_func.__module__ == module.__name__
}


@pytest.mark.parametrize("name", KERNELS)
def test_at_most_eight_parameters(name):
    assert len(inspect.signature(KERNELS[name].py_func).parameters) <= 8


def test_options_are_ours():
    assert len(KERNELS) > 20
    for function in KERNELS.values():
        assert OPTIONS.items() <= function.targetoptions.items()
        assert not function.targetoptions.get("fastmath")


def test_kernels_return_nothing_numbers_or_one_array():
    """Numba turns a pending signal into an error or a crash if more is returned."""
    exercise(("euclidean", "float64"))
    compiled = 0
    for name, function in KERNELS.items():
        for result in function.nopython_signatures:
            kind = result.return_type
            parts = kind.types if isinstance(kind, types.BaseTuple) else (kind,)
            many = len(parts) > 1
            compiled += 1
            for part in parts:
                plain = isinstance(part, types.Number | types.Boolean | types.NoneType)
                assert plain or (isinstance(part, types.Array) and not many), name
            assert not isinstance(kind, types.BaseNamedTuple), name
    assert compiled > 25


def test_records_of_vertices_are_one_cache_line():
    forest = OPFClassifier().fit(np.eye(4), [0, 0, 1, 1]).forest_
    assert forest.storage.arrays.vertices.itemsize <= 64


def test_arrays_of_inner_tuples_are_not_borrowed():
    @kernel
    def take(array):
        return borrow(((array,),))[0][0][0]

    with pytest.raises(TypingError, match="one tuple at a time"):
        take(np.zeros(1))
