"""Draw the pictures of the home page, guide and theory: ``python docs/draw.py [NAME …]``.

The library computes them. They are committed in ``docs/images``: each panel is a file of its own,
so that phones show panels below each other, and has a twin for dark mode, ``NAME-dark.png``.
"""

import sys
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.lines import Line2D
from sklearn.datasets import make_moons

from opforest import OPFClassifier
from opforest.plotting import ForestDisplay

IMAGES = Path(__file__).parent / "images"
BLUE, YELLOW, RED, PURPLE = "#3f90da", "#ffa90e", "#bd1f01", "#832db6"
DASHED = (0, (3, 2))


class Theme(NamedTuple):
    """The colors of a picture besides those of classes."""

    suffix: str
    paper: str
    ink: str
    gray: str
    red: str
    purple: str
    soft: float  #: how much of the color of a class its region has

    @property
    def classes(self):
        """Return the colors of two classes."""
        return np.array([BLUE, YELLOW])


LIGHT = Theme("", "#ffffff", "#222222", "#b5babd", RED, PURPLE, 0.3)
DARK = Theme("-dark", "#14181e", "#e6e9ee", "#5c636e", "#ff7b6b", "#c77df3", 0.32)


class Panel:
    """One picture: axes without ticks, a title, and a legend below."""

    def __init__(self, theme, title, size=(4.6, 4.3)):
        plt.rcParams.update({
            "figure.facecolor": theme.paper, "axes.facecolor": theme.paper,
            "text.color": theme.ink, "axes.titlecolor": theme.ink, "legend.labelcolor": theme.ink,
        })  # fmt: skip
        self.theme, self.title, self.keys = theme, title, []
        self.figure, self.ax = plt.subplots(figsize=size, layout="constrained")

    def draw_forest(self, clf, X, shown=None):
        """Draw a forest in the colors of the theme, with its regions around all points shown."""
        display = ForestDisplay.from_estimator(
            clf, X, ax=self.ax, legend=False, eps=0.3, grid_resolution=400
        )
        shown = X if shown is None else shown
        low, high = shown.min(0), shown.max(0)
        xlim, ylim = np.transpose((low - 0.06 * (high - low), high + 0.06 * (high - low)))
        self.ax.set(xlim=xlim, ylim=ylim)
        paper = np.array(plt.matplotlib.colors.to_rgb(self.theme.paper))
        colors = np.array([plt.matplotlib.colors.to_rgb(c) for c in self.theme.classes])
        regions = paper + self.theme.soft * (colors - paper)
        display.regions_.set_data(regions[display.regions])
        display.cuts_.set_color(self.theme.ink)
        display.prototypes_.set_edgecolors(self.theme.ink)
        self.explain(marker="*", ms=11, mfc="none", mec=self.theme.ink, ls="", label="prototype")
        self.explain(ls=DASHED, color=self.theme.ink, lw=1, label="cut edge")
        return display

    def explain(self, **style):
        """Add an entry to the legend."""
        self.keys.append(Line2D([], [], **style))

    def save(self, name):
        """Write the picture."""
        self.ax.set_title(self.title, fontsize=11.5)
        self.ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
        self.ax.spines[:].set_color(self.theme.gray)
        if self.keys:
            self.figure.legend(
                handles=self.keys, loc="outside lower center", frameon=False, fontsize=9.5,
                ncols=4 if len(self.keys) <= 4 else 3, columnspacing=1.2, handlelength=1.6,
                handletextpad=0.5,
            )  # fmt: skip
        self.figure.savefig(IMAGES / f"{name}{self.theme.suffix}.png", dpi=150)
        plt.close(self.figure)


