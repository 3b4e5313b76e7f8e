"""
Probabilities you can trust
===========================

When a model says 90 %, is it right nine times in ten? The forest turns the offers of the classes into
probabilities by one exponent, ``exponent_``, which it finds from its own training examples: no
validation set, no second model.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from opforest import OPFClassifier

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)

models = {
    "opforest": OPFClassifier(),
    "5-NN": KNeighborsClassifier(5),
    "random forest": RandomForestClassifier(random_state=0),
}

# %%
# Log loss
# --------
# Smaller is better. It punishes a model that is sure and wrong.

answers = {}
for name, model in models.items():
    answers[name] = model.fit(X, y).predict_proba(X_test)
    accuracy = model.score(X_test, y_test)
    print(f"{name:14} accuracy {accuracy:.1%}, log loss {log_loss(y_test, answers[name]):.3f}")
print(f"the exponent: {models['opforest'].exponent_:.1f}")

# %%
# Reliability
# -----------
# Answers in bins of their probability; each dot has at least ten. On the diagonal, a probability means
# what it says. Above it a model is too modest, below it too sure. The answers that the forest is least
# sure of, on the right, are the ones to look at.

figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.6), layout="constrained")
left.plot([0, 1], [0, 1], color="#cccccc", lw=1)
for (name, p), color in zip(answers.items(), ["#3f90da", "#94a4a2", "#ffa90e"], strict=True):
    best, right_answer = p.max(axis=1), p.argmax(axis=1) == y_test
    bins = np.minimum((best * 10).astype(int), 9)
    full = [b for b in range(10) if (bins == b).sum() >= 10]
    said = [best[bins == b].mean() for b in full]
    true = [right_answer[bins == b].mean() for b in full]
    left.plot(said, true, "o-", color=color, label=name)
left.set(
    xlabel="probability of the answer",
    ylabel="share of right answers",
    aspect="equal",
    xlim=(0.2, 1.02),
    ylim=(0.2, 1.02),
)
left.legend(frameon=False, loc="upper left")

p = answers["opforest"]
unsure = p.max(axis=1).argsort()[:12]
right.set_axis_off()
right.set_title("The twelve least certain digits")
for place, i in enumerate(unsure):
    box = right.inset_axes([place % 4 / 4, 0.69 - place // 4 / 3, 0.22, 0.22])
    box.imshow(X_test[i].reshape(8, 8), cmap="gray_r")
    box.set_axis_off()
    first, second = p[i].argsort()[::-1][:2]
    box.set_title(f"{first}: {p[i, first]:.0%}, {second}: {p[i, second]:.0%}", fontsize=9)
plt.show()
