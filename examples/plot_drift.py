"""
Drift: windows and ADWIN
========================

In this stream the concept reverses after 3,000 examples. A model that remembers everything keeps
predicting the old concept. A window forgets exactly: after each example the model is the one
fitted to the last 500. Alternatively, a drift detector decides when to forget.
"""

import matplotlib.pyplot as plt
import numpy as np
from river.datasets import synth

from opforest.river import OPFClassifier
from river import drift


def stream():
    before = synth.Mixed(seed=1, classification_function=0)
    after = synth.Mixed(seed=2, classification_function=1)
    return synth.ConceptDriftStream(before, after, seed=1, position=3000, width=50).take(6000)


# %%
# Test, then train
# ----------------
# ``forget_oldest`` supports any rule: here, keep the last 100 examples when ADWIN detects more errors.


def follow(model, detector=None):
    right, known = [], []
    for x, y in stream():
        right.append(model.predict_one(x) == y)
        if detector is not None:
            detector.update(not right[-1])
            if detector.drift_detected:
                model.forget_oldest(max(0, len(model.forest) - 100))
        model.learn_one(x, y)
        known.append(len(model.forest))
    return np.array(right), np.array(known)


runs = {
    "all examples": follow(OPFClassifier()),
    "the last 500": follow(OPFClassifier(window_size=500)),
    "with ADWIN": follow(OPFClassifier(), drift.ADWIN()),
}
for name, (right, known) in runs.items():
    print(f"{name:13} {right.mean():.1%} correct, {known[-1]} examples known at the end")

# %%
# Accuracy and memory along the stream
# ------------------------------------

figure, (above, below) = plt.subplots(
    2, 1, figsize=(10.5, 6.1), sharex=True, layout="constrained", height_ratios=[2, 1]
)
colors = ["#94a4a2", "#3f90da", "#e76300"]
for (name, (right, known)), color in zip(runs.items(), colors, strict=True):
    recent = np.convolve(right, np.ones(200) / 200, mode="valid")
    above.plot(np.arange(199, len(right)), 100 * recent, color=color, label=name, lw=1.8)
    below.plot(known, color=color, lw=1.8)
for ax in (above, below):
    ax.axvline(3000, color="#222222", lw=0.9, ls=":")
    ax.spines[["top", "right"]].set_visible(False)
above.set(ylabel="accuracy over the last 200, %", ylim=(0, 101))
above.annotate("the concept reverses", (3000, 6), (3060, 6))
above.legend(frameon=False, loc="lower left")
below.set(ylabel="known examples", xlabel="examples seen")
plt.show()
