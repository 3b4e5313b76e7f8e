"""Three forests on one stream: OPFI, the exact update and DIFT, to be played with."""

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from opforest.apps.serve.view import Plane, bounds_of, draw_forest
from opforest.datasets import (
    make_base,
    make_circle_vs_gaussian,
    make_cone_torus,
    make_lithuanian,
    make_saturn,
)
from opforest.estimators.classifier import OPFClassifier
from opforest.forest.explanation import Explanation
from opforest.learner import Learner, RowError
from opforest.learner.validation import Array

#: Examples of a stream, those that all three begin with, and those a person may add.
STREAM, BEGIN, MOST = 240, 12, 600

#: What a window remembers, while data drift.
WINDOW = 60


def make_moons(n: int, seed: int) -> tuple[Array, Array]:
    """Make two moons."""
    from sklearn.datasets import make_moons

    X, y = make_moons(n, noise=0.17, random_state=seed)
    return X, y + 1


def make_drift(n: int, seed: int) -> tuple[Array, Array]:
    """Make two clouds that turn around each other as time goes by."""
    rng = np.random.default_rng(seed)
    y = rng.integers(1, 3, n)
    angle = np.pi * (np.arange(n) / n * 1.5 + y)
    X = np.column_stack((np.cos(angle), np.sin(angle))) * 1.1 + rng.normal(0, 0.42, (n, 2))
    return X, y


def _seeded(make: Callable[..., tuple[Array, Array]]) -> Callable[[int, int], tuple[Array, Array]]:
    return lambda n, seed: make(n, random_state=seed)


#: The streams: what people call them, and what makes them of a number and a seed.
SETS: dict[str, tuple[str, Callable[[int, int], tuple[Array, Array]]]] = {
    "moons": ("Two moons", make_moons),
    "drift": ("Drift, with a window", make_drift),
    "empty": ("Draw it yourself", lambda n, seed: (np.empty((0, 2)), np.empty(0, int))),
    "base1": ("Base1", _seeded(make_base)),
    "lithuanian": ("Lithuanian", _seeded(make_lithuanian)),
    "circle": ("Circle vs Gaussian", _seeded(make_circle_vs_gaussian)),
    "cone": ("Cone-Torus", _seeded(make_cone_torus)),
    "saturn": ("Saturn", _seeded(make_saturn)),
}  # fmt: skip

#: How a page groups them.
GROUPS = {
    "To begin with": ("moons", "drift", "empty"),
    "Of the paper": ("base1", "lithuanian", "circle", "cone", "saturn"),
}

CASES = {
    "case_1": "Case 1: an example of its own class conquers it, and it joins that tree.",
    "case_2": "Case 2: a prototype of its own class conquers it.",
    "case_3": "Case 3: another class conquers it, so the two become prototypes.",
}
CASE_2_TAKEOVER = "Case 2: a prototype of its own class conquers it, and it takes its place."


