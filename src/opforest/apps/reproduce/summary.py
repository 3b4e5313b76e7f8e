"""Statistics of the results: cells of Table 1, comparisons of methods, growth of time."""

import csv
from collections.abc import Iterator
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import wilcoxon

from opforest.apps.reproduce import METHODS
from opforest.apps.reproduce.protocol import Array

#: The columns of Table 1.
COLUMNS = ("S0", "1st", "2nd", "3rd", "50 %", "100 %")

#: A mean is marked if it differs from the published one by more than this multiple of the larger
#: deviation.
TOLERANCE = 2.0

#: Slopes are fitted to the increments after which this fraction of all examples is known.
LARGE = 0.1


class Statistic(NamedTuple):
    """A mean and a standard deviation, in percent."""

    mean: float
    std: float

    def __str__(self) -> str:
        """Return the format of the paper."""
        return f"{self.mean:.1f} ± {self.std:.1f}"


class Cell(NamedTuple):
    """A cell of Table 1; only methods of the paper have published figures."""

    dataset: str
    method: str
    column: str
    increment: int
    ours: Statistic
    published: Statistic | None
    is_marked: bool


class Comparison(NamedTuple):
    """The advantage of OPFI over another method, in percentage points."""

    other: str
    last: Array  #: after the last increment, by data set
    overall: Array  #: on average over all increments, by data set
    p_last: float  #: of Wilcoxon's signed-rank test over the data sets
    p_overall: float


class Results:
    """The results that ``run`` returned, by data set and method."""

    def __init__(self, raw: dict[str, Any]) -> None:
        self.raw = raw
        self.datasets: dict[str, dict[str, Any]] = raw["datasets"]
        self.methods = [method for method in METHODS if method in raw["settings"]["methods"]]
        self._runs: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for run in raw["runs"]:
            self._runs.setdefault((run["dataset"], run["method"]), []).append(run)

    def values(self, dataset: str, method: str, what: str) -> Array:
        """Return a value of each run after each subset, as an array (repeats, subsets)."""
        return np.array([run[what] for run in self._runs[dataset, method]], np.float64)

    def accuracy(self, dataset: str, method: str) -> Array:
        """Return the accuracies in percent."""
        return 100 * self.values(dataset, method, "accuracy")

    def usual_updates(self, dataset: str) -> Array:
        """Return the numbers of the updates, without empty ones and a last one with remainders."""
        size = np.diff(self.values(dataset, self.methods[0], "known")[0])
        is_usual = size > 0
        is_usual[-1] &= len(size) == 1 or size[-1] <= size[-2]
        return 1 + np.flatnonzero(is_usual)

    def update_times(self, dataset: str, method: str) -> tuple[Array, Array]:
        """Return the examples known after each usual update, and the median time it took."""
        usual = self.usual_updates(dataset)
        known = self.values(dataset, method, "known")[0]
        return known[usual], np.median(self.values(dataset, method, "seconds")[:, usual], axis=0)

    def prototype_percentage(self, dataset: str, method: str) -> Array:
        """Return the percentages of examples that are prototypes."""
        counts = self.values(dataset, method, "prototypes")
        return np.asarray(100 * counts / self.values(dataset, method, "known"))


def summarize(values: Array) -> Statistic:
    """Return the mean and the standard deviation, which is 0 for a single value."""
    return Statistic(float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else 0.0)


def make_cells(results: Results) -> Iterator[Cell]:
    """Yield the cells of Table 1, row by row."""
    published = read_published()
    for dataset, about in results.datasets.items():
        for method in results.methods:
            accuracy, n = results.accuracy(dataset, method), about["n_subsets"]
            for column, increment in zip(COLUMNS, (0, 1, 2, 3, n // 2, n - 1), strict=True):
                ours = summarize(accuracy[:, increment])
                theirs = published.get((dataset, method, column))
                is_same_data = about["origin"] != "generated"
                is_marked = theirs is not None and is_same_data and _is_outside(ours, theirs)
                yield Cell(dataset, method, column, increment, ours, theirs, is_marked)


def read_published() -> dict[tuple[str, str, str], Statistic]:
    """Return the published Table 1, by data set, method and column."""
    rows = csv.DictReader(read_resource("table1.csv").splitlines())
    return {(row["dataset"], row["method"], row["column"]):
            Statistic(float(row["mean"]), float(row["std"])) for row in rows}  # fmt: skip


def read_resource(name: str) -> str:
    """Return the text of a file beside this module."""
    return files("opforest.apps.reproduce").joinpath(name).read_text("utf-8")


def compare(results: Results, other: str) -> Comparison:
    """Compare OPFI with another method over all data sets."""
    gains = [results.accuracy(name, "opfi") - results.accuracy(name, other)
             for name in results.datasets]  # fmt: skip
    last = np.array([gain[:, -1].mean() for gain in gains])
    overall = np.array([gain[:, 1:].mean() for gain in gains])
    return Comparison(other, last, overall, _wilcoxon(last), _wilcoxon(overall))


def fit_power(known: Array, seconds: Array) -> tuple[float, float]:
    """Return k and c of time = c · nᵏ, by least squares on logarithms; NaN for too few points.

    Examples
    --------
    >>> import numpy as np
    >>> from opforest.apps.reproduce.summary import fit_power
    >>> n = np.arange(10, 100)
    >>> np.round(fit_power(n, 3.0 * n**2), 6).tolist()
    [2.0, 3.0]
    """
    is_fitted = (known >= LARGE * known.max(initial=0)) & (seconds > 0)
    if is_fitted.sum() < 3:
        return np.nan, np.nan
    exponent, height = np.polyfit(np.log(known[is_fitted]), np.log(seconds[is_fitted]), 1)
    return float(exponent), float(np.exp(height))


def format_exponent(exponent: float) -> str:
    """Return an exponent with one digit and no minus before 0, or a question mark for NaN."""
    return "?" if np.isnan(exponent) else f"{round(exponent, 1) + 0:.1f}"


def _is_outside(ours: Statistic, theirs: Statistic) -> bool:
    # Both are compared as printed, because the published ones have one digit.
    distance = abs(round(ours.mean, 1) - theirs.mean)
    return distance > TOLERANCE * max(round(ours.std, 1), theirs.std) + 1e-9


def _wilcoxon(gain: Array) -> float:
    values = np.round(gain, 12)
    return float(wilcoxon(values).pvalue) if values.any() else 1.0
