"""No command writes to a file that it reads, nor two results to one file."""

import inspect
import os
import subprocess
import sys
from itertools import combinations, product
from pathlib import Path

import pytest

pytest.importorskip("typer")
pytest.importorskip("polars")
import polars as pl
import typer
from tests.support.commands import run

from opforest.apps.cli.main import make_app
from opforest.apps.cli.paths import require_distinct

#: What each command reads (R…) and writes (W…), as it is typed. A file that is meant to be changed
#: in place (the model of update, the store) is one that is written.
COMMANDS = {
    "train": "train R1 W1 --distances R2 --unlabeled R3",
    "update": "update W1 R1 --refit R2 --refit R3",
    "predict": "predict R1 R2 --out W1",
    "audit": "audit R1 --out W1",
    "cluster": "cluster R1 --model W1 --out W2",
    "prune": "prune R1 R2 W1",
    "stream": "stream W1 R1",
    "plot": "plot R1 W1 --coordinates R2",
    "forget": "forget R1 --rows-in R2 --out W1",
    "convert": "convert R1 W1",
    "split": "split R1 W1 W2 W3",
    "fold": "fold R1 W{}",
    "merge": "merge R1 R2 --out W1",
    "normalize": "normalize R1 W1 --by R2",
    "distance": "distance R1 W1",
    "store learn": "store learn W1 R1",
    "store predict": "store predict R1 R2 --out W1",
    "store forget": "store forget W1 --keys-from R1",
    "store export": "store export R1 W1",
    "serve": "serve W1 --token-file R1",
}

#: Commands that write no file, or read none.
OTHERS = {
    "evaluate", "info", "metrics", "datasets", "play", "compile", "store audit", "store stats",
    "demo", "store create", "store correct",
    "reproduce",  # --out is a folder, which it goes on with
}  # fmt: skip

#: Parameters that take words, and no files.
WORDS = {
    "format", "label", "drop", "keep", "delimiter", "metric", "metric_param", "to", "update",
    "encode", "missing", "scale", "merge_by", "shares", "features", "precision", "keys", "key",
    "host", "allow_host", "datasets", "methods", "data_home", "decimal", "na", "voters",
    "ids", "sheet", "encoding", "thousands", "unknown",
}  # fmt: skip


def all_commands(app=None, group=""):
    """Yield the name of each command, and the function that it is."""
    app = app or make_app()
    for command in app.registered_commands:
        yield group + (command.name or command.callback.__name__), command.callback
    for inner in app.registered_groups:
        yield from all_commands(inner.typer_instance, f"{inner.name} ")


def test_every_command_is_listed():
    assert {name for name, _ in all_commands()} == {*COMMANDS, *OTHERS}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_file_of_a_command_is_listed(name):
    """So that a file that is added to a command is added here, or its name to ``WORDS``."""
    parameters = inspect.signature(dict(all_commands())[name]).parameters.values()
    text = (str, str | None, list[str], list[str] | None, Path, Path | None)
    files = {one.name: one.annotation.__metadata__[0] for one in parameters
             if one.annotation.__origin__ in text and one.name not in WORDS}  # fmt: skip
    words = COMMANDS[name].split()
    typed = {word for word in words if word.startswith("--")}
    named = {f"--{file.replace('_', '-')}" for file, what in files.items()
             if isinstance(what, typer.models.OptionInfo)}  # fmt: skip
    assert named == typed
    placed = [word for k, word in enumerate(words) if word[0] in "RW" and words[k - 1] not in typed]
    assert len(placed) >= len(files) - len(named)


def clashes():
    """Yield a command, and two of its files that must not be one."""
    for name, words in COMMANDS.items():
        files = sorted({word for word in words.split() if word[0] in "RW"})
        reads = [word for word in files if word[0] == "R"]
        writes = [word for word in files if word[0] == "W"]
        yield from ((name, one, other) for one, other in product(reads, writes))
        yield from ((name, one, other) for one, other in combinations(writes, 2))


def same(one, other, way):
    """Let the file ``other`` be the file ``one``, and return how it is called."""
    if way == "its name":
        return one
    if way == "a longer way":
        return f"../{Path.cwd().name}/./{one}"
    if way == "its whole name":
        return str(Path(one).resolve())
    if way == "a folder's link":
        os.symlink(".", "linked", target_is_directory=True)
        return f"linked/{one}"
    (os.symlink if way == "a link" else os.link)(one, other)
    return other


