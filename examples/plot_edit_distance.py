"""
Precomputed distances: words by edit distance
=============================================

A forest needs no coordinates, only distances. With ``metric="precomputed"`` it learns from a distance
matrix: here the edit distances between misspelled words. The classes are the correct words, so
the classifier corrects spelling, and its path shows the misspellings in between.
"""

import matplotlib.pyplot as plt
import numpy as np

from opforest import OPFClassifier

words = ["forest", "prototype", "spanning", "conqueror", "distance", "example"]

# %%
# Misspellings
# ------------
# One to three random errors each: a letter omitted, doubled, swapped or replaced.

rng = np.random.default_rng(3)


def misspell(word, slips):
    for _ in range(slips):
        i, other = rng.integers(len(word) - 1), rng.choice(list("aeiorstn"))
        a, b = word[i : i + 2]
        word = word[:i] + rng.choice([b, a + a + b, b + a, other + b]) + word[i + 2 :]
    return word


pairs = sorted({(misspell(word, s), word) for word in words for s in (0, 1, 1, 2, 2, 3, 3)})
texts, meant = (np.array(column) for column in zip(*pairs, strict=True))


def edit_distance(a, b):
    row = np.arange(len(b) + 1)
    for i, letter in enumerate(a, 1):
        before, row = row, np.full(len(b) + 1, i)
        for j, other in enumerate(b, 1):
            row[j] = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
    return row[-1]


D = np.array([[edit_distance(a, b) for b in texts] for a in texts], float)
clf = OPFClassifier("precomputed").fit(D, meant)

# %%
# Correct a word
# --------------
# A query is a row of distances to all training examples.

for text in ("prottype", "exmpel", "conqerur"):
    why = clf.explain([edit_distance(text, other) for other in texts])
    path = " → ".join(texts[step.id] for step in why.steps[:-1])
    print(f"{text} → {why.label}   (by {path})")

# %%
# Draw it
# -------
# Each word has its own area, in which classical multidimensional scaling of the distances places its
# misspellings. The lines are the spanning tree; edges cut between two words are dashed.

place = np.empty((len(texts), 2))
for k, word in enumerate(words):
    mine = np.flatnonzero(meant == word)
    center = np.eye(len(mine)) - 1 / len(mine)
    value, vector = np.linalg.eigh(-0.5 * center @ D[np.ix_(mine, mine)] ** 2 @ center)
    place[mine] = vector[:, -2:] * np.sqrt(value[-2:]) * [1, 0.7] + [7 * (k % 3), 4.5 * (k // 3)]
figure = plt.figure(figsize=(10.5, 6))
ax = figure.add_axes((0.04, 0, 0.92, 1), frame_on=False, xticks=[], yticks=[])
colors = ["#3f90da", "#e76300", "#bd1f01", "#717581", "#832db6", "#7a6b20"]
for u, v in clf.forest_.edges:
    style = {"color": "#bbbbbb"} if meant[u] == meant[v] else {"color": "#444444", "ls": "--"}
    ax.plot(*place[[u, v]].T, lw=0.9, **style)
for text, word, (x, y) in zip(texts, meant, place, strict=True):
    style = {"color": colors[words.index(word)], "weight": "bold" if text == word else "normal"}
    ax.text(x, y, text, ha="center", va="center", backgroundcolor="#ffffffbb", **style)
plt.show()
