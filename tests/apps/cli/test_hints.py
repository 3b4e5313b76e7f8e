"""Every hint works as it is printed: it is run on the file that produced it.

A case is a list of commands, the last of which prints hints. Each option that it advises is added,
to that command or to the one that the hint is about, all commands are run again in a new folder,
and must succeed. What the sources can print about options is compared with what was tried.
"""

import ast
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("polars")
import polars as pl
from typer.testing import CliRunner

import opforest
from opforest.apps.cli.main import make_app

pytestmark = pytest.mark.filterwarnings("ignore")  # of spreads, and of classes of one example

RNG = np.random.default_rng(0)
N = 60
#: Options that take no value.
FLAGS = {"--header", "--no-header", "--round", "--encode-labels"}
#: What comes after an option that is only mentioned.
MENTIONED = {"names", "takes"}


def csv_of(header=None, **columns):
    """Return a table as text; every cell with a comma or a blank is quoted."""
    names = list(columns) if header is None else header
    cells = [[str(cell) for cell in column] for column in columns.values()]
    rows = [names, *zip(*cells, strict=True)] if names else list(zip(*cells, strict=True))
    quoted = [['"' + cell + '"' if set(cell) & {",", " "} else cell for cell in row]
              for row in rows]  # fmt: skip
    return "".join(",".join(row) + "\n" for row in quoted)


Y = [("x", "y")[k % 2] for k in range(N)]
A = RNG.normal(size=N).round(2).tolist()
B = RNG.normal(size=N).round(2).tolist()
SMALL = [k % 3 for k in range(N)]
CITY = [("Rome", "Oslo", "Lima")[k % 3] for k in range(N)]
TEXT = [f"word {k % 40} of 40" for k in range(N)]
BLANK = ["" if k % 7 == 3 else a for k, a in enumerate(A)]
THOUSANDS = [f"{1 + k % 5},{37 * (k % 9):03}" for k in range(N)]
NESTED = {"a": A, "list": [[k] for k in range(N)], "label": Y}
DATES = [f"2020-01-{1 + k % 28:02}" for k in range(N)]

#: As a well-known file is written: a mixed column, names with commas, cabins that are missing.
TITANIC = csv_of(
    PassengerId=range(1, N + 1), Survived=[k % 2 for k in range(N)], Pclass=SMALL,
    Name=[f"Braund, Mr. Owen {k}" for k in range(N)], Sex=[("male", "female")[k % 2 ^ k % 3 % 2]
    for k in range(N)], Age=BLANK, Ticket=[f"A/5 {21171 + k}" if k % 4 == 0 else 113000 + 7 * k
    for k in range(N)], Fare=A, Cabin=[f"C{k}" if k % 3 == 0 else "" for k in range(N)],
    Embarked=["" if k == 7 else "SCQ"[k % 3] for k in range(N)],
)  # fmt: skip