LINKS = ("a link", "a hard link")
SPELLINGS = ("its name", "its whole name", "a longer way", "a folder's link", *LINKS)


@pytest.mark.parametrize("way", SPELLINGS)
@pytest.mark.parametrize(("name", "one", "other"), list(clashes()))
def test_input_and_output_must_differ(tmp_path, monkeypatch, name, one, other, way):
    if sys.platform == "win32" and way in ("a link", "a folder's link"):
        pytest.skip("links need a privilege there")
    monkeypatch.chdir(tmp_path)
    words = COMMANDS[name].split()
    end = ".png" if name == "plot" else ".csv"
    names = {word: f"{word}{end}" for word in words if word[0] in "RW"}
    if "{}" in other and way not in LINKS:
        names[one] = "W2.csv"  # the pattern names it
    for word in words:
        if word[0] == "R" or word == one:
            Path(names[word]).write_text("precious")
    if "{}" not in other:
        names[other] = same(names[one], names[other], way)
    elif way in LINKS:
        same(names[one], "W2.csv", way)
    else:
        names[other] = same("W{}.csv", "", way)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    told = run(*(names.get(word, word) for word in words), code=2).stderr
    assert "must not be written, because this command reads" in told or "are the same file" in told
    assert ("same file" in told) == (one[0] == "W")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


@pytest.mark.parametrize("end", ["-wal", "-shm", "-lock", "-ack"])
def test_files_of_a_store_are_protected(tmp_path, monkeypatch, end):
    monkeypatch.chdir(tmp_path)
    assert "must not be written" in run("store", "export", "a.db", f"a.db{end}", code=2).stderr
    assert "must not be written" in run("store", "learn", "a.db", f"a.db{end}", code=2).stderr


def test_the_journal_of_a_stream_is_protected(folder):
    text = Path("iris.csv").read_text()
    Path("s.stream").write_text(text)
    assert "s.stream must not be written" in run("stream", "s", "s.stream", code=2).stderr
    assert Path("s.stream").read_text() == text


def test_files_in_an_input_folder_are_protected(folder, iris):
    os.mkdir("parts")
    frame = pl.DataFrame(iris.X).with_columns(label=pl.Series(iris.y))
    frame.write_parquet("parts/a.parquet")
    before = Path("parts/a.parquet").read_bytes()
    for out in ("parts/a.parquet", "parts/b.parquet", "./parts/../parts/c.csv"):
        assert "this command reads" in run("convert", "parts", out, code=2).stderr
    os.link("parts/a.parquet", "outside.parquet")
    assert "this command reads" in run("convert", "parts", "outside.parquet", code=2).stderr
    run("convert", "parts", "parts.parquet")
    assert Path("parts/a.parquet").read_bytes() == before
    assert os.listdir("parts") == ["a.parquet"]


@pytest.mark.skipif(sys.platform == "win32", reason="files are opened otherwise there")
@pytest.mark.parametrize(("arguments", "stdin", "stdout"), [
    (["convert", "-", "iris.csv"], "iris.csv", "other"),
    (["convert", "/dev/stdin", "iris.csv"], "iris.csv", "other"),
    (["convert", "iris.csv", "-"], None, "iris.csv"),
])  # fmt: skip
def test_redirected_files_are_protected(folder, arguments, stdin, stdout):
    before = Path("iris.csv").read_bytes()
    command = [sys.executable, "-m", "opforest", *arguments]
    with open(stdin or os.devnull) as source, open(stdout, "a") as target:
        done = subprocess.run(
            command, stdin=source, stdout=target, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert "this command reads" in done.stderr
    assert Path("iris.csv").read_bytes() == before


def test_devices_may_be_input_and_output(folder):
    require_distinct(["-", os.devnull], ["-", os.devnull, os.devnull, None])
    run("predict", "iris.opforest", "test.csv", "--out", os.devnull)
    with pytest.raises(ValueError, match="are the same file"):
        require_distinct([], ["-", "-"])


def test_equal_contents_are_allowed(folder):
    Path("copy.csv").write_bytes(Path("iris.csv").read_bytes())
    run("convert", "iris.csv", "copy.csv")
    run("merge", "iris.csv", "iris.csv", "--out", "twice.csv")
