"""
Explaining a digit by its path
==============================

``explain`` returns the path that gave an example its label: from a prototype, through training examples,
to the conqueror and the example itself. For images you can see the path: each step changes the
digit a little, and the cost is the longest step.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from opforest import OPFClassifier

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
clf = OPFClassifier().fit(X, y)
print(f"accuracy {clf.score(X_test, y_test):.1%}, {clf.forest_}")

# %%
# Why is this a 7?
# ----------------
# Of the correctly classified sevens, take the one with the longest path of at most eight digits.

sevens = np.flatnonzero((y_test == 7) & (clf.predict(X_test) == 7))
explanations = [clf.explain(X_test[i]) for i in sevens]
short = [i for i, why in enumerate(explanations) if len(why.steps) <= 8]
longest = max(short, key=lambda i: len(explanations[i].steps))
x, why = X_test[sevens[longest]], explanations[longest]
print(why)


def draw_path(axes, why, x):
    """Draw the images of a path, with the length of each step."""
    for ax in axes:
        ax.set_axis_off()
    for ax, step in zip(axes, why.steps, strict=False):
        image = x if step.id is None else X[step.id]
        ax.imshow(image.reshape(8, 8), cmap="gray_r")
        length = "prototype" if step.distance == 0 else f"+ {step.distance:.1f}"
        digit = "this digit" if step.id is None else f"a {step.label}"
        ax.set_title(f"{digit}\n{length}", size=10)


n = len(why.steps)
figure, axes = plt.subplots(1, n, figsize=(1.3 * n, 2.3), layout="constrained")
draw_path(axes, why, x)
figure.suptitle(f"A {why.label} at cost {why.cost:.1f}, the longest step")
plt.show()

# %%
# Wrong predictions
# -----------------
# The path shows where an error comes from. Below each error is its true label; the example
# before it is its conqueror, which you could forget or correct.

# sphinx_gallery_thumbnail_number = 2
wrong = np.flatnonzero(clf.predict(X_test) != y_test)
wrong = [i for i in wrong if 3 < len(clf.explain(X_test[i]).steps) < 9][:3]
reasons = [clf.explain(X_test[i]) for i in wrong]
columns = max(len(reason.steps) for reason in reasons)
figure, axes = plt.subplots(
    len(wrong), columns, figsize=(1.35 * columns, 1.9 * len(wrong)), layout="constrained"
)
for row, i, reason in zip(axes, wrong, reasons, strict=True):
    draw_path(row, reason, X_test[i])
    last = row[len(reason.steps) - 1]
    last.text(3.5, 8.6, f"truly a {y_test[i]}", ha="center", color="#bd1f01")
plt.show()

# %%
# The offers of the other classes
# -------------------------------
# ``class_costs`` returns the lowest offer of each class: the closer the two lowest, the less certain the label.

costs = clf.class_costs(X_test[wrong[:1]])[0]
for label in np.argsort(costs)[:3]:
    print(f"a {label} would cost {costs[label]:.2f}")
