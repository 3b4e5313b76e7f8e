"""
Smaller and better training sets
================================

Any training example may conquer a query, so a model keeps them all. Given an evaluation set,
``prune`` removes examples that are not needed to predict it, and ``learn_from_errors`` swaps in
misclassified ones.
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
# Both return a new classifier and a history of their steps.

small, steps = opforest.prune(clf, X_eval, y_eval, loss=0.01)
print("prune:", *(f"{r.examples} examples {r.accuracy:.1%}" for r in steps), sep="\n  ")
better, history = opforest.learn_from_errors(clf, X_eval, y_eval, random_state=0)
print("learn_from_errors:", *(f"{r.accuracy:.1%}" for r in history))

# %%
# Accuracy on unseen examples
# ---------------------------
# LibOPF's accuracy gives all classes the same weight, whatever their size.

for name, model in {"all": clf, "pruned": small, "swapped": better}.items():
    answer = model.predict(X_test)
    recall = [round(value, 2) for value in class_recall(y_test, answer).values()]
    score = opf_accuracy(y_test, answer)
    print(f"{name:8} {len(model.forest_)} examples, {score:.1%}, recall by class {recall}")

# %%
# The remaining examples
# ----------------------
# The pruned model keeps the ids of the original one, so its examples are easy to find.

figure, axes = plt.subplots(1, 2, figsize=(10.5, 4.8), layout="constrained")
for ax, model, name in zip(axes, (clf, small), ("all", "pruned"), strict=True):
    ForestDisplay.from_estimator(model, X[model.forest_.ids], ax=ax)
    accuracy = np.mean(model.predict(X_test) == y_test)
    ax.set_title(f"{name}: {len(model.forest_)} examples, {accuracy:.1%} correct", fontsize=11)
    ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
    ax.get_legend().remove()
plt.show()
