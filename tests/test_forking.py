"""Processes forked while another thread learns: they answer, or say why not, and never hang."""

import threading
from contextlib import contextmanager

import numpy as np
import pytest

from opforest import OPFClassifier
from tests.support.children import forks, in_a_child

RNG = np.random.default_rng(5)
X = RNG.random((600, 2))
Y = (4 * X[:, 0]).astype(int) % 2
Q = RNG.random((20, 2))
REFUSED = "RuntimeError: another thread was changing this model when the process was forked"


@contextmanager
def busy(change):
    """Have a thread call a function again and again, meanwhile."""
    stop, began = threading.Event(), threading.Event()

    def go():
        while not stop.is_set():
            change()
            began.set()

    thread = threading.Thread(target=go)
    thread.start()
    try:
        assert began.wait(120)
        yield
    finally:
        stop.set()
        thread.join(120)


def ask(model):
    """Return whether a model is as it must be, and can be used in every way."""
    model.forest_.check()
    assert model.predict(Q).shape == (20,)
    assert np.allclose(model.predict_proba(Q).sum(axis=1), 1)
    size = len(model.forest_)
    model.partial_fit(Q[:1], [1]).forget(model.forest_.ids[:1])
    assert len(model.forest_) == size
    model.forest_.check()
    return "fine"


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
@forks
def test_a_child_forked_while_another_thread_learns(algorithm):
    model = OPFClassifier(algorithm=algorithm).fit(X, Y)
    ask(model)  # so that everything is compiled: Numba's own lock does not survive a fork
    still = OPFClassifier(algorithm=algorithm).fit(X, Y)

    def change():
        model.partial_fit(X[:1] + RNG.random(2), Y[:1]).forget(model.forest_.ids[:1])

    with busy(change):
        for _ in range(25):
            said = in_a_child(lambda: ask(model))
            assert said == "fine" or said.startswith(REFUSED)
        assert in_a_child(lambda: ask(still)) == "fine"
        # The advice of the message: what was fitted in the child is its own.
        assert in_a_child(lambda: ask(model.fit(X, Y))) == "fine"
    assert in_a_child(lambda: ask(model)) == "fine"
    assert ask(model) == "fine"


@forks
def test_a_stream():
    river = pytest.importorskip("opforest.river.classifier")
    stream = river.OPFClassifier(window_size=200)
    rows = [dict(zip("ab", row, strict=True)) for row in X.tolist()]
    for x, y in zip(rows[:300], Y.tolist(), strict=False):
        stream.learn_one(x, y)
    stream.predict_one(rows[0])
    place = [0]

    def change():
        place[0] = (place[0] + 1) % len(rows)
        stream.predict_one(rows[place[0]])
        stream.learn_one(rows[place[0]], int(Y[place[0]]))

    with busy(change):
        for _ in range(30):
            said = in_a_child(lambda: stream.predict_one(rows[0]))
            assert said in "01" or said.startswith(REFUSED)
    assert in_a_child(lambda: stream.predict_one(rows[0])) in "01"
