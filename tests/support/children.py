"""Run code in other processes."""

import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import pytest


def forks(test):
    """Mark a test that forks."""
    test = pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")(test)
    return pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")(test)


def in_a_child(function):
    """Return what a function returns in a forked process, as text; a child that hangs is killed."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(120)  # ends the process by default
            text = str(function())
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
        os.write(theirs, text.encode())
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as stream:
        said = stream.read().decode()
    assert os.waitpid(child, 0)[1] == 0, "the child has hung"
    return said


#: Run code in forks of a process that has imported and compiled before; see ``run_python``.
SERVER = """
import json, os, sys, traceback
import numpy, opforest
with opforest.Learner(":memory:") as learner:
    learner.learn(numpy.eye(2), [0, 1])
    learner.learn(numpy.ones((1, 2)), [1])
    learner.predict(numpy.eye(2))
for line in sys.stdin:
    code, output, errors = json.loads(line)
    child = os.fork()
    if child == 0:
        for number, path in ((1, output), (2, errors)):
            os.dup2(os.open(path, os.O_WRONLY), number)
        status = 0
        try:
            exec(compile(code, "<code>", "exec"), {"__name__": "__main__"})
        except SystemExit as stop:
            status = stop.code or 0
        except BaseException:
            traceback.print_exc()
            status = 1
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@cache
def _start_server():
    command = [sys.executable, "-W", "ignore:.*fork:DeprecationWarning", "-c", SERVER]
    pipe = subprocess.PIPE
    server = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
    atexit.register(server.communicate)  # it ends when its input does
    return server


def run_python(code):
    """Run code in another process; return what ``subprocess.run`` would return.

    Where processes can be forked, this takes milliseconds instead of the seconds of an import.
    """
    if not hasattr(os, "fork"):
        command = [sys.executable, "-c", code]
        return subprocess.run(command, capture_output=True, text=True, check=False)
    server = _start_server()
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("output", "errors")]
        for path in paths:
            path.touch()
        server.stdin.write(json.dumps([code, *map(str, paths)]) + "\n")
        server.stdin.flush()
        status = int(server.stdout.readline())
        printed = (path.read_text("utf-8", "surrogateescape") for path in paths)
        return subprocess.CompletedProcess(code, status, *printed)


#: Imitate a shell in a folder, and a terminal with some encoding.
COMMAND = """
import os, sys
from opforest.apps.cli.main import main
os.chdir({folder!r})
sys.stdout.reconfigure(encoding={encoding!r})
sys.stderr.reconfigure(encoding={encoding!r}, errors="backslashreplace")
sys.argv = ["opforest", *map(os.fsdecode, {arguments!r})]
main()
"""


def run_command(arguments, folder, encoding="utf-8"):
    """Run ``opforest`` like ``run_python``; arguments may be bytes."""
    values = {"folder": os.fspath(folder), "arguments": [*arguments], "encoding": encoding}
    return run_python(COMMAND.format(**values))
