"""Attack stores: flip bits, kill processes, interrupt; print how many tries of each kind failed.

    python -m benchmarks.soak.attack_store [--seed 1] [--flips 10000] [--kills 1000]
        [--interrupts 10000]

A flipped bit must be a ``StoreError``, or harmless: then all facts and results of the store are as
if nothing had happened. After a kill, all that was acknowledged is there, and nothing that was
forgotten. After an interrupt, all is as before or as after, and everything works.
Tries run in batches, each in a process of its own, so that a crash or an endless loop is counted
and ends nothing else. The same seed tries the same again (but for the moments of kills).
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import ClassVar

import numpy as np

import opforest
from opforest import Learner, OPFClassifier, Preparation, StoreError

BATCH, PATIENCE = 100, 300  # seconds for one try, which may have to compile

RNG = np.random.default_rng(0)
X = RNG.integers(0, 9, (140, 3)).astype(float)
Y = [["left", "right", "top"][int(x[0] > 4) + int(x[1] > 6)] for x in X]
KEYS = [f"key-{i:03d}" for i in range(140)]
OPTIONS = {
    "plain": {"score": True},
    "prepared": {"preparation": Preparation(scale="standard"), "semi_supervised": True},
}


def make_store(path: Path, kind: str, log: bool) -> None:
    """Make a store with a snapshot and rows after it; with a log, as a kill leaves it."""
    live = path.with_name("live.db")
    with Learner(live, **OPTIONS[kind]) as learner:
        y = [None if kind == "prepared" and i % 7 == 0 else Y[i] for i in range(120)]
        learner.learn(X[:80], y[:80], KEYS[:80])
        learner.forget(KEYS[10:14])
        learner.learn(X[80:85], y[80:85])
        learner.session.take_snapshot()
        learner.correct(KEYS[3], "late") if log else None
        for begin in range(85, 120, 7):
            end = begin + 7
            learner.learn(X[begin:end], y[begin:end], KEYS[begin:end])
        if log:
            for ending in ("", "-wal", "-ack"):
                shutil.copy(f"{live}{ending}", f"{path}{ending}")
        learner.session.unsaved = 0
    if not log:
        shutil.copy(live, path)
    for left in path.parent.glob("live.db*"):
        left.unlink()


def facts(learner: Learner) -> object:
    """Return all facts of a store."""
    keys, rows, labels = learner.rows()
    stats = learner.stats()
    for name in ("store", "bytes_on_disk", "bytes_in_memory", "commits", "commit_seconds"):
        del stats[name]
    found = learner.session.store.find(keys)
    path = learner.explain(X[0])
    return (
        keys, rows.tolist(), labels.tolist(), stats, sorted(found), len(found),
        learner.predict(X).tolist(), learner.predict_proba(X[:5]).tolist(),
        [step.key for step in path.steps], [row.time for row in learner.session.store.last(200)],
        learner.session.store.scores(50), learner.session.database.next_id(), learner.settings,
    )  # fmt: skip


def act(learner: Learner) -> object:
    """Change a store in all ways, and return what came of it."""
    again = learner.learn(X[20:25], Y[20:25], KEYS[20:25], replace=True)
    more = learner.learn(X[120:], Y[120:], KEYS[120:])
    gone = learner.forget([KEYS[30], KEYS[90], KEYS[0], "#82"], missing_ok=True)
    counts = (again.learned, again.unchanged, again.replaced, gone.forgotten, more.learned)
    keys, rows, labels = learner.rows()
    return counts, keys, rows.tolist(), labels.tolist(), learner.predict(X).tolist()


# Kinds of attacks: each prepares a folder, and tries one thing by number.


class Flips:
    """Flip one bit of a file of a store."""

    def __init__(self, folder: Path, seed: int, ending: str, log: bool, part: str = "") -> None:
        self.folder, self.seed, self.ending, self.part = folder, seed, ending, part
        self.stores = {}
        for kind in OPTIONS:
            source = folder / f"{kind}{'-log' if log else ''}.db"
            if not source.exists():
                make_store(source, kind, log)
            copy = self._copy(source)
            with Learner(copy) as learner:
                expected = facts(learner)
                done = act(learner)
            self.stores[kind] = source, expected, done

    def _copy(self, source: Path) -> Path:
        path = self.folder / f"try-{os.getpid()}.db"
        for left in self.folder.glob(f"{path.name}*"):
            left.unlink()
        for ending in ("", "-wal", "-ack"):
            if os.path.exists(f"{source}{ending}"):
                shutil.copy(f"{source}{ending}", f"{path}{ending}")
        return path

    def _place(self, content: bytes, source: Path, rng: random.Random) -> int:
        """Return the bit to flip."""
        if self.part == "ids":
            ids = opforest.learner.store.sqlite3.connect(source)
            (blob,) = ids.execute("SELECT ids FROM snapshot").fetchone()
            ids.close()
            begin = content.index(blob[:64])
            return rng.randrange(8 * (begin - 16), 8 * (begin + len(blob)))
        return rng.randrange(8 * len(content))

    def __call__(self, number: int) -> str | None:
        """Return what went wrong; None if nothing did."""
        rng = random.Random(f"{self.seed}-{self.ending}-{self.part}-{number}")
        kind = rng.choice(["plain", "plain", "plain", "prepared"])  # the latter is slower
        source, expected, done = self.stores[kind]
        path = self._copy(source)
        target = Path(f"{path}{self.ending}")
        content = bytearray(target.read_bytes())
        bit = self._place(bytes(content), source, rng)
        content[bit // 8] ^= 1 << bit % 8
        target.write_bytes(content)
        where = f"{kind}, bit {bit}"
        try:
            with Learner(path) as learner:
                if facts(learner) != expected:
                    return f"{where}: other facts"
                if act(learner) != done:
                    return f"{where}: other results"
        except StoreError:
            return None
        return None


class Cuts(Flips):
    """Cut a log anywhere, or delete it: then something is missing, or nothing was."""

    def __call__(self, number: int) -> str | None:
        """Return what went wrong; None if nothing did."""
        rng = random.Random(f"{self.seed}-cut-{number}")
        kind = rng.choice(sorted(self.stores))
        source, expected, _ = self.stores[kind]
        path = self._copy(source)
        log = Path(f"{path}-wal")
        size = rng.randrange(log.stat().st_size)
        if number % 20 == 0:
            log.unlink()
        else:
            os.truncate(log, size)
        try:
            with Learner(path) as learner:
                return None if facts(learner) == expected else f"{kind}, cut at {size}: other facts"
        except StoreError:
            return None


class Interrupts:
    """Send SIGINT when a random line of ours is about to be executed."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.seed = folder, seed
        self.stores = {}
        for kind in OPTIONS:
            source = folder / f"{kind}-log.db"
            if not source.exists():
                make_store(source, kind, log=True)
            self.stores[kind] = source
        self.model = OPFClassifier().fit(X[:80], Y[:80])
        self.lengths: dict[str, int] = {}

    OPERATIONS: ClassVar = {
        "learn": lambda s: s.learn(X[120:], Y[120:], KEYS[120:]),
        "learn again": lambda s: s.learn(X[20:25] + 1, Y[20:25], KEYS[20:25], replace=True),
        "forget": lambda s: s.forget(KEYS[30:33]),
        "label": lambda s: s.correct(KEYS[:3], ["late", "left", "left"]),
        "snapshot": lambda s: s.session.take_snapshot(),
        "explain": lambda s: s.explain(X[0]),
    }

    def __call__(self, number: int) -> str | None:
        """Return what went wrong; None if nothing did."""
        rng = random.Random(f"{self.seed}-interrupt-{number}")
        try:
            if number % 4 == 0:
                return self._interrupt_model(rng)
            return self._interrupt_store(rng)
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _run(self, name: str, rng: random.Random, operation: object) -> bool:
        """Do an operation and interrupt it; return whether the interrupt was raised."""
        count, at = 0, rng.randrange(1, self.lengths.get(name, 200) + 1)

        def trace(frame: object, event: str, argument: object) -> object:
            nonlocal count
            if "opforest" not in frame.f_code.co_filename:  # type: ignore[attr-defined]
                return None
            if event == "line":
                count += 1
                if count == at:
                    sys.settrace(None)
                    signal.raise_signal(signal.SIGINT)
            return trace

        try:
            sys.settrace(trace)
            operation()  # type: ignore[operator]
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(None)
            self.lengths[name] = max(self.lengths.get(name, 0), count)
        return False

    def _interrupt_store(self, rng: random.Random) -> str | None:
        kind = rng.choice(sorted(self.stores))
        path = Flips._copy(self, self.stores[kind])
        name = rng.choice(["open", "close", *self.OPERATIONS])
        what = f"{kind}, {name}"
        if name == "open":
            kept: list[Learner] = []
            self._run(what, rng, lambda: kept.append(Learner(path)))
            for learner in kept:
                learner.close()
            before = after = None
        else:
            with Learner(path) as learner:
                before = learner.rows()[0], learner.rows()[2].tolist()
                if name in self.OPERATIONS:
                    self.OPERATIONS[name](learner)
                after = learner.rows()[0], learner.rows()[2].tolist()
            path = Flips._copy(self, self.stores[kind])
            learner = Learner(path)
            if name == "close":
                learner.session.unsaved = 1000
                self._run(what, rng, learner.close)
                learner.close()  # again, in case it was interrupted before it had begun
            else:
                self._run(what, rng, lambda: self.OPERATIONS[name](learner))
                now = learner.rows()[0], learner.rows()[2].tolist()
                if now not in (before, after):
                    return f"{what}: neither before nor after"
                learner.learn(X[100:101], Y[100:101])
                if not learner.audit().ok:
                    return f"{what}: {learner.audit()}"
                learner.close()
        with Learner(path) as learner:  # it is not locked
            if not learner.audit().ok:
                return f"{what}: {learner.audit()} afterwards"
        return None

    def _interrupt_model(self, rng: random.Random) -> str | None:
        name = rng.choice(["partial_fit", "forget", "save", "load"])
        path = self.folder / f"model-{os.getpid()}.opforest"
        opforest.save(self.model, path)
        content = path.read_bytes()
        model = opforest.load(path)
        operation = {
            "partial_fit": lambda: model.partial_fit(X[80:90], Y[80:90]),
            "forget": lambda: model.forget([3, 7, 40]),
            "save": lambda: opforest.save(model, path),
            "load": lambda: opforest.load(path),
        }[name]
        self._run(f"model, {name}", rng, operation)
        model.forest_.check()
        ids = model.forest_.ids
        again = OPFClassifier().fit(X[ids], np.array(Y)[ids])
        if not np.array_equal(again.forest_.cost, model.forest_.cost):
            return f"model, {name}: not what refitting gives"
        if path.read_bytes() != content:
            return f"model, {name}: the file has changed"
        if list(self.folder.glob(f".{path.name}*")):
            return f"model, {name}: a part of a file is left"
        opforest.load(path)
        return None


