"""What the results say: the cells of Table 1, comparisons of methods, growth of time."""

import csv
from collections.abc import Iterator
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import wilcoxon

from opforest.apps.reproduce.options import METHODS
from opforest.apps.reproduce.protocol import Array

#: The columns of Table 1.
COLUMNS = ("S0", "1st", "2nd", "3rd", "50 %", "100 %")

#: A mean is marked if it differs from the published one by more than this many times the larger
#: deviation.
TOLERANCE = 2.0

#: Slopes are fitted to the increments with at least this share of all examples known before.
LARGE = 0.1


class Figure(NamedTuple):
    """A mean and a standard deviation, in percent."""

    mean: float
    std: float

    def __str__(self) -> str:
        """Return it as the paper prints it."""
        return f"{self.mean:.1f} ± {self.std:.1f}"


class Cell(NamedTuple):
    """A cell of Table 1: ours and the published one, which is None for methods not in the paper."""

    dataset: str
    method: str
    column: str
    increment: int
    ours: Figure
    published: Figure | None
    is_marked: bool


class Comparison(NamedTuple):
    """The advantage of OPFI over another method, in percentage points."""

    other: str
    last: dict[str, float]  #: by data set: after the last increment
    overall: dict[str, float]  #: by data set: on average over all increments
    p_last: float  #: of Wilcoxon's signed-rank test over the data sets
    p_overall: float


class Results:
    """The results of an experiment, by data set and method.

    Parameters
    ----------
    raw : dict
        What ``run`` returns.
    """

    def __init__(self, raw: dict[str, Any]) -> None:
        self.raw = raw
        self.datasets: dict[str, dict[str, Any]] = raw["datasets"]
        self.methods = [method for method in METHODS if method in raw["settings"]["methods"]]
        self._runs: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for run in raw["runs"]:
            self._runs.setdefault((run["dataset"], run["method"]), []).append(run)

    def values(self, dataset: str, method: str, what: str) -> Array:
        """Return one value of each run after each subset, as an array (repeats, subsets)."""
        return np.array([run[what] for run in self._runs[dataset, method]], np.float64)

    def accuracy(self, dataset: str, method: str) -> Array:
        """Return the accuracies in percent."""
        return 100 * self.values(dataset, method, "accuracy")

    def usual_updates(self, dataset: str) -> Array:
        """Return the numbers of the updates that learned a subset of the usual size.

        Not the empty ones, nor the last one if it got what remained.
        """
        known = self.values(dataset, self.methods[0], "known")[0]
        size = np.diff(known)
        is_usual = size > 0
        is_usual[-1] &= len(size) == 1 or size[-1] <= size[-2]
        return 1 + np.flatnonzero(is_usual)

    def update_times(self, dataset: str, method: str) -> tuple[Array, Array]:
        """Return the examples known after each usual update, and the median time it took."""
        usual = self.usual_updates(dataset)
        known = self.values(dataset, method, "known")[0]
        return known[usual], np.median(self.values(dataset, method, "seconds")[:, usual], axis=0)

    def prototype_share(self, dataset: str, method: str) -> Array:
        """Return the shares of examples that are prototypes, in percent."""
        counts = self.values(dataset, method, "prototypes")
        return np.asarray(100 * counts / self.values(dataset, method, "known"))


def table_increments(n_subsets: int) -> dict[str, int]:
    """Return the increment that each column of Table 1 shows.

    Examples
    --------
    >>> from opforest.apps.reproduce.summary import table_increments
    >>> table_increments(100)
    {'S0': 0, '1st': 1, '2nd': 2, '3rd': 3, '50 %': 50, '100 %': 99}
    """
    return dict(zip(COLUMNS, (0, 1, 2, 3, n_subsets // 2, n_subsets - 1), strict=True))


def summarize(values: Array) -> Figure:
    """Return mean and standard deviation; that of a single value is 0."""
    return Figure(float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else 0.0)


def make_cells(results: Results) -> Iterator[Cell]:
    """Yield the cells of Table 1, row by row."""
    published = read_published()
    for dataset, about in results.datasets.items():
        for method in results.methods:
            accuracy = results.accuracy(dataset, method)
            for column, increment in table_increments(about["n_subsets"]).items():
                ours = summarize(accuracy[:, increment])
                theirs = published.get((dataset, method, column))
                same_data = about["origin"] != "generated"
                marked = theirs is not None and same_data and _is_outside(ours, theirs)
                yield Cell(dataset, method, column, increment, ours, theirs, marked)


def read_published() -> dict[tuple[str, str, str], Figure]:
    """Return the published Table 1, by data set, method and column."""
    text = files("opforest.apps.reproduce").joinpath("table1.csv").read_text("utf-8")
    return {
        (row["dataset"], row["method"], row["column"]): Figure(
            float(row["mean"]), float(row["std"])
        )
        for row in csv.DictReader(text.splitlines())
    }


def compare(results: Results, other: str) -> Comparison:
    """Compare OPFI with another method over all data sets."""
    last, overall = {}, {}
    for dataset in results.datasets:
        gain = results.accuracy(dataset, "opfi") - results.accuracy(dataset, other)
        last[dataset] = float(gain[:, -1].mean())
        overall[dataset] = float(gain[:, 1:].mean())
    return Comparison(other, last, overall, _wilcoxon(last), _wilcoxon(overall))


def fit_power(known: Array, seconds: Array) -> tuple[float, float]:
    """Return k and c of time = c · nᵏ, by least squares on logarithms; NaN for too few points.

    Examples
    --------
    >>> import numpy as np
    >>> from opforest.apps.reproduce.summary import fit_power
    >>> n = np.arange(10, 100)
    >>> exponent, factor = fit_power(n, 3.0 * n**2)
    >>> round(exponent, 6), round(factor, 6)
    (2.0, 3.0)
    """
    usable = (known >= LARGE * known.max(initial=0)) & (seconds > 0)
    if usable.sum() < 3:
        return np.nan, np.nan
    exponent, height = np.polyfit(np.log(known[usable]), np.log(seconds[usable]), 1)
    return float(exponent), float(np.exp(height))


def show_exponent(exponent: float) -> str:
    """Return an exponent with one digit, no minus before 0, and a question mark for none."""
    return "?" if np.isnan(exponent) else f"{round(exponent, 1) + 0:.1f}"


def _is_outside(ours: Figure, theirs: Figure) -> bool:
    # Both are compared as printed: the published ones have one digit.
    distance = abs(round(ours.mean, 1) - theirs.mean)
    return distance > TOLERANCE * max(round(ours.std, 1), theirs.std) + 1e-9


def _wilcoxon(gain: dict[str, float]) -> float:
    values = np.round(list(gain.values()), 12)
    if not values.any():
        return 1.0
    return float(wilcoxon(values).pvalue)
