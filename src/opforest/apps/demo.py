"""The demo: ``python -m opforest.apps.demo`` learns a stream, explains, and forgets."""

import argparse
import hashlib
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

import opforest
from opforest import OPFClassifier
from opforest.display.drawing import require_matplotlib
from opforest.display.forest import ForestDisplay

Array = npt.NDArray[Any]
Result = TypeVar("Result")

#: How many examples are known at first, and how many come in each increment.
FIRST, INCREMENT = 300, 100

INCREMENTS = 60
ROWS = 10  #: of the table that is printed
TEST = 2000

#: How many examples are forgotten in the end.
FORGOTTEN = 50

#: What is compared, in the order of the table.
METHODS = ("OPFI", "exact", "DIFT", "refit", "1-NN")

COLORS = {"OPFI": "#3f90da", "exact": "#bd1f01", "DIFT": "#ffa90e",
          "refit": "#222222", "1-NN": "#94a4a2"}  # fmt: skip

#: What the forest consists of, all of which must be identical.
ARRAYS = ("ids", "label", "edges", "cost", "predecessor", "root", "prototypes")

NEXT = """\
What to try next:
  opforest play                   click to learn, point to see why ([serve])
  opforest train table.csv m.opforest --scale standard
                                  your own data ([cli]); then opforest predict
  opforest.river.OPFClassifier    streams, with a window for drift ([river])
  opforest.Learner("model.db")    a model that survives crashes, forgets on disk
  https://opforest.readthedocs.io
Names in brackets are extras: pip install "opforest[serve,cli,river]"."""


@dataclass
class Stream:
    """Examples to begin with, increments of more, and examples to test on."""

    X: Array
    y: Array
    X_test: Array
    y_test: Array

    def increments(self) -> Iterator[tuple[int, int]]:
        """Yield where each increment begins and ends."""
        for begin in range(FIRST, len(self.X), INCREMENT):
            yield begin, begin + INCREMENT


@dataclass
class Measured:
    """Accuracy, and seconds of each increment, by method."""

    known: list[int] = field(default_factory=list)
    accuracy: dict[str, list[float]] = field(default_factory=lambda: {m: [] for m in METHODS})
    seconds: dict[str, list[float]] = field(default_factory=lambda: {m: [] for m in METHODS})


def main(argv: Sequence[str] | None = None) -> None:
    """Run the demonstration; ``argv`` are the arguments of the command line."""
    out = _parse(argv)
    require_matplotlib()
    begin = perf_counter()
    stream = make_stream()
    n = len(stream.X)
    _say(f"opforest {opforest.__version__}: a stream of {n:,} examples, "
         f"{FIRST} at first and then {INCREMENT} at a time\n")  # fmt: skip
    _say("[1/5] Getting ready. The first run compiles for some seconds; later ones do not.")
    warm_up(stream)
    _say(f"[2/5] Learning. Accuracy is measured on {len(stream.y_test):,} other examples:\n")
    with threadpool_limits(1):
        before, after, measured = learn(stream)
    _say(_summary(measured))
    _say("[3/5] Why? The path that gave one test example its label:\n")
    _say(f"{after.explain(_closest_call(after, stream))}\n")
    _say(f"[4/5] Forgetting {FORGOTTEN} examples, and refitting on the others to compare:\n")
    forget(after, stream)
    _say("\n[5/5] Drawing")
    draw(before, after, stream, measured, out)
    _say(f"{out.resolve()}\n\n{NEXT}\n\nThat took {perf_counter() - begin:.0f} seconds.")


def _parse(argv: Sequence[str] | None) -> Path:
    parser = argparse.ArgumentParser(prog="python -m opforest.apps.demo", description=__doc__)
    help = "where to write the picture, a PNG file (default: %(default)s)"
    parser.add_argument("--out", type=Path, default="opforest-demo.png", metavar="PATH", help=help)
    out: Path = parser.parse_args(argv).out
    if out.is_dir() or not out.parent.is_dir():
        parser.error(f"--out must be a file in a folder that exists, got {str(out)!r}")
    return out