def draw_home(theme):
    """Learn, forget, explain."""
    X, y = make_moons(150, noise=0.17, random_state=5)
    clf = OPFClassifier().fit(X[:110], y[:110]).partial_fit(X[110:], y[110:])
    panel = Panel(theme, "Learn: 40 more examples,\nexactly as if refitted on all")
    panel.draw_forest(clf, X)
    panel.ax.scatter(*X[110:].T, s=95, facecolors="none", edgecolors=theme.ink, linewidths=1)
    panel.explain(ls="", marker="o", ms=9, mfc="none", mec=theme.ink, label="learned")
    panel.save("home-learn")

    gone = np.arange(110, 150)
    clf.forget(gone)
    panel = Panel(theme, "Forget: the same 40,\nexactly as if never learned")
    panel.draw_forest(clf, X[:110], X)
    cross = {"marker": "x", "color": "#8a8f98"}
    panel.ax.scatter(*X[gone].T, s=26, linewidths=1, **cross)
    panel.explain(ls="", ms=6, label="forgotten", **cross)
    panel.save("home-forget")

    x = np.array([-0.78, -0.05])
    why = clf.explain(x)
    path = np.array([X[step.id] for step in why.steps[:-1]] + [x])
    panel = Panel(theme, f"Explain: the path to the diamond, {len(path)} points;\n"
                         "its longest step is its cost")  # fmt: skip
    panel.draw_forest(clf, X[:110], X)
    panel.ax.plot(*path.T, "-o", color=theme.ink, lw=2.4, ms=4.5, zorder=5)
    longest = int(np.argmax([step.distance for step in why.steps[1:]]))
    panel.ax.plot(*path[longest : longest + 2].T, color=theme.red, lw=4, zorder=6)
    panel.ax.plot(*x, "D", color=theme.paper, mec=theme.ink, mew=2, ms=10, zorder=6)
    panel.explain(color=theme.ink, lw=2.4, label="path")
    panel.explain(color=theme.red, lw=4, label="longest step")
    panel.save("home-explain")


def draw_model(theme):
    """From examples to regions, in four steps."""
    X, y = make_moons(70, noise=0.2, random_state=3)
    clf = OPFClassifier().fit(X, y)
    forest = clf.forest_
    titles = (
        "1. Examples of two classes,\nas points",
        "2. Their minimum spanning tree:\nthe shortest edges that connect all",
        "3. Cut between classes: the ends\nof cut edges are prototypes",
        "4. Prototypes conquer the rest,\nand then every new point",
    )
    panels = [Panel(theme, title) for title in titles]
    panels[3].draw_forest(clf, X)
    for panel in panels[:3]:
        panel.ax.scatter(*X.T, s=30, color=theme.classes[y], zorder=3)
        panel.ax.set(xlim=panels[3].ax.get_xlim(), ylim=panels[3].ax.get_ylim())
    cut_style = {"color": theme.ink, "lw": 1.2, "ls": DASHED}
    for u, v in forest.edges:
        panels[1].ax.plot(*X[[u, v]].T, color=theme.gray, lw=1.2)
        is_cut = y[u] != y[v]
        panels[2].ax.plot(
            *X[[u, v]].T, **(cut_style if is_cut else {"color": theme.gray, "lw": 1.2})
        )
    stars, style = forest.prototypes, {"marker": "*", "edgecolors": theme.ink, "zorder": 4}
    panels[2].ax.scatter(*X[stars].T, s=150, color=theme.classes[y[stars]], **style)
    for k, panel in enumerate(panels):
        if k < 3:
            for color, name in zip(theme.classes, ("one class", "the other"), strict=True):
                panel.explain(ls="", marker="o", color=color, label=name)
        if k == 1:
            panel.explain(color=theme.gray, label="edge of the tree")
        if k == 2:
            panel.explain(label="cut edge", **cut_style)
        panel.save(f"model-{k + 1}")


