"""Data files that are read chunk by chunk."""

import io
import sys
import tracemalloc

import numpy as np
import pytest

from opforest.errors import DataFileError
from opforest.io.columns.table import Data, ReadOptions
from opforest.io.tables import read_chunks, read_table, write_table

pytest.importorskip("pyarrow")
from tests.support.table_files import ENDS, NAMED, NUMBERED, SINGLE, write
from tests.support.tuning import tune


class TestChunks:
    @pytest.mark.parametrize("kind", [*NAMED, *NUMBERED, *SINGLE])
    @pytest.mark.parametrize(("rows", "skip"), [(1, 0), (3, 0), (3, 4), (100, 2), (2, 7)])
    def test_they_are_the_whole(self, tmp_path, kind, rows, skip):
        X = np.arange(14, dtype=np.float32).reshape(7, 2)
        data = Data(X, np.array([1, 2, 3, 1, 2, 3, 1]))
        path = tmp_path / f"data{ENDS[kind]}"
        write_table(path, data)
        options = ReadOptions(label="-1" if kind == "npy" else None)
        chunks = list(read_chunks(path, options, rows=rows, skip=skip))
        assert all(len(chunk) == rows for chunk in chunks[:-1])
        assert sum(map(len, chunks)) == 7 - skip
        if chunks:
            assert np.array_equal(np.concatenate([chunk.X for chunk in chunks]), X[skip:])
            labels = np.concatenate([chunk.y for chunk in chunks])
            assert labels.tolist() == data.y[skip:].tolist()

    def test_packed_archives_and_columns_one_after_another(self, tmp_path):
        X, y = np.asfortranarray(np.arange(14.0).reshape(7, 2)), np.array(list("abacaba"))
        np.savez_compressed(tmp_path / "a.npz", X=X, y=y)
        chunks = list(read_chunks(tmp_path / "a.npz", rows=3))
        assert np.array_equal(np.concatenate([chunk.X for chunk in chunks]), X)
        assert "".join(np.concatenate([chunk.y for chunk in chunks])) == "abacaba"
        np.savez_compressed(tmp_path / "b.npz", table=np.column_stack((X, np.arange(7) % 2)))
        chunks = read_chunks(tmp_path / "b.npz", ReadOptions(label="3"), rows=4)
        assert [chunk.y.tolist() for chunk in chunks] == [[0, 1, 0, 1], [0, 1, 0]]

    def test_errors_count_from_the_beginning(self, tmp_path):
        X = np.zeros((9000, 2))
        X[8000, 1] = np.nan
        np.savez(tmp_path / "a.npz", X=X)
        with pytest.raises(DataFileError, match="row 8001: column 2 must hold finite"):
            read_table(tmp_path / "a.npz")

    def test_labels_stay_numbers(self, tmp_path):
        tune(csv_block=64)
        tune(csv_lines=20)
        path = write(tmp_path, "a,class\n" + "1,1\n2,2\n" * 60 + "3,x\n")
        message = r"line 122, column 2: the label must be a whole number.*'x'"
        with pytest.raises(DataFileError, match=message):
            list(read_chunks(path, rows=2))

    @pytest.mark.parametrize("kind", [*NAMED, *NUMBERED, *SINGLE])
    def test_they_take_little_memory(self, tmp_path, kind):
        path, peaks = tmp_path / f"data{ENDS[kind]}", []
        for n in (5_000, 20_000):
            X = np.random.default_rng(0).random((n, 2), np.float32)
            write_table(path, Data(X, np.arange(n) % 3 + 1))
            tracemalloc.start()
            try:
                assert sum(len(chunk) for chunk in read_chunks(path, rows=200)) == n
                peaks.append(tracemalloc.get_traced_memory()[1])
            finally:
                tracemalloc.stop()
        assert peaks[1] < 2 * peaks[0]

    def test_text_labels_need_not_come_first(self, tmp_path):
        path = write(tmp_path, "a,class\n1,1\n2,x\n3,y\n")
        assert [chunk.y[0] for chunk in read_chunks(path, rows=1)] == ["1", "x", "y"]

    def test_a_stream_without_end_comes_row_by_row(self):
        class Endless(io.RawIOBase):
            def readable(self):
                return True

            def readinto(self, buffer):
                row = b"1,2\n"
                buffer[: len(row)] = row
                return len(row)

        stdin = io.TextIOWrapper(io.BufferedReader(Endless()))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stdin", stdin)
            chunks = read_chunks("-", ReadOptions(label="2"), rows=1)
            assert [next(chunks).y.tolist() for _ in range(1000)] == [[2]] * 1000
            chunks.close()
