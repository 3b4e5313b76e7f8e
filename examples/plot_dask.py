"""
Dask: one model from many blocks
================================

``DaskOPFClassifier`` fits the blocks of a Dask array on any number of workers. Each block and each pair
of blocks yields candidate edges; merging them gives the minimum spanning tree of all examples. So the
model is, edge for edge, the one that ``OPFClassifier`` fits on one machine.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np

import dask
from opforest import OPFClassifier
from opforest.dask import DaskOPFClassifier
from opforest.datasets import make_cone_torus

X, y = make_cone_torus(600, random_state=0)
order = np.argsort(X[:, 0])  # vertical strips as blocks, for a clear plot
X, y = X[order], y[order]
blocks = da.from_array(X, chunks=(150, 2))

# %%
# Fit
# ---
# This example uses Dask's threads. ``distributed.Client(...)`` would use processes or machines;
# ``with opforest.dask.progress():`` shows a progress bar.

with dask.config.set(scheduler="threads"):
    model = DaskOPFClassifier().fit(blocks, y)
    answer = model.predict(blocks)  # lazy, one block for each input block
    print(answer)
    print("training examples keep their labels:", bool((answer.compute() == y).all()))

# %%
# The same model
# --------------

local = OPFClassifier().fit(X, y)
for name in ("edges", "cost", "root", "predecessor", "prototypes"):
    assert np.array_equal(getattr(model.to_local().forest_, name), getattr(local.forest_, name))

# %%
# The tree, by blocks
# -------------------
# Thin edges are within a block, thick red ones between two blocks. Shades show the blocks.

block = np.arange(len(X)) // 150
figure, ax = plt.subplots(figsize=(10, 6), layout="constrained")
for k in range(4):
    left, right = X[block == k, 0].min(), X[block == k, 0].max()
    ax.axvspan(left, right, color="#94a4a2", alpha=0.12 + 0.12 * (k % 2), lw=0)
for u, v in local.forest_.edges:
    within = block[u] == block[v]
    ax.plot(*X[[u, v]].T, color="#555555" if within else "#bd1f01", lw=0.8 if within else 2.6)
colors = np.array(["#3f90da", "#ffa90e", "#832db6"])
ax.scatter(*X.T, s=14, color=colors[np.unique(y, return_inverse=True)[1]], zorder=3)
between = sum(block[u] != block[v] for u, v in local.forest_.edges)
ax.set_title(f"{len(X) - 1} edges, {between} of them between blocks")
ax.set(xticks=[], yticks=[], xlim=(X[0, 0], X[-1, 0]))
plt.show()
