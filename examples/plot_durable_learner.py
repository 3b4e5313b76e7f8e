"""
A durable learner
=================

``opforest.Learner`` keeps its examples in one SQLite file. When ``learn`` returns, they are on disk; when
``forget`` returns, they are in no file of the store. The model is always exactly the one fitted to the table.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

import opforest
from opforest.learner import KeyConflictError, StoreError
from opforest.plotting import ForestDisplay

X, y = make_moons(120, noise=0.15, random_state=3)
labels = ["upper" if label == 0 else "lower" for label in y]
keys = [f"point-{i}" for i in range(len(X))]
folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "moons.db"


def draw(ax, title, learner):
    """Draw the current forest."""
    _, points, _ = learner.rows()
    ForestDisplay.from_estimator(learner.model, points, ax=ax)
    ax.set_title(f"{title}: {len(learner.model.forest_)} examples", fontsize=11)
    ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
    ax.get_legend().remove()


# %%
# Learn exactly once
# ------------------
# Because examples have keys, a batch that is sent twice is learned once. The same key with different
# content is an error.

labels[10] = "lower" if labels[10] == "upper" else "upper"  # a typo
with opforest.Learner(path) as learner:
    print("learned:", learner.learn(X, labels, keys=keys).learned)
    print("again:  ", learner.learn(X, labels, keys=keys).learned)
    try:
        learner.learn(X[:1] + 1, labels[:1], keys=keys[:1])
    except KeyConflictError as error:
        print("error:  ", error)

# %%
# Reopen, correct and forget
# --------------------------
# Even after a crash, the model is restored. ``explain`` shows the keys on the path.

figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.5), layout="constrained")
with opforest.Learner(path) as learner:
    print(learner.explain(X[10] + 0.01))
    draw(axes[0], "with a wrong label", learner)
    learner.correct("point-10", "upper" if labels[10] == "lower" else "lower")
    draw(axes[1], "corrected", learner)
    learner.forget(keys[60:])
    draw(axes[2], "half of it forgotten", learner)
    audit = learner.audit()
print(audit)
plt.show()

# %%
# A file that is not a store raises an error.

Path(folder.name, "notes.db").write_text("not a store, but a text of some length")
try:
    opforest.Learner(Path(folder.name, "notes.db"))
except StoreError as error:
    print(str(error).replace(folder.name, "…"))
folder.cleanup()
