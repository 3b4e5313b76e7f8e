"""The demo: ``opforest demo`` or ``python -m opforest.apps.demo``."""

import hashlib
import sys
import textwrap
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

import opforest
from opforest import OPFClassifier
from opforest._utils.extras import install_command
from opforest.display.drawing import require_matplotlib
from opforest.display.forest import ForestDisplay

Array = npt.NDArray[Any]
Result = TypeVar("Result")

FIRST, INCREMENT, INCREMENTS = 300, 100, 60
ROWS = 10  #: of the table that is printed
TEST = 2000  #: examples to test on
FORGOTTEN = 50  #: examples that are forgotten in the end

#: Methods in the order of the table, and their colors.
COLORS = {"OPFI": "#3f90da", "exact": "#bd1f01", "DIFT": "#ffa90e",
          "refit": "#222222", "1-NN": "#94a4a2"}  # fmt: skip
METHODS = tuple(COLORS)
UPDATES = {"OPFI": "opfi", "exact": "exact", "DIFT": "dift"}

#: The arrays of a forest, which must all be identical.
ARRAYS = ("ids", "label", "edges", "cost", "predecessor", "root", "prototypes")

NEXT = f"""\
What to try next:
  opforest play                   click to learn, point to see why ([cli])
  opforest train table.csv m.opforest --scale standard
                                  your own data ([cli]); then opforest predict
  opforest.river.OPFClassifier    streams, with a window for drift ([river])
  opforest.Learner("model.db")    on disk: survives kill -9, forgets for good
  https://opforest.readthedocs.io
Names in brackets are extras: {install_command("cli,river")}"""


class Stream(NamedTuple):
    """Examples to learn and examples to test on."""

    X: Array
    y: Array
    X_test: Array
    y_test: Array


@dataclass
class Measurements:
    """Accuracy and time after each increment, by method."""

    known: list[int] = field(default_factory=list)
    accuracy: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))


def run(out: Path) -> None:
    """Run the demo, and write its picture to a file."""
    if out.is_dir() or not out.parent.is_dir():
        raise ValueError(f"--out must be a file in a folder that exists, got {str(out)!r}.")
    require_matplotlib()
    begin = perf_counter()
    stream = make_stream()
    n = len(stream.X)
    _print(f"opforest {opforest.__version__}: a stream of {n:,} examples, "
           f"{FIRST} at first and then {INCREMENT} at a time\n")  # fmt: skip
    _print("[1/5] Getting ready. The first run compiles for some seconds; later ones do not.")
    warm_up(stream)
    _print(f"[2/5] Learning. Accuracy is measured on {len(stream.y_test):,} other examples:\n")
    with threadpool_limits(1):
        before, after, measured = learn(stream)
    _print(_summarize(measured))
    _print("[3/5] Why? The path that gave one test example its label:\n")
    _print(f"{after.explain(_choose_query(after, stream))}\n")
    _print(f"[4/5] Forgetting {FORGOTTEN} examples, and refitting on the others to compare:\n")
    forget(after, stream)
    _print("\n[5/5] Drawing")
    draw(before, after, stream, measured, out)
    _print(f"{out.resolve()}\n\n{NEXT}\n\nThat took {perf_counter() - begin:.0f} seconds.")