class Rival:
    """A forest that grows by OPFI or DIFT, and forgets only by learning all others anew."""

    def __init__(self, update: str) -> None:
        self.update = update
        self.clear()

    def clear(self) -> None:
        """Know nothing."""
        self.model = OPFClassifier(update=self.update)
        self.keys: list[str] = []
        self.X: list[Array] = []
        self.y: list[int] = []
        self.correct = self.total = 0
        self.last: dict[str, Any] = {}

    def begin(self, keys: list[str], X: Array, y: Array) -> None:
        """Learn the first examples together, as the paper does."""
        self.clear()
        self.model.partial_fit(X, y)
        self.keys, self.X, self.y = list(keys), list(X), y.tolist()

    def learn(self, key: str, x: Array, label: int) -> None:
        """Learn one example, after it was predicted."""
        if self.keys:
            self.total += 1
            self.correct += int(self.model.predict(x[None])[0] == label)
        begin = perf_counter()
        self.model.partial_fit(x[None], [label])
        seconds = perf_counter() - begin
        self.keys.append(key)
        self.X.append(x)
        self.y.append(label)
        report = vars(self.model.update_report_)
        self.last = {"micros": round(1e6 * seconds), "said": self._say(report), "key": key}

    def _say(self, report: dict[str, int]) -> str:
        if self.update == "dift":
            return "It becomes a prototype, as every new example does."
        if report["takeovers"]:
            return CASE_2_TAKEOVER
        return next((text for case, text in CASES.items() if report[case]), "The first of all.")

    def forget(self, key: str) -> None:
        """Learn all others anew, one after another."""
        if key not in self.keys:
            return
        score = self.correct, self.total
        left = [row for row in zip(self.keys, self.X, self.y, strict=True) if row[0] != key]
        self.clear()
        for i, (other, x, label) in enumerate(left):
            if i == 0 or i >= BEGIN:
                count = min(BEGIN, len(left)) if i == 0 else 1
                X = np.array([row[1] for row in left[i : i + count]])
                self.model.partial_fit(X, [row[2] for row in left[i : i + count]])
            self.keys.append(other)
            self.X.append(x)
            self.y.append(label)
        self.correct, self.total = score
        self.last = {"said": "It cannot forget, so it learned all others anew.", "key": None}


class Exact(Rival):
    """The forest of a learner: exact, and able to forget."""

    def __init__(self, learner: Learner) -> None:
        self.learner = learner
        super().__init__("exact")

    def clear(self) -> None:
        """Forget all of it."""
        super().clear()
        self.learner.forget(self.learner.rows()[0])

    def begin(self, keys: list[str], X: Array, y: Array) -> None:
        """Learn the first examples together."""
        self.clear()
        self.learner.learn(X, y, keys)
        self._look(keys, list(X), y.tolist())

    def _look(self, keys: list[str], X: list[Array], y: list[int]) -> None:
        self.model = self.learner.model
        self.keys, self.X, self.y = keys, X, y

    def learn(self, key: str, x: Array, label: int) -> None:
        """Learn one example, after it was predicted."""
        if self.keys:
            self.total += 1
            self.correct += int(self.learner.predict(x[None])[0] == label)
        change = self.learner.learn(x[None], [label], [key])
        self._look([*self.keys, key], [*self.X, x], [*self.y, label])
        gained, lost = change.report.prototypes_gained, change.report.prototypes_lost
        said = "Exactly the forest you would get by refitting on all examples so far"
        if gained or lost:
            said += f": {gained} more prototype{'s' * (gained != 1)}, {lost} fewer"
        self.last = {"micros": round(1e6 * change.seconds), "said": f"{said}.", "key": key}

    def forget(self, key: str) -> None:
        """Forget one example, for good."""
        if key not in self.keys:
            return
        change = self.learner.forget(key)
        i = self.keys.index(key)
        parts = ([*part[:i], *part[i + 1 :]] for part in (self.keys, self.X, self.y))
        self._look(*parts)
        self.last = {
            "micros": round(1e6 * change.seconds),
            "said": "Forgotten: exactly the forest you would get by refitting without it.",
            "key": None,
        }


