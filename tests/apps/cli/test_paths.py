"""Names of files that are bytes and no text: read, written, and said on any terminal."""

import os
import sys

import pytest
from tests.support.children import run_command

pytest.importorskip("typer")

ROWS = b"a,b,class\n" + b"".join(b"%d,%d,%s\n" % (k % 7, k % 5, b"xy"[k % 2 : k % 2 + 1])
                                 for k in range(30))  # fmt: skip
NAME = b"caf\xe9-\xff"


@pytest.fixture
def folder(tmp_path):
    folder = os.fsencode(tmp_path)
    try:
        with open(os.path.join(folder, NAME + b".csv"), "wb") as file:
            file.write(ROWS)
    except OSError:
        pytest.skip("the file system wants names in UTF-8")
    return folder


@pytest.fixture(params=["utf-8", "ascii"])
def run(request, folder):
    def run(*arguments, code=0):
        done = run_command(arguments, folder, request.param)
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
        assert "this is a bug" not in done.stderr
        if code:
            assert done.stderr.count("\n") == 1, done.stderr
            assert "caf" in done.stderr
        return done.stdout

    return run


@pytest.mark.skipif(sys.platform == "win32", reason="names are text there")
def test_names_that_are_not_utf_8(run, folder):
    data, model = NAME + b".csv", NAME + b".opforest"
    assert "caf" in run("info", data)
    assert "caf" in run("info", data, "--json")
    assert "caf" in run("convert", data, NAME + b".parquet")
    assert "caf" in run("info", NAME + b".parquet")
    assert "caf" in run("train", data, model)
    assert "caf" in run("info", model)
    assert run("predict", model, data).count("\n") >= 30
    run("predict", model, data, "--out", b"out-" + NAME + b".csv")
    assert os.path.exists(os.path.join(folder, b"out-" + NAME + b".csv"))


@pytest.mark.skipif(sys.platform == "win32", reason="names are text there")
def test_errors_with_names_that_are_not_utf_8(run, folder):
    for end, content in ((b".parquet", b"PAR1 more PAR1"), (b".npy", b"\x93NUMPY\1\0zz"),
                         (b".bad.csv", b"a,b\n1\n")):  # fmt: skip
        with open(os.path.join(folder, NAME + end), "wb") as file:
            file.write(content)
        run("info", NAME + end, code=3)
    run("info", NAME + b".gone", code=2)
    with open(os.path.join(folder, NAME + b".opforest"), "wb") as file:
        file.write(b"OPF\x89\r\n\x1a\n" + bytes(80))
    run("predict", NAME + b".opforest", NAME + b".csv", code=4)
