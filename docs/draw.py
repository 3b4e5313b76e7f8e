"""Draw the pictures of the home page, README, guide and theory: ``python docs/draw.py``.

The library computes them; they are committed in ``docs/images`` because the README shows them, too.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from opforest import OPFClassifier
from opforest.plotting import ForestDisplay

IMAGES = Path(__file__).parent / "images"
BLUE, YELLOW, RED, PURPLE, GRAY, INK = (
    "#3f90da", "#ffa90e", "#bd1f01", "#832db6", "#b5babd", "#222222",
)  # fmt: skip
COLORS = np.array([BLUE, YELLOW])


def finish(axes, titles):
    """Set the titles of all panels; remove ticks and legends."""
    for ax, title in zip(axes, titles, strict=True):
        ax.set_title(title, fontsize=12)
        ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
        ax.spines[:].set_color("#c8ccd0")
        if ax.get_legend():
            ax.get_legend().remove()


def draw_home():
    """Learn, forget, explain."""
    X, y = make_moons(150, noise=0.17, random_state=5)
    (left, lower), (right, upper) = X[:110].min(0) - 0.09, X[:110].max(0) + 0.09
    figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    clf = OPFClassifier().fit(X[:110], y[:110]).partial_fit(X[110:], y[110:])
    ForestDisplay.from_estimator(clf, X, ax=axes[0])
    axes[0].scatter(*X[110:].T, s=95, facecolors="none", edgecolors=INK, linewidths=1)
    gone = np.arange(110, 150)
    clf.forget(gone)
    ForestDisplay.from_estimator(clf, X[:110], ax=axes[1])
    axes[1].scatter(*X[gone].T, s=26, color="#8a8f98", marker="x", linewidths=1)
    ForestDisplay.from_estimator(clf, X[:110], ax=axes[2])
    x = np.array([-0.78, -0.05])
    why = clf.explain(x)
    path = np.array([X[step.id] for step in why.steps[:-1]] + [x])
    axes[2].plot(*path.T, "-o", color=INK, lw=2.4, ms=4.5, zorder=5)
    axes[2].plot(*x, "D", color="white", mec=INK, mew=2, ms=10, zorder=6)
    for ax in axes:
        ax.set(xlim=(left, right), ylim=(lower, upper))
    titles = (
        "Learn: 40 more examples (circled),\nexactly as if refitted on all",
        "Forget: the same 40 (crosses),\nexactly as if never learned",
        "Explain: the path that labeled the diamond,\n"
        f"{len(path)} points; the longest step is its cost",
    )
    finish(axes, titles)
    figure.savefig(IMAGES / "home.png", dpi=110)


def draw_model():
    """From examples to regions, in four steps."""
    X, y = make_moons(70, noise=0.2, random_state=3)
    clf = OPFClassifier().fit(X, y)
    forest = clf.forest_
    figure, axes = plt.subplots(1, 4, figsize=(15, 3.9), layout="constrained")
    for ax in axes[:3]:
        ax.scatter(*X.T, s=26, color=COLORS[y], zorder=3)
    for u, v in forest.edges:
        axes[1].plot(*X[[u, v]].T, color="#717581", lw=1)
        if y[u] != y[v]:
            axes[2].plot(*X[[u, v]].T, color=INK, lw=1.2, ls=(0, (3, 2)))
        else:
            axes[2].plot(*X[[u, v]].T, color=GRAY, lw=1)
    stars = forest.prototypes
    axes[2].scatter(
        *X[stars].T, s=150, marker="*", color=COLORS[y[stars]], edgecolors=INK, zorder=4
    )
    ForestDisplay.from_estimator(clf, X, ax=axes[3])
    for ax in axes[:3]:
        ax.set(xlim=axes[3].get_xlim(), ylim=axes[3].get_ylim())
    titles = (
        "1. Examples of two classes",
        "2. Their minimum spanning tree",
        "3. Cut between classes: the ends\nof cut edges are prototypes",
        "4. Prototypes conquer the rest,\nand then every new point",
    )
    finish(axes, titles)
    figure.savefig(IMAGES / "model.png", dpi=110)


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


def draw_bound():
    """Show which examples a new one can be linked to, and the tree before and after."""
    rng = np.random.default_rng(11)
    X, z = rng.normal(size=(60, 2)) * [1.5, 1], np.array([1.25, 0.2])
    edges, n = tree_of(X), len(X)
    weight = np.linalg.norm(X[edges[:, 0]] - X[edges[:, 1]], axis=1)
    distance = np.linalg.norm(X - z, axis=1)
    t = distance.argmin()
    can = distance <= longest_edges(edges, weight, n, t)
    can[t] = True
    after = {frozenset(edge) for edge in tree_of(np.vstack((X, z))).tolist()}
    before = {frozenset(edge) for edge in edges.tolist()}
    figure, axes = plt.subplots(1, 2, figsize=(11.5, 4.4), layout="constrained")
    points = np.vstack((X, z))
    for ax in axes:
        for edge in before & after:
            ax.plot(*points[list(edge)].T, color=GRAY, lw=1.2, zorder=1)
    for edge in before - after:
        axes[0].plot(*points[list(edge)].T, color=GRAY, lw=1.2, zorder=1)
        axes[1].plot(*points[list(edge)].T, color=RED, lw=1.6, ls=(0, (3, 2)), zorder=2)
    for edge in after - before:
        axes[1].plot(*points[list(edge)].T, color=BLUE, lw=2.6, zorder=2)
    for v in np.flatnonzero(can):
        axes[0].plot(*np.array([z, X[v]]).T, color=BLUE, lw=0.9, ls=":", zorder=1)
    for ax in axes:
        ax.scatter(*X[~can].T, s=22, color="#9aa0a6", zorder=3)
        ax.scatter(*X[can].T, s=40, color=BLUE, zorder=3)
        ax.plot(*z, "D", color=YELLOW, mec=INK, ms=10, zorder=4)
    axes[0].annotate("t", X[t], (-9, 7), textcoords="offset points", color=BLUE, weight="bold")
    axes[0].annotate("z", z, (9, 5), textcoords="offset points", weight="bold")
    titles = (
        f"{can.sum()} of {n} examples (blue) are near enough\nto be linked to the new one, z",
        f"{len(after - before)} new edges (blue) enter the tree,\n"
        f"{len(before - after)} old ones (red) leave it",
    )
    finish(axes, titles)
    figure.savefig(IMAGES / "bound.png", dpi=110)


def draw_forgetting():
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
    shades = dict(
        zip(np.unique(component[stay]), (BLUE, YELLOW, PURPLE, RED, "#a96b59"), strict=False)
    )
    after = {frozenset(edge) for edge in stay[tree_of(X[stay])].tolist()}
    figure, axes = plt.subplots(1, 2, figsize=(11.5, 4.4), layout="constrained")
    for ax in axes:
        for u, v in kept:
            ax.plot(*X[[u, v]].T, color=shades[component[u]], lw=1.2, zorder=1)
        ax.scatter(*X[stay].T, s=28, color=[shades[p] for p in component[stay]], zorder=3)
        ax.plot(*X[z], "X", color="white", mec=INK, ms=12, zorder=4)
    for u, v in edges:
        if z in (u, v):
            axes[0].plot(*X[[u, v]].T, color=INK, lw=1.2, ls=":", zorder=2)
    joins = [edge for edge in after if tuple(sorted(edge)) not in {tuple(sorted(e)) for e in kept}]
    for edge in joins:
        axes[1].plot(*X[list(edge)].T, color=INK, lw=2.6, zorder=2)
    titles = (
        f"Without z (the cross) the tree\nsplits into {len(shades)} components",
        f"{len(joins)} edges, the smallest between components,\nreconnect them; all others stay",
    )
    finish(axes, titles)
    figure.savefig(IMAGES / "forgetting.png", dpi=110)


if __name__ == "__main__":
    for draw in (draw_home, draw_model, draw_bound, draw_forgetting):
        draw()
