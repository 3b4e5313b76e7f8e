"""The source tree keeps the limits that CONTRIBUTING.md states."""

import ast
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "opforest"
FILES = sorted(SOURCE.rglob("*.py"))
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef

#: Public methods and fields of named tuples, and an attribute of Numba's that is also one of ours.
NOT_OURS = {"_asdict", "_field_defaults", "_fields", "_make", "_replace", "_cache"}


@cache
def nodes(path):
    return list(ast.walk(ast.parse(path.read_bytes())))


def functions(path):
    return [node for node in nodes(path) if isinstance(node, FUNCTIONS)]


def name_of(path, function):
    return f"{path.relative_to(SOURCE)}: {function.name}"


def count_parameters(function):
    arguments = function.args
    return len(arguments.posonlyargs + arguments.args + arguments.kwonlyargs)


def test_few_files_are_public_import_paths():
    assert len(list(SOURCE.glob("*.py"))) <= 16


def test_files_and_functions_are_short():
    assert [str(path) for path in FILES if len(path.read_text("utf-8").splitlines()) > 500] == []
    assert [name_of(path, function) for path in FILES for function in functions(path)
            if function.end_lineno - function.lineno >= 60] == []  # fmt: skip


@pytest.mark.parametrize(("decorators", "most"), [({"helper", "anywhere"}, 10), ({"kernel"}, 8)])
def test_compiled_functions_have_few_parameters(decorators, most):
    found = [
        (path, function)
        for path in (SOURCE / "core").rglob("*.py")
        for function in functions(path)
        if decorators & {getattr(one, "id", "") for one in function.decorator_list}
    ]
    assert len(found) > 20
    assert [name_of(*one) for one in found if count_parameters(one[1]) > most] == []


def defined_names(path):
    """Return the private names that a module defines: functions, classes, attributes, fields."""
    names = set()
    for node in nodes(path):
        if isinstance(node, FUNCTIONS | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.id if isinstance(node, ast.Name) else node.attr)
    return {name for name in names if name.startswith("_") and not name.startswith("__")}


def test_private_attributes_stay_in_their_module():
    ours = set().union(*map(defined_names, FILES)) - NOT_OURS
    found = []
    for path in FILES:
        foreign = ours - defined_names(path)
        accesses = [node for node in nodes(path) if isinstance(node, ast.Attribute)]
        found += [
            f"{path.relative_to(SOURCE)}:{node.lineno}: {node.attr}"
            for node in accesses
            if node.attr in foreign and getattr(node.value, "id", "") not in {"self", "cls"}
        ]
    assert found == []
