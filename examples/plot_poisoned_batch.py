"""
Forgetting a poisoned batch
===========================

Suppose a batch had wrong labels. ``forget`` removes its examples again, and the result is
exactly the model refitted without them: not similar to it, but equal bit for bit.
"""

import copy

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from opforest import OPFClassifier
from opforest.plotting import ForestDisplay

X, y = make_moons(300, noise=0.12, random_state=0)
X_test, y_test = make_moons(2000, noise=0.12, random_state=1)

# %%
# Learn a poisoned batch
# ----------------------
# Each example has a permanent id: the first one learned is 0, the next one 1, and so on.

clf = OPFClassifier().fit(X, y)
accuracies = [clf.score(X_test, y_test)]

X_bad, y_bad = make_moons(60, noise=0.15, random_state=2)
clf.partial_fit(X_bad, 1 - y_bad)  # labels swapped
poisoned = clf.forest_.ids[-len(X_bad) :]
accuracies.append(clf.score(X_test, y_test))
print("poisoned ids:", poisoned.min(), "to", poisoned.max())
poisoned_clf = copy.deepcopy(clf)  # for the picture

# %%
# Forget it
# ---------
# Forgetting is one call. Then compare all arrays with a model that never saw the batch.

clf.forget(poisoned)
accuracies.append(clf.score(X_test, y_test))
print("forgotten:", clf.update_report_.forgotten)

never = OPFClassifier().fit(X, y)
for name in ("cost", "root", "predecessor", "prototypes", "edges", "ids"):
    assert np.array_equal(getattr(clf.forest_, name), getattr(never.forest_, name)), name
print(
    "equal to the model that never saw the batch: cost, root, predecessor, prototypes, edges, ids"
)

# %%
# The forest before, with the poisoned batch, and after
# -----------------------------------------------------

figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.5), layout="constrained")
ForestDisplay.from_estimator(never, X, ax=axes[0])
ForestDisplay.from_estimator(poisoned_clf, np.vstack((X, X_bad)), ax=axes[1])
axes[1].scatter(*X_bad.T, s=60, facecolors="none", edgecolors="#222222", linewidths=0.8)
ForestDisplay.from_estimator(clf, X, ax=axes[2])
titles = ["before", "with 60 wrong labels (circled)", "after forget"]
for ax, title, accuracy in zip(axes, titles, accuracies, strict=True):
    ax.set_title(f"{title}: {accuracy:.1%}", fontsize=11)
    ax.set(xticks=[], yticks=[], xlabel="", ylabel="", xlim=(-1.3, 2.2), ylim=(-0.8, 1.3))
    ax.get_legend().remove()
plt.show()
