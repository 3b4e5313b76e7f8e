"""
Metrics for histograms
======================

The metric should suit the data. Here each example is a histogram: the colors of a small patch of one
of two photographs. The bars compare the errors of several metrics, averaged over five random splits:
metrics for histograms, such as chi-squared and squared chord, make fewer errors here.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_images
from sklearn.model_selection import train_test_split

from opforest import OPFClassifier

images, names = load_sample_images().images, ["temple", "flower"]

# %%
# Patches become histograms
# -------------------------
# 512 bins, eight levels for each of red, green and blue, counted over patches of 16 × 16 pixels.


def color_histogram(patch):
    level = patch.reshape(-1, 3) // 32
    return np.bincount(level @ [64, 8, 1], minlength=512) / len(level)


rng = np.random.default_rng(0)
X, y, corners = [], [], []
for label, image in enumerate(images):
    for _ in range(1000):
        row, column = rng.integers(0, image.shape[0] - 16), rng.integers(0, image.shape[1] - 16)
        X.append(color_histogram(image[row : row + 16, column : column + 16]))
        y.append(label)
        corners.append((row, column))
X, y, corners = np.array(X), np.array(y), np.array(corners)
places = np.arange(len(y))
halves = [train_test_split(places, stratify=y, test_size=0.5, random_state=k) for k in range(5)]

# %%
# One line for each metric
# ------------------------
# Bins of rare colors hardly vary. This is normal for histograms, so the warning about scales is silenced.

warnings.filterwarnings("ignore", "features differ in spread")

metrics = ["chebyshev", "euclidean", "cosine", "manhattan", "braycurtis", "chi_squared"]
metrics += ["squared_chi_squared", "squared_chord"]
mistaken = {metric: [] for metric in metrics}
for metric in metrics:
    for train, test in halves:
        clf = OPFClassifier(metric).fit(X[train], y[train])
        mistaken[metric].append(test[clf.predict(X[test]) != y[test]])
mean = {metric: np.mean([len(wrong) for wrong in mistaken[metric]]) for metric in metrics}

figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.2), layout="constrained")
for label, (ax, image) in enumerate(zip(axes, images, strict=False)):
    ax.imshow(image)
    for metric, color, width in (("euclidean", "#ffffff", 3.5), ("squared_chord", "#ff2fa0", 1.5)):
        wrong = mistaken[metric][0]
        for row, column in corners[wrong[y[wrong] == label]]:
            ax.add_patch(plt.Rectangle((column, row), 16, 16, fill=False, ec=color, lw=width))
    ax.set_title(f"{names[label]}: misclassified patches", fontsize=11)
    ax.set_axis_off()
order = sorted(metrics, key=lambda metric: -mean[metric])
colors = {"euclidean": "#717581", "squared_chord": "#ff2fa0"}
counts, shades = zip(*((mean[m], colors.get(m, "#3f90da")) for m in order), strict=True)
bars = axes[2].barh(order, counts, color=shades)
axes[2].bar_label(bars, padding=3, fmt="%.1f")
axes[2].set_title("Errors among 1,000 patches, mean of 5", fontsize=11)
axes[2].spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# White squares mark the errors of the Euclidean distance in the first split, pink squares those of
# squared chord.