def _say(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"  # some terminals have no arrows
    print(text.encode(encoding, "replace").decode(encoding), flush=True)


def make_stream() -> Stream:
    """Return points on three spiral arms, with some noise."""
    n, rng = FIRST + INCREMENTS * INCREMENT + TEST, np.random.default_rng(0)
    arm, radius = rng.integers(0, 3, n), np.sqrt(rng.uniform(0.02, 1, n))
    angle = 2 * np.pi * (1.8 * radius + arm / 3)
    X = radius[:, None] * np.column_stack((np.cos(angle), np.sin(angle)))
    X += rng.normal(0, 0.035, X.shape)
    y = np.array(("A", "B", "C"))[arm]
    return Stream(X[:-TEST], y[:-TEST], X[-TEST:], y[-TEST:])


def warm_up(stream: Stream) -> None:
    """Do everything once, with few examples and with many, so that no compilation is measured."""
    for many in (FIRST, len(stream.X) - 20):
        for update in ("exact", "opfi", "dift"):
            model = OPFClassifier(update=update).fit(stream.X[:many], stream.y[:many])
            more = slice(many, many + 20)
            model.partial_fit(stream.X[more], stream.y[more]).predict(stream.X_test)
            if update == "exact":
                model.forget([0]).explain(stream.X_test[0])
    KNeighborsClassifier(1).fit(stream.X, stream.y).predict(stream.X_test)


def learn(stream: Stream) -> tuple[OPFClassifier, OPFClassifier, Measured]:
    """Learn the stream in five ways; return the exact model at first and in the end."""
    measured = Measured()
    known = stream.X[:FIRST], stream.y[:FIRST]
    growing = {"OPFI": "opfi", "exact": "exact", "DIFT": "dift"}
    models = {name: OPFClassifier(update=update).fit(*known) for name, update in growing.items()}
    first = OPFClassifier().fit(*known)
    _say(_heading())
    for number, (begin, end) in enumerate(stream.increments(), 1):
        new = stream.X[begin:end], stream.y[begin:end]
        so_far = stream.X[:end], stream.y[:end]
        measured.known.append(end)
        for name in METHODS:
            if name in growing:
                seconds, model = _time(models[name].partial_fit, *new)
            else:
                fresh = KNeighborsClassifier(1) if name == "1-NN" else OPFClassifier()
                seconds, model = _time(fresh.fit, *so_far)
            measured.seconds[name].append(seconds)
            measured.accuracy[name].append(float(model.score(stream.X_test, stream.y_test)))
        if number == 1 or number * ROWS // INCREMENTS > (number - 1) * ROWS // INCREMENTS:
            _say(_row(measured))
    return first, models["exact"], measured


def _time(method: Callable[..., Result], *args: Any) -> tuple[float, Result]:
    """Return the seconds that a call took, and what it returned."""
    begin = perf_counter()
    result = method(*args)
    return perf_counter() - begin, result


def _heading() -> str:
    width = 7 * len(METHODS)
    names = "".join(f"{name:>7}" for name in METHODS)
    what = f"milliseconds to learn {INCREMENT} more"
    return (
        f"{'':7}{'accuracy, %':>{width}}{'':2}{what:>{width}}\n"
        f"{'known':>7}{names}{'':2}{names}\n{'-' * (9 + 2 * width)}"
    )


def _row(measured: Measured) -> str:
    accuracy = "".join(f"{100 * measured.accuracy[name][-1]:7.2f}" for name in METHODS)
    time = "".join(f"{1000 * measured.seconds[name][-1]:7.2f}" for name in METHODS)
    return f"{measured.known[-1]:7,}{accuracy}{'':2}{time}"


def _summary(measured: Measured) -> str:
    same = measured.accuracy["exact"] == measured.accuracy["refit"]
    last = {name: np.median(measured.seconds[name][-9:]) for name in METHODS}
    said = (
        f"The exact update gives the refitted model: after each of {INCREMENTS} increments their "
        f"accuracies are {'equal' if same else 'NOT EQUAL'}. With {measured.known[-1]:,} examples "
        f"known, it learned {INCREMENT} more in 1/{last['refit'] / last['exact']:.0f} of the time "
        f"of refitting, OPFI in 1/{last['refit'] / last['OPFI']:.0f}. (1-NN only stores and "
        "indexes the examples again. One thread for each method.)"
    )
    return f"\n{textwrap.fill(said, 79)}\n"


def _closest_call(model: OPFClassifier, stream: Stream) -> Array:
    """Return a test example that has several steps behind it and a rival that is near."""
    costs = np.sort(model.class_costs(stream.X_test), axis=1)
    ratio = costs[:, 1] / np.maximum(costs[:, 0], 1e-12)
    right = model.predict(stream.X_test) == stream.y_test
    candidates = np.flatnonzero(right & (ratio > 1.5) & (ratio < 3))
    steps = [len(model.explain(stream.X_test[i]).steps) for i in candidates[:40]]
    chosen = min(range(len(steps)), key=lambda k: abs(steps[k] - 6))
    example: Array = stream.X_test[candidates[chosen]]
    return example


def forget(model: OPFClassifier, stream: Stream) -> None:
    """Forget some examples, and prove that the model equals the one refitted without them."""
    ids = np.sort(np.random.default_rng(0).choice(len(stream.X), FORGOTTEN, replace=False))
    kept = np.setdiff1d(np.arange(len(stream.X)), ids)
    with threadpool_limits(1):
        seconds, _ = _time(model.forget, ids)
        seconds_refit, refitted = _time(OPFClassifier().fit, stream.X[kept], stream.y[kept])
    for what, spent in (("forget", seconds), ("refit", seconds_refit)):
        _say(f"  {what:12} {1000 * spent:8.2f} ms")
    _say("")
    is_equal = True
    for name in ARRAYS:
        mine, theirs = getattr(model.forest_, name), getattr(refitted.forest_, name)
        if name == "ids":  # a refitted model counts from 0
            theirs = kept[theirs]
        is_same = mine.tobytes() == theirs.tobytes()
        is_equal &= is_same
        mark = "identical" if is_same else "DIFFERENT"
        _say(f"  {name:12} {mine.nbytes:8,} bytes  sha256 {_digest(mine)}  {mark}")
    is_same = np.array_equal(model.predict(stream.X_test), refitted.predict(stream.X_test))
    _say(f"  {len(stream.y_test):,} predictions: {'identical' if is_same else 'DIFFERENT'}")
    verdict = "equals the refitted one, bit for bit"
    if not (is_equal and is_same):
        verdict = "DIFFERS from the refitted one"
    _say(f"\nThe model after forgetting {verdict}.")


def _digest(array: Array) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:12]


