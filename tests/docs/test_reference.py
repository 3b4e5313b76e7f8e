"""Every public name is in the API reference and used in an example."""

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REFERENCE = (ROOT / "docs" / "api" / "index.md").read_text("utf-8")

#: Modules that people import from, and their public names where there is no ``__all__``.
MODULES = {
    "opforest": None,
    "opforest.active": None,
    "opforest.cluster_plotting": ["ClusterDisplay"],
    "opforest.dask": None,
    "opforest.datasets": None,
    "opforest.apps.reproduce": None,
    "opforest.io.libopf": None,
    "opforest.learner": None,
    "opforest.metrics": ["resolve"],
    "opforest.out_of_core": None,
    "opforest.neighbors": ["nearest_neighbors"],
    "opforest.plotting": ["ForestDisplay"],
    "opforest.river": ["OPFClassifier"],
    "opforest.scores": ["class_recall", "opf_accuracy"],
    "opforest.tree_plotting": ["TreeDisplay"],
}


def public_names():
    """Yield module and name; names that the package itself exports belong to it."""
    first = set()
    for module, names in MODULES.items():
        if module.endswith((".dask", ".river")):
            pytest.importorskip(module.split(".")[-1])
        for name in names or importlib.import_module(module).__all__:
            if f"{module}.{name}" in MODULES:
                continue  # a module
            if module != "opforest.learner" or name not in first:
                yield module, name
            first |= {name} if module == "opforest" else set()


def listed():
    """Return the full names in the reference."""
    module, found = "", set()
    for line in REFERENCE.splitlines():
        if match := re.match(r"\.\. (?:currentmodule|module):: (\S+)", line):
            module = match[1]
        elif match := re.fullmatch(r"   (\w+)", line):
            found.add((module, match[1]))
    return found


def used_names(source):
    """Return the full names of opforest that Python code imports and uses."""
    tree = ast.parse(source)
    alias, used = {}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("opforest"):
            for name in node.names:
                alias[name.asname or name.name] = f"{node.module}.{name.name}"
        elif isinstance(node, ast.Import):
            alias |= {n.asname or "opforest": n.name for n in node.names if n.name == "opforest"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in alias:
            used.add(alias[node.id])
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", None) in alias:
            used.add(f"{alias[node.value.id]}.{node.attr}")
    return used


def examples():
    """Return the code of the gallery, and of each page as one text."""
    code = [path.read_text("utf-8") for path in (ROOT / "examples").glob("*.py")]
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)
        code.append("\n".join(blocks))
    return code


def test_every_public_name_is_in_the_reference():
    assert set(public_names()) == listed()


def test_every_public_name_is_used_in_an_example():
    used = set().union(*map(used_names, examples()))
    missing = [
        f"{module}.{name}" for module, name in public_names() if f"{module}.{name}" not in used
    ]
    in_learner = {name.replace("opforest.learner.", "opforest.") for name in used}
    assert [name for name in missing if name not in in_learner] == []


def test_the_gallery_has_an_order_and_nothing_is_left_out():
    tree = ast.parse((ROOT / "docs" / "conf.py").read_text("utf-8"))
    (order,) = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and node.targets[0].id == "EXAMPLES"
    )
    assert sorted(order) == sorted(path.name for path in (ROOT / "examples").glob("plot_*.py"))


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.stem)
def test_examples_are_short(path):
    assert 30 <= len(path.read_text("utf-8").splitlines()) <= 80


def test_the_readme_counts_the_examples():
    (count,) = re.findall(r"gallery of (\d+) examples", (ROOT / "README.md").read_text("utf-8"))
    assert int(count) == len(list((ROOT / "examples").glob("plot_*.py"))) >= 14


def test_every_benchmark_is_described_and_every_command_behind_a_number_exists():
    folder = ROOT / "benchmarks"
    text = (folder / "README.md").read_text("utf-8")
    scripts = {path.relative_to(folder).as_posix() for path in folder.rglob("*.py")}
    assert {name.rpartition("/")[0] for name in scripts} == {"", "speed", "quality", "soak"}
    assert [name for name in sorted(scripts) if f"`{name}`" not in text] == []
    _, numbers = text.split("## Where each number")
    named = set(re.findall(r"\b(?:benchmarks/\w+|docs|examples)/\w+\.(?:py|md)\b", numbers))
    assert len(named) > 20
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


@pytest.mark.parametrize(
    "path", sorted((ROOT / "benchmarks").rglob("*.py")), ids=lambda path: path.stem
)
def test_benchmarks_import_names_that_exist(path):
    """Also in the scripts that they hold as strings and run in other processes."""
    imports = r"^ *from (opforest[\w.]*) import (\([\w\s,]+\)|[\w ,]+)"
    for module, names in re.findall(imports, path.read_text("utf-8"), re.MULTILINE):
        if module in ("opforest.river", "opforest.dask"):
            pytest.importorskip(module.partition(".")[2], reason="an extra is missing")
        found = importlib.import_module(module)
        for name in re.findall(r"\w+", re.sub(r" as \w+", "", names)):
            assert hasattr(found, name) or importlib.import_module(f"{module}.{name}"), name


def test_methods_that_the_reference_leaves_out_exist_and_are_on_no_page():
    """Pages speak of methods that people can look up."""
    source = (ROOT / "docs" / "conf.py").read_text("utf-8")
    (node,) = (node.value for node in ast.parse(source).body
               if isinstance(node, ast.Assign) and node.targets[0].id == "INTERNAL")  # fmt: skip
    internal = {one.value for one in ast.walk(node) if isinstance(one, ast.Constant)}
    classes = [getattr(importlib.import_module(module), name) for module, name in public_names()]
    assert {name for name in internal if not any(hasattr(one, name) for one in classes)} == set()
    pages = "".join(path.read_text("utf-8") for path in (ROOT / "docs").glob("*.md"))
    assert {name for name in internal if re.search(rf"\.{name}\(", pages)} == set()


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 120


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_files_that_the_front_pages_link_to_are_there(page):
    text = (ROOT / page).read_text("utf-8")
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", text):
        assert target.startswith("https://") or (ROOT / target).exists(), target
