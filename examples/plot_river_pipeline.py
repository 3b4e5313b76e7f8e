"""
A river pipeline
================

``opforest.river.OPFClassifier`` works like any other river classifier: it learns from dictionaries, one
at a time, after a scaler that is updated continuously. New features and classes may appear at any time.
"""

import matplotlib.pyplot as plt

from opforest.river import OPFClassifier
from river import datasets, metrics, naive_bayes, preprocessing, tree

# %%
# Outdoor images, one by one
# --------------------------
# Every example is predicted before it is learned.

models = {
    "optimum-path forest": preprocessing.StandardScaler() | OPFClassifier(),
    "Hoeffding tree": preprocessing.StandardScaler() | tree.HoeffdingTreeClassifier(),
    "naive Bayes": preprocessing.StandardScaler() | naive_bayes.GaussianNB(),
}
curves = {}
for name, model in models.items():
    accuracy, curve = metrics.Accuracy(), []
    for x, y in datasets.ImageSegments():
        guess = model.predict_one(x)
        if guess is not None:
            accuracy.update(y, guess)
        model.learn_one(x, y)
        curve.append(100 * accuracy.get())
    curves[name] = curve
    print(f"{name:20} {accuracy}")

# %%
# The forest inside the pipeline
# ------------------------------

clf = models["optimum-path forest"]["OPFClassifier"]
print(clf.forest)
print("classes:", clf.labels)

figure, ax = plt.subplots(figsize=(10, 4.6), layout="constrained")
for (name, curve), color in zip(curves.items(), ["#3f90da", "#e76300", "#717581"], strict=True):
    ax.plot(curve, color=color, lw=2)
    shift = {"Hoeffding tree": -8, "naive Bayes": 8}.get(name, 0)
    ax.annotate(
        f"{name}, {curve[-1]:.1f} %",
        (len(curve), curve[-1]),
        (6, shift),
        textcoords="offset points",
        va="center",
        color=color,
    )
ax.set(xlabel="examples seen", ylabel="accuracy so far, %", ylim=(40, 100), xlim=(0, 3100))
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# ``predict_proba_one`` returns the probabilities of one example.

x, y = next(iter(datasets.ImageSegments()))
probabilities = models["optimum-path forest"].predict_proba_one(x)
for label, probability in sorted(probabilities.items(), key=lambda item: -item[1])[:3]:
    print(f"{label:10} {probability:.3f}")
