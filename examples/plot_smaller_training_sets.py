"""
Smaller and better training sets
================================

Every training example may conquer, so a model keeps them all. With an evaluation set at hand, ``prune``
drops those that nobody needs, and ``learn_from_errors`` swaps in examples that the model got wrong.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

import opforest
from opforest import OPFClassifier
from opforest.datasets import make_cone_torus
from opforest.plotting import ForestDisplay
from opforest.scores import class_recall, opf_accuracy

X, y = make_cone_torus(1500, random_state=0)
X, X_rest, y, y_rest = train_test_split(X, y, test_size=2 / 3, stratify=y, random_state=0)
X_eval, X_test, y_eval, y_test = train_test_split(
    X_rest, y_rest, test_size=0.5, stratify=y_rest, random_state=0
)
clf = OPFClassifier().fit(X, y)

# %%
# Prune, and learn from errors
# ----------------------------
# Both return a new classifier, and what they did in each round.

small, rounds = opforest.prune(clf, X_eval, y_eval, loss=0.01)
print("prune:", *(f"{r.examples} examples {r.accuracy:.1%}" for r in rounds), sep="\n  ")
better, history = opforest.learn_from_errors(clf, X_eval, y_eval, random_state=0)
print("learn_from_errors:", *(f"{r.accuracy:.1%}" for r in history))

# %%
# On examples that neither has seen
# ---------------------------------
# LibOPF's accuracy weighs classes alike, however many examples they have.

for name, model in {"all": clf, "pruned": small, "swapped": better}.items():
    answer = model.predict(X_test)
    recall = [round(share, 2) for share in class_recall(y_test, answer).values()]
    score = opf_accuracy(y_test, answer)
    print(f"{name:8} {len(model.forest_)} examples, {score:.1%}, recall by class {recall}")

# %%
# What is left
# ------------
# The ids of the pruned model are those of the first, so its examples are easy to find.

figure, axes = plt.subplots(1, 2, figsize=(10.5, 4.8), layout="constrained")
for ax, model, name in zip(axes, (clf, small), ("all", "pruned"), strict=True):
    ForestDisplay.from_estimator(model, X[model.forest_.ids], ax=ax)
    share = np.mean(model.predict(X_test) == y_test)
    ax.set_title(f"{name}: {len(model.forest_)} examples, {share:.1%} right", fontsize=11)
    ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
    ax.get_legend().remove()
plt.show()
