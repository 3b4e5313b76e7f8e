"""Headers of numbers: recognized beside a column of words, asked about, or no headers at all."""

import io
import sys
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("polars")
from hypothesis import given
from hypothesis import strategies as st
from tests.support.table_files import write
from tests.support.workbooks import write_workbook

from opforest.errors import DataFileError
from opforest.io.columns.headers import EXAMPLE, RULES, FirstRow, find_header, is_even, is_ordered
from opforest.io.columns.table import InputSchema, ReadOptions
from opforest.io.tables import read_chunks, read_table

RNG = np.random.default_rng(0)
N = 40
FOUND = ReadOptions(needs_label=True)


def rows_of(width, *, label, words="abc", whole=False, ordered=False):
    """Return lines of random numbers, and a word at the first or the last place."""
    X = RNG.integers(0, 16, (N, width)) if whole else RNG.normal(10, 3, (N, width)).round(2)
    X = np.sort(X + np.arange(width), axis=1) if ordered else X
    y = [words[k % len(words)] for k in range(N)]
    lines = [[word, *map(str, row)] if label == 0 else [*map(str, row), word]
             for word, row in zip(y, X.tolist(), strict=True)]  # fmt: skip
    return "".join(",".join(line) + "\n" for line in lines)


def counted(first, count, step=1):
    return [str(first + step * k) for k in range(count)]


def header(names, label, place):
    return ",".join([label, *names] if place == 0 else [*names, label]) + "\n"


#: Headers of the issue and their kin: label, where it stands, and the names beside it.
HEADERS = {
    "letters from 1": ("Letter", 0, counted(1, 16)),
    "letters from 0": ("letter", 0, counted(0, 16)),
    "known name": ("species", -1, counted(1, 4)),
    "known name, any case": ("Diagnosis", -1, ["7", "3", "5"]),
    "wavelengths": ("kind", -1, counted(400.0, 8, 50.0)),
    "wavelengths, falling": ("kind", -1, counted(4000, 30, -4)),
    "years": ("group", -1, counted(2019, 5)),
    "four years": ("group", -1, counted(2019, 4)),
    "uneven times": ("group", 0, ["0.5", "1", "2", "4", "8", "16", "32"]),
    "tenths": ("kind", 0, ["0.1", "0.2", "0.3", "0.4", "0.5"]),
}


@pytest.mark.parametrize("case", HEADERS)
def test_a_header_of_numbers_is_no_example(tmp_path, case):
    label, place, names = HEADERS[case]
    body = rows_of(len(names), label=place, whole=case.startswith("letters"))
    data = read_table(write(tmp_path, header(names, label, place) + body), FOUND)
    assert (len(data), data.feature_names, data.label_name) == (N, tuple(names), label)
    assert set(data.y) == {"a", "b", "c"}
    if not case.startswith("known"):
        assert any(f"'{label}' does not occur below (--no-header" in note for note in data.notes)
    told = ReadOptions(header=False, needs_label=True)
    assert len(read_table(tmp_path / "data.csv", told)) == N + 1


#: First rows that may be a header or an example; with the rows below them.
AMBIGUOUS = {
    "three in order": (["1.5", "3", "7"], {}),
    "three years": (counted(2019, 3), {}),
    "a singleton in order": (["1.2", "3.4", "5.6", "7.9"], {}),
    "six in order": (["1", "2", "4", "7", "11", "16"], {}),
    "two that count": (["1", "2"], {}),
    "all rows are in order": (["1", "3", "4", "9", "11", "12", "15"], {"ordered": True}),
}


@pytest.mark.parametrize("case", AMBIGUOUS)
def test_what_remains_ambiguous_is_asked(tmp_path, case):
    names, more = AMBIGUOUS[case]
    path = write(tmp_path, header(names, "zebra", -1) + rows_of(len(names), label=-1, **more))
    with pytest.raises(
        DataFileError, match=r"line 1: .* Use --header if .* --no-header if"
    ) as caught:
        read_table(path, FOUND)
    assert "'zebra' does not occur below" in str(caught.value)
    named = read_table(path, ReadOptions(header=True, needs_label=True))
    assert (len(named), named.feature_names) == (N, tuple(names))
    assert len(read_table(path, ReadOptions(header=False, needs_label=True))) == N + 1


#: First rows that are examples, though their label may occur once.
EXAMPLES = {
    "a label that comes again": (counted(1, 16), "a", {"whole": True}),
    "a singleton out of order": (["1.2", "0.4", "5.6", "7.9"], "zebra", {}),
    "equal cells": (["3", "3", "3", "3"], "zebra", {}),
    "two numbers": (["1.5", "3.5"], "zebra", {}),
    "one number": (["1"], "zebra", {}),
    "short numbers beside names": (["1", "2", "3"], "zebra",
                                   {"words": [f"n{k}" for k in range(N)]}),
    "six in order beside names": (["1", "2", "4", "7", "8", "9"], "zebra",
                                  {"words": [f"n{k}" for k in range(N)]}),
    "the name of a label as a label": (["5", "3", "4"], "class", {"words": ["class", "other"]}),
}  # fmt: skip


