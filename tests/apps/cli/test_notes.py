"""What commands say without being asked: which column is the label, and scales, never in Python."""

import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("polars")
import polars as pl
from tests.support.commands import run

LABEL = (
    "the label is column 'kind', the only column of categories: 2 classes (--label names another)"
)
KNOWN = "the model holds 50 of the 50 examples, which say nothing about new ones"
PYTHON = re.compile(r"make_pipeline|StandardScaler|OPFClassifier|y_true|\w=['\"]|\w\(\)")

pytestmark = pytest.mark.filterwarnings("always")


@pytest.fixture(autouse=True)
def spread(tmp_path, monkeypatch):
    """A folder with d.csv, whose features differ in spread, and parts of it."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({
        "small": rng.normal(size=300), "large": rng.normal(0, 50_000, 300),
        "kind": np.array(["a", "b"])[rng.integers(0, 2, 300)],
    })  # fmt: skip
    frame.write_csv("d.csv")
    frame[:50].write_csv("e.csv")
    frame[:50].rename({"kind": "sort"}).write_csv("renamed.csv")
    frame.write_csv("bare.csv", include_header=False)
    return frame


def told_by(*arguments, **more):
    """Return the notes and the warnings of a command."""
    told = run(*arguments, **more).stderr
    assert not PYTHON.search(told), told
    lines = told.splitlines()
    assert all(re.match("opforest: (note|warning): ", line) for line in lines)
    return [[line.split(": ", 2)[2] for line in lines if line.startswith(f"opforest: {kind}: ")]
            for kind in ("note", "warning")]  # fmt: skip


class TestStream:
    @pytest.mark.parametrize("options", [(), ("--batch", 50), ("--every", 20), ("--json",)])
    def test_label_and_scales(self, options):
        notes, warnings = told_by("stream", "s", "d.csv", *options)
        assert notes == [LABEL]
        (warning,) = warnings
        assert "the deviation of 'large' is" in warning
        assert "times that of 'small'" in warning
        assert warning.endswith("Scale them: begin again with another MODEL and --scale standard.")

    def test_columns_without_names(self):
        notes, (warning,) = told_by("stream", "s", "bare.csv")
        assert notes[0].startswith("the label is column 3, the only column of categories")
        assert "the deviation of 'column 2' is" in warning

    def test_from_the_standard_input(self):
        rows = pl.read_csv("d.csv").write_csv()
        notes, warnings = told_by("stream", "s", "-", stdin=rows)
        assert (notes, len(warnings)) == ([LABEL], 1)

    def test_the_label_is_noted_before_an_error(self):
        rows = pl.read_csv("d.csv").write_csv() + "1,x,a\n"
        told = run("stream", "s", "-", stdin=rows, code=3).stderr
        assert told.startswith(f"opforest: note: {LABEL}\n")

    def test_scaled_features_need_no_warning(self):
        assert told_by("stream", "s", "d.csv", "--scale", "standard") == [[LABEL], []]
        (warning,) = told_by("stream", "t", "d.csv", "--missing", "median")[1]
        assert "the deviation of 'large' is" in warning

    def test_no_note_on_a_known_label(self):
        run("stream", "s", "d.csv")
        assert told_by("stream", "s", "e.csv") == [[], []]
        assert told_by("stream", "s", "renamed.csv") == [
            ["the label is column 'sort' (--label names another)"], []
        ]  # fmt: skip

    def test_rows_that_the_model_has_learned(self):
        run("stream", "s", "e.csv")
        known = (
            "s has 50 examples, and has learned 50 rows of e.csv in an earlier run; all rows are "
            "learned in addition (--resume learns only those that are new)"
        )
        assert told_by("stream", "s", "e.csv") == [[known], []]
        known = known.replace("s has 50", "s has 100")
        assert told_by("stream", "s", "e.csv") == [[known], []]  # of the last run only
        assert told_by("stream", "s", "e.csv", "--resume") == [[], []]
        run("update", "s", "d.csv")
        assert told_by("stream", "s", "e.csv") == [[], []]  # --resume would not know, either
        rows = pl.read_csv("e.csv").write_csv()
        run("stream", "t", "-", stdin=rows)
        assert told_by("stream", "t", "-", stdin=rows) == [[], []]  # they may be others

    def test_no_note_on_a_given_label(self):
        assert told_by("stream", "s", "d.csv", "--label", "kind")[0] == []


@pytest.mark.parametrize("command", [("update",), ("evaluate",), ("prune",)])
def test_commands_that_have_a_model(command):
    run("train", "d.csv", "m")
    more = ("smaller",) if command == ("prune",) else ()
    known = [KNOWN] if command == ("evaluate",) else []
    assert told_by(*command, "m", "e.csv", *more) == [known, []]
    run("train", "d.csv", "m")
    notes, warnings = told_by(*command, "m", "renamed.csv", *more)
    assert (notes, warnings) == (["the label is column 'sort' (--label names another)", *known], [])
    run("train", "d.csv", "m")
    assert told_by(*command, "m", "renamed.csv", *more, "--label", "sort") == [known, []]


@pytest.mark.parametrize("command", [
    ("convert", "d.csv", "out.csv"), ("split", "d.csv", "a.csv", "b.csv"),
    ("fold", "d.csv", "{}.csv"), ("merge", "d.csv", "e.csv", "--out", "out.csv"),
    ("normalize", "d.csv", "out.csv"), ("distance", "d.csv", "out.npy"), ("cluster", "d.csv"),
])  # fmt: skip
def test_commands_without_a_model(command):
    notes, warnings = told_by(*command)
    assert [note.removesuffix("; labels are ignored here") for note in notes] == [LABEL]
    assert warnings == []
    assert told_by(*command, "--label", "kind") == [[], []]


def test_ids(spread):
    spread.with_row_index("id", 10).write_csv("named.csv")
    note = "column 'id' is the id of the examples (--keep id makes it a feature)"
    assert told_by("train", "named.csv", "m")[0] == [note, LABEL]
    assert told_by("train", "named.csv", "m", "--keep", "id")[0] == [LABEL]
    assert told_by("convert", "named.csv", "b.csv")[0] == [LABEL]  # the id is kept


def test_decimal_commas(spread):
    text = spread.write_csv(separator=";").replace(".", ",")
    Path("c.csv").write_text(text)
    first = text.splitlines()[1].split(";")[0]
    note = f"numbers have decimal commas: {first!r} is read as {first.replace(',', '.')}"
    assert told_by("train", "c.csv", "m")[0] == [note, LABEL]
    assert told_by("predict", "m", "c.csv")[0] == [note]
    assert told_by("predict", "m", "d.csv")[0] == []


def test_stores():
    run("store", "create", "s.db")
    notes, (warning,) = told_by("store", "learn", "s.db", "d.csv")
    assert notes == [LABEL]
    assert "the deviation of 'large' is" in warning
    assert warning.endswith("Scale them: make a new store with --scale standard.")
    notes, warnings = told_by("store", "learn", "s.db", "renamed.csv", "--again")
    assert (notes, warnings) == (["the label is column 'sort' (--label names another)"], [])
    assert told_by("store", "predict", "s.db", "e.csv") == [[], []]
    run("store", "create", "t.db", "--scale", "standard")
    assert told_by("store", "learn", "t.db", "d.csv") == [[LABEL], []]
    run("store", "create", "u.db", "--missing", "median")
    assert "'large'" in told_by("store", "learn", "u.db", "d.csv")[1][0]


def test_one_class_alone(spread):
    spread.filter(pl.col("kind") == "a").write_csv("one.csv")
    run("train", "one.csv", "m", "--label", "kind", "--scale", "standard")
    (note,), warnings = told_by("evaluate", "m", "one.csv", "--label", "kind")
    assert note.startswith("the model holds")
    assert warnings == []
    assert told_by("predict", "m", "one.csv", "--proba") == [[], []]
