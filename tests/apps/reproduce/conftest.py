"""No downloads, and one finished experiment for all tests."""

import pytest

from opforest.apps.reproduce import Settings, run, runner
from opforest.datasets import files


@pytest.fixture(autouse=True)
def offline(monkeypatch, tmp_path):
    """Download nothing, so that data are generated, and skip the warm-up: nothing is timed."""
    monkeypatch.setattr(files, "SOURCES", dict.fromkeys(files.SOURCES, "http://127.0.0.1:9/"))
    monkeypatch.setenv("OPFOREST_DATA", str(tmp_path / "no data"))
    monkeypatch.setattr(runner, "warm_up", lambda method, many: None)


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """Return the folder and the results of a finished experiment with every method."""
    from opforest.apps.reproduce.report import write_report  # it needs matplotlib

    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "SOURCES", dict.fromkeys(files.SOURCES, "http://127.0.0.1:9/"))
        patch.setenv("OPFOREST_DATA", str(folder / "no data"))
        patch.setattr(runner, "warm_up", lambda method, many: None)
        results = run(Settings(["Saturn", "C-vs-G", "NTL"], repeats=2, out=folder / "out"))
    write_report(results, folder / "out")
    return folder / "out", results
