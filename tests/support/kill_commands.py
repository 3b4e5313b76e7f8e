"""Commands that are killed at random moments; ``test_process.py`` runs this.

A process that has imported everything forks one process after another. Each runs the command line
as ``opforest`` does, and is killed. What is then found on the disk is printed as JSON.
"""

import json
import os
import random
import signal
import sys
import time
from importlib import import_module
from itertools import chain
from pathlib import Path

import numpy as np

import opforest
from opforest.apps.cli.main import make_app
from opforest.datasets import make_lithuanian

for name in (
    "polars",
    "opforest.io.columns.conversion",
    "opforest.io.readers.delimited",
    "opforest.apps.cli.stream",
):
    import_module(name)
app = make_app()


def run(arguments, moment=None, stays_unwritten=False):
    """Run a command in a process of its own, and return whether it was killed.

    It is killed when ``moment``, a generator that is asked again and again, has come to its end.
    A file that is to stay unwritten is written, but never takes the place of the old one.
    """
    child = os.fork()
    if child == 0:
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 1)
        if stays_unwritten:
            os.fsync = lambda handle: signal.pause()
        try:
            code = app(arguments, standalone_mode=False)
        except BaseException as error:
            os.write(2, f"{error!r}\n".encode())
            os._exit(1)
        os._exit(code or 0)
    ended = status = 0
    for _ in moment or ():
        time.sleep(0.0005)
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
    if not ended:
        if moment is not None:
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status) and os.waitstatus_to_exitcode(status):
        sys.exit(f"{arguments} failed")
    return os.WIFSIGNALED(status)


def elapsed(seconds):
    """Wait for some time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield


def saved(path, times):
    """Wait until a file has been replaced that many times, however long that takes."""

    def look():
        status = path.stat() if path.exists() else None
        return status and (status.st_ino, status.st_mtime_ns)

    for _ in range(times):
        before = look()
        while look() == before:
            yield


def begun(path):
    """Wait until a file is being written that will take the place of another."""
    before = set(path.parent.glob(f".{path.name}-*"))
    while set(path.parent.glob(f".{path.name}-*")) <= before:
        yield


def same(first, second):
    """Return whether two model files hold the same forest."""
    a, b = opforest.load(first), opforest.load(second)
    return np.array_equal(a.classes_, b.classes_) and all(
        np.array_equal(getattr(a.forest_, name), getattr(b.forest_, name))
        for name in ("label", "cost", "edges", "root", "predecessor", "prototypes", "ids")
    )


def kill_stream(folder, update, kills, seed):
    """Kill and resume a stream until it is done, and report."""
    rng = random.Random(seed)
    data, model, whole = (folder / name for name in ("data.csv", "killed", "whole"))
    options = ["--every", "4", "--batch", "2", "--update", update]
    begin = time.perf_counter()
    run(["stream", str(whole), str(data), *options])
    seconds = min(1.5, time.perf_counter() - begin)
    again = ["stream", str(model), str(data), *options, "--resume"]
    killed, broken, steps = 0, [], set()
    while killed < kills:
        saves = killed % 4  # so that it comes on, on however busy a machine
        some_time = elapsed(rng.uniform(0, seconds / 50 if saves else seconds))
        if not run(again, chain(saved(model, saves), some_time)):
            for path in folder.glob("killed*"):  # it came to the end: once more
                path.unlink()
            continue
        killed += 1
        if model.exists():
            try:
                steps.add(len(opforest.load(model).forest_))
            except ValueError as error:
                broken.append(str(error))
    run(again)
    return {"killed": killed, "broken": broken, "steps": len(steps), "same": same(model, whole)}


def kill_update(folder, kills, seed):
    """Kill updates, and report whether the file was the old or the new one."""
    rng = random.Random(seed)
    data, model = folder / "data.csv", folder / "model"
    before = (folder / "base").read_bytes()
    times = []
    for _ in range(3):
        model.write_bytes(before)
        begin = time.perf_counter()
        run(["update", str(model), str(data)])
        times.append(time.perf_counter() - begin)
    after = model.read_bytes()
    found = {"old": 0, "new": 0, "else": 0}
    killed = 0
    while killed < kills:
        model.write_bytes(before)
        at_the_end = killed % 3 == 1
        some_time = elapsed(rng.uniform(0, 1.1 * min(times)) if killed else 0)
        moment = begun(model) if at_the_end else some_time
        was_killed = run(["update", str(model), str(data)], moment, at_the_end)
        content = model.read_bytes()
        found["old" if content == before else "new" if content == after else "else"] += 1
        killed += was_killed
    return {"killed": killed, **found}


def prepare(folder):
    """Write data and a model, and get everything that commands need into this process.

    But polars: its threads do not survive a fork, so children must be the first to use it.
    """
    X, y = make_lithuanian(1400, random_state=0)
    write_csv(folder / "data.csv", X[:700], y[:700])
    opforest.save(opforest.OPFClassifier().fit(X[700:], y[700:]), folder / "base")
    model = opforest.load(folder / "base")
    model.predict(X[:2])
    model.partial_fit(X[:700], y[:700])
    for update in ("exact", "opfi"):
        (folder / update).mkdir()
        write_csv(folder / update / "data.csv", X[:200], y[:200])
        model = opforest.OPFClassifier(update=update)
        for k in range(0, 200, 2):
            model.partial_fit(X[k : k + 2], y[k : k + 2]).predict(X[:2])
        opforest.save(model, folder / update / "first")
        opforest.load(folder / update / "first").partial_fit(X[:2], y[:2])


def write_csv(path, X, y):
    rows = zip(X.tolist(), y.tolist(), strict=True)
    lines = [",".join(map(repr, (*x, label))) for x, label in rows]
    path.write_text("\n".join(["f1,f2,label", *lines]) + "\n")


def main(folder, kills):
    prepare(folder)
    report = {"update": kill_update(folder, kills, 1)}
    for seed, update in enumerate(("exact", "opfi")):
        report[update] = kill_stream(folder / update, update, kills, seed)
    print(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
