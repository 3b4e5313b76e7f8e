"""Files as people have them: read right, or asked about; never silently misread.

The real ones lie beside the project, in ``../shared/data/wild``. A synthetic twin of each trap is
here, so that a plain clone tests all of them.
"""

import json

import numpy as np
import pytest

pytest.importorskip("polars")
from tests.support.data_files import SHARED_DATA

from opforest.errors import DataFileError
from opforest.io.columns.table import InputSchema, ReadOptions
from opforest.io.tables import read_columns, read_table

WILD = SHARED_DATA / "wild"
EXPECTED = json.loads((WILD / "expected.json").read_text()) if WILD.is_dir() else {}
ASK = ReadOptions(needs_label=True)


@pytest.mark.skipif(not EXPECTED, reason="../shared/data/wild is not there")
class TestRealFiles:
    @pytest.mark.parametrize("name", EXPECTED)
    def test_right_or_a_helpful_question(self, name):
        true = EXPECTED[name]
        try:
            data = read_table(WILD / name, ASK)
        except DataFileError as error:
            told = str(error)
            assert "\n" not in told
            assert "--" in told, told  # what to type
            return
        apart = true["has_header"] == "libsvm"
        assert apart or data.label_column == true["label_column"]
        assert len(data) == true["examples"]
        assert len(np.unique(data.y)) == true["classes"]
        assert data.X.shape[1] == true["usable_numeric_features"]

    @pytest.mark.parametrize("name", EXPECTED)
    def test_with_the_label_named(self, name):
        true = EXPECTED[name]
        apart = true["has_header"] == "libsvm"
        header = True if name == "iris_sklearn.csv" else None  # its first line is none, really
        label = None if apart else str(true["label_column"])
        options = ReadOptions(label=label, header=header, needs_label=True)
        try:
            data = read_table(WILD / name, options)
        except DataFileError as error:
            told = str(error)
        else:
            assert len(data) == true["examples"]
            assert len(np.unique(data.y)) == true["classes"]
            return
        assert true["text_feature_columns"] or true["missing_cells"]
        assert "--encode" in told or "--missing" in told

    @pytest.mark.parametrize("name", [name for name in EXPECTED if name != "iris_sklearn.csv"])
    def test_info_refuses_nothing(self, name):
        roles = read_columns(WILD / name, ReadOptions(allow_missing=True))
        assert len(roles.columns) == EXPECTED[name]["columns"]
        words = [k for k in roles.features if roles.columns[k].kind in ("category", "text")]
        words += [k for k, why in roles.left_out.items() if why == "dates"]
        if roles.label is not None:
            assert len(words) == EXPECTED[name]["text_feature_columns"]


def table(columns, header=None, delimiter=","):
    rows = zip(*columns, strict=True)
    lines = [delimiter.join(map(str, row)) for row in rows]
    return "\n".join(([delimiter.join(header)] if header else []) + lines) + "\n"


N = 60
RNG = np.random.default_rng(0)
SMALL = RNG.integers(1, 4, N).tolist()  # three classes
WORDS = RNG.choice(["a", "b", "c"], N).tolist()
YES = RNG.choice(["y", "n", "?"], N).tolist()
LARGE = RNG.integers(10, 30, N).tolist()
FRACTIONS = [RNG.normal(size=N).round(3).tolist() for _ in range(3)]
UNIQUE = [f"row{k}" for k in range(N)]
RUNNING = list(range(1, N + 1))
DATES = [f"2015-02-02 14:{k:02}:00" for k in range(N)]
PIXELS = [RNG.integers(0, 17, N).tolist() for _ in range(5)]


BITS = [RNG.integers(0, 2, N).tolist() for _ in range(8)]


