"""
Clusters: peaks of a density
============================

``OPFClustering`` estimates a density from nearest neighbors; each peak conquers one cluster. You do
not choose the number of clusters, only the scale ``k_max``: the larger it is, the fewer clusters.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from opforest import OPFClustering
from opforest.cluster_plotting import ClusterDisplay

X, truth = make_blobs(
    600, cluster_std=[1.0, 2.2, 0.5, 1.3], centers=[[0, 0], [8, 3], [2, 7], [9, 10]], random_state=0
)

# %%
# Three scales
# ------------
# For each ``k_max`` the number of neighbors with the smallest normalized cut is chosen.

figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.7), layout="constrained")
for ax, k_max in zip(axes, (10, 20, 60), strict=True):
    found = OPFClustering(k_max).fit(X)
    score = adjusted_rand_score(truth, found.labels_)
    ClusterDisplay.from_estimator(found, X, ax=ax)
    title = f"k_max = {k_max}: {len(found.roots_)} clusters\nRand index {score:.2f}"
    ax.set_title(title, fontsize=11)
    ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
plt.show()

# %%
# Merge small peaks
# -----------------
# With a small ``k_max``, ``merge_by`` removes peaks that rise little above their surroundings. New points get
# the cluster of their conqueror.

merged = OPFClustering(10, merge_by="height", threshold=0.2).fit(X)
print("clusters:", len(merged.roots_), "sizes:", np.bincount(merged.labels_))
print("of new points:", merged.predict([[0.0, 0.0], [9.0, 10.0]]))
