"""
Margins and active learning
===========================

Labels are expensive. ``opforest.active`` selects the example to label next: one whose two lowest
offers, from different classes, are nearly equal. This margin is 0 where the forest is undecided and 1
where it is certain.
"""

import matplotlib.pyplot as plt
import numpy as np

from opforest import OPFClassifier, active
from opforest.datasets import make_saturn
from opforest.plotting import ForestDisplay

X, y = make_saturn(600, random_state=0)
X_test, y_test = make_saturn(2000, random_state=1)
first = np.r_[np.flatnonzero(y == y.min())[:2], np.flatnonzero(y == y.max())[:2]]

# %%
# Query, learn, repeat
# --------------------
# Both strategies start with four labels and query 56 more, one at a time. ``partial_fit`` learns each
# label exactly, in microseconds, without a refit.


def query_with(choose):
    clf = OPFClassifier().fit(X[first], y[first])
    pool, queried = np.setdiff1d(np.arange(len(X)), first), list(first)
    scores = [clf.score(X_test, y_test)]
    for _ in range(56):
        i = choose(clf, pool)
        clf.partial_fit(X[pool[i : i + 1]], y[pool[i : i + 1]])
        queried.append(pool[i])
        pool = np.delete(pool, i)
        scores.append(clf.score(X_test, y_test))
    return clf, queried, 100 * np.array(scores)


clf, queried, by_margin = query_with(lambda clf, pool: active.query(clf, X[pool])[0])
rng = np.random.default_rng(0)
at_random = np.array([query_with(lambda clf, pool: rng.integers(len(pool)))[2] for _ in range(10)])
print(f"60 labels: {by_margin[-1]:.1f} % by margin, {at_random[:, -1].mean():.1f} % at random")

# %%
# Where it queries
# ----------------
# Most queries are along the border between the planet and its ring, where labels change the model.

grid = np.stack(
    np.meshgrid(
        *[np.linspace(low, high, 200) for low, high in zip(X.min(0), X.max(0), strict=True)]
    ),
    -1,
)
sure = active.margin(clf, grid.reshape(-1, 2)).reshape(200, 200)

figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.3), layout="constrained")
ForestDisplay.from_estimator(clf, X[queried], ax=axes[0])
axes[0].get_legend().remove()
axes[0].set_title("The 60 queried examples", fontsize=11)
extent = [X[:, 0].min(), X[:, 0].max(), X[:, 1].min(), X[:, 1].max()]
image = axes[1].imshow(sure, origin="lower", extent=extent, cmap="magma", aspect="auto")
figure.colorbar(image, ax=axes[1], label="margin")
axes[1].set_title("Margin of the forest", fontsize=11)
labels = np.arange(4, 61)
low, high = at_random.min(axis=0), at_random.max(axis=0)
axes[2].fill_between(labels, low, high, color="#94a4a2", alpha=0.3, lw=0)
axes[2].plot(labels, at_random.mean(axis=0), color="#717581", label="at random, ten runs")
axes[2].plot(labels, by_margin, color="#3f90da", lw=2, label="by margin")
axes[2].set(xlabel="labels", ylabel="accuracy, %")
axes[2].legend(frameon=False, loc="lower right")
for ax in axes[:2]:
    ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
plt.show()

# %%
# Margins help here, but not always: where classes overlap they select noise, and random queries may
# be better.
