"""
Learning curves: exact, OPFI, DIFT and 1-NN
===========================================

A stream arrives in forty increments. After each, every model is tested on the same held-out half,
and the processor time of its update is measured. The plots show medians over five
streams. ``update="exact"`` gives exactly the model you would get by refitting on all
examples so far, in a small fraction of the time.
"""

from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from opforest import OPFClassifier
from opforest.datasets import make_base

REPEATS, ENDS = 5, np.linspace(0, 3000, 41).astype(int)[1:]


def make_stream(seed):
    X, y = make_base(6000, kind=1, random_state=seed)
    return train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)


# %%
# Three updates and two refitted models. First calls compile, so they run before anything is timed.


def grow(clf):
    return lambda X, y, first: clf.partial_fit(X[first:], y[first:])


def make_models():
    return {
        "exact": grow(OPFClassifier()),
        "OPFI": grow(OPFClassifier(update="opfi")),
        "DIFT": grow(OPFClassifier(update="dift")),
        "refit": lambda X, y, first: OPFClassifier().fit(X, y),
        "1-NN": lambda X, y, first: KNeighborsClassifier(1).fit(X, y),
    }


X, _, y, _ = make_stream(0)
for update in ("exact", "opfi", "dift"):
    OPFClassifier(update=update).fit(X[:-2], y[:-2]).partial_fit(X[-2:], y[-2:])

accuracy = {name: np.zeros((REPEATS, len(ENDS))) for name in make_models()}
seconds = {name: np.zeros((REPEATS, len(ENDS))) for name in make_models()}
for seed in range(REPEATS):
    X, X_test, y, y_test = make_stream(seed)
    for name, learn in make_models().items():
        for k, (first, last) in enumerate(zip([0, *ENDS], ENDS, strict=False)):
            begin = process_time()
            clf = learn(X[:last], y[:last], first)
            seconds[name][seed, k] = process_time() - begin
            accuracy[name][seed, k] = clf.score(X_test, y_test)

# %%
# The exact update and refitting give the same model, so their accuracies are equal.

assert np.array_equal(accuracy["exact"], accuracy["refit"])

colors = dict(zip(accuracy, ["#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6"], strict=True))
figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.3), layout="constrained")
for name, color in colors.items():
    if name != "refit":
        left.plot(ENDS, 100 * np.median(accuracy[name], axis=0), color=color, label=name)
    right.plot(ENDS[1:], 1000 * np.median(seconds[name], axis=0)[1:], color=color, label=name)
left.set(xlabel="examples learned", ylabel="accuracy on the other half, %, median")
right.set(xlabel="examples learned", ylabel="time of 75 examples, ms, median", yscale="log")
right.legend(frameon=False, ncols=2)
plt.show()

# %%
# OPFI, an approximation, loses a little accuracy; DIFT drifts towards 1-NN, because it makes every
# new example a prototype. 1-NN "learns" by rebuilding an index, and explains nothing.
