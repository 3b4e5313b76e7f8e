"""
The paper's three cases
=======================

``update="opfi"`` is the algorithm of Ponti and Riva (2017). It inserts a new example in one of three
ways, depending on its conqueror. The plots show each case before and after, computed by the
real algorithm: stars are prototypes, arrows point from predecessors, and the gray line leads from the
conqueror to the new example.
"""

import matplotlib.pyplot as plt
import numpy as np

from opforest import OPFClassifier

circles = [(0.0, 1.7), (0.5, 0.8), (1.15, 1.45), (1.0, 2.4), (0.35, 2.9), (1.7, 0.55)]
triangles = [(2.35, 1.25), (3.05, 0.75), (3.2, 1.75), (3.95, 1.3), (3.75, 2.5), (4.35, 0.45)]
X = np.array(circles + triangles)
y = np.repeat([0, 1], 6)

# %%
# Three new triangles
# -------------------
# The update report counts the cases.

titles = [
    "Case 1: conquered by an ordinary\nexample of its class. It joins that tree",
    "Case 2: conquered by a prototype\nof its class. Here it replaces the prototype",
    "Case 3: conquered by another class. It starts\na tree, and its conqueror's tree splits",
]
new = [(4.0, 1.95), (1.85, 1.3), (0.1, 2.3)]


def draw(ax, points, label, forest):
    """Draw a forest with arrows from predecessors."""
    colors, markers = ["#3f90da", "#ffa90e"], "o^"
    for v, u in enumerate(forest.predecessor):
        if u >= 0:
            arrow = {"arrowstyle": "-|>", "color": colors[label[v]], "shrinkA": 5, "shrinkB": 6}
            ax.annotate("", points[v], points[u], arrowprops=arrow)
    for v, point in enumerate(points):
        star = v in forest.prototypes
        ax.plot(
            *point,
            "*" if star else markers[label[v]],
            ms=17 if star else 8,
            color=colors[label[v]],
            mec="#222222" if star else "none",
        )
    ax.set(xticks=[], yticks=[], aspect="equal", xlim=(-0.3, 4.65), ylim=(0.1, 3.3))


figure, axes = plt.subplots(2, 3, figsize=(10.5, 5.7), layout="constrained")
for title, point, (above, below) in zip(titles, new, axes.T, strict=True):
    clf = OPFClassifier(update="opfi").fit(X, y)
    conqueror = clf.conquerors([point])[0][0]  # its id, which is its row in X
    draw(above, X, y, clf.forest_)
    above.plot(*np.array([X[conqueror], point]).T, color="#999999", lw=1.2, zorder=0)
    above.plot(*point, "^", ms=10, mfc="white", mec="#ffa90e", mew=2)
    clf.partial_fit([point], [1])
    report = clf.update_report_
    print(f"cases {report.case_1} {report.case_2} {report.case_3}, takeovers {report.takeovers}")
    draw(below, np.vstack((X, point)), np.append(y, 1), clf.forest_)
    above.set_title(title, fontsize=9)
axes[0, 0].set_ylabel("before")
axes[1, 0].set_ylabel("after")
plt.show()

# %%
# OPFI is an approximation: it does not update paths in other trees that a new example makes cheaper.
# ``update="exact"`` does, so its model equals the refitted one.
