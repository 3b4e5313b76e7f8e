"""Compare probabilities with those of other classifiers: log loss, calibration, reliability.

Prints the tables of docs/probabilities.md and draws docs/images/reliability.png.
"""

import warnings
from pathlib import Path

import numpy as np
from benchmarks.common import HERE, letter, load, print_markdown
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
PUBLISHED = {
    "Parkinsons": "parkinsons", "Cone-Torus": "cone-torus", "Lithu": "L", "CTG": "CTG",
    "NTL": "ntl", "Produce": "produce", "SpamBase": "SpamBase2",
}  # fmt: skip
FOLDS, BINS = 5, 10


class Inverse(OPFClassifier):
    """The probabilities of version 0.1.0: normalized inverse costs."""

    def predict_proba(self, X):
        """Return normalized inverse costs."""
        cost = self.class_costs(X)
        return softmin(cost, cost.argmin(axis=1), np.isfinite(cost), 1.0, 0.0)


def sets():
    """Yield names, examples and labels of all available data sets."""
    for name, read in (
        ("Wine", load_wine), ("Iris", load_iris), ("Breast cancer", load_breast_cancer),
        ("Digits", load_digits),
    ):  # fmt: skip
        yield name, *read(return_X_y=True)
    found = {name: load(file) for name, file in PUBLISHED.items()}
    for name, data in {**found, "Letter (4000)": letter(4000)}.items():
        if data is not None:
            yield name, *data


def contestants():
    return {
        "1 / c": Inverse(),
        "opforest": OPFClassifier(),
        "5-NN": KNeighborsClassifier(5),
        "random forest": RandomForestClassifier(random_state=0),
        "isotonic": CalibratedClassifierCV(Inverse(), method="isotonic", cv=4),
    }


def out_of_fold(X, y):
    """Return the probabilities of all examples by each model, and our mean exponent."""
    found, exponents = {}, []
    classes = np.unique(y)
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y):
        for name, model in contestants().items():
            fitted = make_pipeline(StandardScaler(), model).fit(X[train], y[train])
            proba = found.setdefault(name, np.empty((len(X), len(classes))))
            proba[test] = fitted.predict_proba(X[test])
            if name == "opforest":
                exponents.append(fitted[-1].exponent_)
    return found, float(np.mean(exponents))


def by_bin(proba, y, classes=None):
    """Return sums of confidence and of correct predictions, and counts, by bin of confidence."""
    classes = np.unique(y) if classes is None else classes
    largest, correct = proba.max(axis=1), classes[proba.argmax(axis=1)] == y
    place = np.minimum((largest * BINS).astype(int), BINS - 1)
    return [np.bincount(place, weight, BINS) for weight in (largest, correct, np.ones(len(y)))]


def calibration_error(proba, y, classes=None):
    """Return the difference between confidence and accuracy, averaged over the bins."""
    largest, correct, _ = by_bin(proba, y, classes)
    return np.abs(largest - correct).sum() / len(y)


def bold_best(values):
    """Return the numbers as text, the smallest in bold."""
    best = min(values)
    return [f"**{value:.3f}**" if value == best else f"{value:.3f}" for value in values]


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
        found, y, exponent = results[name]
        axis.plot([0, 1], [0, 1], color="#222222", linewidth=0.8, linestyle=(0, (3, 2)))
        for model, color in colors.items():
            largest, correct, count = by_bin(found[model], y)
            some = count >= 10
            axis.plot(largest[some] / count[some], correct[some] / count[some], marker="o",
                      markersize=4, linewidth=1.6 if model == "opforest" else 1.1, color=color,
                      label=labels.get(model, model))  # fmt: skip
        axis.set(title=f"{name}, e = {exponent:.1f}", xlabel="probability of the prediction",
                 xlim=(0, 1.02), ylim=(0, 1.02), aspect="equal")  # fmt: skip
        axis.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_ylabel("fraction of correct predictions")
    handles, texts = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, texts, loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, dpi=150)


def main():
    results = {}
    names = list(contestants())
    print_markdown("log loss", *names, "e")
    print("|---|" + "---:|" * (len(names) + 1), flush=True)
    for name, X, y in sets():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, exponent = out_of_fold(X, y)
        results[name] = found, y, exponent
        losses = [log_loss(y, proba) for proba in found.values()]
        print_markdown(name, *bold_best(losses), f"{exponent:.1f}")
    print()
    print_markdown("calibration error", *names)
    print("|---|" + "---:|" * len(names))
    for name, (found, y, _) in results.items():
        errors = [calibration_error(proba, y) for proba in found.values()]
        print_markdown(name, *bold_best(errors))
    draw(results, PICTURE)
    print(f"\ndrawn: {PICTURE}")


if __name__ == "__main__":
    main()
