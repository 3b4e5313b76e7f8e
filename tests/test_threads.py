"""While one thread learns and forgets, others see the model before or after a whole example."""

import copy
import pickle
import threading

import numpy as np
import pytest

from opforest import OPFClassifier

RNG = np.random.default_rng(3)
X = RNG.random((4000, 2))
Y = (4 * X[:, 0]).astype(int) % 2
Q = RNG.random((40, 2))


def hammer(readers, write, seconds=3.0):
    """Let readers go on as long as somebody writes; return what they did wrong, and how much."""
    stop, wrong, counts = threading.Event(), [], [0] * len(readers)

    def go(i, read):
        while not stop.is_set():
            try:
                read()
                counts[i] += 1
            except BaseException as error:
                wrong.append(error)
                return

    threads = [threading.Thread(target=go, args=pair) for pair in enumerate(readers)]
    for thread in threads:
        thread.start()
    try:
        write(seconds)
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)
    return wrong, counts


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
def test_readers_see_whole_examples(algorithm):
    """Every answer is that of the model after some number of steps, which are known beforehand."""
    n, steps = 1000, 60
    begun = OPFClassifier(algorithm=algorithm).fit(X[:n], Y[:n])

    def change(model, step):
        if step % 3 == 2:
            model.forget([step, step + 300])
        else:
            model.partial_fit(X[n + step : n + step + 1], Y[n + step : n + step + 1])

    model, valid = copy.deepcopy(begun), set()

    def answer(m):
        return m.class_costs(Q).tobytes() + m.predict(Q).tobytes()

    valid.add(answer(model))
    lengths = {len(model.forest_)}
    for step in range(steps):
        change(model, step)
        valid.add(model.class_costs(Q).tobytes() + model.predict(Q).tobytes())
        lengths |= {len(model.forest_), len(model.forest_) + 1}
    costs = {part[: Q.shape[0] * 16] for part in valid}
    predictions = {part[Q.shape[0] * 16 :] for part in valid}
    model = copy.deepcopy(begun)

    def predict():
        assert model.predict(Q).tobytes() in predictions
        assert model.class_costs(Q).tobytes() in costs

    def unpickle():
        other = pickle.loads(pickle.dumps(model))
        other.forest_.check()
        assert len(other.forest_) in lengths
        assert other.class_costs(Q).tobytes() in costs

    def explain():
        explanation = model.explain(Q[0])
        assert explanation.steps[-1].cost == max(step.distance for step in explanation.steps)

    def look():
        model.forest_.check()

    def write(_):
        for step in range(steps):
            change(model, step)

    wrong, counts = hammer([predict, predict, unpickle, explain, look], write)
    assert not wrong, wrong[0]
    assert min(counts) > 0
    assert answer(model) in valid


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
def test_classes_and_large_batches_come_whole(algorithm):
    """New classes before and after old ones, batches so large that they are trained on."""
    model = OPFClassifier(algorithm=algorithm).fit(X[:500], np.array(["m", "n"])[Y[:500]])

    def predict():
        assert set(model.predict(Q)) <= set("abcdmnxyz")
        assert np.isclose(model.predict_proba(Q).sum(axis=1), 1).all()

    def unpickle():
        other = pickle.loads(pickle.dumps(model))
        other.forest_.check()
        assert other.forest_.label.max() < len(other.classes_)
        other.predict(Q)

    def write(_):
        for i, name in enumerate("xaybzcd"):
            model.partial_fit(X[500 + i : 502 + i], [name, name])
            model.partial_fit(X[600 : 600 + 60 * (i + 1)], np.full(60 * (i + 1), name))
            model.forget(model.forest_.ids[-60 * (i + 1) :])

    wrong, counts = hammer([predict, predict, unpickle], write)
    assert not wrong, wrong[0]
    assert min(counts) > 0


def test_streams_take_turns():
    river = pytest.importorskip("opforest.river.classifier")
    model = river.OPFClassifier(window_size=200)
    stream = [(dict(enumerate(x)), int(y)) for x, y in zip(X.tolist(), Y.tolist(), strict=True)]
    for x, y in stream[:100]:
        model.learn_one(x, y)

    def predict():
        assert model.predict_one({0: 0.3, 1: 0.7}) in (0, 1)
        assert abs(sum(model.predict_proba_one({0: 0.1, 1: 0.2}).values()) - 1) < 1e-9

    def unpickle():
        pickle.loads(pickle.dumps(model)).forest.check()

    def write(_):
        for x, y in stream[100:900]:
            model.learn_one(x, y)

    wrong, counts = hammer([predict, unpickle], write)
    assert not wrong, wrong[0]
    assert min(counts) > 0
    model.forest.check()
