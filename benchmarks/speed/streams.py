"""Compare accuracy and speed on streams with river's classifiers."""

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from itertools import islice
from typing import Any

import numpy as np
from benchmarks.common import Row, best_of, cpu_seconds, main

STREAMS = ("Phishing", "ImageSegments", "Bananas")
UPDATES = ("exact", "opfi", "dift")
PEER = "river SWINN"
REPEATS = 2

WINDOW, WINDOW_BAR = 10_000, 8  #: for Shuttle, and the speed relative to SWINN
VOTERS_BAR = 5  #: the speed of voters relative to SWINN
PART = 2000  #: examples of Shuttle after a full window, for models too slow for all of it

LENGTH, WRONG = 5000, 0.2  #: of generated streams: examples, and the fraction of wrong labels

Stream = list[tuple[dict[str, float], Any]]
Makes = dict[str, Callable[[], Any]]


def measure() -> list[Row]:
    if find_spec("river") is None:
        names = (*STREAMS, "Shuttle")
        return [Row(f"{name} vs SWINN", bar=1, note="river is not installed") for name in names]
    from river import datasets

    streams = {name: list(getattr(datasets, name)()) for name in STREAMS}
    for make in contestants(scaled=False).values():
        test_then_train(make(), streams["Phishing"][:100])  # compile first
    rows = []
    for name, stream in streams.items():
        rows += race(f"{name}, scaled", stream, contestants(scaled=True))
        rows += race(f"{name}, raw", stream, contestants(scaled=False))
    rows += noisy_streams(streams)
    if not hasattr(datasets, "Shuttle"):
        return [*rows, Row("Shuttle vs SWINN", bar=1, note="this river has no Shuttle")]
    return [*rows, *windows(list(datasets.Shuttle()))]


def noisy_streams(streams: dict[str, Stream]) -> list[Row]:
    """Compare the accuracy of votes with that of river's k-NN, with its defaults."""
    from river.datasets import synth
    from river.neighbors import KNNClassifier

    from opforest.river import OPFClassifier

    sea = list(islice(synth.SEA(noise=0.1, seed=1), LENGTH))
    clusters = synth.RandomRBF(seed_model=1, seed_sample=1, n_features=8, n_centroids=30)
    coin = np.random.default_rng(0).random(LENGTH) < WRONG
    noisy = [
        (x, y ^ bool(wrong)) for (x, y), wrong in zip(islice(clusters, LENGTH), coin, strict=True)
    ]
    rows = []
    for name, stream in {**streams, "SEA": sea, "clusters": noisy}.items():
        one, auto, peer = (
            100 * test_then_train(model, stream).mean()
            for model in (OPFClassifier(), OPFClassifier(voters="auto"), KNNClassifier())
        )
        if name == "ImageSegments":
            rows.append(Row(f"{name}: accuracy of voters below one", one - auto, "points", 0,
                            "at most", note=f"{auto:.2f} %"))  # fmt: skip
            continue
        rows.append(Row(f"{name}: accuracy of voters below river's k-NN", peer - auto, "points",
                        0.5, "at most", note=f"{auto:.2f} %; one voter {one:.2f} %"))  # fmt: skip
    return rows


def contestants(scaled: bool) -> Makes:
    """Return factories of the models, each with its own scaler if ``scaled``."""
    from river.neighbors import SWINN, KNNClassifier, LazySearch
    from river.preprocessing import StandardScaler

    from opforest.river import OPFClassifier

    makes: Makes = {
        **{f"opforest {name}": partial(OPFClassifier, update=name) for name in UPDATES},
        "opforest voters": partial(OPFClassifier, voters="auto"),
        "river last 500": lambda: KNNClassifier(engine=LazySearch(window_size=500)),
        PEER: lambda: KNNClassifier(engine=SWINN(seed=0)),
    }
    if not scaled:
        return makes
    return {name: lambda make=make: StandardScaler() | make() for name, make in makes.items()}


def test_then_train(model: Any, stream: Stream) -> np.ndarray:
    """Predict each example, then learn it, and return which predictions are correct."""
    right = []
    for x, y in stream:
        right.append(model.predict_one(x) == y)
        model.learn_one(x, y)
    return np.array(right)


def race(
    case: str, stream: Stream, makes: Makes, repeats: int = REPEATS, times: float = 1
) -> list[Row]:
    accuracy, bars = {}, {"opforest voters": VOTERS_BAR}

    def run(name: str) -> None:
        accuracy[name] = test_then_train(makes[name](), stream).mean()

    runs = {name: partial(cpu_seconds, partial(run, name)) for name in makes}
    speed = {name: len(stream) / seconds for name, seconds in best_of(repeats, **runs).items()}
    return [
        Row(
            f"{case}, {name}",
            speed[name],
            unit="/s",
            bar=round(bars.get(name, times) * speed[PEER]) if name.startswith("opforest") else None,
            note=f"accuracy {accuracy[name]:.2%}, {speed[name] / speed[PEER]:.1f} × SWINN's speed",
        )
        for name in makes
    ]


def windows(stream: Stream) -> list[Row]:
    """Compare models that remember the same number of examples, once."""
    from river.neighbors import SWINN, KNNClassifier
    from river.tree import HoeffdingTreeClassifier

    from opforest.river import OPFClassifier

    ours = partial(OPFClassifier, window_size=WINDOW)
    makes: Makes = {
        "opforest": ours,
        PEER: lambda: KNNClassifier(engine=SWINN(maxlen=WINDOW, seed=0)),
        "river Hoeffding tree": HoeffdingTreeClassifier,
    }
    right = test_then_train(ours(), stream[: WINDOW + PART])  # compile first
    case = f"Shuttle, window {WINDOW}"
    return [
        *race(case, stream, makes, repeats=1, times=WINDOW_BAR),
        lazily(case, stream, right[WINDOW:].mean()),
    ]


def lazily(case: str, stream: Stream, our_accuracy: float) -> Row:
    """Measure a part of the stream and extrapolate; while the window fills, half of it counts."""
    from river.neighbors import KNNClassifier, LazySearch

    model = KNNClassifier(engine=LazySearch(window_size=WINDOW))
    for x, y in stream[:WINDOW]:
        model.learn_one(x, y)
    right = []
    part = stream[WINDOW : WINDOW + PART]
    seconds = cpu_seconds(lambda: right.append(test_then_train(model, part)))
    speed = len(stream) * PART / (seconds * (len(stream) - WINDOW / 2))
    note = (
        f"extrapolated from {PART} examples after the first {WINDOW}; there accuracy "
        f"{right[0].mean():.2%}, ours {our_accuracy:.2%}"
    )
    return Row(f"{case}, river LazySearch", speed, unit="/s", note=note)


if __name__ == "__main__":
    main(
        measure,
        "Examples per second of processor time, on one thread; every example is predicted, then"
        f" learned.\nBest of {REPEATS} in turn; reading and compiling are excluded. The bar is the"
        f' speed of river\'s SWINN, on\nShuttle {WINDOW_BAR} times its speed. "scaled" means that'
        " river's StandardScaler is in front of every model.\nriver's models are"
        " KNNClassifier(engine=LazySearch(window_size=500)) and\nKNNClassifier(engine="
        "SWINN(seed=0)), which remember the last 500 and 1000 examples;"
        f" opforest remembers all. On Shuttle, raw and run once,\nall remember the last {WINDOW}"
        " examples, except the Hoeffding tree.",
    )
