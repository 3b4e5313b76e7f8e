"""
Outliers: examples of low density
=================================

``OPFOutlier`` scores an example by the logarithm of a density estimated from its nearest neighbors.
The training examples with the lowest scores are outliers.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from opforest import OPFOutlier
from opforest.metrics import resolve
from opforest.neighbors import nearest_neighbors

rng = np.random.default_rng(0)
moons, _ = make_moons(380, noise=0.06, random_state=0)
X = np.vstack((moons, rng.uniform([-2, -1.5], [3, 2], (20, 2))))

# %%
# Score
# -----
# ``contamination`` is the expected fraction of outliers.

detector = OPFOutlier(k_max=20, contamination=0.05).fit(X)
is_outlier = detector.predict(X) == -1
print(f"{is_outlier.sum()} outliers, {is_outlier[380:].sum()} of them among the 20 added points")

# %%
# The density
# -----------

x, y = np.meshgrid(np.linspace(-2.2, 3.2, 200), np.linspace(-1.7, 2.2, 160))
score = detector.score_samples(np.column_stack((x.ravel(), y.ravel()))).reshape(x.shape)
figure, ax = plt.subplots(figsize=(9, 5.6), layout="constrained")
filled = ax.contourf(x, y, score, 18, cmap="YlGnBu", alpha=0.85)
ax.contour(x, y, score, [detector.offset_], colors="#bd1f01", linewidths=1.6)
ax.scatter(*X[~is_outlier].T, s=12, color="#222222", label="inside")
ax.scatter(*X[is_outlier].T, s=44, color="#bd1f01", marker="X", edgecolors="white", label="outlier")
figure.colorbar(filled, label="log density")
ax.set(xticks=[], yticks=[])
ax.legend(loc="upper right")
plt.show()

# %%
# For scores of your own, ``nearest_neighbors`` accepts any metric.

near, distance = nearest_neighbors(X, 5, resolve("manhattan"))
print("farthest from its fifth neighbor: example", distance[:, -1].argmax())