class Kills:
    """Kill a process that learns, forgets, labels, closes and opens again."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.seed = folder, seed
        for kind in OPTIONS:
            if not (folder / f"{kind}-log.db").exists():
                make_store(folder / f"{kind}-log.db", kind, log=True)

    def __call__(self, number: int) -> str | None:
        """Return what went wrong; None if nothing did."""
        rng = random.Random(f"{self.seed}-kill-{number}")
        kind = rng.choice(sorted(OPTIONS))
        path = Flips._copy(self, self.folder / f"{kind}-log.db")
        with Learner(path) as learner:
            keys, _, labels = learner.rows()
            table = dict(zip(keys, labels.tolist(), strict=True))
        receive, send = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.close(receive)
                _live(path, send, rng)
            finally:
                os._exit(1)
        os.close(send)
        steps, begun, seen = rng.randrange(1, 12), None, {*KEYS}
        with os.fdopen(receive) as lines:
            for line in lines:  # until it has done something, not until some time has passed
                deed = json.loads(line)
                if deed == ["ok"]:
                    _apply(table, *begun)
                    begun, steps = None, steps - 1
                else:
                    begun = deed
                    seen.update(deed[1])
                if steps == 0:
                    time.sleep(rng.expovariate(200))
                    os.kill(child, signal.SIGKILL)
                    steps = -1
        os.waitpid(child, 0)
        with Learner(path) as learner:
            keys, _, labels = learner.rows()
            found = dict(zip(keys, labels.tolist(), strict=True))
            if found != table and begun is not None:
                _apply(table, *begun)
            if found != table:
                return f"{kind}: {len(found)} examples instead of {len(table)}"
            if not learner.audit().ok:
                return f"{kind}: {learner.audit()}"
        files = b"".join(p.read_bytes() for p in self.folder.glob(f"{path.name}*"))
        gone = [key for key in seen if key not in table and key.encode() in files]
        return f"{kind}: {gone} is in a file" if gone else None


def _live(path: Path, pipe: int, rng: random.Random) -> None:
    """Change a store forever; report each change before and after."""

    def report(*words: object) -> None:
        os.write(pipe, (json.dumps(words) + "\n").encode())

    learner, number = Learner(path), 0
    while True:
        what = rng.choice(["learn", "learn", "forget", "label", "close"])
        keys = learner.rows()[0]
        if what == "learn":
            rows = rng.sample(range(len(X)), rng.randrange(1, 6))
            names = [f"new-{number + i:04d}" for i in range(len(rows))]
            number += len(rows)
            report("learn", names, [Y[i] for i in rows])
            learner.learn(X[rows], [Y[i] for i in rows], names)
        elif what == "forget":
            names = rng.sample(keys, 2)
            report("forget", names)
            learner.forget(names)
        elif what == "label":
            key = rng.choice(keys)
            report("label", [key], ["left"])
            learner.correct(key, "left")
        else:
            report("close", [])
            learner.close()
            learner = Learner(path)
        report("ok")


def _apply(table: dict[str, object], what: str, keys: list[str], labels: object = ()) -> None:
    if what == "forget":
        for key in keys:
            table.pop(key, None)
    else:
        table.update(zip(keys, labels, strict=True))  # type: ignore[call-overload]


# Batches.


def run_batch(attack: object, numbers: range) -> list[str]:
    """Try some in a process of its own; return what went wrong."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receive)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # an endless loop ends the process
        for number in numbers:
            signal.alarm(PATIENCE)
            os.write(send, f"{number}\n".encode())
            try:
                found = attack(number)  # type: ignore[operator]
            except BaseException as error:
                place = traceback.extract_tb(error.__traceback__)[-1]
                found = f"{error!r:.200} at {place.filename}:{place.lineno}"
            if found:
                os.write(send, f"!{number}: {found}\n".encode(errors="replace"))
        os.write(send, b"end\n")
        os._exit(0)
    os.close(send)
    with os.fdopen(receive, errors="replace") as lines:
        output = lines.read().splitlines()
    _, status = os.waitpid(child, 0)
    wrong = [line[1:] for line in output if line.startswith("!")]
    if output[-1:] != ["end"]:
        last = next((line for line in reversed(output) if line.isdigit()), "?")
        wrong.append(f"{last}: the process ended with status {status}")
        left = range(int(last) + 1, numbers.stop) if last.isdigit() else range(0)
        wrong += run_batch(attack, left) if len(left) else []
    return wrong


