"""Kill a process that learns and forgets, again and again; run as a program.

    python kills.py STORE TIMES SEED

Each life is a fork of this process, so nothing is imported or compiled again. Two threads share
its learner and write what they are about to do, and what has been acknowledged, to a pipe. A random
moment after some changes have been acknowledged comes ``kill -9``. Then the store is opened again,
and must have all that was acknowledged and nothing that was forgotten. The last third of the lives
is that of two stores that scale their rows by labels and learn without labels, too. Prints a JSON
object.
"""

import json
import os
import random
import signal
import sys
import threading
import time

import numpy as np

import opforest


def live(path, pipe, life, seed):
    """Learn, correct and forget forever; report each change before and after it."""
    rng = np.random.default_rng([seed, life])
    learner = opforest.Learner(path)
    say = threading.Lock()

    def tell(*words):
        with say:
            os.write(pipe, (json.dumps(words) + "\n").encode())

    def client(name):
        own, number = [], 0
        while True:
            keys = [f"{life}-{name}-{number + i}" for i in range(rng.integers(1, 8))]
            number += len(keys)
            X = rng.integers(0, 6, (len(keys), 2)).astype(float)  # full of ties
            y = rng.integers(0, 3, len(keys)).tolist()
            if learner.settings.semi_supervised:
                y = [label or None for label in y]
            tell("learn", keys, X.tolist(), y)
            learner.learn(X, y, keys)
            tell("ok", keys)
            own += keys
            if len(own) > 12:
                gone, own = own[:5], own[5:]
                tell("forget", gone)
                learner.forget(gone)
                tell("ok", gone)
                tell("correct", own[0], 2)
                learner.correct(own[0], 2)
                tell("ok", [own[0]])

    tell("open")
    for name in "ab":
        threading.Thread(target=client, args=(name,), daemon=True).start()
    signal.pause()


def read_lines(pipe, child, wanted, patience):
    """Return what a child reported until it was killed.

    That is some time after it had opened the store and that many changes had been acknowledged.
    """
    content, end = b"", None
    os.set_blocking(pipe, False)
    while True:
        try:
            part = os.read(pipe, 1 << 16)
            if not part:
                break
            content += part
            if end is None and content.count(b'["ok"') >= wanted:
                end = time.monotonic() + patience
        except BlockingIOError:
            time.sleep(0.001)
        if end is not None and child and time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            child = 0
    return [json.loads(line) for line in content.split(b"\n")[:-1]]


def follow(said, table, open_questions):
    """Do with a dict what was acknowledged; keep what may or may not have happened."""
    begun = {}
    for what, *rest in said:
        if what == "open":
            continue
        if what == "ok":
            deed = begun.pop(rest[0][0])
            apply(deed, table)
        else:
            first = rest[0] if what == "correct" else rest[0][0]
            begun[first] = (what, *rest)
    open_questions += begun.values()


def apply(deed, table):
    what, keys, *rest = deed
    if what == "learn":
        table.update({k: (tuple(x), y) for k, x, y in zip(keys, *rest, strict=True)})
    elif what == "forget":
        for key in keys:
            table.pop(key, None)
    else:
        table[keys] = (table[keys][0], rest[0])


def main():
    path, times, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    rng = random.Random(seed)
    with opforest.Learner(":memory:") as warm:  # compile before the first fork
        warm.learn(np.eye(2), [0, 1])
        warm.learn(np.random.default_rng(0).random((30, 2)), [0, 1] * 15)
        warm.learn(np.ones((1, 2)), [2])
        warm.forget("#3")
        warm.correct("#4", 2)
        warm.predict(np.eye(2))
    ends = [times - times // 3, times - times // 6, times]
    parts = [run(path, range(ends[0]), rng, seed)]
    for scale, begin, end in zip(SCALES, ends[:-1], ends[1:], strict=True):
        options = {"semi_supervised": True, "preparation": opforest.Preparation(scale=scale)}
        warm_up(options)
        parts.append(run(f"{path}-{scale}", range(begin, end), rng, seed, **options))
    acknowledged, undecided = (sum(counts) for counts in zip(*parts, strict=True))
    print(json.dumps({"kills": times, "acknowledged": acknowledged, "undecided": undecided}))


SCALES = "relevance", "auto"


def warm_up(options):
    """Compile what a store with these options calls."""
    with opforest.Learner(":memory:", **options) as warm:
        warm.learn(np.random.default_rng(0).random((30, 2)), [0, 1, None] * 10)
        warm.learn(np.ones((1, 2)), [2])
        warm.forget("#31")
        warm.forget("#3")
        warm.correct("#6", 2)
        warm.correct("#7", 2)
        warm.predict(np.eye(2))


def run(path, lives, rng, seed, **options):
    """Kill one life after another; return how many changes were acknowledged, and how many not."""
    opforest.Learner(path, **options).close()
    table, undecided, acknowledged = {}, 0, 0
    for life in lives:
        receive, send = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(receive)
            live(path, send, life, seed)
        os.close(send)
        said = read_lines(receive, child, life % 12, rng.uniform(0.0, 0.05))
        os.close(receive)
        acknowledged += sum(what == "ok" for what, *_ in said)
        questions = []
        follow(said, table, questions)
        with opforest.Learner(path) as learner:
            keys, X, y = learner.rows()
            found = {k: (tuple(x), v) for k, x, v in zip(keys, X.tolist(), y.tolist(), strict=True)}
            for deed in questions:  # it may have been done whole, or not at all
                done = dict(table)
                apply(deed, done)
                touched = [deed[1]] if deed[0] == "correct" else deed[1]
                if all(found.get(key) == done.get(key) for key in touched):
                    table = done
                    undecided += 1
            assert found == table, (life, found.keys() ^ table.keys())
            audit = learner.audit()
            assert audit.ok, (life, str(audit))
            if len(table) > 200:  # keep lives short
                gone = list(table)[:150]
                learner.forget(gone)
                for key in gone:
                    del table[key]
    return acknowledged, undecided


if __name__ == "__main__":
    main()