def draw(
    before: OPFClassifier, after: OPFClassifier, stream: Stream, measured: Measured, out: Path
) -> None:
    """Draw the forest at first and in the end, accuracy, and time."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 9.5), dpi=110, layout="constrained")
    axes = figure.subplots(2, 2, gridspec_kw={"height_ratios": (1.25, 1)})
    for ax, when, model in zip(axes[0], ("Before", "After"), (before, after), strict=True):
        X = stream.X[model.forest_.ids]
        ForestDisplay.from_estimator(model, X, ax=ax, legend=when == "After")
        count = len(model.forest_.prototypes)
        ax.set_title(f"{when}: {len(X):,} examples, {count} prototypes")
        ax.set(xlabel="", ylabel="", aspect="equal")
    _draw_curves(axes[1, 0], measured.known, measured.accuracy, 100)
    axes[1, 0].set(title="Accuracy after each increment, %", xlabel="examples known")
    _draw_curves(axes[1, 1], measured.known, measured.seconds, 1000)
    axes[1, 1].set(
        title=f"Time to learn the next {INCREMENT}, ms (log scale)",
        xlabel="examples known", yscale="log",
    )  # fmt: skip
    lines, names = axes[1, 0].get_legend_handles_labels()
    figure.legend(lines, names, loc="outside lower center", ncols=len(METHODS), frameon=False)
    figure.savefig(out, format="png")


def _draw_curves(ax: Any, known: list[int], values: dict[str, list[float]], scale: float) -> None:
    for name in METHODS:
        width, dash = (3.0 if name == "exact" else 1.4), ("--" if name == "refit" else "-")
        values_of = scale * np.array(values[name])
        ax.plot(known, values_of, color=COLORS[name], label=name, lw=width, ls=dash)
    ax.grid(alpha=0.3)


if __name__ == "__main__":
    main()
