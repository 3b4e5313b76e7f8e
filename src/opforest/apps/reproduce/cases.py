"""The paper's Figure 1: three cases of an insertion, computed by OPFI itself."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from opforest import OPFClassifier
from opforest.apps.reproduce.protocol import Array
from opforest.forest.approximate import ApproximateForest, as_approximate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The points of the initial forest: circles on the left, triangles on the right.
CIRCLES = ((0.0, 1.7), (0.5, 0.8), (1.15, 1.45), (1.0, 2.4), (0.35, 2.9), (1.7, 0.55))
TRIANGLES = ((2.35, 1.25), (3.05, 0.75), (3.2, 1.75), (3.95, 1.3), (3.75, 2.5), (4.35, 0.45))
COLORS, MARKERS = ("#E69F00", "#0072B2"), ("o", "^")
INK = "#222222"
KEY = (
    "large and outlined: prototypes   arrows: who conquered whom\n"
    "dashed: pairs of prototypes   gray: the new example, its conqueror"
)


class Case(NamedTuple):
    """A case of an insertion."""

    title: str
    new: tuple[float, float]  #: a triangle
    report: str  #: the field of an ``UpdateReport`` that counts it


CASES = (
    Case("(a) conquered by its own class, not by a prototype", (4.0, 1.95), "case_1"),
    Case("(b) by a prototype of its own class, and takes over", (1.85, 1.3), "takeovers"),
    Case("(c) by another class: its own tree, the other splits", (0.1, 2.3), "case_3"),
)


def insert(case: Case) -> tuple[Array, ApproximateForest, ApproximateForest]:
    """Return the points of a case, the new one last, and the forests before and after."""
    points = np.array((*CIRCLES, *TRIANGLES, case.new))
    label = np.repeat((0, 1), (len(CIRCLES), len(TRIANGLES) + 1))
    model = OPFClassifier(update="opfi").fit(points[:-1], label[:-1])
    before = as_approximate(model.forest_, "opfi")
    model.partial_fit(points[-1:], label[-1:])
    if not getattr(model.update_report_, case.report):
        raise AssertionError(f"{case.title!r} does not show its case: {model.update_report_}")
    after = model.forest_
    assert isinstance(after, ApproximateForest)
    return points, before, after


def draw_cases(width: float) -> "Figure":
    """Draw the three cases, before and after; ``width`` is in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, 1.36 * width), layout="constrained")
    axes = figure.subplots(3, 2, sharex=True, sharey=True)
    for case, (left, right) in zip(CASES, axes, strict=True):
        points, before, after = insert(case)
        title = left.set_title(case.title, loc="left")
        title.set_in_layout(False)  # it spans both panels
        (conqueror,), _ = OPFClassifier().fit(points[:-1], before.label).conquerors(points[-1:])
        left.plot(*points[[conqueror, -1]].T, color="#999999", linewidth=0.9, zorder=1)
        _draw_forest(left, points, before)
        _draw_forest(right, points, after)
    for ax, name in zip(axes[-1], ("before", "after"), strict=True):
        ax.set_xlabel(name)
    for ax in axes.flat:
        ax.set(xticks=[], yticks=[], aspect="equal", xlim=(-0.3, 4.65), ylim=(0.1, 3.3))
        ax.spines[:].set_visible(False)
    figure.supxlabel(KEY, fontsize=6.5)
    return figure


def _draw_forest(ax: "Axes", points: Array, forest: ApproximateForest) -> None:
    for v, u in enumerate(forest.predecessor):
        if u >= 0:
            step = {"arrowstyle": "-|>", "color": COLORS[forest.label[v]], "shrinkA": 2.5}
            size = {"shrinkB": 3, "lw": 0.9, "mutation_scale": 7}
            ax.annotate("", points[v], points[u], arrowprops={**step, **size})
    for v, pair in enumerate(forest.pair):
        if pair >= 0:
            ax.plot(*points[[v, pair]].T, color=INK, linestyle=(0, (2, 2)), linewidth=0.8)
    for v in range(len(points)):
        is_new = v == len(points) - 1
        code = 1 if is_new else forest.label[v]
        is_root = v < len(forest) and forest.predecessor[v] < 0
        ax.scatter(
            points[v, 0], points[v, 1], s=30 if is_root else 15, marker=MARKERS[code], zorder=3,
            color="#BBBBBB" if is_new and v >= len(forest) else COLORS[code],
            edgecolors=INK if is_root or is_new else "none", linewidths=1.2 if is_root else 0.7,
        )  # fmt: skip
