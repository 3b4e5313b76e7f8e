"""Options for reading that people guess: each on a file that needs it."""

import zipfile

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("polars")
from tests.support.commands import run, run_json
from tests.support.comparison import same_forest
from tests.support.workbooks import write_workbook

import opforest

ROWS = [f"{k % 7 / 2},{k * 5 % 11 / 4},{'xy'[k % 2]}" for k in range(40)]
TABLE = "a,b,label\n" + "\n".join(ROWS) + "\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain.csv").write_text(TABLE)
    return tmp_path


def points(path, *options):
    """Return the points and labels that a model learns from a file."""
    run("train", path, "m", *options)
    model = opforest.load("m")
    return model.forest_.points.tolist(), model.classes_[model.forest_.label].tolist()


def test_skip(folder):
    (folder / "d.csv").write_text("one,two,three,4\n1,2\n" + TABLE)
    assert points("d.csv", "--skip", "2") == points("plain.csv")


def test_encoding(folder):
    (folder / "d.csv").write_bytes(TABLE.replace("x\n", "ж\n").encode("cp1251"))
    assert set(points("d.csv", "--encoding", "windows-1251")[1]) == {"ж", "y"}
    told = run("train", "d.csv", "n")
    assert (
        "not UTF-8, so it is read as Latin-1 (ISO 8859-1) (--encoding names another)" in told.stderr
    )
    assert "--encoding must be one of" in run("info", "d.csv", "--encoding", "x", code=2).stderr


def test_thousands_and_decimals(folder):
    text = TABLE.replace(",", ";").replace(".", ",")
    (folder / "d.csv").write_text(text.replace("0,0;", "1.000;"))
    X = np.array(points("d.csv", "--thousands", ".")[0])
    assert X[0].tolist() == [1000, 1000]
    assert points("d.csv", "--decimal", ",")[0] == X.tolist()
    told = run("train", "d.csv", "n", "--thousands", ".", "--decimal", ".", code=2).stderr
    assert "--decimal and --thousands must differ" in told
    assert "--thousands must be" in run("info", "d.csv", "--thousands", "x", code=2).stderr


def test_sheet_and_skip(folder):
    pytest.importorskip("fastexcel")
    rows = [row.split(",") for row in TABLE.splitlines()]
    rows[1:] = [[float(a), float(b), c] for a, b, c in rows[1:]]
    write_workbook(folder / "d.xlsx", [[["k", "v"], [1, 2]], rows, [["A title"], *rows]])
    assert points("d.xlsx", "--sheet", "S2") == points("plain.csv")
    said = run("train", "d.xlsx", "n", "--sheet", "3").stderr
    assert "a row above the table is left out: a title, 'A title'" in said
    assert points("d.xlsx", "--sheet", "3", "--skip", "1") == points("plain.csv")


def test_titles_and_units_in_workbooks(folder):
    pytest.importorskip("fastexcel")
    head, *rows = [row.split(",") for row in TABLE.splitlines()]
    rows = [[float(a), float(b), c] for a, b, c in rows]
    tables = {
        "titles": [["A title"], [], ["of two rows"], head, *rows],
        "units": [head, ["cm", "mm", ""], *rows],
        "both": [["A title"], [], head, [], ["cm", "", ""], *rows],
        "blank": [[], [], head, [], *rows],
    }
    for name, cells in tables.items():
        write_workbook(folder / f"{name}.xlsx", [cells])
        assert points(f"{name}.xlsx") == points("plain.csv"), name
    said = run("train", "both.xlsx", "n").stderr
    assert "note: a row above the table is left out: a title, 'A title'\n" in said
    assert "note: a row below the names is left out: it has the units of the columns, 'cm'" in said
    write_workbook(folder / "unnamed.xlsx", [[["", *head[1:]], *rows]])
    assert run_json("info", "unnamed.xlsx")["columns"][0]["name"] == "column 1"


@pytest.mark.parametrize("above", ["A title\n", "A title of 2024\n\nby me\n", "", "# none\n"])
@pytest.mark.parametrize("units", ["cm,mm,\n", ""])
def test_titles_and_units_in_pipes(folder, above, units):
    head, _, rows = TABLE.partition("\n")
    text = f"{above}{head}\n{units}{rows}"
    run("train", "plain.csv", "m")
    expected = run("predict", "m", "plain.csv").stdout
    assert run("predict", "m", "-", stdin=text).stdout == expected
    run("stream", "s", "-", stdin=text)
    run("stream", "t", "plain.csv")
    assert same_forest(opforest.load("s"), opforest.load("t"))