class Play:
    """A stream, how far it has been played, and three forests that learn it.

    Parameters
    ----------
    learner : Learner
        An empty one in memory.
    """

    def __init__(self, learner: Learner) -> None:
        self.forests = {"opfi": Rival("opfi"), "exact": Exact(learner), "dift": Rival("dift")}
        self.number = 0
        self.start("moons", 0)
        self.step(1)  # so that all is compiled before somebody waits for it
        self.forget(self.forests["exact"].keys[0])
        self.explain([0.0, 0.0])
        self.start("moons", 0)

    def start(self, name: str, seed: int) -> None:
        """Begin a stream anew."""
        if name not in SETS:
            raise ValueError(f"'set' must be one of {list(SETS)}, got {name!r:.50}.")
        self.name, self.seed = name, seed
        X, y = SETS[name][1](STREAM, seed)
        self.X, self.y = np.asarray(X, float), np.asarray(y, int)
        seen = bounds_of(self.X) if len(self.X) else (-1.2, -0.9, 1.2, 0.9)
        self.plane = Plane(np.zeros(2), np.eye(2), seen)
        self.played = min(BEGIN, len(self.X))
        keys = [self._key() for _ in range(self.played)]
        for forest in self.forests.values():
            forest.clear()
            if keys:
                forest.begin(keys, self.X[: self.played], self.y[: self.played])

    def _key(self) -> str:
        self.number += 1
        return f"e{self.number}"

    def step(self, count: int) -> None:
        """Play so many examples of the stream; in a drift, forget those that leave the window."""
        for _ in range(min(count, 20, len(self.X) - self.played)):
            self._learn(self.X[self.played], int(self.y[self.played]))
            self.played += 1
            exact = self.forests["exact"]
            if self.name == "drift" and len(exact.keys) > WINDOW:
                last = exact.last
                exact.forget(exact.keys[0])
                exact.last = {**last, "said": "Learned, and the oldest one forgotten: exactly."}

    def add(self, x: list[float], label: int) -> None:
        """Learn an example that somebody has drawn."""
        if not 1 <= label <= 8:
            raise ValueError(f"'label' must be from 1 to 8, got {label}.")
        if len(self.forests["opfi"].keys) >= MOST:
            raise ValueError(f"there are {MOST} examples on the page, and that is enough.")
        self._learn(self._point(x), label)

    def _learn(self, x: Array, label: int) -> None:
        key = self._key()
        for forest in self.forests.values():
            forest.learn(key, x, label)

    @staticmethod
    def _point(x: list[Any]) -> Array:
        if len(x) != 2 or not {*map(type, x)} <= {int, float} or max(map(abs, x)) > 1e6:
            raise RowError("'x' must be two numbers, neither above a million.")
        return np.array(x, float)

    def forget(self, key: str) -> None:
        """Forget an example, wherever it is known."""
        if not any(key in forest.keys for forest in self.forests.values()):
            raise ValueError(f"there is no example {key!r:.50}.")
        for forest in self.forests.values():
            forest.forget(key)

    def explain(self, x: list[float]) -> dict[str, Any]:
        """Return the path that each forest offers to a point."""
        point = self._point(x)
        return {name: _path(forest, point) for name, forest in self.forests.items()}

    def state(self) -> dict[str, Any]:
        """Return all that the page draws."""
        return {
            "set": self.name,
            "sets": {group: {name: SETS[name][0] for name in names}
                     for group, names in GROUPS.items()},
            "seed": self.seed,
            "played": self.played,
            "length": len(self.X),
            "forests": {name: self._state(forest) for name, forest in self.forests.items()},
        }  # fmt: skip

    def _state(self, forest: Rival) -> dict[str, Any]:
        drawn: dict[str, Any] = {"examples": 0, "points": [], "bounds": self.plane.bounds}
        if forest.keys:
            drawn = draw_forest(forest.model, self.plane)
            del drawn["ids"]
        accuracy = forest.correct / forest.total if forest.total else None
        return {**drawn, "keys": forest.keys, "accuracy": accuracy, "last": forest.last}


def _path(forest: Rival, point: Array) -> dict[str, Any] | None:
    if not forest.keys:
        return None
    told = describe_path(forest.model.explain(point))
    known = forest.model.forest_.ids.tolist()
    for step in told["steps"][:-1]:
        i = known.index(step["id"])
        step |= {"key": forest.keys[i], "at": forest.X[i].tolist()}
    return told


def describe_path(path: Explanation) -> dict[str, Any]:
    """Return a path in values that JSON has; the last step is the example itself, without id."""
    return {
        "label": path.label,
        "cost": path.cost,
        "rival": None if path.rival is None else describe_path(path.rival),
        "steps": [
            {"id": step.id, "key": step.key, "label": step.label,
             "distance": step.distance, "cost": step.cost}
            for step in path.steps
        ],
    }  # fmt: skip
