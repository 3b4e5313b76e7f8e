"""
Learning curves: exact, OPFI, DIFT and 1-NN
===========================================

A stream arrives in forty increments. After each, every model is tested on the same held-out half,
and the time of its update is measured. ``update="exact"`` gives exactly the model you would get by
refitting on all examples so far, in a small fraction of the time.
"""

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from opforest import OPFClassifier
from opforest.datasets import make_base

X, y = make_base(6000, kind=1, random_state=0)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
ends = np.linspace(0, len(X), 41).astype(int)[1:]

# %%
# Three updates and two refitted models
# -------------------------------------
# First calls compile the kernels before anything is timed.


def grow(clf):
    return lambda X, y, first: clf.partial_fit(X[first:], y[first:])


models = {
    "exact": grow(OPFClassifier()),
    "OPFI": grow(OPFClassifier(update="opfi")),
    "DIFT": grow(OPFClassifier(update="dift")),
    "refit": lambda X, y, first: OPFClassifier().fit(X, y),
    "1-NN": lambda X, y, first: KNeighborsClassifier(1).fit(X, y),
}
for update in ("exact", "opfi", "dift"):  # compile before anything is timed
    OPFClassifier(update=update).fit(X[:-2], y[:-2]).partial_fit(X[-2:], y[-2:])

accuracy, seconds = {}, {}
for name, learn in models.items():
    accuracy[name], seconds[name] = [], []
    for first, last in zip([0, *ends], ends, strict=False):
        begin = perf_counter()
        clf = learn(X[:last], y[:last], first)
        seconds[name].append(perf_counter() - begin)
        accuracy[name].append(clf.score(X_test, y_test))

# %%
# The exact update and refitting give the same model, so their accuracies are equal.

assert accuracy["exact"] == accuracy["refit"]

colors = dict(zip(models, ["#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6"], strict=True))
figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.3), layout="constrained")
for name in models:
    if name != "refit":
        left.plot(ends, 100 * np.array(accuracy[name]), color=colors[name], label=name)
    right.plot(ends[1:], 1000 * np.array(seconds[name][1:]), color=colors[name], label=name)
left.set(xlabel="examples learned", ylabel="accuracy on the other half, %")
right.set(xlabel="examples learned", ylabel="time of an increment of 75, ms", yscale="log")
right.set_yticks([0.3, 1, 3, 10], ["0.3", "1", "3", "10"])
right.minorticks_off()
left.legend(frameon=False)
right.legend(frameon=False, ncols=2)
plt.show()

# %%
# OPFI, an approximation, loses a little accuracy; DIFT drifts towards 1-NN, because it makes every
# new example a prototype. 1-NN "learns" by rebuilding an index, and explains nothing.
