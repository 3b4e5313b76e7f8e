"""Elements of plots: lines, dots, stars, the legend. They need matplotlib, which is an extra."""

from typing import TYPE_CHECKING, Any

from opforest._utils.extras import install_command
from opforest.core.metrics.types import Array
from opforest.display.palette import PALETTE
from opforest.display.plane import escape_math
from opforest.forest.seeded import SeededForest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = [marker for marker in "osv^DP" for _ in PALETTE]
INK = "#222222"
DASHED = (0, (3, 2))

#: The most classes in a legend.
MAX_NAMED_CLASSES = 10


def require_matplotlib() -> None:
    """Raise an ``ImportError`` with installation advice if matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(f"Plots need matplotlib: {install_command('plot')}") from error


def new_axes(ax: "Axes | None") -> "Axes":
    """Return these axes, or those of a new figure."""
    require_matplotlib()
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(layout="constrained")
    return ax


def dot_size(n: int, least: float = 4.0) -> float:
    """Return the size of dots for n examples."""
    return min(24.0, max(least, 9000 / max(1, n)))


def draw_lines(ax: "Axes", ends: Array, width: float, autolim: bool, **style: Any) -> Any:
    """Draw straight lines, given as an array of shape (n, 2, 2), and return the collection."""
    from matplotlib.collections import LineCollection

    lines = LineCollection(list(ends), linewidths=width, **style)
    ax.add_collection(lines, autolim=autolim)
    return lines


def draw_dots(ax: "Axes", points: Array, size: float, colors: Any, marker: str = "o") -> Any:
    """Draw examples as dots, and return the collection."""
    x, y = points.T
    return ax.scatter(x, y, size, colors, marker=marker, linewidths=0, zorder=2)


def draw_stars(ax: "Axes", points: Array, size: float, colors: Array, width: float) -> Any:
    """Draw prototypes or roots as stars, and return the collection."""
    x, y = points.T
    return ax.scatter(x, y, size, colors, marker="*", edgecolors=INK, linewidths=width, zorder=3)


def draw_legend(display: Any, color: Array) -> Any:
    """Draw the legend of a forest, right of its axes, and return it."""
    from matplotlib.lines import Line2D

    keys = [
        Line2D([], [], ls="", marker=MARKERS[k], color=color[k], label=escape_math(name))
        for k, name in enumerate(display.classes[:MAX_NAMED_CLASSES])
    ]
    if (more := len(display.classes) - MAX_NAMED_CLASSES) > 0:
        keys.append(Line2D([], [], ls="", label=f"… {more} more"))
    has_seeds = isinstance(display.forest, SeededForest)
    star = "labeled" if has_seeds else "prototype"
    keys.append(Line2D([], [], ls="", marker="*", ms=11, mec=INK, mfc="w", label=star))
    if has_seeds:
        keys.append(Line2D([], [], ls="", marker="o", ms=4, color=INK, label="inferred"))
    if display.cuts_.get_paths():
        keys.append(Line2D([], [], ls=DASHED, lw=0.9, color=INK, label="cut edge"))
    return display.ax_.legend(handles=keys, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
