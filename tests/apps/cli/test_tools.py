"""``split``, ``fold``, ``merge``, ``normalize`` and ``distance``."""

import numpy as np
import pytest

from opforest.io.tables import read_table, write_table

pytest.importorskip("typer")
pytest.importorskip("pyarrow")
from tests.support.commands import run, run_json


class TestTools:
    def parts(self, *names):
        return [read_table(name) for name in names]

    def test_split_is_stratified_and_seeded(self, folder, iris):
        arguments = ("split", "iris.csv", "a.csv", "b.npz", "--shares", "0.8,0.2")
        told = run_json(*arguments, "--seed", 1)
        assert [part["examples"] for part in told["parts"]] == [120, 30]
        first, second = self.parts("a.csv", "b.npz")
        assert np.unique(second.y, return_counts=True)[1].tolist() == [10, 10, 10]
        rows = sorted([*first.X.tolist(), *second.X.tolist()])
        assert rows == sorted(iris.X.tolist())
        before = (folder / "a.csv").read_bytes()
        run(*arguments, "--seed", 1)
        assert (folder / "a.csv").read_bytes() == before
        run(*arguments, "--seed", 2)
        assert (folder / "a.csv").read_bytes() != before

    def test_classes_of_one_example_hang_nothing(self, folder):
        (folder / "few.csv").write_text("a,class\n1,x\n2,y\n3,z\n4,z\n5,z\n6,z\n")
        run("split", "few.csv", "a.csv", "b.csv", "--shares", "0.7,0.3")
        first, second = self.parts("a.csv", "b.csv")
        assert set(first.y) == {"x", "y", "z"}
        assert set(second.y) == {"z"}

    def test_three_parts_of_any_shares(self, folder):
        told = run_json("split", "iris.csv", "a.csv", "b.csv", "c.csv", "--shares", "50,30,20")
        assert [part["examples"] for part in told["parts"]] == [75, 45, 30]

    def test_fold(self, folder, iris):
        run("fold", "iris.csv", "f{}.csv", "-k", "4")
        parts = self.parts(*(f"f{k}.csv" for k in range(1, 5)))
        assert sorted(len(part) for part in parts) == [37, 37, 38, 38]
        for part in parts:
            assert set(np.unique(part.y, return_counts=True)[1]) <= {12, 13}
        rows = sorted(row for part in parts for row in part.X.tolist())
        assert rows == sorted(iris.X.tolist())

    def test_merge(self, folder, iris):
        write_table("test.parquet", iris.take(slice(75, None)))
        run("merge", "train.csv", "test.parquet", "--out", "all.csv")
        assert (folder / "all.csv").read_bytes() == (folder / "iris.csv").read_bytes()
        (folder / "other.csv").write_text("a,b,c,d,species\n1,2,3,4,x\n")
        message = run("merge", "iris.csv", "other.csv", "-o", "x.csv", code=3).stderr
        assert "feature 1 must be 'sepal length', as in iris.csv, got 'a'" in message

    def test_normalize(self, folder, iris):
        run("normalize", "iris.csv", "z.csv")
        z = read_table("z.csv").X
        assert np.allclose(z.mean(axis=0), 0)
        assert np.allclose(z.std(axis=0), 1)
        run("normalize", "test.csv", "z.csv", "--by", "train.csv")
        train = iris.X[:75]
        expected = (iris.X[75:] - train.mean(axis=0)) / train.std(axis=0)
        assert np.array_equal(read_table("z.csv").X, expected)
        (folder / "same.csv").write_text("a,b,class\n1,1,x\n1,2,x\n")
        run("normalize", "same.csv", "same.dat", code=3)  # labels that LibOPF cannot hold
        run("normalize", "same.csv", "z.csv")
        assert read_table("z.csv").X.tolist() == [[0, -1], [0, 1]]

    def test_distance(self, folder, iris):
        from sklearn.metrics import pairwise_distances

        for metric in ("manhattan", "chebyshev", "cosine"):
            run("distance", "iris.csv", "d.npy", "-m", metric)
            found = np.load("d.npy")
            assert np.allclose(found, pairwise_distances(iris.X, metric=metric), atol=1e-7)
            assert np.array_equal(found, found.T)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("split", "iris.csv", "a.csv"), "at least two parts"),
            (("split", "iris.csv", "a.csv", "b.csv", "--shares", "1"), "2 positive numbers"),
            (("split", "iris.csv", "a.csv", "a.csv"), "a file of its own"),
            (("split", "iris.csv", "a.what", "b.csv"), "must end in one of"),
            (("fold", "iris.csv", "f.csv"), "must have {}"),
            (("fold", "iris.csv", "f{}.csv", "-k", "999"), "at most 150"),
            (("distance", "iris.csv", "d.npy", "-m", "what"), "metric must be one of"),
        ],
    )
    def test_errors(self, folder, arguments, message):
        before = sorted(folder.iterdir())
        assert message in run(*arguments, code=2).stderr
        assert sorted(folder.iterdir()) == before

    def test_distances_to_the_standard_output(self, folder):
        rows = run("distance", "train.csv", "-").stdout.splitlines()
        assert len(rows) == 76
        assert not (folder / "-").exists()
