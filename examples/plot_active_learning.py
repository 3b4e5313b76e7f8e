"""
Margins and active learning
===========================

Labels are expensive. ``opforest.active`` says which example to ask about next: one whose two cheapest
offers, from different classes, are nearly equal. That margin is 0 where the forest is undecided and 1
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
# Ask, learn, ask again
# ---------------------
# Both start with four labels and ask for 56 more, one at a time. ``partial_fit`` takes in each answer
# exactly, so asking costs microseconds, not a refit.


def ask(choose):
    clf = OPFClassifier().fit(X[first], y[first])
    pool, asked = np.setdiff1d(np.arange(len(X)), first), list(first)
    scores = [clf.score(X_test, y_test)]
    for _ in range(56):
        i = choose(clf, pool)
        clf.partial_fit(X[pool[i : i + 1]], y[pool[i : i + 1]])
        asked.append(pool[i])
        pool = np.delete(pool, i)
        scores.append(clf.score(X_test, y_test))
    return clf, asked, 100 * np.array(scores)


clf, asked, by_margin = ask(lambda clf, pool: active.query(clf, X[pool])[0])
rng = np.random.default_rng(0)
by_chance = np.array([ask(lambda clf, pool: rng.integers(len(pool)))[2] for _ in range(10)])
print(f"60 labels: {by_margin[-1]:.1f} % by margin, {by_chance[:, -1].mean():.1f} % by chance")

# %%
# Where it asks
# -------------
# Along the border between the planet and its ring, where answers change something.

grid = np.stack(
    np.meshgrid(
        *[np.linspace(low, high, 200) for low, high in zip(X.min(0), X.max(0), strict=True)]
    ),
    -1,
)
sure = active.margin(clf, grid.reshape(-1, 2)).reshape(200, 200)

figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.3), layout="constrained")
ForestDisplay.from_estimator(clf, X[asked], ax=axes[0])
axes[0].get_legend().remove()
axes[0].set_title("The 60 examples asked about", fontsize=11)
extent = [X[:, 0].min(), X[:, 0].max(), X[:, 1].min(), X[:, 1].max()]
image = axes[1].imshow(sure, origin="lower", extent=extent, cmap="magma", aspect="auto")
figure.colorbar(image, ax=axes[1], label="margin")
axes[1].set_title("How sure the forest is", fontsize=11)
labels = np.arange(4, 61)
low, high = by_chance.min(axis=0), by_chance.max(axis=0)
axes[2].fill_between(labels, low, high, color="#94a4a2", alpha=0.3, lw=0)
axes[2].plot(labels, by_chance.mean(axis=0), color="#717581", label="by chance, ten runs")
axes[2].plot(labels, by_margin, color="#3f90da", lw=2, label="by margin")
axes[2].set(xlabel="labels", ylabel="accuracy, %")
axes[2].legend(frameon=False, loc="lower right")
for ax in axes[:2]:
    ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
plt.show()

# %%
# Margins help; they promise nothing. On overlapping classes they ask about noise, and chance may win.
