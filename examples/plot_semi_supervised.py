"""
Few labels, many examples
=========================

Labels spread from the labeled examples along the minimum spanning tree of *all* examples. If each class is
a connected shape, one label per class is enough.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from opforest import OPFClassifier, OPFSemiSupervised
from opforest.plotting import ForestDisplay

X, truth = make_moons(400, noise=0.08, random_state=0)
y = np.full(len(X), -1)  # −1: no label
seeds = [np.flatnonzero(truth == label)[7] for label in (0, 1)]
y[seeds] = truth[seeds]

# %%
# Two labels, four hundred examples
# ---------------------------------

labeled = OPFClassifier().fit(X[seeds], y[seeds])
clf = OPFSemiSupervised().fit(X, y)
print(f"two labeled examples:   {np.mean(labeled.predict(X) == truth):.1%}")
print(f"and 398 unlabeled ones: {np.mean(clf.transduction_ == truth):.1%}")

# %%
# A delayed label
# ---------------
# Start from a single label, which spreads to all examples. Then ``label`` adds a second one and cuts one
# edge of the tree, the longest on the path to the first label. The result equals ``fit`` with both labels.

late = OPFSemiSupervised().fit(X, np.where(np.arange(len(X)) == seeds[0], truth[seeds[0]], -1))
print("before:", np.unique(late.transduction_))
late.label(late.forest_.ids[seeds[1:]], truth[seeds[1:]])
print("after: ", np.unique(late.transduction_))
assert np.array_equal(late.forest_.root, clf.forest_.root)

figure, axes = plt.subplots(1, 2, figsize=(10.5, 4.3), layout="constrained")
grid = np.meshgrid(np.linspace(-1.3, 2.2, 300), np.linspace(-0.8, 1.3, 200))
answer = labeled.predict(np.column_stack([g.ravel() for g in grid])).reshape(200, 300)
axes[0].contourf(*grid, answer, [-0.5, 0.5, 1.5], colors=["#c5ddf4", "#ffe5b6"])
axes[0].scatter(*X.T, s=8, color="#222222", alpha=0.35)
axes[0].scatter(*X[seeds].T, s=150, color=["#3f90da", "#ffa90e"], marker="*", edgecolors="#222222")
ForestDisplay.from_estimator(clf, X, ax=axes[1])
titles = [
    f"OPFClassifier on two labels: {np.mean(labeled.predict(X) == truth):.1%}",
    f"OPFSemiSupervised on all: {np.mean(clf.transduction_ == truth):.1%}",
]
for ax, title in zip(axes, titles, strict=True):
    ax.set_title(title, fontsize=11)
    ax.set(xticks=[], yticks=[], xlabel="", ylabel="", xlim=(-1.15, 2.1), ylim=(-0.7, 1.15))
axes[1].get_legend().remove()
plt.show()

# %%
# Where classes overlap, a single edge between them can spread a wrong label far: compare with the
# classifier on the labeled examples alone before you rely on it.