def test_archives_and_json(folder):
    with zipfile.ZipFile("d.zip", "w") as archive:
        archive.write("plain.csv", "inner/plain.csv")
    assert points("d.zip") == points("plain.csv")
    assert run("train", "-", "n", stdin=(folder / "d.zip").read_bytes()).exit_code == 0
    run("convert", "plain.csv", "d.ndjson")
    lines = (folder / "d.ndjson").read_text().splitlines()
    (folder / "d.json").write_text("[" + ",\n".join(lines) + "]")
    assert points("d.json") == points("plain.csv")


@pytest.mark.parametrize("labels", ["xy", "12", "0x"])
def test_rows_without_a_label_are_dropped(folder, labels):
    text = TABLE.replace("x\n", f"{labels[0]}\n").replace("y\n", f"{labels[1]}\n")
    (folder / "whole.csv").write_text(text)
    lines = text.splitlines()
    blank = [f"{line[:-1]}{'?' * (k % 2)}" if k in (3, 10, 20) else line
             for k, line in enumerate(lines)]  # fmt: skip
    kept = [line for k, line in enumerate(lines) if k not in (3, 10, 20)]
    (folder / "blank.csv").write_text("\n".join(blank) + "\n")
    (folder / "kept.csv").write_text("\n".join(kept) + "\n")
    told = run("train", "blank.csv", "n", code=3).stderr
    assert "line 4, column 3: the label is missing; --missing drop leaves out such rows" in told
    done = run("train", "blank.csv", "n", "--missing", "drop")
    assert "note: 3 rows with missing cells are left out" in done.stderr
    run("train", "kept.csv", "k", "--missing", "drop")
    one, other = opforest.load("n")[-1], opforest.load("k")[-1]
    assert one.classes_.dtype == other.classes_.dtype
    assert np.array_equal(one.forest_.label, other.forest_.label)
    assert np.array_equal(one.forest_.points, other.forest_.points)
    assert run_json("update", "n", "blank.csv")["learned"] == 37
    assert run_json("evaluate", "n", "blank.csv")["examples"] == 37
    assert (
        run_json("stream", "s", "blank.csv", "--missing", "drop", "--every", "9")["examples"] == 40
    )
    assert opforest.load("s")[-1].classes_.dtype.kind == other.classes_.dtype.kind


def test_unknown_categories_are_ignored(folder):
    rows = [f"{k % 7 / 2},{'pq'[k % 2]},{'xy'[k % 2]}\n" for k in range(40)]
    (folder / "d.csv").write_text("a,kind,label\n" + "".join(rows))
    (folder / "new.csv").write_text("a,kind\n1.5,p\n2,other\n")
    run("train", "d.csv", "m", "--encode", "onehot")
    assert (
        "'other', which is not in the training data"
        in run("predict", "m", "new.csv", code=3).stderr
    )
    facts = run_json("train", "d.csv", "m", "--encode", "onehot", "--unknown", "ignore")
    assert facts["preparation"]["unknown"] == "ignore"
    assert len(run("predict", "m", "new.csv").stdout.split()) == 2


def test_a_header_in_the_middle_is_noted_wherever_it_is(folder):
    (folder / "d.csv").write_text(TABLE * 400)
    model = points("plain.csv")
    assert model
    told = run("evaluate", "m", "d.csv").stderr
    assert [line for line in told.splitlines() if "repeats the header" in line][-1] == (
        f"opforest: note: line {41 * 399 + 1} is left out: it repeats the header"
    )
    assert run_json("evaluate", "m", "d.csv")["examples"] == 40 * 400


def test_marks_of_missing_cells(folder):
    (folder / "d.csv").write_text(TABLE.replace("\n0.5,", "\n-,").replace("\n1.0,", "\nn.d.,"))
    told = run("train", "d.csv", "n", "--na", "n.d.", "--missing", "median").stderr
    assert "'-' among numbers means a missing value, in column 'a'" in told
