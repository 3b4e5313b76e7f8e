"""
A river pipeline, and river's own classifiers
=============================================

``opforest.river.OPFClassifier`` works like any other river classifier: it learns from dictionaries, one
at a time, after a scaler that is updated continuously. Here it is compared with river's k-NN and others
on three streams. It does not always win.
"""

import itertools

import matplotlib.pyplot as plt

from opforest.river import OPFClassifier
from river import datasets, metrics, naive_bayes, neighbors, preprocessing, tree

# %%
# Three streams, six classifiers
# ------------------------------
# Every example is predicted before it is learned. In the last stream, a tenth of the labels is wrong: there,
# one voter follows the noise, and models that average over many examples win.

models = {
    "forest": lambda: OPFClassifier(),
    "forest, voters=auto": lambda: OPFClassifier(voters="auto"),
    "forest, auto, window": lambda: OPFClassifier(voters="auto", window_size=1000),
    "river's k-NN": lambda: neighbors.KNNClassifier(engine=neighbors.LazySearch(window_size=1000)),
    "Hoeffding tree": lambda: tree.HoeffdingTreeClassifier(),
    "naive Bayes": lambda: naive_bayes.GaussianNB(),
}
sea = [datasets.synth.SEA(variant=k, noise=0.1, seed=k) for k in (0, 2)]
drift = datasets.synth.ConceptDriftStream(*sea, position=1500, width=50, seed=3)
streams = {
    "ImageSegments": list(datasets.ImageSegments()),
    "Phishing": list(datasets.Phishing()),
    "SEA, 10 % noise, drift": list(itertools.islice(drift, 3000)),
}


def follow(make, stream):
    """Return the accuracy after each example."""
    model, accuracy, curve = preprocessing.StandardScaler() | make(), metrics.Accuracy(), []
    for x, y in stream:
        guess = model.predict_one(x)
        if guess is not None:
            accuracy.update(y, guess)
        model.learn_one(x, y)
        curve.append(100 * accuracy.get())
    return model, curve


followed = {(s, m): follow(models[m], streams[s]) for s in streams for m in models}
for name in streams:
    scores = {m: followed[name, m][1][-1] for m in models}
    print(name)
    for m, a in sorted(scores.items(), key=lambda item: -item[1]):
        print(f"  {m:20} {a:5.1f} %")

# %%
# How accuracy develops:
colors = ["#3f90da", "#1f4e9e", "#17becf", "#bd1f01", "#e76300", "#717581"]
figure, axes = plt.subplots(1, 3, figsize=(12, 4.6), layout="constrained")
for ax, name in zip(axes, streams, strict=True):
    for model, color in zip(models, colors, strict=True):
        ax.plot(followed[name, model][1], color=color, lw=1.8, label=model)
    ax.set(xlabel="examples seen", title=name, ylim=(60, 100))
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("accuracy so far, %")
figure.legend(
    *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False
)
plt.show()

# %%
# The forest inside a pipeline, and the probabilities of one example:

pipeline = followed["ImageSegments", "forest"][0]
print(pipeline["OPFClassifier"].forest)
for label, p in pipeline.predict_proba_one(streams["ImageSegments"][0][0]).items():
    print(f"{label:10} {p:.3f}")