def draw_explanation(theme):
    """Draw the path behind one prediction, the nearest rival's, and the longest steps."""
    X, y = make_moons(80, noise=0.19, random_state=8)
    clf = OPFClassifier().fit(X, y)
    x = np.array([0.42, 0.30])
    why = clf.explain(x)
    panel = Panel(theme, f"{why.cost:.2f} is less than {why.rival.cost:.2f}: the solid path wins",
                  (7.4, 4.8))  # fmt: skip
    panel.draw_forest(clf, X)
    for one, style in ((why.rival, ":"), (why, "-")):
        path = np.array([X[step.id] for step in one.steps[:-1]] + [x])
        panel.ax.plot(*path.T, style, color=theme.ink, lw=2.4, zorder=5)
        lengths = [step.distance for step in one.steps[1:]]
        longest = int(np.argmax(lengths))
        panel.ax.plot(*path[longest : longest + 2].T, style, color=theme.red, lw=3.6, zorder=6)
        middle = path[longest : longest + 2].mean(0)
        panel.ax.annotate(
            f"{max(lengths):.2f}", middle, (7, 7), textcoords="offset points", color=theme.red,
            weight="bold", zorder=8, bbox={"fc": theme.paper, "ec": "none", "alpha": 0.8, "pad": 1},
        )  # fmt: skip
    panel.ax.plot(*x, "D", color=theme.paper, mec=theme.ink, mew=2, ms=11, zorder=7)
    panel.explain(color=theme.ink, lw=2.4, label="path that labels the diamond")
    panel.explain(color=theme.ink, lw=2.4, ls=":", label="path of the nearest rival")
    panel.explain(color=theme.red, lw=3.6, label="longest step: the cost")
    panel.save("explanation")


def draw_request(theme):
    """Draw a forest before and after an example is forgotten, and the examples that changed."""
    X, y = make_moons(90, noise=0.2, random_state=2)
    clf = OPFClassifier().fit(X, y)
    before = dict(zip(clf.forest_.ids, clf.forest_.cost, strict=True))
    gone = int(clf.forest_.prototypes[np.argmax(X[clf.forest_.prototypes, 0] > 0.8)])
    panel = Panel(theme, "Before: the example to forget\nis circled")
    panel.draw_forest(clf, X)
    panel.ax.plot(*X[gone], "o", ms=17, mfc="none", mec=theme.red, mew=2, zorder=6)
    panel.explain(ls="", marker="o", ms=10, mfc="none", mec=theme.red, mew=2, label="to forget")
    panel.save("request-before")
    clf.forget([gone])
    stay = clf.forest_.ids
    refitted = OPFClassifier().fit(X[stay], y[stay])
    assert np.array_equal(clf.forest_.cost, refitted.forest_.cost)
    changed = [i for i, cost in zip(stay, clf.forest_.cost, strict=True) if cost != before[i]]
    panel = Panel(theme, f"After: {len(changed)} costs have changed;\n"
                         "identical to refitting without it")  # fmt: skip
    panel.draw_forest(clf, X[stay], X)
    panel.ax.plot(*X[gone], "x", ms=10, color=theme.red, mew=2, zorder=6)
    panel.ax.scatter(*X[changed].T, s=110, facecolors="none", edgecolors=theme.ink, zorder=5)
    panel.explain(ls="", marker="x", ms=8, color=theme.red, mew=2, label="forgotten")
    panel.explain(ls="", marker="o", ms=9, mfc="none", mec=theme.ink, label="cost changed")
    panel.save("request-after")


def longest_edges(edges, weight, n, start):
    """Return the longest edge on the path from one vertex to each other vertex of a tree."""
    near = [[] for _ in range(n)]
    for (u, v), w in zip(edges, weight, strict=True):
        near[u].append((v, w))
        near[v].append((u, w))
    longest, stack = {start: 0.0}, [start]
    while stack:
        u = stack.pop()
        for v, w in near[u]:
            if v not in longest:
                longest[v] = max(longest[u], w)
                stack.append(v)
    return np.array([longest[v] for v in range(n)])


def tree_of(X):
    """Return the edges of the minimum spanning tree."""
    return OPFClassifier().fit(X, np.zeros(len(X), int)).forest_.edges


