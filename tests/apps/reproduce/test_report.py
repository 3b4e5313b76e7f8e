"""The report of an experiment."""

import csv
import json

import numpy as np
import pytest
from tests.support.data_files import GOLDEN
from typer.testing import CliRunner

from opforest.apps.cli.main import make_app
from opforest.apps.reproduce import run
from opforest.apps.reproduce.figures import _space_out
from opforest.apps.reproduce.report import write_report
from opforest.apps.reproduce.summary import (
    Results,
    Statistic,
    _is_outside,
    compare,
    make_cells,
    read_published,
)
from opforest.datasets import PUBLISHED

pytest.importorskip("matplotlib")
from tests.support.small_experiments import settings

TABLE = GOLDEN / "table1.csv"


class TestReport:
    def test_the_published_table_is_whole(self):
        published = read_published()
        assert len(published) == len(PUBLISHED) * 3 * 6
        assert published["NTL", "opfi", "50 %"] == Statistic(72.2, 0.9)

    def test_the_published_table_is_the_papers(self):
        names = {"Incremental": "opfi", "Original": "original", "DIFT": "dift"}
        columns = {"S0": "S0", "1st": "inc1", "2nd": "inc2", "3rd": "inc3", "50 %": "inc50pct",
                   "100 %": "inc100pct"}  # fmt: skip
        published = read_published()
        with TABLE.open() as stream:
            for row in csv.DictReader(stream):
                for ours, theirs in columns.items():
                    figure = published[row["dataset"], names[row["method"]], ours]
                    assert figure == (float(row[f"{theirs}_mean"]), float(row[f"{theirs}_std"]))

    @pytest.mark.parametrize(
        ("ours", "theirs", "marked"),
        [
            ((90.0, 1.0), (92.0, 0.5), False),  # twice the larger deviation exactly
            ((90.0, 1.0), (92.1, 0.5), True),
            ((90.0, 0.5), (92.1, 1.5), False),
            ((99.94, 0.0), (99.9, 0.0), False),  # as printed
        ],
    )
    def test_marks(self, ours, theirs, marked):
        assert _is_outside(Statistic(*ours), Statistic(*theirs)) is marked

    def test_cells_are_means_of_the_runs(self, finished):
        _, raw = finished
        cells = {(c.dataset, c.method, c.column): c for c in make_cells(Results(raw))}
        runs = [
            r["accuracy"] for r in raw["runs"] if (r["dataset"], r["method"]) == ("Saturn", "opfi")
        ]
        for column, increment in {"S0": 0, "2nd": 2, "50 %": 5, "100 %": 9}.items():
            values = [100 * accuracy[increment] for accuracy in runs]
            ours = cells["Saturn", "opfi", column].ours
            assert ours == pytest.approx((np.mean(values), np.std(values, ddof=1)))
        assert cells["Saturn", "exact", "S0"].published is None

    def test_published_data_is_marked_and_every_mark_explained(self, finished, tmp_path):
        _, raw = finished
        fake = json.loads(json.dumps(raw))
        fake["datasets"]["Saturn"]["origin"] = "published"
        for one in fake["runs"]:
            one["accuracy"] = [0.5] * len(one["accuracy"])
        marked = [cell for cell in make_cells(Results(fake)) if cell.is_marked]
        assert {cell.dataset for cell in marked} == {"Saturn"}
        assert len(marked) == 5 * 3  # S0 is within its large deviation
        write_report(fake, tmp_path)
        report = (tmp_path / "report.md").read_text()
        assert "15 of 36 means are marked." in report
        assert "**Saturn**: Incremental 1st (50.0 against 68.5), " in report
        assert "We know no reason." in report

    def test_comparisons(self, finished):
        _, raw = finished
        compared = compare(Results(raw), "original")
        assert len(compared.last) == len(compared.overall) == len(raw["datasets"]) == 2
        assert 0 <= compared.p_last <= 1
        same = json.loads(json.dumps(raw))
        for one in same["runs"]:
            one["accuracy"] = [0.5] * len(one["accuracy"])
        assert compare(Results(same), "dift")[3:] == (1.0, 1.0)

    def test_tables_and_figures_are_there(self, finished):
        folder, _ = finished
        with (folder / "table1.csv").open() as stream:
            rows = list(csv.DictReader(stream))
        assert len(rows) == 2 * 5 * 6
        assert {row["marked"] for row in rows} == {"0"}
        markdown = (folder / "table1.md").read_text()
        assert "**Saturn** | Incremental" in markdown
        assert "58.9 ± 11.6" in markdown
        assert (folder / "report.md").read_text().count(markdown) == 1
        latex = (folder / "table1.tex").read_text()
        assert latex.count(r"\\") == 1 + 2 * 5
        assert latex.count("&") == 7 * 11
        names = {path.name for path in (folder / "figures").iterdir()}
        assert names == {
            f"{name}.{kind}"
            for name in ("cases", "curves", "time", "prototypes")
            for kind in ("png", "svg")
        }
        for name in names:
            assert f"figures/{name}" in (folder / "report.md").read_text() or "svg" in name

    def test_report_only_writes_the_same_bytes_and_runs_nothing(self, finished, tmp_path):
        folder, _ = finished
        (tmp_path / "results.json").write_text((folder / "results.json").read_text())
        result = CliRunner().invoke(
            make_app(), ["reproduce", "--report-only", "--out", str(tmp_path)]
        )
        assert result.stdout.strip() == str(tmp_path / "report.md")
        for path in folder.rglob("*"):
            if path.is_file() and path.parent.name != "runs":
                assert (tmp_path / path.relative_to(folder)).read_bytes() == path.read_bytes()
        assert not (tmp_path / "runs").exists()

    def test_a_single_repetition_of_one_method(self, tmp_path):
        out = tmp_path / "out"
        write_report(run(settings(tmp_path, datasets=["Saturn"], methods=["1nn"], repeats=1)), out)
        report = (out / "report.md").read_text()
        assert "1 repetition of" in report
        assert "OPFI against" not in report

    def test_labels_are_space_out(self):
        places = _space_out(np.array([0.5, 0.5, 0.52, 0.99]), 0.1)
        assert (np.diff(places) >= 0.1 - 1e-12).all()
        assert places.max() <= 1
        assert places[:3].mean() == pytest.approx(0.5067, abs=1e-3)


class TestCases:
    def test_the_three_cases_are_what_they_are_drawn_for(self):
        from opforest.apps.reproduce.cases import CASES, insert

        for case in CASES:
            _, before, after = insert(case)
            before.check()
            after.check()
            assert len(after) == len(before) + 1
        assert len(after.prototypes) == len(before.prototypes) + 2  # in case (c) a tree splits
