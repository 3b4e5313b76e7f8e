"""The distributions have the right contents, and the installed wheel works.

In the suite the wheel is built from this tree without an index, and installed, without its
dependencies, into a fresh environment that uses those of this one. ``make wheel-test`` and the
workflow ``wheel`` set ``OPFOREST_DIST`` to a folder of distributions: then the environment is
empty, and all dependencies come from the index.
"""

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from email.parser import Parser
from pathlib import Path, PurePosixPath

import pytest

import opforest

ROOT = Path(__file__).parents[1]
DIST = os.environ.get("OPFOREST_DIST")


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """Return a folder with the source distribution and the wheel."""
    if DIST:
        return ROOT / DIST
    for needed in ("hatchling", "hatch_fancy_pypi_readme"):
        pytest.importorskip(needed, reason=f"building needs {needed}, of the group 'test'")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def wheel(dist):
    (path,) = dist.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def in_wheel(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def in_sdist(dist):
    (path,) = dist.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def test_the_wheel_is_for_every_machine(wheel):
    assert wheel.name == f"opforest-{opforest.__version__}-py3-none-any.whl"


def test_the_wheel_has_the_package_and_nothing_else(in_wheel):
    tops = {name.split("/")[0] for name in in_wheel}
    assert tops == {"opforest", f"opforest-{opforest.__version__}.dist-info"}
    source = ROOT / "src" / "opforest"
    files = {
        path.relative_to(source.parent).as_posix()
        for path in source.rglob("*")
        if path.is_file()
        and "__pycache__" not in path.parts
        and path.suffix not in (".nbi", ".nbc")
    }
    assert files <= set(in_wheel)
    assert "opforest/py.typed" in files
    assert any(name.startswith("opforest/apps/serve/static/") for name in files)


def test_the_metadata(in_wheel):
    (name,) = (name for name in in_wheel if name.endswith("dist-info/METADATA"))
    metadata = Parser().parsestr(in_wheel[name].decode())
    assert metadata["Version"] == opforest.__version__
    assert metadata["Requires-Python"] == ">=3.11"
    urls = dict(url.split(", ") for url in metadata.get_all("Project-URL"))
    assert {"Documentation", "Source", "Issues", "Changelog"} <= set(urls)
    assert set(metadata.get_all("Provides-Extra")) >= {"plot", "cli", "river", "dask", "serve"}
    (name,) = (name for name in in_wheel if name.endswith("entry_points.txt"))
    assert "opforest = opforest.apps.cli.main:main" in in_wheel[name].decode()


def test_the_readme_on_the_index_has_pictures_and_links_that_lead_somewhere(in_wheel):
    (name,) = (name for name in in_wheel if name.endswith("dist-info/METADATA"))
    metadata = Parser().parsestr(in_wheel[name].decode())
    assert metadata["Description-Content-Type"] == "text/markdown"
    here = (ROOT / "README.md").read_text("utf-8")
    shown = metadata.get_payload()
    home, tag = "opforest/opforest", f"v{opforest.__version__}"
    targets = re.findall(r"(!?)\[[^\]]*\]\(([^)]+)\)", shown)
    assert len(targets) == len(re.findall(r"\[[^\]]*\]\(", here))
    for is_picture, target in targets:
        site = "raw.githubusercontent.com" if is_picture else "github.com"
        path = f"{home}/{tag}/" if is_picture else f"{home}/blob/{tag}/"
        assert target.startswith(f"https://{site}/{path}"), target
        assert (ROOT / target.partition(path)[2].partition("#")[0]).exists(), target


def test_the_source_distribution_has_everything_that_is_shown(in_sdist):
    text = (ROOT / "README.md").read_text("utf-8")
    targets = re.findall(r"\]\(([^)#]+)", text) + re.findall(r'src="([^"]+)"', text)
    local = {target for target in targets if "://" not in target}
    assert local
    shown = {
        *in_sdist,
        *(str(parent) for name in in_sdist for parent in PurePosixPath(name).parents),
    }
    assert sorted(local - shown) == []
    for name in (
        "CONTRIBUTING.md",
        "Makefile",
        "pyproject.toml",
        "tests/oracles/forest.py",
        "LICENSE",
    ):
        assert name in in_sdist


def test_the_source_distribution_has_nothing_that_was_made(in_sdist):
    made = re.compile(r"(^|/)(__pycache__|_build|\.venv|\.numba_cache|\.git)(/|$)|\.nb[ic]$")
    assert [name for name in in_sdist if made.search(name)] == []


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Return the folder of programs of a fresh environment with the wheel."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=os.name != "nt")
    names = {"base": str(folder), "platbase": str(folder)}
    programs = Path(sysconfig.get_path("scripts", "venv", names))
    pip = [sys.executable, "-m", "pip", "--python", str(programs / "python"), "install", "--quiet"]
    if DIST:
        found = subprocess.run([*pip, f"{wheel}[cli]"], capture_output=True, text=True, check=False)
        if "No matching distribution" in found.stderr or "connection" in found.stderr.lower():
            pytest.skip(f"there is no package index: {found.stderr.splitlines()[-1]}")
        assert found.returncode == 0, found.stderr
        return programs
    subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True, capture_output=True)
    packages = Path(sysconfig.get_path("purelib", "venv", names))
    borrowed = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (packages / "borrowed.pth").write_text("\n".join(sorted(borrowed)))
    return programs


def run(programs, program, *args):
    """Run a program of the fresh environment, outside of this tree."""
    hidden = ("PYTHONPATH", "PYTHONHOME")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    return subprocess.run(
        [programs / program, *args], capture_output=True, text=True, encoding="utf-8",
        check=False, cwd=programs, env={**environment, "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip


def test_the_installed_command_helps(installed):
    pytest.importorskip("typer")
    result = run(installed, "opforest", "--help")
    assert result.returncode == 0, result.stderr
    assert "train" in result.stdout


#: The suite runs the README's code with this tree; to compile all of it again takes its time.
SHORT = (
    "import opforest; print(opforest.OPFClassifier().fit([[0.0], [1.0]], [0, 1]).predict([[2]]))"
)


def test_code_works_with_the_installed_wheel(installed):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    show_path = "import opforest; print('from', opforest.__file__)"
    code = "\n".join([*(blocks if DIST else [SHORT]), show_path])
    result = run(installed, "python", "-c", code)
    assert result.returncode == 0, result.stderr
    (path,) = re.findall("^from (.*)$", result.stdout, re.MULTILINE)
    assert Path(path).is_relative_to(installed.parent)
    assert ("identical to refitting ✓" if DIST else "[1]") in result.stdout
