"""Figures of the report; they need the extra ``plot``."""

import io
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.isotonic import isotonic_regression

from opforest.apps.reproduce.cases import draw_cases
from opforest.apps.reproduce.protocol import Array
from opforest.apps.reproduce.summary import LARGE, Results, fit_power, format_exponent
from opforest.apps.reproduce.tables import NAMES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Colors for any color vision (Okabe & Ito), and line styles for prints without colors.
STYLES: dict[str, dict[str, Any]] = {
    "opfi": {"color": "#0072B2", "linestyle": "-"},
    "original": {"color": "#222222", "linestyle": "-"},
    "dift": {"color": "#D55E00", "linestyle": (0, (4, 1.5))},
    "exact": {"color": "#009E73", "linestyle": (0, (1, 1))},
    "1nn": {"color": "#AA4499", "linestyle": (0, (6, 1.5, 1, 1.5))},
}

#: Data sets of the paper's Figure 2, and those preferred for the figure of time.
SHOWN = {"Lithu": "Lithuanian", "C-vs-G": "Circle vs Gaussian", "NTL": "NTL", "Skin": "Skin"}
LARGE_SETS = ("Skin", "SpamBase", "NTL", "Base1")

SHORT = {**NAMES, "opfi": "OPFI"}
WIDTH = 3.5  #: inches: a column of a page
SMALL = 6.5  #: points: the smallest letters
LOOK: dict[Any, Any] = {
    "font.size": 7, "axes.titlesize": 7, "axes.labelsize": 7,
    "xtick.labelsize": SMALL, "ytick.labelsize": SMALL,
    "xtick.major.size": 2, "ytick.major.size": 2, "xtick.minor.size": 1, "ytick.minor.size": 1,
    "xtick.major.pad": 2, "ytick.major.pad": 2, "axes.labelpad": 2,
    "axes.linewidth": 0.6, "xtick.major.width": 0.6, "ytick.major.width": 0.6,
    "axes.spines.top": False, "axes.spines.right": False, "lines.linewidth": 1.0,
    "svg.hashsalt": "opforest",
}  # fmt: skip


def draw_all(results: Results) -> dict[str, bytes]:
    """Return the figures as files, PNG and SVG, by name."""
    import matplotlib as mpl

    with mpl.rc_context(LOOK):
        drawn = {"cases": draw_cases(WIDTH), "curves": draw_curves(results),
                 "time": draw_time(results), "prototypes": draw_prototypes(results)}  # fmt: skip
        return {f"{name}.{kind}": _render(figure, kind)
                for name, figure in drawn.items() if figure is not None
                for kind in ("png", "svg")}  # fmt: skip


def draw_curves(results: Results) -> "Figure":
    """Draw the paper's Figure 2: accuracy and time of the update after each increment."""
    datasets = _choose(results, SHOWN)
    figure, axes = _panels(len(datasets), 2, 1.35, "increment")
    for (left, right), dataset in zip(axes, datasets, strict=True):
        left.set_title(SHOWN.get(dataset, dataset), loc="left")
        usual = results.usual_updates(dataset)
        for method in results.methods:
            accuracy = results.accuracy(dataset, method)
            _draw_band(left, np.arange(accuracy.shape[1]), accuracy, method)
            seconds = results.values(dataset, method, "seconds")[:, usual]
            _draw_band(right, usual, 1000 * seconds, method)
        left.set(ylabel="accuracy on T, %")
        right.set(ylabel="update, ms")
        _use_log_scale(right)
        for ax in (left, right):
            _label_lines(ax, gap=0.14)
    return figure


def draw_time(results: Results) -> "Figure":
    """Draw the time of an update against the number of examples known, with fitted slopes."""
    datasets = _choose(results, LARGE_SETS)[:3]
    figure, axes = _panels(len(datasets), 1, 1.55, "examples known, n")
    for ax, dataset in zip(axes[:, 0], datasets, strict=True):
        slopes = {}
        for method in results.methods:
            known, seconds = results.update_times(dataset, method)
            ax.plot(known, 1000 * seconds, label=method, **STYLES[method])
            exponent, factor = fit_power(known, seconds)
            slopes[method] = f"{SHORT[method]}  $n^{{{format_exponent(exponent)}}}$"
            ends = known.max(initial=1) * np.array([LARGE, 1])
            fitted = 1000 * factor * ends**exponent
            ax.plot(ends, fitted, color=STYLES[method]["color"], linewidth=0.5)
        ax.set_title(dataset, loc="left")
        ax.set(xscale="log", ylabel="time of the update, ms")
        _use_log_scale(ax)
        _label_lines(ax, 0.11, slopes)
    return figure