#: What produces hints: files, commands, and the command that the options are for, if not the last.
CASES = {
    "titanic": ({"d.csv": TITANIC}, ["train d.csv m --label Survived"]),
    "titanic, encoded": ({"d.csv": TITANIC}, ["train d.csv m --label Survived --encode onehot"]),
    "titanic, label": ({"d.csv": TITANIC}, ["train d.csv m --encode onehot --missing median "
                                            "--drop Ticket,Cabin"]),
    "words": ({"d.csv": csv_of(a=A, city=CITY, note=TEXT, label=Y)}, ["train d.csv m"]),
    "words and holes": ({"d.csv": csv_of(a=BLANK, city=CITY, label=Y)}, ["train d.csv m"]),
    "names with commas": ({"d.csv": csv_of(["a", "first, last", "it's", "label"], a=A, b=TEXT,
                                           c=TEXT, y=Y)}, ["train d.csv m"]),
    "words without names": ({"d.csv": csv_of([], a=A, city=CITY, note=TEXT, y=Y)},
                            ["train d.csv m --label 4"]),
    "holes": ({"d.csv": csv_of(a=BLANK, label=Y)}, ["train d.csv m"]),
    "holes in words": ({"d.csv": csv_of(a=A, c=["" if k == 5 else c for k, c in enumerate(CITY)],
                                        label=Y)}, ["train d.csv m --encode onehot"]),
    "holes in every row": ({"d.csv": csv_of(a=["", "1"] * 30, b=["2", ""] * 30, label=Y)},
                           ["train d.csv m --missing drop"]),
    "holes in every row, clusters": ({"d.csv": csv_of(a=["", "1"] * 30, b=["2", ""] * 30)},
                                     ["cluster d.csv --label none --missing drop"]),
    "marks": ({"d.csv": csv_of(a=["n.d." if k % 9 == 3 else a for k, a in enumerate(A)], b=B,
                               label=Y)}, ["train d.csv m"]),
    "marks and words": ({"d.csv": csv_of(a=["n.d." if k % 9 == 3 else f"{a}%" for k, a in
                                            enumerate(A)], city=CITY, label=Y)}, ["train d.csv m"]),
    "units": ({"d.csv": csv_of(a=[f"{a} {('cm', 'in')[k % 2]}" for k, a in enumerate(A)], b=B,
                               label=Y)}, ["train d.csv m"]),
    "codes": ({"d.csv": csv_of(a=[f"A/{k}" if k % 5 == 0 else k * 3 % 11 for k in range(N)], b=B,
                               label=Y)}, ["train d.csv m"]),
    "decimal": ({"d.csv": csv_of(a=THOUSANDS, b=THOUSANDS, label=Y)}, ["train d.csv m"]),
    "decimal, semicolons": ({"d.csv": csv_of(a=THOUSANDS, label=Y).replace(',"', ';"')
                             .replace('",', '";').replace("a,label", "a;label")},
                            ["train d.csv m"]),
    "dates kept": ({"d.csv": csv_of(a=A, day=DATES, label=Y)}, ["train d.csv m --keep day"]),
    "dates kept, words": ({"d.csv": csv_of(a=A, day=DATES, city=CITY, label=Y)},
                          ["train d.csv m --keep day"]),
    "large numbers": ({"d.csv": csv_of(a=A, n=[2**53 + 1 + k % 9 for k in range(N)], label=Y)},
                      ["train d.csv m"]),
    "ids": ({"d.csv": csv_of(no=range(N), a=A, name=[f"n{k}" for k in range(N)], label=Y)},
            ["train d.csv m"]),
    "nearly an id": ({"d.csv": csv_of(no=[*range(100, 100 + 3 * N - 3, 3), 100], a=A, label=Y)},
                     ["train d.csv m"]),
    "only an id": ({"d.csv": csv_of(no=range(N), label=Y)}, ["train d.csv m"]),
    "all dropped": ({"d.csv": csv_of(no=range(N), a=A, label=Y)}, ["train d.csv m --drop a"]),
    "only a label": ({"d.csv": csv_of(label=Y)}, ["info d.csv", "train d.csv m"]),
    "which label": ({"d.csv": csv_of(a=A, city=CITY, kind=Y)}, ["train d.csv m --encode onehot"]),
    "which label, without names": ({"d.csv": csv_of([], a=SMALL, b=A, c=SMALL)},
                                   ["train d.csv m"]),
    "no label that comes again": ({"d.csv": csv_of(a=A, b=B, word=[f"w {k}" for k in range(N)])},
                                  ["train d.csv m --keep word"]),
    "a label by its name": ({"d.csv": csv_of(species=Y, a=A, kind=CITY)},
                            ["train d.csv m --encode onehot"]),
    "header of numbers": ({"d.csv": csv_of(["2019", "2020", "2021", "2022", "group"], a=A, b=B,
                                           c=A, d=B, y=Y)}, ["train d.csv m"]),
    "doubtful header": ({"d.csv": csv_of(["2019", "2020", "2021", "group"], a=A, b=B, c=A, y=Y)},
                        ["train d.csv m"]),
    "a label that occurs once": ({"d.csv": csv_of(["5.5", "0.5", "7", "zebra"], a=A, b=B, c=A,
                                                  y=Y)}, ["train d.csv m"]),
    "counting header": ({"d.csv": csv_of([*"01234"], a=A, b=B, c=A, d=B, y=SMALL)},
                        ["train d.csv m --label 5"]),
    "words above numbers": ({"d.csv": csv_of(["9", "4", "setosa", "virginica"], a=A, b=B, c=A,
                                             y=SMALL)}, ["train d.csv m --label 4"]),
    "no options here, words": ({"d.csv": csv_of(a=A, city=CITY, label=Y)},
                               ["distance d.csv out.csv"]),
    "no options here, holes": ({"d.csv": csv_of(a=BLANK, b=B, label=Y)},
                               ["distance d.csv out.csv"]),
    "without loss, words": ({"d.csv": csv_of(a=A, city=CITY, label=Y)},
                            ["normalize d.csv out.csv"]),
    "without loss, holes": ({"d.csv": csv_of(a=BLANK, b=B, label=Y)}, ["normalize d.csv out.csv"]),
    "store, words": ({"d.csv": csv_of(a=BLANK, city=CITY, note=TEXT, label=Y)},
                     ["store create s.db", "store learn s.db d.csv"]),
    "store, holes": ({"d.csv": csv_of(a=BLANK, label=Y)},
                     ["store create s.db", "store learn s.db d.csv"], 0),
    "store, marks": ({"d.csv": csv_of(a=["n.d." if k % 9 == 3 else a for k, a in enumerate(A)],
                                      label=Y)}, ["store create s.db", "store learn s.db d.csv"]),
    "holes for a model": ({"d.csv": csv_of(a=A, label=Y), "e.csv": csv_of(a=BLANK, label=Y)},
                          ["train d.csv m", "predict m e.csv"], 0),
    "dropped by a model": ({"d.csv": csv_of(a=BLANK, label=Y)},
                           ["train d.csv m --missing drop", "predict m d.csv"], 0),
    "a label apart": ({"d.svm": "1 1:0.5 2:1\n2 1:1\n"}, ["train d.svm m --label 1"]),
    "no labels at all": ({"d.svm": "0 1:0.5 2:1\n0 1:1\n"}, ["train d.svm m"]),
    "fractions": ({"d.csv": csv_of(a=A, b=SMALL)}, ["train d.csv m --label a"]),
    "nothing but fractions": ({"d.csv": csv_of(a=A, b=B)}, ["train d.csv m"]),
    "labels that are missing": ({"d.csv": csv_of(a=A, label=[*Y[:-1], "?"])}, ["train d.csv m"]),
    "numbers that are missing": ({"d.csv": csv_of(a=A, label=[*SMALL[:-1], ""])},
                                 ["train d.csv m"]),
    "a title": ({"d.csv": "A title\na,b,c,label\n1,2,3,x\n"}, ["train d.csv m"]),
    "not UTF-8, far below": ({"d.csv": (csv_of(a=A, label=Y) + "1.5,x\n" * 20_000).encode()
                              + b"1.5,caf\xe9\n"}, ["train d.csv m"]),
    "not UTF-8": ({"d.csv": csv_of(a=A, label=["caf\xe9", "th\xe9"] * 30).encode("latin-1")},
                  ["train d.csv m"]),
    "text in another code": ({"d.csv": csv_of(a=A, label=["caf\xe9", "\u20ac"] * 30)
                              .encode("cp1252")}, ["train d.csv m --encoding ascii"]),
    "option of a parquet": ({"d.csv": csv_of(a=A, label=Y)},
                            ["convert d.csv d.parquet", "train d.parquet m --header"]),
    "words for LibOPF": ({"d.csv": csv_of(a=SMALL, b=SMALL[::-1], label=Y)},
                         ["convert d.csv d.dat"]),
    "labels from 0": ({"d.csv": csv_of(a=SMALL, b=SMALL[::-1], label=SMALL)},
                      ["convert d.csv d.dat"]),
    "ids for LibOPF": ({"d.csv": csv_of(id=[f"n{k}" for k in range(N)], a=SMALL,
                                        label=[k % 2 + 1 for k in range(N)])},
                       ["convert d.csv d.dat"]),
    "digits for LibOPF": ({"d.csv": csv_of(a=A, label=[k % 2 + 1 for k in range(N)])},
                          ["convert d.csv d.dat"]),
    "a feature called label": ({"d.csv": csv_of(a=SMALL, label=SMALL, kind=Y)},
                               ["convert d.csv out.csv --label kind"]),
    "labels to encode": ({"d.csv": csv_of(a=A, b=B)},
                         ["convert d.csv out.csv --label none --encode-labels"]),
    "one without labels": ({"d.csv": csv_of(a=A, label=Y), "e.csv": csv_of(a=A)},
                           ["merge d.csv e.csv --out out.csv"]),
    "days, without loss": ({"d.parquet": {"a": A, "day": pl.date_range(
        pl.date(2020, 1, 1), pl.date(2020, 2, 29), eager=True), "label": Y}},
        ["convert d.parquet out.csv"]),
    "nested columns": ({"d.parquet": NESTED}, ["train d.parquet m"]),
    "nested columns, without loss": ({"d.parquet": NESTED}, ["convert d.parquet out.csv"]),
}  # fmt: skip