def _print(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"  # some terminals cannot show arrows
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
    """Compile everything, with few examples and with many, before times are measured."""
    for many in (FIRST, len(stream.X) - 20):
        for update in UPDATES.values():
            model = OPFClassifier(update=update).fit(stream.X[:many], stream.y[:many])
            more = slice(many, many + 20)
            model.partial_fit(stream.X[more], stream.y[more]).predict(stream.X_test)
            if update == "exact":
                model.forget([0]).explain(stream.X_test[0])
    KNeighborsClassifier(1).fit(stream.X, stream.y).predict(stream.X_test)


def learn(stream: Stream) -> tuple[OPFClassifier, OPFClassifier, Measurements]:
    """Learn the stream by each method; return the exact model at first and in the end."""
    measured = Measurements()
    known = stream.X[:FIRST], stream.y[:FIRST]
    models = {name: OPFClassifier(update=update).fit(*known) for name, update in UPDATES.items()}
    first = OPFClassifier().fit(*known)
    _print(_format_heading())
    for number in range(1, INCREMENTS + 1):
        end = FIRST + number * INCREMENT
        new = stream.X[end - INCREMENT : end], stream.y[end - INCREMENT : end]
        so_far = stream.X[:end], stream.y[:end]
        measured.known.append(end)
        for name in METHODS:
            if name in UPDATES:
                seconds, model = _time(models[name].partial_fit, *new)
            else:
                fresh = KNeighborsClassifier(1) if name == "1-NN" else OPFClassifier()
                seconds, model = _time(fresh.fit, *so_far)
            measured.seconds[name].append(seconds)
            measured.accuracy[name].append(float(model.score(stream.X_test, stream.y_test)))
        if number == 1 or number * ROWS // INCREMENTS > (number - 1) * ROWS // INCREMENTS:
            _print(_format_row(measured))
    return first, models["exact"], measured


def _time(method: Callable[..., Result], *args: Any) -> tuple[float, Result]:
    """Return the time of a call in seconds, and its result."""
    begin = perf_counter()
    result = method(*args)
    return perf_counter() - begin, result


def _format_heading() -> str:
    width, names = 7 * len(METHODS), "".join(f"{name:>7}" for name in METHODS)
    titles = f"{'accuracy, %':>{7 + width}}  {f'milliseconds to learn {INCREMENT} more':>{width}}"
    return f"{titles}\n{'known':>7}{names}  {names}\n{'-' * (9 + 2 * width)}"


def _format_row(measured: Measurements) -> str:
    accuracy = "".join(f"{100 * measured.accuracy[name][-1]:7.2f}" for name in METHODS)
    time = "".join(f"{1000 * measured.seconds[name][-1]:7.2f}" for name in METHODS)
    return f"{measured.known[-1]:7,}{accuracy}  {time}"


def _summarize(measured: Measurements) -> str:
    is_equal = measured.accuracy["exact"] == measured.accuracy["refit"]
    last = {name: np.median(measured.seconds[name][-9:]) for name in METHODS}
    text = (
        f"The exact update gives the refitted model: after each of {INCREMENTS} increments their "
        f"accuracies are {'equal' if is_equal else 'NOT EQUAL'}. With {measured.known[-1]:,} "
        f"examples known, it learned {INCREMENT} more in 1/{last['refit'] / last['exact']:.0f} of "
        f"the time of refitting, OPFI in 1/{last['refit'] / last['OPFI']:.0f}. (1-NN only stores "
        "and indexes the examples again. One thread for each method.)"
    )
    return f"\n{textwrap.fill(text, 79)}\n"


def _choose_query(model: OPFClassifier, stream: Stream) -> Array:
    """Return a test example with a path of several steps and a close rival."""
    costs = np.sort(model.class_costs(stream.X_test), axis=1)
    ratio = costs[:, 1] / np.maximum(costs[:, 0], 1e-12)
    is_correct = model.predict(stream.X_test) == stream.y_test
    candidates = np.flatnonzero(is_correct & (ratio > 1.5) & (ratio < 3))
    steps = [len(model.explain(stream.X_test[i]).steps) for i in candidates[:40]]
    chosen = min(range(len(steps)), key=lambda k: abs(steps[k] - 6))
    example: Array = stream.X_test[candidates[chosen]]
    return example


def forget(model: OPFClassifier, stream: Stream) -> None:
    """Forget some examples, and compare the model with the one refitted without them."""
    ids = np.sort(np.random.default_rng(0).choice(len(stream.X), FORGOTTEN, replace=False))
    kept = np.setdiff1d(np.arange(len(stream.X)), ids)
    with threadpool_limits(1):
        seconds, _ = _time(model.forget, ids)
        seconds_refit, refitted = _time(OPFClassifier().fit, stream.X[kept], stream.y[kept])
    _print(f"  forget       {1000 * seconds:8.2f} ms")
    _print(f"  refit        {1000 * seconds_refit:8.2f} ms\n")
    is_equal = True
    for name in ARRAYS:
        mine, theirs = getattr(model.forest_, name), getattr(refitted.forest_, name)
        if name == "ids":  # a refitted model counts from 0
            theirs = kept[theirs]
        is_same = mine.tobytes() == theirs.tobytes()
        is_equal &= is_same
        digest = hashlib.sha256(mine.tobytes()).hexdigest()[:12]
        mark = "identical" if is_same else "DIFFERENT"
        _print(f"  {name:12} {mine.nbytes:8,} bytes  sha256 {digest}  {mark}")
    is_same = np.array_equal(model.predict(stream.X_test), refitted.predict(stream.X_test))
    _print(f"  {len(stream.y_test):,} predictions: {'identical' if is_same else 'DIFFERENT'}")
    is_equal &= is_same
    verdict = "equals" if is_equal else "DIFFERS from"
    _print(f"\nThe model after forgetting {verdict} the refitted one{', bit for bit' * is_equal}.")


def draw(
    before: OPFClassifier, after: OPFClassifier, stream: Stream, measured: Measurements, out: Path
) -> None:
    """Draw the forest at first and in the end, accuracy and time."""
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
        scaled = scale * np.array(values[name])
        ax.plot(known, scaled, color=COLORS[name], label=name, lw=width, ls=dash)
    ax.grid(alpha=0.3)


if __name__ == "__main__":
    run(Path("opforest-demo.png"))
