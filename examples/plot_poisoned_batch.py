"""
Forgetting a poisoned batch
===========================

Somebody sent a batch with wrong labels. ``forget`` takes its examples out again, and the result is
exactly the model refitted without them: not similar to it, but equal to the last bit.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from opforest import OPFClassifier
from opforest.plotting import ForestDisplay

X, y = make_moons(300, noise=0.12, random_state=0)
X_test, y_test = make_moons(2000, noise=0.12, random_state=1)

# %%
# Learn, then learn the poison
# ----------------------------
# Examples have ids for life: the first one learned is 0, the next one 1, and so on.

clf = OPFClassifier().fit(X, y)
accuracies = [clf.score(X_test, y_test)]

bad_X, bad_y = make_moons(60, noise=0.15, random_state=2)
clf.partial_fit(bad_X, 1 - bad_y)  # labels swapped
poisoned = clf.forest_.ids[-len(bad_X) :]
accuracies.append(clf.score(X_test, y_test))
print("poisoned ids:", poisoned.min(), "to", poisoned.max())

figure, axes = plt.subplots(1, 3, figsize=(14, 4.4), layout="constrained")
ForestDisplay.from_estimator(OPFClassifier().fit(X, y), X, ax=axes[0])
ForestDisplay.from_estimator(clf, np.vstack((X, bad_X)), ax=axes[1])
axes[1].scatter(*bad_X.T, s=60, facecolors="none", edgecolors="#222222", linewidths=0.8)

# %%
# Forget it
# ---------
# One call. Then compare with a model that never saw the batch, array by array.

clf.forget(poisoned)
accuracies.append(clf.score(X_test, y_test))
print("forgotten:", clf.update_report_.forgotten)

never = OPFClassifier().fit(X, y)
for name in ("cost", "root", "predecessor", "prototypes", "edges", "ids"):
    assert np.array_equal(getattr(clf.forest_, name), getattr(never.forest_, name)), name
print("equal to the model that never saw the batch: cost, root, predecessor, prototypes, edges, ids")

ForestDisplay.from_estimator(clf, X, ax=axes[2])
titles = ["before", "with 60 wrong labels (circled)", "after forget"]
for ax, title, accuracy in zip(axes, titles, accuracies, strict=True):
    ax.set_title(f"{title}: {accuracy:.1%}", fontsize=11)
    ax.set(xticks=[], yticks=[], xlabel="", ylabel="", xlim=(-1.3, 2.2), ylim=(-0.8, 1.3))
    ax.get_legend().remove()
plt.show()
