"""The command line as a process: what it imports to help, pipes, signals, kills."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import opforest
from opforest.datasets import make_lithuanian
from opforest.io.columns.table import Data
from opforest.io.tables import write_table

pytest.importorskip("typer")

COMMAND = (sys.executable, "-c", "from opforest.apps.cli.main import main; main()")
KILLS = 8
posix = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")


def run(*arguments, **more):
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, check=False, **more
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    X, y = make_lithuanian(600, random_state=0)
    write_table(folder / "data.csv", Data(X, y))
    opforest.save(opforest.OPFClassifier().fit(X, y), folder / "model")
    return folder


@pytest.mark.parametrize("command", [(), ("train",), ("stream",), ("reproduce",), ("demo",)])
def test_help_imports_nothing_heavy(command):
    code = (
        "import sys\nfrom opforest.apps.cli.main import make_app\n"
        f"try: make_app()({[*command, '--help']!r})\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'numba', 'sklearn', 'scipy', 'matplotlib', 'pandas', 'pyarrow'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "Example" in result.stdout or not command
    assert result.stderr == "[]\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "--nonsense"], "--nonsense"),
        (["train"], "Missing argument 'DATA'"),
        (["nothing"], "'nothing'"),
        (["stream", "model", "data", "--every", "0"], "--every"),
    ],
)
def test_wrong_usage_is_one_line(arguments, message):
    result = run(*arguments)
    assert result.returncode == 2
    assert result.stderr.startswith("opforest: error: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_a_bug_is_reported_in_one_line(folder):
    code = (
        "from opforest.apps.cli import main, models\n"
        "models.load_model = None\n"
        "import sys; sys.argv[1:] = ['predict', 'model', 'data.csv']; main.main()"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                            check=False, cwd=folder)  # fmt: skip
    assert result.returncode == 1
    assert "this is a bug" in result.stderr
    assert result.stderr.count("\n") == 1


def test_colors_and_progress_are_for_terminals(folder):
    result = run("predict", str(folder / "model"), str(folder / "data.csv"), "--proba")
    assert result.returncode == 0
    assert result.stderr == ""
    assert "\x1b" not in result.stdout


@pytest.mark.parametrize("module", ["opforest", "opforest.apps.cli.main"])
def test_modules_that_run_the_command_line(module):
    result = subprocess.run(
        [sys.executable, "-m", module, "--version"], capture_output=True, text=True, check=False
    )
    assert result.stdout == f"opforest {opforest.__version__}\n"


@posix
@pytest.mark.parametrize("colors", [True, False])
def test_tables_are_drawn_on_a_terminal(folder, colors):
    import pty

    terminal, ours = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    environment.pop("NO_COLOR", None)
    if not colors:
        environment["NO_COLOR"] = "1"
    with subprocess.Popen([*COMMAND, "metrics"], stdout=ours, env=environment) as process:
        os.close(ours)
        shown = b""
        while True:
            try:
                part = os.read(terminal, 1 << 16)
            except OSError:
                break
            if not part:
                break
            shown += part
        assert process.wait() == 0
    os.close(terminal)
    assert "──────".encode() in shown
    assert b"minkowski" in shown
    assert colors or b"\x1b[3" not in shown.replace(b"\x1b[3m", b"")


@posix
def test_a_closed_pipe_is_not_an_error(folder):
    X, _ = make_lithuanian(30_000, random_state=1)
    write_table(folder / "large.csv", Data(X))
    arguments = ["predict", str(folder / "model"), str(folder / "large.csv"), "--proba"]
    with subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          ) as process:  # fmt: skip
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        process.wait()


def test_shell_completion():
    environment = {**os.environ, "_OPFOREST_COMPLETE": "complete_bash",
                   "COMP_WORDS": "opforest pre", "COMP_CWORD": "1"}  # fmt: skip
    code = "import sys; sys.argv[0] = 'opforest'; from opforest.apps.cli.main import main; main()"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False
    )
    assert result.stdout.split() == ["predict"]


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_live_stream_learns_at_once_and_saves_when_stopped(tmp_path, number):
    model = tmp_path / "model"
    with subprocess.Popen(
        [*COMMAND, "stream", str(model), "-", "--every", "1"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        process.stdin.write("a,b,class\n0,0,x\n1,1,y\n")
        process.stdin.flush()
        assert process.stdout.readline() == "examples\taccuracy\trolling\n"
        assert process.stdout.readline() == "1\t\t\n"
        assert process.stdout.readline() == "2\t0.0000\t0.0000\n"
        process.stdin.write("2,2,y\n")
        process.stdin.flush()
        assert process.stdout.readline() == "3\t0.5000\t1.0000\n"
        process.send_signal(number)
        assert process.wait() == 130
        assert "Traceback" not in process.stderr.read()
    assert len(opforest.load(model).forest_) == 3
    rows = "a,b,class\n0,0,x\n1,1,y\n2,2,y\n3,3,x\n"
    result = run("stream", str(model), "-", "--resume", "--json", input=rows)
    assert json.loads(result.stdout)["examples"] == 4
    assert len(opforest.load(model).forest_) == 4


@posix
def test_an_interrupted_update_changes_nothing(folder, tmp_path):
    model = tmp_path / "model"
    model.write_bytes((folder / "model").read_bytes())
    heeding = "import signal; signal.signal(2, signal.default_int_handler); " + COMMAND[2]
    with subprocess.Popen(
        [*COMMAND[:2], heeding, "update", str(model), "-"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        process.stdin.write("f1,f2,label\n" + "0.5,0.5,1\n" * 20_000)  # more than a pipe holds:
        process.stdin.flush()  # when this is done, some of it has been read
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
        assert process.stderr.read().endswith("\nStopped; the model is unchanged.\n")
    assert model.read_bytes() == (folder / "model").read_bytes()


@posix
def test_a_kill_leaves_the_old_or_the_new_model(tmp_path):
    script = Path(__file__).parents[2] / "support" / "kill_commands.py"
    result = subprocess.run(
        [sys.executable, str(script), str(tmp_path), str(KILLS)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert sum(part["killed"] for part in report.values()) >= 3 * KILLS
    assert report["update"]["else"] == 0
    assert report["update"]["old"] > 0  # the first one is killed at once
    for update in ("exact", "opfi"):
        assert report[update]["broken"] == []
        assert report[update]["steps"] > 1  # three kills of four wait for a save
        assert report[update]["same"]


def test_the_package_is_the_command():
    asked = [sys.executable, "-m", "opforest", "--version"]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    assert done.stdout == f"opforest {opforest.__version__}\n"


def test_an_interrupt_while_modules_are_imported_imports_no_more():
    """Importing what is half imported fails, and that would be reported as a bug."""
    code = (
        "import sys, typer\n"
        "from opforest.apps.cli.errors import locate_errors, report_errors\n"
        "try:\n"
        "    with report_errors('Stopped.'), locate_errors('a.csv'):\n"
        "        raise KeyboardInterrupt\n"
        "except typer.Exit as stop:\n"
        "    sys.exit(stop.exit_code if 'numpy' not in sys.modules else 'numpy was imported')\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stderr) == (130, "Stopped.\n")
