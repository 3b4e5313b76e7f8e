"""Ctrl-C and a full memory at any moment: the model is as it was, or some examples further."""

import pickle
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import opforest
from opforest import OPFClassifier
from tests.support.comparison import assert_same_model

HERE = str(Path(opforest.__file__).parent)

RNG = np.random.default_rng(0)
X = RNG.integers(0, 12, (120, 2)).astype(float)
Y = ((X[:, 0] > 5) + 2 * (X[:, 1] > 5)).astype(int)
NAMES = np.array(["b", "c", "d", "e"])[Y]


class Injector:
    """Raises an error at the n-th line of ours that is about to be executed."""

    def __init__(self, error, at):
        self.error, self.at = error, at
        self.lines = []  # those that were reached

    def __enter__(self):
        sys.settrace(self.trace)

    def __exit__(self, *_):
        sys.settrace(None)

    def trace(self, frame, event, argument):
        if not frame.f_code.co_filename.startswith(HERE):
            return None
        if event == "line":
            self.lines.append((frame.f_code.co_filename, frame.f_lineno))
            if len(self.lines) == self.at:
                sys.settrace(None)
                raise self.error
        return self.trace


@cache
def fresh(algorithm, ids):
    """A model that was trained on these examples."""
    return OPFClassifier(algorithm=algorithm).fit(ALL_X[list(ids)], ALL_NAMES[list(ids)])


ALL_X = np.concatenate((X, X[:10] + 0.25, X[10:40] + 0.5))
ALL_NAMES = np.concatenate((NAMES, NAMES[:10], np.full(30, "a")))


def trained(algorithm):
    return OPFClassifier(algorithm=algorithm).fit(X, NAMES)


#: What is done to a model that knows 120 examples.
OPERATIONS = {
    "fit": lambda m: m.fit(X[:90], NAMES[:90]),
    "partial_fit": lambda m: m.partial_fit(ALL_X[120:128], ALL_NAMES[120:128]),
    "partial_fit with a new class": lambda m: m.partial_fit(ALL_X[125:145], ALL_NAMES[125:145]),
    "partial_fit by training": lambda m: m.partial_fit(ALL_X[120:160], ALL_NAMES[120:160]),
    "forget": lambda m: m.forget([3, 71]),
    "forget by training": lambda m: m.forget(np.arange(0, 120, 3)),
    "forget all": lambda m: m.forget(m.forest_.ids),
}


def check(model, before, what, message):
    """The model is valid, and its answers are those of a fresh fit on what it claims to know."""
    model.forest_.check()
    known, ids = set(before["ids"].tolist()), set(model.forest_.ids.tolist())
    done = len(ids - known) + len(known - ids)
    if message is not None and what != "fit":
        claimed = int(re.search(r"(\d+) of \d+ examples have been", message).group(1))
        assert claimed == done, message
    if done == 0 and what != "fit":
        assert_unchanged(model, before)
    if what == "fit":
        if len(ids) == 120:
            assert_unchanged(model, before)
        else:
            assert len(ids) == 90
            assert not hasattr(model, "update_report_")
        return
    if ids:
        offset = 5 if what.endswith("new class") else 0
        again = fresh(model.algorithm, tuple(i if i < 120 else i + offset for i in sorted(ids)))
        for name in ("cost", "edges", "predecessor", "root", "prototypes"):
            assert np.array_equal(getattr(model.forest_, name), getattr(again.forest_, name)), name
        assert np.array_equal(model.predict(ALL_X), again.predict(ALL_X))
    if done:
        report = model.update_report_
        assert report.learned + report.forgotten == done


def remember(model):
    return {
        "ids": model.forest_.ids,
        "classes": model.classes_.tolist(),
        "report": getattr(model, "update_report_", None),
        "cost": model.forest_.cost,
        "edges": model.forest_.edges,
        "attributes": sorted(vars(model)),
    }


def assert_unchanged(model, before):
    now = remember(model)
    assert now["classes"] == before["classes"]
    assert now["report"] == before["report"]
    assert now["attributes"] == before["attributes"]
    for name in ("ids", "cost", "edges"):
        assert np.array_equal(now[name], before[name])


@pytest.mark.parametrize(
    ("algorithm", "error"),
    [("kd_tree", KeyboardInterrupt), ("kd_tree", MemoryError), ("brute", KeyboardInterrupt)],
)
@pytest.mark.parametrize("what", OPERATIONS)
def test_an_error_at_any_line(what, algorithm, error):
    operation = OPERATIONS[what]
    begun = pickle.dumps(trained(algorithm))
    operation(pickle.loads(begun))  # so that all is compiled and imported
    counter = Injector(error, -1)
    with counter:
        operation(pickle.loads(begun))
    # Each line is tried the first time that it is reached and, for Ctrl-C, the last time.
    first, last = {}, {}
    for at, line in enumerate(counter.lines, 1):
        first.setdefault(line, at)
        last[line] = at
    raised = 0
    if error is MemoryError:
        last = {}
    for at in sorted({*first.values(), *last.values()}):
        model = pickle.loads(begun)
        before = remember(model)
        message = None
        try:
            with Injector(error, at):
                operation(model)
        except error as reason:
            raised += 1
            message = str(reason) if "examples" in str(reason) else None
        check(model, before, what, message)
        # And it goes on as if nothing had happened; a lock that stayed locked would stop it here.
        model.partial_fit(X[:1] + 0.125, NAMES[:1])
    assert raised >= 50