def prepare(folder, files):
    folder.mkdir()
    for name, content in files.items():
        if isinstance(content, str):
            (folder / name).write_text(content)
        elif isinstance(content, bytes):
            (folder / name).write_bytes(content)
        else:
            pl.DataFrame(content).write_parquet(folder / name)


def run_all(folder, commands, monkeypatch):
    """Run commands in a folder, and return the exit code of the last, and what it said."""
    monkeypatch.chdir(folder)
    for command in commands:
        result = CliRunner().invoke(make_app(), shlex.split(command))
    return result.exit_code, result.stderr, result.stdout


def advised(message):
    """Yield the options that a message advises, each choice as one text; "" before the first."""
    together = re.search(r"(?:Add|add) (--.+)$", message)
    created = re.search(r"Create the store with (--[^;]+)", message)
    if together or created:
        yield (created[1] if created else ""), (together[1] if together else "")
        return
    for found in re.finditer(r"--[a-z][a-z-]*", message):
        option, rest = found[0], message[found.end() :]
        if option in FLAGS:
            yield "", option
            continue
        lexer = shlex.shlex(rest, posix=True, punctuation_chars=False)
        lexer.whitespace_split, lexer.commenters = True, ""
        try:
            value = lexer.get_token()
        except ValueError:  # an apostrophe far behind it
            value = rest.split()[0]
        if value is None or value in MENTIONED or not rest.startswith(" "):
            continue
        if re.match(r" \S+ \(\d+ class(es)?, \d+ missing\)", rest):
            continue  # that it lacks labels is said
        value = value.rstrip("?:;.,)") or value[0]  # a mark may be the value
        yield "", f"{option} {shlex.quote(value)}"


