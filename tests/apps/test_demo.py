import re
from pathlib import Path

import numpy as np
import pytest

from opforest.apps import demo
from opforest.apps.demo import ARRAYS, METHODS

image = pytest.importorskip("matplotlib.image")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Run a shorter demonstration once, in an empty folder; return the folder and the lines."""
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        printed = []
        patch.chdir(folder)
        patch.setattr(demo, "_print", printed.append)
        patch.setattr(demo, "INCREMENTS", 20)
        patch.setattr(demo, "TEST", 500)
        demo.run(Path("opforest-demo.png"))
    return folder, "\n".join(printed).splitlines()


def test_writes_one_picture_of_four_panels(run):
    folder, lines = run
    assert str(folder / "opforest-demo.png") in lines
    assert [path.name for path in folder.iterdir()] == ["opforest-demo.png"]
    pixels = image.imread(folder / "opforest-demo.png")
    height, width = pixels.shape[:2]
    assert min(height, width) > 800
    for row in (pixels[: height // 2], pixels[height // 2 :]):
        for panel in (row[:, : width // 2], row[:, width // 2 :]):
            assert len(np.unique(panel.reshape(-1, panel.shape[2]), axis=0)) > 100


def test_prints_every_stage_in_order_and_fits_a_terminal(run):
    _, lines = run
    stages = [line[:5] for line in lines if line.startswith("[")]
    assert stages == [f"[{stage}/5]" for stage in range(1, 6)]
    assert any("compiles" in line for line in lines)
    assert "What to try next:" in lines
    long = [line for line in lines if len(line) > 80 and "opforest-demo.png" not in line]
    assert long == []


def test_the_table_has_accuracy_and_time_of_five_methods(run):
    _, lines = run
    begin = next(i for i, line in enumerate(lines) if line.lstrip().startswith("known"))
    assert lines[begin].split() == ["known", *METHODS, *METHODS]
    rows = [line.split() for line in lines[begin + 2 : begin + 13]]
    assert lines[begin + 13] == ""
    assert [row[0] for row in rows][::5] == ["400", "1,300", "2,300"]
    for row in rows:
        accuracy, time = [float(cell) for cell in row[1:6]], [float(cell) for cell in row[6:]]
        assert accuracy[1] == accuracy[3]  # exact and refit
        assert 85 < min(accuracy) <= 100
        assert min(time) > 0
    assert float(rows[-1][2]) > float(rows[0][2])  # it learns
    assert "accuracies are equal" in " ".join(lines)


def test_explains_by_a_path_and_a_rival(run):
    _, lines = run
    assert any(re.match(r"'\w+' at cost .*: conquered by example \d+", line) for line in lines)
    assert any(line.lstrip().startswith("->  x") for line in lines)
    assert any(line.startswith("nearest rival: ") for line in lines)


def test_proves_that_forgetting_equals_refitting(run):
    _, lines = run
    for name in ARRAYS:
        assert any(re.search(rf"^  {name} .*sha256 \w{{12}}  identical$", line) for line in lines)
    assert "  500 predictions: identical" in lines
    assert "The model after forgetting equals the refitted one, bit for bit." in lines
    assert not any("DIFF" in line for line in lines)


def test_a_proof_that_fails_says_so(monkeypatch):
    """Forgetting is broken on purpose: one example too few goes."""
    printed = []
    monkeypatch.setattr(demo, "_print", printed.append)
    monkeypatch.setattr(demo, "INCREMENTS", 1)
    monkeypatch.setattr(demo, "TEST", 50)
    stream = demo.make_stream()

    class Broken(demo.OPFClassifier):
        def forget(self, ids):
            return super().forget(ids[1:])

    demo.forget(Broken().fit(stream.X, stream.y), stream)
    assert printed[-1] == "\nThe model after forgetting DIFFERS from the refitted one."


def test_says_at_once_that_out_is_no_file(tmp_path, capsys):
    for out in (tmp_path, tmp_path / "no folder" / "picture.png"):
        with pytest.raises(ValueError, match="--out must be a file in a folder that exists"):
            demo.run(out)
        assert capsys.readouterr().out == ""


def test_terminals_without_arrows_get_question_marks(monkeypatch):
    import io

    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", stream)
    demo._print("a → b")
    assert stream.buffer.getvalue() == b"a ? b\n"