def draw_prototypes(results: Results) -> "Figure | None":
    """Draw the percentage of prototypes after each increment."""
    datasets = _choose(results, SHOWN)
    methods = [method for method in results.methods if method != "1nn"]
    if not methods:
        return None
    figure, axes = _panels(-(-len(datasets) // 2), 2, 1.35, "increment")
    for ax in axes.flat[len(datasets) :]:
        ax.remove()
    for ax, dataset in zip(axes.flat, datasets, strict=False):
        for method in methods:
            percentage = results.prototype_percentage(dataset, method)
            _draw_band(ax, np.arange(percentage.shape[1]), percentage, method)
        ax.set_title(SHOWN.get(dataset, dataset), loc="left")
        ax.set_ylim(0, 102)
        _label_lines(ax, gap=0.14)
    for ax in axes[:, 0]:
        ax.set_ylabel("prototypes, %")
    return figure


def _choose(results: Results, preferred: Iterable[str]) -> list[str]:
    """Return the preferred data sets with results, or else up to four others."""
    found = [name for name in preferred if name in results.datasets]
    return found or list(results.datasets)[:4]


def _panels(rows: int, columns: int, height: float, x_label: str) -> tuple["Figure", Array]:
    """Return a figure of panels of this height, and its axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for ax in axes[-1]:
        ax.set_xlabel(x_label)
    return figure, axes


def _draw_band(ax: "Axes", x: Array, values: Array, method: str) -> None:
    """Draw a mean, with a standard deviation to both sides."""
    mean, style = values.mean(axis=0), STYLES[method]
    ax.plot(x, mean, label=method, **style)
    if len(values) > 1 and len(x):
        deviation = values.std(axis=0, ddof=1)
        low = np.maximum(mean - deviation, values.min(axis=0))
        high = np.minimum(mean + deviation, values.max(axis=0))
        ax.fill_between(x, low, high, color=style["color"], alpha=0.12, linewidth=0)


def _use_log_scale(ax: "Axes") -> None:
    """Make the y axis logarithmic, with plain numbers at enough ticks."""
    from matplotlib.ticker import LogLocator, NullFormatter

    ax.set_yscale("log")
    low, high = ax.get_ylim()
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5) if high < 30 * low else (1,)))
    ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_formatter(NullFormatter())


def _label_lines(ax: "Axes", gap: float, texts: dict[str, str] = SHORT) -> None:
    """Write names to the right of lines, at least a gap apart, each with a leader line."""
    drawn = {str(line.get_label()): np.asarray(line.get_xydata()) for line in ax.lines}
    last = {
        method: points[-1] for method, points in drawn.items() if method in texts and len(points)
    }
    if not last:
        return
    ax.autoscale_view()
    to_axes = ax.transScale + ax.transLimits
    ends = to_axes.transform(np.array(list(last.values())))[:, 1]
    for method, end, place in zip(last, ends, _space_out(ends, gap), strict=True):
        style = {"color": STYLES[method]["color"], "transform": ax.transAxes, "clip_on": False}
        ax.plot((1.02, 1.1), (end, place), linewidth=0.6, scalex=False, scaley=False, **style)
        ax.text(1.12, place, texts[method], fontsize=SMALL, va="center", **style)


def _space_out(wanted: Array, gap: float) -> Array:
    """Return the places in [0, 1] nearest to those wanted, in their order, a gap apart."""
    order = np.argsort(wanted, kind="stable")
    steps = gap * np.arange(len(wanted))
    places = np.empty_like(wanted)
    # After subtracting the gaps, places need only be ascending, as in isotonic regression.
    top = max(0.0, 1 - steps[-1])
    places[order] = isotonic_regression(wanted[order] - steps, y_min=0, y_max=top) + steps
    return places


def _render(figure: "Figure", kind: str) -> bytes:
    stream = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else {"Software": None}
    figure.savefig(stream, format=kind, dpi=300, metadata=metadata)
    return stream.getvalue()