class TestTwins:
    """A synthetic twin of each trap."""

    @pytest.mark.parametrize(
        ("content", "label", "features"),
        [
            (table([WORDS, *PIXELS]), 1, 5),  # letter: the only column of words, first
            (table([RUNNING, *FRACTIONS, SMALL]), 5, 3),  # glass: running numbers are no feature
            (table([UNIQUE, *FRACTIONS, WORDS], delimiter="   "), 5, 3),  # ecoli
            (table([RUNNING, WORDS, *FRACTIONS], ["id", "diagnosis", "a", "b", "c", ""]), 2, 3),
            (";;; a note\n;;; more; of it\n\n"
             + table([WORDS, *FRACTIONS]).replace("a,", "a,", 1), 1, 3),
            (";;; a note\n\nx1,x2,x3\n\n" + table([WORDS, *FRACTIONS]), 1, 3),  # segmentation
            (table([*FRACTIONS, SMALL], ["a", "b", "c", "quality"], ";"), 4, 3),  # winequality
            (table([RUNNING, *FRACTIONS, WORDS], ["id", "a", "b", "c", "label"]), 5, 3),  # heart
            (table([[f'"{k}"' for k in RUNNING], [f'"{day}"' for day in DATES], *FRACTIONS, SMALL],
                   ["sno", "date", "a", "b", "c", "Occupancy"]), 6, 3),
            (table([*FRACTIONS, WORDS], ["a", "b", "c", "class"]), 4, 3),  # iris.parquet
            (table([*PIXELS, BITS[0]]), 6, 5),  # pima, haberman, pendigits, shuttle: last
            (table([*PIXELS, FRACTIONS[0], BITS[0]], [*"abcdef", "spam"]), 7, 6),  # spambase
            (table([BITS[0], *FRACTIONS, WORDS]), 5, 4),  # ionosphere: words, last
            (table([UNIQUE, *BITS, SMALL]), 10, 8),  # zoo: more classes than other columns
        ],
    )  # fmt: skip
    def test_read_right(self, tmp_path, content, label, features):
        (tmp_path / "data.txt").write_text(content)
        data = read_table(tmp_path / "data.txt", ASK)
        assert (data.label_column, len(data), data.X.shape[1]) == (label, N, features)
        assert any("the label is" in note for note in data.notes)

    @pytest.mark.parametrize(
        ("content", "offers"),
        [
            (table([SMALL, *FRACTIONS, LARGE]), ["--label 1 (3 classes)", "--label 5"]),  # wine
            (table([SMALL, *BITS]), ["--label 9 (2", "--label 1 (3"]),  # zoo, the label first
            (table([BITS[0], *PIXELS, BITS[1]]), ["--label 7 (2", "--label 1 (2"]),
            (table([WORDS, *FRACTIONS, SMALL]), ["--label 1 (3", "--label 5 (3"]),  # abalone
            (table([WORDS, YES, YES]), ["--label 1", "--label 2", "--label 3"]),  # house-votes
            (table(PIXELS), ["--label 1", "--label 5"]),  # optdigits, mnist
            (table([SMALL, WORDS, WORDS, *FRACTIONS, YES],
                   ["survived", "sex", "class", "a", "b", "c", "alone"]),
             ["--label class", "--label survived", "--label sex"]),  # titanic
            (table([UNIQUE, WORDS, YES], ["customerID", "gender", "Churn"]),
             ["--label gender", "--label Churn"]),  # telco
            ("9,4,setosa,versicolor\n" + table([*FRACTIONS, SMALL]), ["--header"]),  # iris
            ("0,1,2,3,4\n" + table(PIXELS), ["--header"]),
        ],
    )  # fmt: skip
    def test_asked_about(self, tmp_path, content, offers):
        (tmp_path / "data.txt").write_text(content)
        with pytest.raises(DataFileError) as caught:
            read_table(tmp_path / "data.txt", ASK)
        assert all(offer in str(caught.value) for offer in offers), str(caught.value)

    def test_first_and_last_name_a_column(self, tmp_path):
        (tmp_path / "a.csv").write_text(table([SMALL, *FRACTIONS, LARGE]))
        for label, column in (("first", 1), ("last", 5)):
            assert read_table(tmp_path / "a.csv", ReadOptions(label=label)).label_column == column
        (tmp_path / "a.csv").write_text(table([SMALL, *FRACTIONS, LARGE], [*"abc", "last", "d"]))
        assert read_table(tmp_path / "a.csv", ReadOptions(label="first")).label_column == 1
        assert read_table(tmp_path / "a.csv", ReadOptions(label="last")).label_column == 4

    def test_all_columns_of_text_in_one_message(self, tmp_path):
        names = ["species", "island", "a", "sex"]
        (tmp_path / "a.csv").write_text(table([WORDS, WORDS, FRACTIONS[0], YES], names))
        with pytest.raises(DataFileError, match=r"island \(3 values\), sex \(2 values\)") as caught:
            read_table(tmp_path / "a.csv", ASK)
        assert "Add --encode onehot --missing median" in str(caught.value)

    def test_missing_cells_are_counted(self, tmp_path):
        cells = ["?", *map(str, PIXELS[0][1:])]
        (tmp_path / "a.csv").write_text(table([RUNNING, cells, WORDS]))
        message = r"line 1, column 2: .* got '\?'; 1 of 60 rows has missing cells, in 2: --missing"
        with pytest.raises(DataFileError, match=message):
            read_table(tmp_path / "a.csv", ASK)

    def test_none_is_missing_among_numbers_only(self, tmp_path):
        cells, words = [*PIXELS[0][:-1], "none"], [*WORDS[:-1], "none"]
        (tmp_path / "a.csv").write_text(table([cells, words, WORDS]))
        assert [column.missing for column in read_columns(tmp_path / "a.csv").columns] == [1, 0, 0]

    def test_nearly_an_id_is_told(self, tmp_path):
        almost = [*range(5000, 5000 + 7 * (N - 1), 7), 5000]
        (tmp_path / "a.csv").write_text(table([almost, *FRACTIONS, WORDS]))
        data = read_table(tmp_path / "a.csv", ASK)
        assert data.X.shape[1] == 4
        assert any("may be an id" in note and "--drop 1" in note for note in data.notes)

    def test_a_date_is_never_the_label(self, tmp_path):
        (tmp_path / "a.csv").write_text(table([*FRACTIONS, DATES]))
        roles = read_columns(tmp_path / "a.csv")
        assert roles.label is None
        assert roles.columns[3].kind == "date"

    def test_ids_come_back_when_they_are_kept(self, tmp_path):
        (tmp_path / "a.csv").write_text(table([RUNNING, *FRACTIONS, WORDS]))
        assert read_table(tmp_path / "a.csv", ReadOptions(keep=("1",))).X.shape[1] == 4

    @pytest.mark.parametrize(
        ("drop", "left"),
        [(("a,b",), ("c", "d")), (("2-3",), ("a", "d")), (("a", "4"), ("b", "c"))],
    )
    def test_columns_to_drop(self, tmp_path, drop, left):
        header = ["a", "b", "c", "d", "class"]
        (tmp_path / "a.csv").write_text(table([*FRACTIONS, FRACTIONS[0], WORDS], header))
        assert read_table(tmp_path / "a.csv", ReadOptions(drop=drop)).feature_names == left

    def test_a_name_that_is_a_number_goes_before_the_number(self, tmp_path):
        header = ["3", "1", "2", "class"]
        (tmp_path / "a.csv").write_text(table([*FRACTIONS, WORDS], header))
        data = read_table(tmp_path / "a.csv", ReadOptions(drop=("1",), header=True))
        assert data.feature_names == ("3", "2")
        assert any("1 is the column of that name, number 2" in note for note in data.notes)


