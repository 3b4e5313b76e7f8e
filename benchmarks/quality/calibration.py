"""Probabilities beside those of other classifiers: log loss, calibration, a reliability diagram.

Prints the table of docs/probabilities.md and draws docs/images/reliability.png.
"""

import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from common import DATA, HERE, load
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from opforest import OPFClassifier
from opforest.core.probability.softmin import softmin

PICTURE = HERE.parent / "docs" / "images" / "reliability.png"
WILD = DATA.parent / "wild"
PUBLISHED = {
    "Parkinsons": "parkinsons", "Cone-Torus": "cone-torus", "Lithu": "L", "CTG": "CTG",
    "NTL": "ntl", "Produce": "produce", "SpamBase": "SpamBase2",
}  # fmt: skip
FOLDS, BINS = 5, 10


class Inverse(OPFClassifier):
    """The probabilities of version 0.1.0: shares of inverse costs."""

    def predict_proba(self, X):
        """Return shares of inverse costs."""
        cost = self.class_costs(X)
        return softmin(cost, cost.argmin(axis=1), np.isfinite(cost), 1.0, 0.0)


def sets():
    """Yield names, examples and labels of all data sets at hand."""
    for name, read in (
        ("Wine", load_wine), ("Iris", load_iris), ("Breast cancer", load_breast_cancer),
        ("Digits", load_digits),
    ):  # fmt: skip
        yield name, *read(return_X_y=True)
    for name, file in PUBLISHED.items():
        data = load(file)
        if data is not None:
            yield name, *data
    if (WILD / "letter-recognition.data").exists():
        table = np.loadtxt(WILD / "letter-recognition.data", str, delimiter=",", max_rows=4000)
        yield "Letter (4000)", table[:, 1:].astype(float), table[:, 0]


def contestants():
    return {
        "1 / c": Inverse(),
        "opforest": OPFClassifier(),
        "5-NN": KNeighborsClassifier(5),
        "random forest": RandomForestClassifier(random_state=0),
        "isotonic": CalibratedClassifierCV(Inverse(), method="isotonic", cv=4),
    }


def out_of_fold(X, y):
    """Return probabilities of all examples by each model, and the calibration, on average."""
    found, calibration = {}, []
    classes = np.unique(y)
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y):
        for name, model in contestants().items():
            fitted = make_pipeline(StandardScaler(), model).fit(X[train], y[train])
            proba = found.setdefault(name, np.empty((len(X), len(classes))))
            proba[test] = fitted.predict_proba(X[test])
            if name == "opforest":
                calibration.append(fitted[-1].exponent_)
    return found, float(np.mean(calibration))


def confidence(proba, y):
    """Return the largest probabilities, and which of their classes are right."""
    return proba.max(axis=1), np.unique(y)[proba.argmax(axis=1)] == y


def by_bin(proba, y):
    """Return sums of confidence, of right answers, and counts, by bin of the confidence."""
    sure, right = confidence(proba, y)
    place = np.minimum((sure * BINS).astype(int), BINS - 1)
    return [np.bincount(place, weight, BINS) for weight in (sure, right, np.ones(len(y)))]


def calibration_error(proba, y):
    """Return how far confidence and accuracy are apart, on average over the bins."""
    sure, right, _ = by_bin(proba, y)
    return np.abs(sure - right).sum() / len(y)


def draw(results, path: Path):
    import matplotlib.pyplot as plt

    names = ("Digits", "Letter (4000)", "SpamBase", "Lithu")
    shown = [name for name in names if name in results]
    figure, axes = plt.subplots(
        1, len(shown), figsize=(3.1 * len(shown), 4.2), layout="constrained", sharey=True,
        squeeze=False,
    )  # fmt: skip
    colors = {"1 / c": "#94a4a2", "opforest": "#bd1f01", "5-NN": "#ffa90e",
               "random forest": "#3f90da"}  # fmt: skip
    labels = {"1 / c": "version 0.1.0, 1 / c"}
    for axis, name in zip(axes[0], shown, strict=True):
        found, y, calibration = results[name]
        axis.plot([0, 1], [0, 1], color="#222222", linewidth=0.8, linestyle=(0, (3, 2)))
        for model, color in colors.items():
            sure, right, count = by_bin(found[model], y)
            some = count >= 10
            axis.plot(sure[some] / count[some], right[some] / count[some], marker="o",
                      markersize=4, linewidth=1.6 if model == "opforest" else 1.1, color=color,
                      label=labels.get(model, model))  # fmt: skip
        axis.set(title=f"{name}, e = {calibration:.1f}", xlabel="probability of the answer",
                 xlim=(0, 1.02), ylim=(0, 1.02), aspect="equal")  # fmt: skip
        axis.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_ylabel("share of right answers")
    handles, texts = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, texts, loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, dpi=150)


def main():
    results = {}
    names = list(contestants())
    print("| log loss | " + " | ".join(names) + " | e |")
    print("|---|" + "---:|" * (len(names) + 1), flush=True)
    for name, X, y in sets():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, calibration = out_of_fold(X, y)
        results[name] = found, y, calibration
        losses = {model: log_loss(y, proba) for model, proba in found.items()}
        best = min(losses.values())
        cells = [f"**{loss:.3f}**" if loss == best else f"{loss:.3f}" for loss in losses.values()]
        print(f"| {name} | " + " | ".join(cells) + f" | {calibration:.1f} |", flush=True)
    print("\n| calibration error | " + " | ".join(names) + " |")
    print("|---|" + "---:|" * len(names))
    for name, (found, y, _) in results.items():
        errors = {model: calibration_error(proba, y) for model, proba in found.items()}
        best = min(errors.values())
        cells = [
            f"**{error:.3f}**" if error == best else f"{error:.3f}" for error in errors.values()
        ]
        print(f"| {name} | " + " | ".join(cells) + " |")
    draw(results, PICTURE)
    print(f"\ndrawn: {PICTURE}")


if __name__ == "__main__":
    main()