SIGNALS = """
import copy, os, random, signal, sys, threading, time
sys.path.insert(0, sys.argv[1])
import numpy as np
from opforest import OPFClassifier

seed, times = int(sys.argv[2]), int(sys.argv[3])
rng = np.random.default_rng(seed)
n, d = 3000, 2
X = rng.random((n + 1500, d)); y = (4 * X[:, 0]).astype(int) % 2

def check(model):
    model.forest_.check()
    ids = model.forest_.ids
    fresh = OPFClassifier(algorithm=model.algorithm).fit(X[ids], y[ids])
    assert np.array_equal(fresh.forest_.edges, model.forest_.edges)
    assert np.array_equal(fresh.forest_.cost, model.forest_.cost)
    assert np.array_equal(fresh.predict(X[:200]), model.predict(X[:200]))

interrupted = counted = 0
for algorithm in ("kd_tree", "brute"):
    base = OPFClassifier(algorithm=algorithm).fit(X[:n], y[:n])
    operations = {
        "fit": lambda m: m.fit(X[:n], y[:n]),
        "learn": lambda m: m.partial_fit(X[n : n + 500], y[n : n + 500]),
        "train": lambda m: m.partial_fit(X[n : n + 1200], y[n : n + 1200]),
        "forget": lambda m: m.forget(np.arange(0, 450, 9)),
        "retrain": lambda m: m.forget(np.arange(0, 1500, 3)),
    }
    for name, operation in operations.items():
        model = copy.deepcopy(base)
        operation(model)  # compiled
        start = time.perf_counter()
        operation(copy.deepcopy(base))
        span = time.perf_counter() - start
        for i in range(times):
            model = copy.deepcopy(base)
            before = set(model.forest_.ids.tolist())
            timer = threading.Timer(random.Random(seed * 1000 + i).uniform(0, span), os.kill,
                                    (os.getpid(), signal.SIGINT))
            done = None
            try:
                try:
                    timer.start()
                    operation(model)
                finally:
                    timer.cancel(); timer.join()
            except KeyboardInterrupt as error:
                interrupted += 1
                message = str(error)
                if " of " in message:
                    done = int(message.split(": ")[1].split(" of ")[0])
            try:
                time.sleep(0)  # a signal that came late
            except KeyboardInterrupt:
                pass
            ids = set(model.forest_.ids.tolist())
            if done is not None:
                counted += 1
                assert done == len(ids ^ before), (name, done, len(ids ^ before))
            check(model)
print(interrupted, counted)
"""


def test_real_signals_during_every_kernel():
    """Real signals, at moments spread over each operation; never a crash, always a true count."""
    seed, times = 0, 15
    result = subprocess.run(
        [sys.executable, "-c", SIGNALS, str(Path(HERE).parent), str(seed), str(times)],
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    interrupted, _ = map(int, result.stdout.split())
    assert interrupted >= times  # it was tried ten times as often


ALARM = """
import signal, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from opforest.core.tree_costs import as_tree, conquer, trace_paths
from opforest.core.mst.boruvka import root_tree

n = 200_000
rng = np.random.default_rng(0)
parent = np.append(-1, (rng.random(n - 1) * np.arange(1, n)).astype(int))
weight = rng.random(n); weight[0] = 0
tree = as_tree(parent, weight)
seeds = rng.random(n) < 0.1
label = rng.integers(0, 2, n)
conquest = conquer(tree, seeds, label)
v = np.arange(1, n)
calls = (
    lambda: as_tree(parent, weight),
    lambda: conquer(tree, seeds, label),
    lambda: trace_paths(tree, seeds, conquest, label),
    lambda: root_tree(n, parent[1:], v, weight[1:]),
)

def hear(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, hear)
for call in calls:
    call()
    heard = 0
    for i in range(40):
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.0004)
            for _ in range(50):
                call()
        except KeyboardInterrupt:
            heard += 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    assert heard == 40, heard
"""


def test_a_signal_during_a_kernel_is_an_interrupt_and_no_crash():
    result = subprocess.run(
        [sys.executable, "-c", ALARM, str(Path(HERE).parent)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-3000:]


def test_an_interrupted_first_partial_fit_leaves_nothing_behind():
    model = OPFClassifier()
    injector = Injector(KeyboardInterrupt, 60)
    with pytest.raises(KeyboardInterrupt), injector:
        model.partial_fit(X, NAMES)
    assert sorted(vars(model)) == sorted(vars(OPFClassifier()))
    assert_same_model(model.partial_fit(X, NAMES), OPFClassifier().fit(X, NAMES), X)
