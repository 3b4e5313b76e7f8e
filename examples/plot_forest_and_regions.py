"""
A forest and its regions
========================

An optimum-path forest connects the training examples by their minimum spanning tree and cuts every
edge between two classes. The endpoints of the cut edges are the *prototypes*, drawn as stars. Each
prototype conquers examples of its class along paths, drawn as thin lines. A new point gets the
label of the example that offers it the cheapest path, shown by the color of the background.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from opforest import OPFClassifier
from opforest.datasets import make_cone_torus, make_saturn
from opforest.plotting import ForestDisplay

# %%
# Fit
# ---
# Three data sets, one classifier, nothing to tune. Each forest prints as one line.

data = {
    "two moons": make_moons(160, noise=0.22, random_state=1),
    "cone and torus": make_cone_torus(220, random_state=4),
    "saturn": make_saturn(200, random_state=2),
}
models = {}
for name, (X, y) in data.items():
    models[name] = OPFClassifier().fit(X, y)
    print(f"{name:15} {models[name].forest_}")

# %%
# Draw
# ----
# Prototypes lie along the border between classes. Far from it, a few prototypes conquer large
# regions; where classes overlap, there are many small trees.

figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.7), layout="constrained")
for ax, (name, clf) in zip(axes, models.items(), strict=True):
    ForestDisplay.from_estimator(clf, data[name][0], ax=ax)
    ax.set_title(f"{name}: {len(clf.forest_.prototypes)} prototypes", fontsize=11)
    ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
    ax.get_legend().remove()
plt.show()

# %%
# The arrays of a forest
# ----------------------
# ``forest_`` holds the whole model as arrays: the cost of each example, its predecessor and root,
# the prototypes and the edges of the spanning tree. These arrays identify examples by index;
# ``ids`` holds the permanent number of each example.

forest = models["two moons"].forest_
farthest = forest.cost.argmax()
print("largest cost: example", forest.ids[farthest], "at cost", forest.cost[farthest].round(3))
print("its prototype: example", forest.ids[forest.root[farthest]])

# %%
# Explain
# -------
# In a notebook, an explanation is shown as a table, and with two features also as a plot: the path to
# the point (a ring), and dashed the path of the nearest rival class.

models["two moons"].explain([0.2, 0.5])
