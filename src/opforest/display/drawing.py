"""Elements of plots: lines, dots, stars, the legend. They need matplotlib, which is an extra."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from opforest._utils.extras import install_command
from opforest.core.metrics.types import Array
from opforest.display.palette import PALETTE
from opforest.display.plane import escape_math
from opforest.forest.seeded import SeededForest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Arguments of ``Line2D`` for an entry of a legend.
Sign = dict[str, Any]

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


def draw_lines(ax: "Axes", points: Array, pairs: Array, width: float, **style: Any) -> Any:
    """Draw lines between pairs of points, given by their indices, and return the collection."""
    from matplotlib.collections import LineCollection

    lines = LineCollection(list(points[pairs]), linewidths=width, **style)
    ax.add_collection(lines)
    return lines


def draw_arcs(
    ax: "Axes", points: Array, predecessor: Array, color: Array, width: float, alpha: float
) -> Any:
    """Draw the arcs of paths, darker than the examples they lead to; return the collection."""
    conquered = np.flatnonzero(predecessor >= 0)
    arcs, dark = np.column_stack((predecessor[conquered], conquered)), 0.85 * color[conquered]
    return draw_lines(ax, points, arcs, width, colors=dark, alpha=alpha)


def draw_cuts(ax: "Axes", points: Array, cut: Array, width: float) -> Any:
    """Draw cut edges, and return the collection."""
    return draw_lines(ax, points, cut, width, colors=INK, linestyles=[DASHED])


def draw_dots(ax: "Axes", points: Array, size: float, colors: Any, marker: str = "o") -> Any:
    """Draw examples as dots, and return the collection."""
    x, y = points.T
    return ax.scatter(x, y, size, colors, marker=marker, linewidths=0, zorder=2)


def draw_stars(ax: "Axes", points: Array, size: float, colors: Array, width: float) -> Any:
    """Draw prototypes or roots as stars, and return the collection."""
    x, y = points.T
    return ax.scatter(x, y, size, colors, marker="*", edgecolors=INK, linewidths=width, zorder=3)


def draw_legend(
    ax: "Axes", names: Sequence[object], color: Array, markers: Sequence[str], signs: list[Sign]
) -> Any:  # fmt: skip
    """Draw a legend of the first classes and of other signs, right of the axes; return it."""
    from matplotlib.lines import Line2D

    first = zip(names[:MAX_NAMED_CLASSES], color, markers, strict=False)
    named = [{"marker": mark, "color": shade, "label": escape_math(k)} for k, shade, mark in first]
    keys = [Line2D([], [], **{"ls": "", **sign}) for sign in [*named, *signs]]
    return ax.legend(handles=keys, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))


def draw_forest_legend(display: Any, color: Array) -> Any:
    """Draw the legend of a forest and return it."""
    has_seeds = isinstance(display.forest, SeededForest)
    more = len(display.classes) - MAX_NAMED_CLASSES
    signs: list[Sign] = [{"label": f"… {more} more"}] if more > 0 else []
    star = "labeled" if has_seeds else "prototype"
    signs.append({"marker": "*", "ms": 11, "mec": INK, "mfc": "w", "label": star})
    if has_seeds:
        signs.append({"marker": "o", "ms": 4, "color": INK, "label": "inferred"})
    if display.cuts_.get_paths():
        signs.append({"ls": DASHED, "lw": 0.9, "color": INK, "label": "cut edge"})
    return draw_legend(display.ax_, display.classes, color, MARKERS, signs)
