"""Compare accuracy with 1-NN and boosted trees on the paper's data: the counts in the README.

Run it by hand, for all sets except Skin or for some:
``python benchmarks/quality/accuracy.py [NAME ...]``.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from common import DATA, print_markdown
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from opforest import OPFClassifier
from opforest.apps.reproduce.protocol import standardize
from opforest.datasets import PUBLISHED, DownloadError, load_published
from opforest.scores import opf_accuracy

REPEATS = 3


def contestants() -> dict[str, object]:
    return {
        "forest": OPFClassifier(),
        "1-NN": KNeighborsClassifier(1),
        "boosted trees": HistGradientBoostingClassifier(random_state=0),
    }


def measure(X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Return LibOPF's accuracy on the other half in percent, averaged over random halves."""
    scores: dict[str, list[float]] = {}
    for seed in range(REPEATS):
        train, test, label, truth = train_test_split(
            X, y, test_size=0.5, stratify=y, random_state=seed
        )
        for name, model in contestants().items():
            answer = model.fit(train, label).predict(test)
            scores.setdefault(name, []).append(100 * opf_accuracy(truth, answer))
    return {name: float(np.mean(values)) for name, values in scores.items()}


def main(names: list[str]) -> None:
    found = {}
    print_markdown("", *contestants())
    print(f"|---|{'---:|' * len(contestants())}")
    for name in names:
        try:
            X, y = load_published(name, data_home=DATA.parent, return_X_y=True)
        except DownloadError as error:
            print(f"{name} is skipped: {error}", file=sys.stderr)
            continue
        found[name] = measure(standardize(X), y)
        print_markdown(name, *(f"{x:.1f}" for x in found[name].values()))
    for other in list(contestants())[1:]:
        gain = np.array([scores[other] - scores["forest"] for scores in found.values()])
        print(f"{other}: ahead on {(gain > 0).sum()} of {len(gain)}, {gain.mean():+.2f} on average")


if __name__ == "__main__":
    main(sys.argv[1:] or [name for name in PUBLISHED if name != "Skin"])
