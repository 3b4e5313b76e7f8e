"""Files of the repository agree with each other."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import opforest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def read(name):
    return (ROOT / name).read_text("utf-8")


def test_one_version():
    citation = read("CITATION.cff")
    assert re.search(r"^version: (.*)$", citation, re.MULTILINE)[1] == opforest.__version__
    date = re.search(r"^date-released: (\d{4}-\d\d-\d\d)$", citation, re.MULTILINE)[1]
    newest = re.search(r"^## (\S+), (\S+)$", read("CHANGELOG.md"), re.MULTILINE)
    assert newest[1] == opforest.__version__
    assert newest[2] == date


def test_one_home():
    urls = PROJECT["urls"]
    citation = read("CITATION.cff")
    assert f"repository-code: {urls['Source']}\n" in citation
    assert f"url: {urls['Documentation']}\n" in citation
    from opforest.estimators.base import DOCUMENTATION

    assert DOCUMENTATION.startswith(urls["Documentation"])


def test_the_changelog_groups_changes():
    newest = re.split(r"^## ", read("CHANGELOG.md"), flags=re.MULTILINE)[1]
    groups = re.findall(r"^### (\w+)", newest, re.MULTILINE)
    assert groups
    assert set(groups) <= {"Added", "Changed", "Deprecated", "Fixed", "Removed", "Security"}


@pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda p: p.name)
def test_workflows_and_forms_are_yaml_and_name_targets_that_exist(path):
    yaml = pytest.importorskip("yaml")
    content = yaml.safe_load(path.read_text("utf-8"))
    assert content
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))
    if not (ROOT / "docs" / "conf.py").exists():
        targets.add("docs")
    assert set(re.findall(r"run: make ([a-z-]+)", path.read_text("utf-8"))) <= targets
    if path.parent.name == "workflows":
        assert content["permissions"] == {"contents": "read"}


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda p: p.stem
)
def test_actions_are_pinned_by_hash_and_workflows_that_are_called_exist(path):
    for action in re.findall(r"\buses: (.*)", path.read_text("utf-8")):
        if action.startswith("./"):
            assert (ROOT / action).exists(), action
        else:
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v[\d.]+", action), action


def test_the_site_builds_as_make_docs_does():
    yaml = pytest.importorskip("yaml")
    content = yaml.safe_load(read(".readthedocs.yaml"))
    assert content["sphinx"]["fail_on_warning"] is True
    assert (ROOT / content["sphinx"]["configuration"]).exists()
    jobs = content["build"]["jobs"]
    commands = "\n".join(line for lines in jobs.values() for line in lines)
    scripts = re.findall(r"\bdocs/\w+\.py\b", commands)
    assert scripts
    assert [name for name in scripts if not (ROOT / name).exists()] == []
    recipe = re.search(r"^docs:.*\n((?:\t.*\n)+)", read("Makefile"), re.MULTILINE)[1]
    assert scripts == re.findall(r"\bdocs/\w+\.py\b", recipe)
    (group,) = re.findall(r"--group (\w+)", commands)
    assert group in tomllib.loads(read("pyproject.toml"))["dependency-groups"]


def test_every_target_of_make_is_phony_and_its_folders_exist():
    makefile = read("Makefile")
    targets = re.findall(r"^([a-z-]+):", makefile, re.MULTILINE)
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[1].split()
    assert sorted(phony) == sorted(targets)
    for variable in ("QUICK", "UNTRACEABLE"):
        names = re.search(rf"^{variable} = (.*)$", makefile, re.MULTILINE)[1].split()
        assert [name for name in names if not (ROOT / name).exists()] == []


def test_the_table_of_numbers_is_that_of_the_results():
    """In another process: benchmarks turn the cache of kernels off."""
    code = "from benchmarks import numbers_table; print(numbers_table.generate(), end='')"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, encoding="utf-8",
                          env={**os.environ, "PYTHONIOENCODING": "utf-8"})  # fmt: skip
    assert done.stdout == read("benchmarks/NUMBERS.md")
