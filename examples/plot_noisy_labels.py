"""
Finding wrong labels
====================

With one voter, every wrong label misleads a forest. ``find_label_issues`` compares the label of
each known example with the votes of the others, and lists the examples whose labels are probably
wrong, the most suspicious first.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_moons
from sklearn.model_selection import train_test_split

from opforest import OPFClassifier, find_label_issues

# %%
# Flip some labels
# ----------------
# One label in ten is wrong. A ring has the color of the suggested label.

X, truth = make_moons(400, noise=0.15, random_state=0)
flipped = np.random.default_rng(0).random(len(X)) < 0.1
y = np.where(flipped, 1 - truth, truth)

clf = OPFClassifier().fit(X, y)
issues = find_label_issues(clf)
print(issues)
issues.plot(n=12)

# %%
# How many were found
# -------------------
# Ids are those of ``forget``, and after ``fit`` they are rows of X.

found = np.isin(np.arange(len(X)), issues.ids)
print(f"{(found & flipped).sum()} of {flipped.sum()} wrong labels were found,")
print(f"and {(found & ~flipped).sum()} right ones suspected.")

# %%
# The reason
# ----------
# Each record has the examples that voted, with their offers and weights.

worst = issues[0]
print(f"example {worst.id} is labeled {worst.label}, the others vote for {worst.suggested}:")
for voter in worst.voters[:5]:
    print(f"  example {voter.id:3}  label {voter.label}  offer {voter.offer:.3f}")

# %%
# What it is good for
# -------------------
# Forget the suspects, or let the cheapest offers vote, so that you need not decide. Both
# restore most of the accuracy lost to wrong labels.

digits, names = load_digits(return_X_y=True)
X, X_test, truth, y_test = train_test_split(digits, names, random_state=0)
noise = (0.0, 0.05, 0.1, 0.2)
scores: dict[str, list[float]] = {"plain": [], "suspects forgotten": [], 'voters="auto"': []}
for share in noise:
    rng = np.random.default_rng(1)
    flipped = rng.random(len(X)) < share
    y = np.where(flipped, (truth + rng.integers(1, 10, len(X))) % 10, truth)
    clf = OPFClassifier().fit(X, y)
    scores["plain"].append(clf.score(X_test, y_test))
    clf.forget(find_label_issues(clf).ids)
    scores["suspects forgotten"].append(clf.score(X_test, y_test))
    voting = OPFClassifier(voters="auto").fit(X, y)
    scores['voters="auto"'].append(voting.score(X_test, y_test))

figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for (name, values), marker in zip(scores.items(), "osv", strict=True):
    ax.plot(np.multiply(noise, 100), np.multiply(values, 100), marker=marker, label=name)
    print(f"{name}: " + ", ".join(f"{value:.1%}" for value in values))
ax.set(xlabel="wrong labels, %", ylabel="accuracy on clean labels, %")
ax.legend(frameon=False)
plt.show()
