"""The link checker finds broken links and external resources."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("check_links", ROOT / "docs" / "check_links.py")
check_links = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_links)


def test_broken_links_and_foreign_scripts_are_found(tmp_path):
    (tmp_path / "other.html").write_text('<h1 id="here">other</h1>')
    (tmp_path / "index.html").write_text(
        '<a href="other.html#here">fine</a> <a href="https://example.org">not followed</a>'
        '<a href="other.html#gone">no anchor</a> <a href="gone.html">no file</a>'
        '<script src="https://example.org/x.js"></script> <img src="gone.png">'
    )
    found = sorted(check_links.find_problems(tmp_path))
    assert found == [
        "index.html links to gone.html, which does not exist",
        "index.html links to gone.png, which does not exist",
        "index.html links to other.html#gone, whose anchor does not exist",
        "index.html loads https://example.org/x.js",
    ]


def test_an_empty_site_is_an_error(tmp_path):
    assert list(check_links.find_problems(tmp_path))
