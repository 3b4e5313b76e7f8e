"""Tables and pictures of labels that are probably wrong."""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array

from opforest._utils.extras import install_command
from opforest._utils.text import count
from opforest.core.metrics.types import Array
from opforest.display import drawing, html
from opforest.display.palette import colors_of, hex_of
from opforest.display.plane import escape_math
from opforest.estimators.label_issues import LabelIssues

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Rows of a table in a notebook, and voters in one of its cells.
SHOWN, SHOWN_VOTERS = 20, 5

#: Longer labels are cut in a picture.
MAX_LABEL = 24

WIDTH, BAR, PLANE_HEIGHT = 7.0, 0.42, 5.2


def make_frame(columns: dict[str, list[Any]]) -> Any:
    """Return a data frame of pandas, or of polars if pandas is not installed."""
    try:
        import pandas as pd
    except ImportError:
        pass
    else:
        frame = pd.DataFrame(columns)
        return frame.astype({"agreeing": "Int64"}) if "agreeing" in columns else frame
    try:
        import polars as pl
    except ImportError as error:
        raise ImportError(
            f"Data frames need pandas or polars: pip install pandas, or {install_command('cli')}"
        ) from error
    return pl.DataFrame(columns, strict=False)


def describe_number(issues: LabelIssues) -> str:
    """Return how many labels are probably wrong."""
    verb = "is" if len(issues) == 1 else "are"
    return f"{len(issues):,} of {count(issues.n_judged, 'label')} {verb} probably wrong"


def issues_html(issues: LabelIssues) -> str:
    """Return label issues as HTML: a table of the most suspicious ones."""
    title = f"<b>{describe_number(issues)}</b>, by the votes of {issues.n_voters} others"
    if not len(issues):
        return html.frame(title)

    def name(label: Any) -> str:
        return html.chip(repr(label), hex_of(issues.known.classes.index(label)))

    rows = []
    for one in issues[:SHOWN]:
        voters = ", ".join(voter.name for voter in one.voters[:SHOWN_VOTERS])
        more = len(one.voters) - SHOWN_VOTERS
        rows.append([
            html.text(one.name), name(one.label), name(one.suggested),
            html.text(f"{voters}, … {more} more" if more > 0 else voters).replace("example ", ""),
            f"{one.probability:.3f}", f"{one.given_probability:.3f}",
        ])  # fmt: skip
    if len(issues) > SHOWN:
        rows.append([f"… {len(issues) - SHOWN} more", "", "", "", "", ""])
    head = ("example", "given", "suggested", "voters", "probability", "of the given")
    return html.frame(title, html.table(head, rows, left=4))


def plot_issues(issues: LabelIssues, X: npt.ArrayLike | None, n: int) -> Any:
    """Return a figure of the most suspicious examples: on a plane, or their probabilities."""
    drawing.require_matplotlib()
    from matplotlib.figure import Figure

    points = issues.known.points if X is None else _check_points(X, len(issues.known.ids))
    shown = issues[:n]
    is_plane = points is not None and points.shape[1] == 2
    height = PLANE_HEIGHT if is_plane else 1.5 + BAR * max(1, len(shown))
    figure = Figure(figsize=(WIDTH, height), dpi=120, layout="constrained")
    ax = figure.subplots()
    if is_plane:
        _draw_plane(ax, shown, np.asarray(points, np.float64))
    else:
        _draw_bars(ax, shown)
        figure.legend(frameon=False, ncols=2, loc="outside lower center")
    ax.set_title(describe_number(issues), fontsize="medium")
    return figure


def _check_points(X: npt.ArrayLike, n: int) -> Array:
    points: Array = check_array(X, dtype=None, input_name="X")
    if len(points) != n:
        raise ValueError(
            f"X must hold the {n} examples that the classifier knows, in the order of "
            f"forest_.ids, got shape {points.shape}."
        )
    return points


def _draw_plane(ax: "Axes", issues: LabelIssues, points: Array) -> None:
    """Draw all examples, pale, and those that are probably wrong with a ring of the suggestion."""
    known = issues.known
    color, named = colors_of(len(known.classes)), np.flatnonzero(known.codes >= 0)
    size = drawing.dot_size(len(points))
    rest = np.flatnonzero(known.codes < 0)
    drawing.draw_dots(ax, points[rest], size, np.full((len(rest), 3), 0.85))
    drawing.draw_dots(ax, points[named], size, 0.5 * color[known.codes[named]] + 0.5)
    place = np.searchsorted(known.ids, issues.ids)
    ring: Any = color[[known.classes.index(one.suggested) for one in issues]]
    x, y = points[place].T
    inside = color[known.codes[place]]
    ax.scatter(x, y, 70, inside, edgecolors=ring, linewidths=2.5, zorder=3)
    for one, i in zip(issues, place, strict=True):
        ax.annotate(escape_math(one.name), points[i], (6, 5), textcoords="offset points",
                    fontsize="small", color=drawing.INK, zorder=4)  # fmt: skip
    ax.set(xlabel="feature 0", ylabel="feature 1")
    names, dots = list(map(_shorten, known.classes)), ["o"] * len(known.classes)
    sign = {"marker": "o", "ms": 8, "mfc": "w", "mec": drawing.INK, "mew": 2}
    drawing.draw_legend(ax, names, color, dots, [{**sign, "label": "ring: suggested"}])


def _draw_bars(ax: "Axes", issues: LabelIssues) -> None:
    """Draw the probabilities of the given label, to the left, and of the suggested one."""
    place = -np.arange(len(issues))
    columns = (
        ([-one.given_probability for one in issues], "given label", "#bd1f01"),
        ([one.probability for one in issues], "suggested label", "#3f90da"),
    )
    for value, label, color in columns:
        ax.barh(place, value, 0.62, color=color, label=label)
    ax.axvline(0, color=drawing.INK, linewidth=0.8)
    names = [f"{one.name}: {_shorten(one.label)} → {_shorten(one.suggested)}" for one in issues]
    ax.set_yticks(place, list(map(escape_math, names)))
    ticks = np.arange(-4, 5) / 4
    ax.set_xticks(ticks, [f"{abs(tick):g}" for tick in ticks])
    ax.set(xlim=(-1, 1), xlabel="probability")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)


def _shorten(label: object) -> str:
    text = str(label)
    return text if len(text) <= MAX_LABEL else f"{text[: MAX_LABEL - 1]}…"
