"""The code on every page runs as shown."""

import importlib.util
from pathlib import Path

import pytest

for needed in ("dask.distributed", "fastapi", "matplotlib", "pandas", "polars", "river", "typer"):
    pytest.importorskip(needed)

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("run_code", ROOT / "docs" / "run_code.py")
run_code = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run_code)


@pytest.mark.parametrize("page", run_code.pages(), ids=lambda page: page.stem)
def test_the_code_of_a_page_runs(page):
    assert run_code.run_page(page) > 0


def test_a_page_whose_code_fails_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nassert False\n```\n")
    with pytest.raises(AssertionError):
        run_code.run_page(page)
    page.write_text("```console\n$ opforest info nothing.csv\n```\n")
    with pytest.raises(AssertionError):
        run_code.run_page(page)
    page.write_text("```console\n$ opforest info nothing.csv\nopforest: error: …\n```\n")
    assert run_code.run_page(page) == 1
    page.write_text("```python\nprint(1)\n```\n\n```text\n2\n```\n")
    with pytest.raises(AssertionError):
        run_code.run_page(page)
