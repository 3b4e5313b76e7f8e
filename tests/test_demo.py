import re

import numpy as np
import pytest

from opforest.demo import HEADINGS, main

image = pytest.importorskip("matplotlib.image")


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """Run the demonstration once, in an empty folder; return the folder and what was printed."""
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        printed = []
        patch.chdir(folder)
        patch.setattr("opforest.demo._say", printed.append)
        main([])
    return folder, "\n".join(printed).splitlines()


def test_writes_a_picture_and_prints_its_path_last(demo):
    folder, lines = demo
    assert lines[-1] == str(folder / "opforest-demo.png")
    assert [path.name for path in folder.iterdir()] == ["opforest-demo.png"]
    pixels = image.imread(lines[-1])
    height, width = pixels.shape[:2]
    assert width > 1.5 * height > 600
    for half in (pixels[:, : width // 2], pixels[:, width // 2 :]):
        assert len(np.unique(half.reshape(-1, half.shape[2]), axis=0)) > 100  # both panels


def test_prints_every_stage_in_order(demo):
    _, lines = demo
    stages = [line[:5] for line in lines if line.startswith("[")]
    assert stages == [f"[{stage}/5]" for stage in range(1, 6)]
    assert any("compiles" in line for line in lines)


def test_prints_an_aligned_table(demo):
    _, lines = demo
    begin = next(i for i, line in enumerate(lines) if line.startswith("data set"))
    table = lines[begin : begin + 5]
    assert len({len(line) for line in table}) == 1
    assert set(table[2]) == {"-"}
    for line, name, n, d, classes in (
        (table[3], "moons", 1000, 2, 2),
        (table[4], "digits", 898, 64, 10),
    ):
        cells = line.split()
        assert len(cells) == len(HEADINGS[0]) == len(HEADINGS[1])
        assert cells[:4] == [name, str(n), str(d), str(classes)]
        assert 0 < int(cells[4]) < n
        fit, predict, accuracy, opf_accuracy, predict_neighbour, accuracy_neighbour = map(
            float, cells[5:]
        )
        assert min(fit, predict, predict_neighbour) > 0
        assert 95 < min(accuracy, opf_accuracy, accuracy_neighbour) < 100


def test_prints_an_explanation(demo):
    _, lines = demo
    assert any(re.match(r"\d at cost .*: conquered by example \d+", line) for line in lines)
    assert any(line.lstrip().startswith("->  x") for line in lines)


def test_says_at_once_that_out_is_no_file(tmp_path, capsys):
    for out in (tmp_path, tmp_path / "no folder" / "picture.png"):
        with pytest.raises(SystemExit):
            main(["--out", str(out)])
        captured = capsys.readouterr()
        assert "--out must be a file in a folder that exists" in captured.err
        assert captured.out == ""


def test_out_without_a_suffix_is_taken_literally(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("opforest.demo._measure", _quick_measure)
    main(["--out", str(tmp_path / "picture")])
    assert capsys.readouterr().out.splitlines()[-1] == str(tmp_path / "picture")
    assert (tmp_path / "picture").read_bytes().startswith(b"\x89PNG")


def _quick_measure(data):
    from opforest import OPFClassifier

    return OPFClassifier().fit(data.X, data.y), (data.name, *("0" for _ in HEADINGS[0][1:]))
