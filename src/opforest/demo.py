"""The whole library in a minute: ``python -m opforest.demo`` learns, measures, explains, draws."""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

import numpy.typing as npt
from sklearn.datasets import load_digits, make_moons
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

import opforest
from opforest import OPFClassifier
from opforest.plotting import ForestDisplay, require_matplotlib
from opforest.scores import opf_accuracy

Array = npt.NDArray[Any]
Result = TypeVar("Result")

HEADINGS = (
    ("data set", "n train", "d", "classes", "prototypes", "fit", "predict", "accuracy", "opf_",
     "1-NN", "1-NN"),
    ("", "", "", "", "", "ms", "ms", "%", "accuracy %", "predict ms", "accuracy %"),
)  # fmt: skip


@dataclass
class DataSet:
    """Examples to learn from and examples to test on."""

    name: str
    X: Array
    y: Array
    X_test: Array
    y_test: Array


def main(argv: Sequence[str] | None = None) -> None:
    """Run the demonstration; ``argv`` are the arguments of the command line."""
    out = _parse(argv)
    require_matplotlib()
    _say(f"opforest {opforest.__version__}: learn one half of a data set, predict the other half")
    data_sets = [
        _halve("moons", *make_moons(2000, noise=0.2, random_state=0)),
        _halve("digits", *load_digits(return_X_y=True)),
    ]
    _say("[1/5] getting kernels ready; the first run compiles them, which takes some seconds")
    for data in data_sets:
        OPFClassifier().fit(data.X, data.y).predict(data.X_test)
    classifiers, rows = [], []
    for stage, data in enumerate(data_sets, 2):
        _say(
            f"[{stage}/5] {data.name}: {len(data.X)} examples to learn, {len(data.y_test)} to test"
        )
        classifier, row = _measure(data)
        classifiers.append(classifier)
        rows.append(row)
    _say(f"\n{_table(rows)}\n(best of 5 runs, on one thread; 1-NN is scikit-learn's)\n")
    _say(f"[4/5] why the first test example of {data.name}, a {data.y_test[0]}, got its label:\n")
    _say(f"{classifier.explain(data.X_test[0])}\n")
    _say("[5/5] drawing both forests")
    _draw(data_sets, classifiers, out)
    _say(str(out.resolve()))


def _parse(argv: Sequence[str] | None) -> Path:
    parser = argparse.ArgumentParser(prog="python -m opforest.demo", description=__doc__)
    help = "where to write the picture, a PNG file (default: %(default)s)"
    parser.add_argument("--out", type=Path, default="opforest-demo.png", metavar="PATH", help=help)
    out: Path = parser.parse_args(argv).out
    if out.is_dir() or not out.parent.is_dir():
        parser.error(f"--out must be a file in a folder that exists, got {str(out)!r}")
    return out


def _say(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"  # some terminals have no arrows
    print(text.encode(encoding, "replace").decode(encoding), flush=True)


def _halve(name: str, X: Array, y: Array) -> DataSet:
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    return DataSet(name, X, y, X_test, y_test)


def _measure(data: DataSet) -> tuple[OPFClassifier, tuple[str, ...]]:
    """Return the fitted classifier and its row of the table."""
    with threadpool_limits(1):
        fit, classifier = _time(lambda: OPFClassifier().fit(data.X, data.y))
        predict, predicted = _time(lambda: classifier.predict(data.X_test))
        neighbour = KNeighborsClassifier(1).fit(data.X, data.y)
        predict_neighbour, nearest = _time(lambda: neighbour.predict(data.X_test))
    n, d = data.X.shape
    counts = n, d, len(classifier.classes_), len(classifier.forest_.prototypes)
    scores = accuracy_score(data.y_test, predicted), opf_accuracy(data.y_test, predicted)
    return classifier, (
        data.name,
        *(f"{count}" for count in counts),
        *(f"{1000 * seconds:.1f}" for seconds in (fit, predict)),
        *(f"{100 * score:.2f}" for score in scores),
        f"{1000 * predict_neighbour:.1f}",
        f"{100 * accuracy_score(data.y_test, nearest):.2f}",
    )


def _time(run: Callable[[], Result]) -> tuple[float, Result]:
    """Return the seconds that the fastest of five runs took, and what the last one returned."""
    seconds = []
    for _ in range(5):
        begin = perf_counter()
        result = run()
        seconds.append(perf_counter() - begin)
    return min(seconds), result


def _table(rows: Sequence[Sequence[str]]) -> str:
    table = [*HEADINGS, *rows]
    first, *others = (max(map(len, column)) for column in zip(*table, strict=True))
    lines = ["  ".join([row[0].ljust(first), *map(str.rjust, row[1:], others)]) for row in table]
    lines.insert(len(HEADINGS), "-" * len(lines[0]))
    return "\n".join(lines)


def _draw(data_sets: list[DataSet], classifiers: list[OPFClassifier], out: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(14, 5.6), dpi=120, layout="constrained")
    axes = figure.subplots(1, 2)
    for ax, data, classifier in zip(axes, data_sets, classifiers, strict=True):
        ForestDisplay.from_estimator(classifier, data.X, ax=ax)
        ax.set_title(f"{data.name}\n{ax.get_title()}", fontsize="medium")
    figure.savefig(out, format="png")


if __name__ == "__main__":
    main()
