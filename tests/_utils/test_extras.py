"""Commands that install extras, in a clone and elsewhere."""

import tomllib
from pathlib import Path

import opforest._utils.extras
from opforest._utils.extras import install_command

ROOT = Path(__file__).parents[2]


def test_a_clone_installs_its_own_extras():
    assert install_command("plot") == f"pip install -e '{ROOT}[plot]'"


def test_an_installed_release_installs_from_the_index(monkeypatch, tmp_path):
    path = tmp_path / "lib" / "site-packages" / "opforest" / "_utils" / "extras.py"
    monkeypatch.setattr(opforest._utils.extras, "__file__", str(path))
    assert install_command("cli") == "pip install 'opforest[cli]'"


def test_every_extra_is_described_in_the_readme():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    readme = (ROOT / "README.md").read_text("utf-8")
    assert all(f"| `{extra}` |" in readme for extra in project["optional-dependencies"])
