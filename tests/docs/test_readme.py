"""The front page is true offline: badges, citation, pictures."""

import re
import tomllib
from pathlib import Path

import opforest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_badges_state_the_license_and_all_versions_of_python():
    badge = (ROOT / "docs" / "images" / "badge-python.svg").read_text("utf-8")
    versions = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if ":: 3." in line]
    assert " | ".join(versions) in badge
    assert f"Python {versions[0]} to {versions[-1]}" in badge
    badge = (ROOT / "docs" / "images" / "badge-license.svg").read_text("utf-8")
    assert PROJECT["license"] in badge


def test_the_citation_is_that_of_this_version():
    assert f"version = {{{opforest.__version__}}}" in README
    title = re.search(r'^title: "(.*)"$', (ROOT / "CITATION.cff").read_text("utf-8"), re.M)
    assert f"title   = {{{title[1]}}}" in README


def test_no_picture_is_loaded_from_another_site():
    pictures = re.findall(r"!\[[^]]*\]\(([^)]+)\)|<img[^>]+src=\"([^\"]+)", README)
    assert pictures
    assert all((ROOT / (one or other)).exists() for one, other in pictures)


def test_the_first_screen_has_code_and_its_output():
    assert README.index("```python") < README.index("```text") < README.index("## ")
