"""Streams: accuracy and speed of ``predict_one`` and ``learn_one`` beside river's neighbours."""

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

from common import Row, best_of, cpu_seconds, main

STREAMS = ("Phishing", "ImageSegments", "Bananas")
UPDATES = ("exact", "opfi", "dift")
PEER = "river SWINN"
REPEATS = 2

Stream = list[tuple[dict[str, float], Any]]


def measure() -> list[Row]:
    if find_spec("river") is None:
        return [Row(f"{name} vs SWINN", bar=1, note="river is not installed") for name in STREAMS]
    from river import datasets

    streams = {name: list(getattr(datasets, name)()) for name in STREAMS}
    for make in contestants(scaled=False).values():
        test_then_train(make(), streams["Phishing"][:100])  # compiles
    rows = []
    for name, stream in streams.items():
        rows += race(f"{name}, scaled", stream, contestants(scaled=True))
        rows += race(f"{name}, raw", stream, contestants(scaled=False))
    return rows


def contestants(scaled: bool) -> dict[str, Callable[[], Any]]:
    """Return what makes the models, each with its own scaler in front of it or none."""
    from river.neighbors import SWINN, KNNClassifier, LazySearch
    from river.preprocessing import StandardScaler

    from opforest.river import OPFClassifier

    makes: dict[str, Callable[[], Any]] = {
        **{f"opforest {name}": partial(OPFClassifier, update=name) for name in UPDATES},
        "river last 500": lambda: KNNClassifier(engine=LazySearch(window_size=500)),
        PEER: lambda: KNNClassifier(engine=SWINN(seed=0)),
    }
    if not scaled:
        return makes
    return {name: lambda make=make: StandardScaler() | make() for name, make in makes.items()}


def test_then_train(model: Any, stream: Stream) -> float:
    """Predict each example, then learn it, and return the share of right predictions."""
    right = 0
    for x, y in stream:
        right += model.predict_one(x) == y
        model.learn_one(x, y)
    return right / len(stream)


def race(case: str, stream: Stream, makes: dict[str, Callable[[], Any]]) -> list[Row]:
    accuracy = {}

    def run(name: str) -> None:
        accuracy[name] = test_then_train(makes[name](), stream)

    runs = {name: partial(cpu_seconds, partial(run, name)) for name in makes}
    speed = {name: len(stream) / seconds for name, seconds in best_of(REPEATS, **runs).items()}
    return [
        Row(
            f"{case}, {name}",
            speed[name],
            unit="/s",
            bar=round(speed[PEER]) if name.startswith("opforest") else None,
            note=f"accuracy {accuracy[name]:.2%}, {speed[name] / speed[PEER]:.1f} × SWINN's speed",
        )
        for name in makes
    ]


if __name__ == "__main__":
    main(
        "streams",
        __doc__,
        measure,
        "Examples per second of processor time, on one thread; every example is predicted, then"
        f" learned.\nBest of {REPEATS} in turn; reading and compiling are left out. The bar is the"
        " speed of river's SWINN.\nScaled means that river's StandardScaler stands before every"
        " model alike. river's are\nKNNClassifier(engine=LazySearch(window_size=500)) and"
        " KNNClassifier(engine=SWINN(seed=0)), which\nremember the last 500 and 1000 examples;"
        " opforest remembers all.",
    )