class TestNoFeatures:
    """What became of all columns is said, and what to type."""

    @pytest.mark.parametrize(
        ("content", "told"),
        [
            ("IDS,label\n5,a\n", ["'label' is the label", "'IDS' is left out (an id: called so)",
                                 "--keep IDS makes it a feature"]),
            (table([RUNNING, DATES, WORDS], ["id", "when", "label"]),
             ["'id' is the id", "'when' is left out (dates)", "--keep id makes it a feature"]),
            (table([RUNNING, WORDS]), ["column 1 is left out (an id: running", "--keep 1"]),
            (table([WORDS], ["label"]), ["--label names another column, or none"]),
        ],
    )  # fmt: skip
    def test_it_is_said(self, tmp_path, content, told):
        (tmp_path / "a.csv").write_text(content)
        with pytest.raises(DataFileError, match="there is no column of features: ") as caught:
            read_table(tmp_path / "a.csv", ASK)
        assert all(part in str(caught.value) for part in told), str(caught.value)
        assert read_columns(tmp_path / "a.csv").features == []  # info refuses nothing

    def test_a_column_can_be_kept(self, tmp_path):
        (tmp_path / "a.csv").write_text("IDS,label\n5,a\n")
        assert read_table(tmp_path / "a.csv", ReadOptions(keep=("IDS",))).X.tolist() == [[5]]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (ReadOptions(drop=("2-1",)), "2-1 means no columns: the smaller number comes first"),
        (ReadOptions(label="CLASS"), "did you mean 'class'?"),
        (ReadOptions(expected=InputSchema(1, ("A",), True)), "'A'; is 'a' the first of them?"),
    ],
)
def test_columns_that_cannot_be_meant(tmp_path, options, told):
    (tmp_path / "a.csv").write_text("a,b,class\n1,2,x\n3,4,y\n")
    with pytest.raises(DataFileError) as caught:
        read_table(tmp_path / "a.csv", options)
    assert told in str(caught.value)
