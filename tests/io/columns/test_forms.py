"""Numbers in disguise: read where a whole column agrees, named where it does not, never harmed."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("polars")
import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from tests.support.commands import run, run_json
from tests.support.comparison import same_forest
from tests.support.model_files import sealed, split
from tests.support.table_files import write

import opforest
from opforest._utils.numerals import PLAIN, STYLES, Affix, Cells, Form, affix_of, looks_like_number
from opforest.errors import DataFileError, ModelFileError
from opforest.io.columns.column import Column
from opforest.io.columns.forms import find_forms, mark_missing
from opforest.io.columns.table import ReadOptions
from opforest.io.tables import read_columns, read_table

N = 40
RNG = np.random.default_rng(0)
VALUES = RNG.uniform(-50, 5000, N).round(2)
Y = ["ab"[k % 2] for k in range(N)]


def grouped(value, mark=",", decimal="."):
    return f"{value:,.2f}".translate(str.maketrans({",": mark, ".": decimal}))


#: How the same numbers may be written, and what a note calls that.
WRITTEN = {
    "percent": (lambda v: f"{v}%", "percentages"),
    "percent, blank": (lambda v: f"{v} %", "percentages"),
    "dollars": (lambda v: f"-${-v}" if v < 0 else f"${v}", "amounts in $"),
    "dollars, sign inside": (lambda v: f"${v}", "amounts in $"),
    "dollars, thousands": (lambda v: f"${grouped(v)}", "amounts in $, thousands separators"),
    "euros behind": (lambda v: f"{grouped(v, '.', ',')} €", "amounts in €, thousands"),
    "code of a currency": (lambda v: f"USD {v}", "amounts in USD"),
    "centimeters": (lambda v: f"{v} cm", "the unit cm"),
    "without a blank": (lambda v: f"{v}kg", "the unit kg"),
    "degrees": (lambda v: f"{v} °C", "the unit °C"),
    "any word": (lambda v: f"{v} points", "the unit points"),
    "decimal comma": (lambda v: str(v).replace(".", ","), "a decimal comma"),
    "Fortran": (lambda v: f"{v:.6E}".replace("E", "D"), "Fortran's exponents"),
    "thousands": (grouped, "thousands separators"),
    "thousands by points": (lambda v: grouped(v, ".", ","), "thousands separators and a decimal"),
    "thousands by blanks": (lambda v: grouped(v, " "), "thousands separators"),
    "thousands by apostrophes": (lambda v: grouped(v, "'"), "thousands separators"),
}


def table_of(cells, delimiter=",", y=Y, name="x"):
    quoted = ['"' + cell.replace('"', '""') + '"' for cell in cells]
    lines = [delimiter.join((cell, label)) for cell, label in zip(quoted, y, strict=True)]
    return f"{name}{delimiter}class\n" + "\n".join(lines) + "\n"


class TestConsistentColumns:
    @pytest.mark.parametrize("delimiter", [",", ";", "\t"])
    @pytest.mark.parametrize("case", WRITTEN)
    def test_they_are_read_and_that_is_said(self, tmp_path, case, delimiter):
        to_text, told = WRITTEN[case]
        path = write(tmp_path, table_of([to_text(v) for v in VALUES.tolist()], delimiter))
        data = read_table(path, ReadOptions(needs_label=True))
        assert data.X[:, 0].tolist() == VALUES.tolist()
        if case != "decimal comma" or delimiter == ",":
            assert any(f"'x' holds numbers ({told}" in note for note in data.notes)
        else:  # how files are written where the comma is no delimiter
            assert any(note.startswith("numbers have decimal commas: '") for note in data.notes)

    def test_missing_cells_stay_missing(self, tmp_path):
        cells = ["12.5%", "", "NA", "None", "7%"] * 8
        data = read_table(write(tmp_path, table_of(cells)), ReadOptions(allow_missing=True))
        assert np.array_equal(data.X[:5, 0], [12.5, np.nan, np.nan, np.nan, 7], equal_nan=True)

    def test_labels_and_ids_stay_as_they_are_written(self, tmp_path):
        cells = ["5 cm", "10 cm"] * (N // 2)
        path = write(tmp_path, table_of(cells, y=[f"{v}%" for v in VALUES]))
        data = read_table(path, ReadOptions(label="1"))
        assert set(data.y) == {"5 cm", "10 cm"}
        assert data.X[:, 0].tolist() == VALUES.tolist()

    def test_typed_files_too(self, tmp_path):
        pl.DataFrame({"x": [f"{v}%" for v in VALUES], "class": Y}).write_parquet(tmp_path / "a.pq")
        assert read_table(tmp_path / "a.pq").X[:, 0].tolist() == VALUES.tolist()

    def test_a_file_without_header(self, tmp_path):
        lines = "".join(f"{v}%,{v} cm,{y}\n" for v, y in zip(VALUES, Y, strict=True))
        data = read_table(write(tmp_path, lines))
        assert data.X.tolist() == [[v, v] for v in VALUES.tolist()]

    def test_whole_numbers_that_are_lost_are_refused(self, tmp_path):
        path = write(tmp_path, table_of(["9,007,199,254,740,993", "12,000"] * (N // 2)))
        with pytest.raises(DataFileError, match="9007199254740993, which float64 cannot hold"):
            read_table(path)

    def test_info_says_it(self, tmp_path):
        roles = read_columns(write(tmp_path, table_of([f"{v}%" for v in VALUES])))
        assert roles.columns[0].kind == "number"
        assert any("percentages" in note for note in roles.notes)

    def test_what_is_kept_without_loss_is_kept_as_it_is_written(self, tmp_path):
        path = write(tmp_path, table_of([f"{v}%" for v in VALUES]))
        run("convert", path, tmp_path / "b.csv")
        assert (tmp_path / "b.csv").read_text().split() == path.read_text().replace('"', "").split()


class TestDecimalMarks:
    AMBIGUOUS = tuple(f"{1 + k % 7},{37 * (k % 13):03}" for k in range(N // 2)) * 2

    @pytest.mark.parametrize("delimiter", [",", ";", "\t"])
    def test_both_are_possible(self, tmp_path, delimiter):
        path = write(tmp_path, table_of(self.AMBIGUOUS, delimiter))
        with pytest.raises(DataFileError, match=r"'1,000' may be 1000 or 1\. Use --decimal \. if"):
            read_table(path)
        for decimal, factor in ((".", 1), (",", 1000)):
            X = read_table(path, ReadOptions(decimal=decimal)).X[:, 0]
            assert X.tolist() == [int(c.replace(",", "")) / factor for c in self.AMBIGUOUS]
        assert read_columns(path).columns[0].ambiguous_forms  # info refuses nothing

    @pytest.mark.parametrize(
        ("delimiter", "other", "factor"), [(",", "3.14", 1), (";", "3.14", 1), (";", "3,14", 1000)]
    )
    def test_the_rest_of_the_file_may_tell(self, tmp_path, delimiter, other, factor):
        y = [f'"{other}"{delimiter}{label}' for label in Y]
        content = table_of(self.AMBIGUOUS, delimiter, y).replace("class", f"z{delimiter}class")
        X = read_table(write(tmp_path, content)).X
        assert X[:, 0].tolist() == [int(c.replace(",", "")) / factor for c in self.AMBIGUOUS]
        assert set(X[:, 1]) == {3.14}

    def test_points_between_thousands(self, tmp_path):
        lines = "".join(f"{1 + k % 7}.{37 * (k % 7):03};1.{k:03},5;{Y[k]}\n" for k in range(N))
        X = read_table(write(tmp_path, "a;b;class\n" + lines)).X
        assert X[:2].tolist() == [[1000, 1000.5], [2037, 1001.5]]

    def test_a_mark_that_was_told_holds_for_all(self, tmp_path):
        path = write(tmp_path, "a;class\n1.234;x\n2.500;y\n7;x\n")
        assert read_table(path).X[:, 0].tolist() == [1.234, 2.5, 7]
        assert read_table(path, ReadOptions(decimal=",")).X[:, 0].tolist() == [1234, 2500, 7]
        write(tmp_path, "a;class\n1.2;x\n2,5;y\n7;x\n8;y\n")
        with pytest.raises(DataFileError, match=r"'1\.2'"):
            read_table(path, ReadOptions(decimal=","))

    def test_the_option_is_checked(self, tmp_path):
        path = write(tmp_path, table_of(self.AMBIGUOUS))
        assert "--decimal must be . or ," in run("info", path, "--decimal", ";", code=2).stderr
        assert run_json("info", path, "--decimal", "comma")["features"] == 1


class TestInconsistentColumns:
    @pytest.mark.parametrize(
        ("cells", "told"),
        [
            (["5 cm", "2 in"], "in several ways, '5 cm' and '2 in'"),
            (["$5", "€7"], "in several ways, '$5' and '€7'"),
            (["12.5%", "0.125"], "in several ways, '0.125' and '12.5%'"),
            (["5 cm", "5.5"], "in several ways, '5.5' and '5 cm'"),
        ],
    )
    def test_no_harmful_advice(self, tmp_path, cells, told):
        path = write(tmp_path, table_of(cells * (N // 2)))
        with pytest.raises(DataFileError) as caught:
            read_table(path, ReadOptions(label="class"))
        assert told in str(caught.value)
        assert "--encode" not in str(caught.value)

    def test_marks_of_missing_values(self, tmp_path):
        cells = ["n.d." if k % 9 == 3 else f"{v}%" for k, v in enumerate(VALUES)]
        path = write(tmp_path, table_of(cells))
        with pytest.raises(DataFileError, match=r"'n.d.' stands for a missing value: Add .*--na"):
            read_table(path)
        found = read_table(path, ReadOptions(na=("n.d.",), allow_missing=True)).X[:, 0]
        assert np.isnan(found).sum() == cells.count("n.d.")
        assert np.isfinite(found).sum() == N - cells.count("n.d.")

    @pytest.mark.parametrize(
        "word", ["12a", "A/5 21171", "1st", "2015-02-02", "10-20", "<5", "1D5"]
    )
    def test_codes_are_no_numbers(self, word):
        assert not looks_like_number(word)

    def test_codes_stay_categories(self, tmp_path):
        path = write(tmp_path, table_of(["12a", "12b", "7c", "1st"] * (N // 4)))
        roles = read_columns(path, ReadOptions(label="class"))
        assert roles.columns[0].kind == "category"

    def test_marks_that_are_numbers(self, tmp_path):
        path = write(tmp_path, "a,b,class\n" + "1.5,3,x\n-99,4,y\n2.5,-99,x\n7,5,y\n" * 10)
        X = read_table(path, ReadOptions(na=("-99",), allow_missing=True)).X
        assert np.isnan(X).sum() == 20
        assert not (X == -99).any()


@pytest.fixture
def disguised(tmp_path, monkeypatch):
    """A folder with files whose columns are percentages, amounts, and marked as missing."""
    monkeypatch.chdir(tmp_path)
    y = RNG.integers(0, 2, 60)
    X = RNG.normal(y[:, None] * 3, 1, (60, 3)).round(2)
    rows = [f"{a}%,\"${b}\",{'n.d.' if k % 13 == 5 else c},{('no', 'yes')[y[k]]}"
            for k, (a, b, c) in enumerate(X.tolist())]  # fmt: skip
    for name, part in (("train", rows[:40]), ("test", rows[40:]), ("all", rows)):
        (tmp_path / f"{name}.csv").write_text("\n".join(["p,q,r,class", *part]) + "\n")
    plain = [(a, b, math.nan if k % 13 == 5 else c) for k, (a, b, c) in enumerate(X.tolist())]
    return np.array(plain), np.array(["no", "yes"])[y]


OPTIONS = ("--na", "n.d.", "--missing", "median")


class TestModels:
    """What training did is what every other command does."""

    def test_predict_update_evaluate_and_stream(self, disguised):
        X, y = disguised
        run("train", "train.csv", "m", *OPTIONS)
        assert opforest.load("m")[-1].columns_["cells"] == {
            "affixes": {"1": ["", "%"], "2": ["$", ""]}, "missing": ["n.d."]
        }  # fmt: skip
        model = opforest.Pipeline([("prepare", opforest.Preparation(missing="median")),
                                   ("classify", opforest.OPFClassifier())])  # fmt: skip
        model.fit(X[:40], y[:40])
        assert run("predict", "m", "test.csv").stdout.split() == model.predict(X[40:]).tolist()
        assert run_json("evaluate", "m", "test.csv")["examples"] == 20
        model.partial_fit(X[40:], y[40:])
        run("update", "m", "test.csv")
        assert same_forest(opforest.load("m")[-1], model[-1])
        run("stream", "s", "all.csv", "--every", "40", *OPTIONS)
        assert same_forest(opforest.load("s")[-1], model[-1])
        run("train", "train.csv", "n", "--unlabeled", "test.csv", *OPTIONS)
        assert len(opforest.load("n")[-1].forest_) == 60

    def test_standard_input(self, disguised):
        run("train", "train.csv", "m", *OPTIONS)
        content = Path("test.csv").read_text()
        wanted = run("predict", "m", "test.csv").stdout
        assert run("predict", "m", "-", stdin=content).stdout == wanted

    def test_other_forms_than_in_training_are_refused(self, disguised):
        run("train", "train.csv", "m", *OPTIONS)
        run("train", "train.csv", "plain", "--drop", "p,q", *OPTIONS)
        content = Path("test.csv").read_text()
        write_text("bare.csv", content.replace("%", ""))
        told = run("predict", "m", "bare.csv", code=3).stderr
        assert "column 'p' must hold numbers, as in training such as '1%'" in told
        write_text("euro.csv", content.replace("$", "€"))
        assert "such as '$1'" in run("predict", "m", "euro.csv", code=3).stderr
        write_text("cm.csv", content.replace(",no", " cm,no").replace(",yes", " cm,yes"))
        assert "as in training, got" in run("predict", "plain", "cm.csv", code=3).stderr

    def test_the_decimal_mark_is_remembered(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        cells = TestDecimalMarks.AMBIGUOUS
        write_text("a.csv", table_of(cells))
        write_text("b.csv", table_of(cells).replace("class", "z"))
        for decimal in (".", ","):
            run("train", "a.csv", "m", "--decimal", decimal)
            assert opforest.load("m").columns_["cells"] == {"decimal": decimal}
            answers = run("predict", "m", "b.csv").stdout
            assert answers == run("predict", "m", "b.csv", "--decimal", decimal).stdout

    def test_a_store_remembers_it(self, disguised):
        X, y = disguised
        run("store", "create", "s.db", "--missing", "median")
        told = run("store", "learn", "s.db", "train.csv", "--na", "n.d.").stderr
        assert "percentages" in told
        run("store", "learn", "s.db", "test.csv")
        model = opforest.Pipeline([("prepare", opforest.Preparation(missing="median")),
                                   ("classify", opforest.OPFClassifier())])  # fmt: skip
        model.fit(X[:40], y[:40])
        model.partial_fit(X[40:], y[40:])
        assert run("store", "predict", "s.db", "all.csv").stdout.split() == (
            model.predict(X).tolist())  # fmt: skip
        write_text("bare.csv", Path("test.csv").read_text().replace("%", ""))
        assert "such as '1%'" in run("store", "learn", "s.db", "bare.csv", code=3).stderr

    @pytest.mark.parametrize(
        "cells",
        [
            None, [], {"more": 1}, {"decimal": "x"}, {"missing": "x"}, {"missing": [1]},
            {"affixes": {"0": ["$", ""]}}, {"affixes": {"4": ["$", ""]}},
            {"affixes": {"1": ["(", ""]}}, {"affixes": {"1": ["", ""]}}, {"affixes": {"1": ["$"]}},
            {"affixes": {"1": ["$", "x" * 50]}}, {"affixes": {"x": ["$", ""]}},
        ],
    )  # fmt: skip
    def test_forged_models(self, disguised, cells):
        run("train", "train.csv", "m", *OPTIONS)
        head, body = split(Path("m").read_bytes())
        head["columns"]["cells"] = cells
        Path("m").write_bytes(sealed(head, body))
        with pytest.raises(ModelFileError, match=r"(columns|cells) is invalid"):
            opforest.load("m")

    def test_plain_files_leave_nothing_to_remember(self, tmp_path):
        data = read_table(write(tmp_path, "a,b,class\n1,2.5,x\n3,4,y\n"))
        assert set(data.layout) == {"width", "features", "label", "label_name"}


def write_text(name, content):
    Path(name).write_text(content, encoding="utf-8")


# Against an obvious oracle: what is written in a form is read as it was.

AFFIXES = st.sampled_from(
    [Affix(), Affix("$"), Affix("", "%"), Affix("", "cm"), Affix("€"), Affix("", "km/h")]
)


@given(AFFIXES, st.sampled_from(sorted(STYLES)),
       st.lists(st.integers(-10**9, 10**9), min_size=1, max_size=8))  # fmt: skip
def test_every_form_is_read_as_it_was_written(affix, style, hundredths):
    values = [n / 100 for n in hundredths]
    marks = STYLES[style]

    def to_text(value):
        digits = f"{value:,.2f}" if marks.groups else f"{value:.2f}"
        digits = digits.translate(str.maketrans({",": marks.groups[:1], ".": marks.decimal}))
        digits += "D+00" if style == "fortran" else ""
        return f"{affix.prefix}{digits}{affix.suffix}"

    cells = pl.Series([to_text(value) for value in values])
    column = Column(1, "x", cells, form=Form(affix, style))
    assert column.numbers.to_list() == values
    assert not column.is_invalid.any()
    assert [float(column.form.to_plain(cell)) for cell in cells] == values
    forms = find_forms(column.words)
    assert any(Column(1, "x", cells, form=form).numbers.to_list() == values for form in forms)
    assert affix_of(cells[0]) == affix


@given(st.lists(st.text("0123456789.,-+%$ cmDe'", max_size=9), min_size=1, max_size=4))
def test_forms_agree_with_python(cells):
    column = Column(1, "x", pl.Series(cells))
    for form in find_forms(column.words):
        found = Column(1, "x", pl.Series(cells), form=form)
        for cell, value in zip(found.words, found.numbers, strict=True):
            plain = None if cell is None else form.to_plain(cell)
            assert value == (None if plain is None else float(plain)) or form == PLAIN


def test_marks_are_cleared_by_type():
    for cells in (["1", "x", " x "], [1.0, 7.0, 7.0], [1, 7, 7]):
        column = mark_missing(Column(1, "a", pl.Series(cells)), ("x", "7"))
        assert column.cells.null_count() == 2
    column = Column(1, "a", pl.Series([True, False]))
    assert mark_missing(column, ("1",)) is column


@given(st.dictionaries(st.integers(1, 9), AFFIXES.filter(any)), st.sampled_from(["", ".", ","]),
       st.lists(st.text(min_size=1, max_size=5)))  # fmt: skip
def test_what_is_remembered_lasts(affixes, decimal, missing):
    cells = Cells(affixes, decimal, tuple(missing))
    assert Cells.from_data(json.loads(json.dumps(cells.to_data()))) == cells