def with_options(commands, target, choice):
    create, here = choice
    changed = list(commands)
    changed[target] = f"{changed[target]} {here}"
    if create:
        changed[0] = f"{changed[0]} {create}"
    return changed


@pytest.fixture(scope="module")
def said():
    """What was said in all cases, by their names."""
    return {}


def messages_of(stderr):
    return re.findall(r"^opforest: (?:error|note|warning): (.*)$", stderr, re.MULTILINE)


#: Where a message speaks of an option without advising it.
NOT_ADVISED = re.compile(
    r"leave out --label|--(no-)?header has no effect|--encode-labels: there"
    r"|trained with --missing \w+"
)


@pytest.mark.parametrize("case", CASES)
def test_hints_work_as_printed(tmp_path, monkeypatch, said, case):
    files, commands, *rest = CASES[case]
    target = rest[0] if rest else len(commands) - 1
    prepare(tmp_path / "first", files)
    code, stderr, stdout = run_all(tmp_path / "first", commands, monkeypatch)
    assert code in (0, 2, 3), (code, stderr)
    messages = messages_of(stderr)
    said[case] = "\n".join([*messages, stdout])
    if code:  # what was noted before the error is not advice
        messages = re.findall(r"^opforest: error: (.*)$", stderr, re.MULTILINE)
        assert len(messages) == 1, stderr
    tried = 0
    for message in messages:
        for choice in advised(NOT_ADVISED.sub("", message)):
            tried += 1
            folder = tmp_path / f"try{tried}"
            prepare(folder, files)
            changed = with_options(commands, target, choice)
            again, stderr, _ = run_all(folder, changed, monkeypatch)
            assert again == 0, (message, changed, stderr)


def test_the_titanic_hint_is_complete(said):
    if "titanic" not in said:
        pytest.skip("the cases were not run")
    told = said["titanic"]
    assert "Add --encode onehot --missing median --drop Ticket,Cabin" in told
    assert "column 'Ticket' mixes numbers and text" in told


SOURCES = Path(opforest.__file__).parent
#: Parts of texts that mention options without being hints about columns.
OTHER = ("--jobs must be", "trained with --distances", "another --format", "the file of --by",
         "needs --encode", "and --missing", "needs --missing", "made by train",
         "--keep does not")  # fmt: skip
#: What else is no hint: reasons that are shown elsewhere, and names of options.
NAMES = ("--label none", "--header", "--no-header")


def hints_in_sources():
    """Yield the texts with options in the modules that give hints about columns."""
    names = ("io/readers/delimited", "io/tables", "apps/cli/models", "apps/cli/files",
             "apps/cli/job", "apps/cli/operations", "apps/cli/predict")  # fmt: skip
    modules = [*sorted((SOURCES / "io" / "columns").glob("*.py")), SOURCES / "_utils/numerals.py"]
    modules += [SOURCES / f"{name}.py" for name in names]
    for module in modules:
        tree = ast.parse(module.read_text())
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        parameters = {
            id(part)
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "Option"
            for part in ast.walk(node)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value.strip()
                if (
                    re.search(r"--[a-z]", text)
                    and id(node) not in docs | parameters
                    and text not in NAMES
                    and not any(part in text for part in OTHER)
                ):
                    yield module.name, text


def test_every_hint_was_printed(said):
    if set(said) != set(CASES):
        pytest.skip("not all cases were run")
    everything = "\n".join(said.values())
    assert [hint for hint in hints_in_sources() if hint[1] not in everything] == []