def draw_bound(theme):
    """Show which examples a new one can be linked to, and the tree before and after."""
    rng = np.random.default_rng(11)
    X, z = rng.normal(size=(60, 2)) * [1.5, 1], np.array([1.25, 0.2])
    edges, n = tree_of(X), len(X)
    weight = np.linalg.norm(X[edges[:, 0]] - X[edges[:, 1]], axis=1)
    distance = np.linalg.norm(X - z, axis=1)
    t = distance.argmin()
    can = distance <= longest_edges(edges, weight, n, t)
    can[t] = True
    points = np.vstack((X, z))
    after = {frozenset(edge) for edge in tree_of(points).tolist()}
    before = {frozenset(edge) for edge in edges.tolist()}
    left = Panel(theme, f"{can.sum()} of {n} examples are near enough\nto be linked to the new one")
    right = Panel(theme, f"{len(after - before)} new edges enter the tree,\n"
                         f"{len(before - after)} old ones leave it")  # fmt: skip
    for panel, common in ((left, before), (right, before & after)):
        for edge in common:
            panel.ax.plot(*points[list(edge)].T, color=theme.gray, lw=1.2, zorder=1)
        panel.ax.scatter(*X[~can].T, s=22, color="#9aa0a6", zorder=3)
        panel.ax.scatter(*X[can].T, s=40, color=BLUE, zorder=3)
        panel.ax.plot(*z, "D", color=YELLOW, mec=theme.ink, ms=10, zorder=4)
        panel.explain(ls="", marker="D", color=YELLOW, mec=theme.ink, label="new: z")
    for edge in before - after:
        right.ax.plot(*points[list(edge)].T, color=theme.red, lw=1.6, ls=DASHED, zorder=2)
    for edge in after - before:
        right.ax.plot(*points[list(edge)].T, color=BLUE, lw=2.6, zorder=2)
    for v in np.flatnonzero(can):
        left.ax.plot(*np.array([z, X[v]]).T, color=BLUE, lw=0.9, ls=":", zorder=1)
    nearest = {"textcoords": "offset points", "color": BLUE, "weight": "bold"}
    left.ax.annotate("t", X[t], (-9, 7), **nearest)
    left.explain(ls="", marker="o", color=BLUE, label="near enough; t is nearest")
    right.explain(color=BLUE, lw=2.6, label="enters")
    right.explain(color=theme.red, lw=1.6, ls=DASHED, label="leaves")
    left.save("bound-candidates")
    right.save("bound-tree")


def draw_forgetting(theme):
    """Show the components left by a removed vertex, and the edges that reconnect them."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(60, 2)) * [1.5, 1]
    edges = tree_of(X)
    z = np.bincount(edges.ravel()).argmax()
    stay = np.delete(np.arange(len(X)), z)
    kept = [tuple(edge) for edge in edges.tolist() if z not in edge]
    component = np.arange(len(X))
    for u, v in kept:
        component[component == component[u]] = component[v]
    colors = (BLUE, YELLOW, theme.purple, theme.red, "#a96b59")
    shades = dict(zip(np.unique(component[stay]), colors, strict=False))
    after = {frozenset(edge) for edge in stay[tree_of(X[stay])].tolist()}
    joins = after - {frozenset(edge) for edge in kept}
    left = Panel(theme, f"Without z the tree splits\ninto {len(shades)} components")
    right = Panel(theme, f"{len(joins)} edges, the smallest between\ncomponents, reconnect them")
    for panel in (left, right):
        for u, v in kept:
            panel.ax.plot(*X[[u, v]].T, color=shades[component[u]], lw=1.2, zorder=1)
        panel.ax.scatter(*X[stay].T, s=28, color=[shades[p] for p in component[stay]], zorder=3)
        panel.ax.plot(*X[z], "X", color=theme.paper, mec=theme.ink, ms=12, zorder=4)
        panel.explain(ls="", marker="X", ms=9, mfc=theme.paper, mec=theme.ink, label="removed: z")
    for u, v in edges:
        if z in (u, v):
            left.ax.plot(*X[[u, v]].T, color=theme.ink, lw=1.2, ls=":", zorder=2)
    for edge in joins:
        right.ax.plot(*X[list(edge)].T, color=theme.ink, lw=2.6, zorder=2)
    left.explain(color=theme.ink, ls=":", label="its edges")
    right.explain(color=theme.ink, lw=2.6, label="new edge")
    left.save("forgetting-split")
    right.save("forgetting-joined")


DRAWINGS = {
    "home": draw_home, "model": draw_model, "explanation": draw_explanation,
    "request": draw_request, "bound": draw_bound, "forgetting": draw_forgetting,
}  # fmt: skip

if __name__ == "__main__":
    for name in sys.argv[1:] or DRAWINGS:
        for theme in (LIGHT, DARK):
            DRAWINGS[name](theme)
