"""
Calibrated probabilities
========================

When a model predicts 90 %, is it right nine times in ten? The forest converts the offers of the classes to
probabilities with one exponent, ``exponent_``, which it estimates from its own training examples: no
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
# Smaller is better. Log loss penalizes confident errors.

answers = {}
for name, model in models.items():
    answers[name] = model.fit(X, y).predict_proba(X_test)
    accuracy = model.score(X_test, y_test)
    print(f"{name:14} accuracy {accuracy:.1%}, log loss {log_loss(y_test, answers[name]):.3f}")
print(f"the exponent: {models['opforest'].exponent_:.1f}")

# %%
# Reliability
# -----------
# Predictions are grouped into bins by probability; each dot has at least ten. On the diagonal, a model is
# calibrated. Above it the model is underconfident, below it overconfident. On the right are the
# predictions with the lowest probabilities, which are the ones to review.

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
    xlabel="probability of the predicted class",
    ylabel="fraction of correct predictions",
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