def main() -> None:
    """Attack, and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--flips", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=1_000)
    parser.add_argument("--interrupts", type=int, default=10_000)
    asked = parser.parse_args()
    root = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=root) as name, contextlib.suppress(KeyboardInterrupt):
        folder, seed, n = Path(name), asked.seed, asked.flips
        kinds = [
            ("bit flips of a closed store", n // 2, Flips(folder, seed, "", log=False)),
            ("bit flips of a snapshot's ids", n // 10, Flips(folder, seed, "", False, "ids")),
            ("bit flips of a killed store", n // 10, Flips(folder, seed, "", log=True)),
            ("bit flips of a log", n // 5, Flips(folder, seed, "-wal", log=True)),
            ("bit flips of the counter", n // 100, Flips(folder, seed, "-ack", log=True)),
            ("logs cut or deleted", n // 10, Cuts(folder, seed, "-wal", log=True)),
            ("kills", asked.kills, Kills(folder, seed)),
            ("interrupts", asked.interrupts, Interrupts(folder, seed)),
        ]
        for kind in OPTIONS:  # compile before processes are forked
            with Learner(Flips._copy(kinds[-1][2], folder / f"{kind}-log.db")) as learner:
                for operation in Interrupts.OPERATIONS.values():
                    operation(learner)
        print(f"{'seed ' + str(seed):32s} {'tried':>7s} {'failed':>7s} {'seconds':>8s}")
        for title, times, attack in kinds:
            begin, wrong = time.perf_counter(), []
            for start in range(0, times, BATCH):
                found = run_batch(attack, range(start, min(start + BATCH, times)))
                wrong += found
                for line in found:
                    print(f"    {line}", flush=True)
            seconds = time.perf_counter() - begin
            print(f"{title:32s} {times:7d} {len(wrong):7d} {seconds:8.0f}", flush=True)


if __name__ == "__main__":
    main()