@pytest.mark.parametrize("case", EXAMPLES)
@pytest.mark.parametrize("place", [0, -1])
def test_an_example_is_no_header(tmp_path, case, place):
    cells, label, more = EXAMPLES[case]
    body = rows_of(len(cells), label=place, **more)
    path = write(tmp_path, header(cells, label, place) + body)
    data = read_table(path, ReadOptions(label="1" if place == 0 else "-1"))
    assert (len(data), data.feature_names, data.y[0]) == (N + 1, None, label)
    assert data.X[0].tolist() == [float(cell) for cell in cells]


def test_countries_and_years_are_asked_about(tmp_path):
    """Names that never come again say nothing; evenly spaced numbers do."""
    words = [f"land{k}" for k in range(N)]
    path = write(tmp_path, header(counted(2019, 5), "country", 0)
                 + rows_of(5, label=0, words=words))  # fmt: skip
    with pytest.raises(DataFileError, match=r"2019, 2020, 2021, …. Use --header"):
        read_table(path)
    path = write(tmp_path, header(counted(2010, 12), "country", 0)
                 + rows_of(12, label=0, words=words))  # fmt: skip
    assert len(read_table(path, ReadOptions(label="none"))) == N


def test_words_above_numbers(tmp_path):
    digits = "".join(f"{k % 10},{','.join(map(str, RNG.integers(0, 17, 8)))}\n" for k in range(N))
    named = read_table(write(tmp_path, header(counted(0, 8), "digit", 0) + digits))
    assert (len(named), named.feature_names[-1]) == (N, "7")
    asked = write(tmp_path, header(["9", "4", "3", "x", "1", "0", "7", "5"], "digit", 0) + digits)
    with pytest.raises(DataFileError, match="'digit' where all others have numbers") as caught:
        read_table(asked)
    assert "--no-header" not in str(caught.value)  # it could not be read as an example
    assert len(read_table(asked, ReadOptions(header=True, label="1"))) == N


class TestWhatIsKnown:
    def test_a_model_knows_its_names(self, tmp_path):
        names = ("400.0", "450.0", "500.5")
        body = rows_of(3, label=-1)
        lines = [line.rsplit(",", 1)[0] for line in body.split()]
        path = write(tmp_path, "\n".join([",".join(names), *lines, ""]))
        expected = InputSchema(3, names, True)
        assert len(read_table(path, ReadOptions(expected=expected))) == N
        assert len(read_table(path, ReadOptions(label="none"))) == N + 1

    @pytest.mark.parametrize("known", [{"label": "kind"}, {"drop": ("x,kind",), "label": "1"}])
    def test_an_option_names_a_column(self, tmp_path, known):
        path = write(tmp_path, header(["7", "3"], "kind", -1) + rows_of(2, label=-1, whole=True))
        if "drop" in known:
            path = write(tmp_path, path.read_text().replace("7,", "x,", 1))
        assert len(read_table(path, ReadOptions(**known))) == N

    def test_a_live_stream_shows_two_rows_only(self, monkeypatch):
        def first(content):
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
            return next(read_chunks("-", ReadOptions(label="-1"), rows=N))

        body = rows_of(8, label=-1)
        assert first(header(counted(400, 8, 10), "kind", -1) + body).feature_names is not None
        assert first(body).feature_names is None
        with pytest.raises(DataFileError, match="--no-header"):
            first(header(counted(400, 4, 10), "kind", -1) + rows_of(4, label=-1))


class TestOtherFormats:
    def test_the_option_has_no_effect_and_that_is_said(self, tmp_path):
        import polars as pl

        pl.DataFrame({"a": [1.5, 2.5], "class": ["x", "y"]}).write_parquet(tmp_path / "a.parquet")
        for one in (True, False):
            data = read_table(tmp_path / "a.parquet", ReadOptions(header=one))
            assert len(data) == 2
            assert any("header has no effect on" in note for note in data.notes)

    def test_a_sheet_needs_its_names(self, tmp_path):
        pytest.importorskip("fastexcel")
        write_workbook(tmp_path / "a.xlsx", [[["a", "class"], [1.5, "x"], [2.5, "y"]]])
        assert len(read_table(tmp_path / "a.xlsx", ReadOptions(header=True))) == 2
        with pytest.raises(DataFileError, match=r"first row of a sheet .* save it as CSV"):
            read_table(tmp_path / "a.xlsx", ReadOptions(header=False))


def plain_even(numbers):
    steps = {round(after - before, 9) for before, after in pairwise(numbers)}
    return len(numbers) >= 3 and len(steps) == 1 and steps != {0}


def plain_ordered(numbers):
    up = sorted(set(numbers))
    return len(numbers) >= 3 and numbers in (up, up[::-1])


@given(st.lists(st.integers(0, 6).map(float), max_size=8))
def test_sequences_against_an_oracle(numbers):
    assert is_even(numbers) == plain_even(numbers)
    assert is_ordered(numbers) == plain_ordered(numbers)


@given(
    st.lists(
        st.lists(st.sampled_from(["1", "2", "3", "4.5", "a", "b", "5%", "", "?"]), min_size=3,
                 max_size=3), min_size=1, max_size=6)
)  # fmt: skip
def test_the_first_rule_that_speaks_decides(rows):
    said = [rule(FirstRow(rows[0], rows[1:], ReadOptions())) for rule in RULES]
    wanted = next((one for one in said if one is not None), EXAMPLE)
    try:
        assert find_header(rows, ReadOptions(), "a", 1)[0] == wanted.is_header
    except DataFileError:
        assert wanted.is_header is None
