"""Three forests that learn one stream, for ``opforest play``: OPFI, exact and DIFT."""

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
import sklearn.datasets

from opforest.apps.serve.view import Plane, bounds_of, draw_forest
from opforest.datasets import synthetic
from opforest.estimators.classifier import OPFClassifier
from opforest.forest.explanation import Explanation, describe_features
from opforest.learner import Learner, RowError
from opforest.learner.validation import Array

#: Examples of a stream, examples that are learned together at first, and the most on the page.
STREAM, BEGIN, MAX_EXAMPLES = 240, 12, 600

#: Examples that the exact forest remembers of a drifting stream.
WINDOW = 60

#: Features of an explanation in an answer; those in which examples differ least are only counted.
MAX_FEATURES = 20

Data = tuple[Array, Array]


def make_moons(n: int, random_state: int) -> Data:
    """Return two moons."""
    X, y = sklearn.datasets.make_moons(n, noise=0.17, random_state=random_state)
    return X, y + 1


def make_drift(n: int, random_state: int) -> Data:
    """Return two clouds that rotate around each other over time."""
    rng = np.random.default_rng(random_state)
    y = rng.integers(1, 3, n)
    angle = np.pi * (np.arange(n) / n * 1.5 + y)
    X = np.column_stack((np.cos(angle), np.sin(angle))) * 1.1 + rng.normal(0, 0.42, (n, 2))
    return X, y


def make_nothing(n: int, random_state: int) -> Data:
    """Return no examples."""
    return np.empty((0, 2)), np.empty(0, int)


#: Streams: name in the API, title, generator. The first three are to begin with.
SETS: dict[str, tuple[str, Callable[..., Data]]] = {
    "moons": ("Two moons", make_moons),
    "drift": ("Drift, with a window", make_drift),
    "empty": ("Draw it yourself", make_nothing),
    "base1": ("Base1", synthetic.make_base),
    "lithuanian": ("Lithuanian", synthetic.make_lithuanian),
    "circle": ("Circle vs Gaussian", synthetic.make_circle_vs_gaussian),
    "cone": ("Cone-Torus", synthetic.make_cone_torus),
    "saturn": ("Saturn", synthetic.make_saturn),
}

#: Descriptions of the cases of OPFI, by the field of an ``UpdateReport`` that counts them.
CASES = {
    "takeovers": "Case 2: a prototype of its own class conquers it, and it takes its place.",
    "case_1": "Case 1: an example of its own class conquers it, and it joins that tree.",
    "case_2": "Case 2: a prototype of its own class conquers it.",
    "case_3": "Case 3: another class conquers it, so the two become prototypes.",
}


class PlayForest:
    """A forest that grows by OPFI or DIFT, and forgets by learning the other examples again."""

    def __init__(self, update: str) -> None:
        self.update = update
        self.clear()

    def clear(self) -> None:
        """Forget all examples."""
        self.model = OPFClassifier(update=self.update)
        self.rows: dict[str, tuple[Array, int]] = {}  #: by key
        self.correct = self.total = 0
        self.last: dict[str, Any] = {}  #: the last change, for the page

    def begin(self, keys: list[str], X: Array, y: Array) -> None:
        """Learn the first examples together, as the paper does."""
        self.clear()
        self._learn(keys, X, y)
        self.rows = dict(zip(keys, zip(X, y.tolist(), strict=True), strict=True))

    def learn(self, key: str, x: Array, label: int) -> None:
        """Predict an example, then learn it."""
        if self.rows:
            self.total += 1
            self.correct += int(self.model.predict(x[None])[0] == label)
        seconds, message = self._learn([key], x[None], np.array([label]))
        self.rows[key] = x, label
        self.last = {"micros": round(1e6 * seconds), "message": message, "key": key}

    def forget(self, key: str) -> None:
        """Forget an example, if it is in the forest."""
        if key in self.rows:
            self.last = {**self._forget(key), "key": None}
            del self.rows[key]

    def _learn(self, keys: list[str], X: Array, y: Array) -> tuple[float, str]:
        """Learn examples; return the time it took and a message for the page."""
        begin = perf_counter()
        self.model.partial_fit(X, y)
        seconds = perf_counter() - begin
        if self.update == "dift":
            return seconds, "It becomes a prototype, as every new example does."
        report = vars(self.model.update_report_)
        messages = [text for case, text in CASES.items() if report[case]]
        return seconds, messages[0] if messages else "The first example."

    def _forget(self, key: str) -> dict[str, Any]:
        """Remove an example from the model; return a message for the page."""
        self.model = OPFClassifier(update=self.update)
        others = [row for other, row in self.rows.items() if other != key]
        for batch in (others[:BEGIN], *([row] for row in others[BEGIN:])):
            if batch:
                X, y = zip(*batch, strict=True)
                self.model.partial_fit(np.array(X), y)
        return {"message": "It cannot forget, so it learned all others again."}


class ExactForest(PlayForest):
    """The forest of a learner: exact, and able to forget."""

    def __init__(self, learner: Learner) -> None:
        self.learner = learner
        super().__init__("exact")

    def clear(self) -> None:
        """Forget all examples."""
        super().clear()
        self.learner.forget(self.learner.rows()[0])

    def _learn(self, keys: list[str], X: Array, y: Array) -> tuple[float, str]:
        change = self.learner.learn(X, y, keys)
        self.model = self.learner.model
        gained, lost = change.report.prototypes_gained, change.report.prototypes_lost
        message = "Exactly the forest you would get by refitting on all examples so far"
        if gained or lost:
            message += f": {gained} more prototype{'s' * (gained != 1)}, {lost} fewer"
        return change.seconds, f"{message}."

    def _forget(self, key: str) -> dict[str, Any]:
        change = self.learner.forget(key)
        self.model = self.learner.model
        message = "Forgotten: exactly the forest you would get by refitting without it."
        return {"micros": round(1e6 * change.seconds), "message": message}


class Play:
    """A stream, its position, and three forests that learn it; ``learner`` is an empty one."""

    def __init__(self, learner: Learner) -> None:
        self.exact = ExactForest(learner)
        self.forests = {"opfi": PlayForest("opfi"), "exact": self.exact, "dift": PlayForest("dift")}
        self.number = 0
        self.start("moons", 0)
        self.step(1)  # so that everything is compiled before the page is opened
        self.forget(next(iter(self.exact.rows)))
        self.explain([0.0, 0.0])
        self.start("moons", 0)

    def start(self, name: str, seed: int) -> None:
        """Start a stream from its beginning."""
        if name not in SETS:
            raise ValueError(f"'set' must be one of {list(SETS)}, got {name!r:.50}.")
        self.name, self.seed = name, seed
        X, y = SETS[name][1](STREAM, random_state=seed)
        self.X, self.y = np.asarray(X, float), np.asarray(y, int)
        bounds = bounds_of(self.X) if len(self.X) else (-1.2, -0.9, 1.2, 0.9)
        self.plane = Plane(np.zeros(2), np.eye(2), bounds)
        self.played = min(BEGIN, len(self.X))
        keys = [self._make_key() for _ in range(self.played)]
        for forest in self.forests.values():
            forest.clear()
            if keys:
                forest.begin(keys, self.X[: self.played], self.y[: self.played])

    def _make_key(self) -> str:
        self.number += 1
        return f"e{self.number}"

    def step(self, count: int) -> None:
        """Play up to 20 examples; in a drift, the exact forest forgets those before its window."""
        for _ in range(min(count, 20, len(self.X) - self.played)):
            self._learn(self.X[self.played], int(self.y[self.played]))
            self.played += 1
            if self.name == "drift" and len(self.exact.rows) > WINDOW:
                last = self.exact.last
                self.exact.forget(next(iter(self.exact.rows)))
                self.exact.last = {**last, "message": "Learned, and the oldest example forgotten."}

    def add(self, x: list[float], label: int) -> None:
        """Learn an example that was drawn."""
        if len(self.forests["opfi"].rows) >= MAX_EXAMPLES:
            raise ValueError(f"the page has {MAX_EXAMPLES} examples, which is its limit.")
        self._learn(_as_point(x), label)

    def _learn(self, x: Array, label: int) -> None:
        key = self._make_key()
        for forest in self.forests.values():
            forest.learn(key, x, label)

    def forget(self, key: str) -> None:
        """Forget an example in all forests."""
        if not any(key in forest.rows for forest in self.forests.values()):
            raise ValueError(f"there is no example {key!r:.50}.")
        for forest in self.forests.values():
            forest.forget(key)

    def explain(self, x: list[float]) -> dict[str, Any]:
        """Return the path of each forest to a point."""
        point = _as_point(x)
        return {name: _explain(forest, point) for name, forest in self.forests.items()}

    def state(self) -> dict[str, Any]:
        """Return everything that the page draws."""
        titles = [(name, title) for name, (title, _) in SETS.items()]
        return {
            "set": self.name,
            "sets": {"To begin with": dict(titles[:3]), "From the paper": dict(titles[3:])},
            "seed": self.seed,
            "played": self.played,
            "length": len(self.X),
            "forests": {name: self._draw(forest) for name, forest in self.forests.items()},
        }  # fmt: skip

    def _draw(self, forest: PlayForest) -> dict[str, Any]:
        drawn: dict[str, Any] = {"examples": 0, "points": [], "bounds": self.plane.bounds}
        if forest.rows:
            drawn = draw_forest(forest.model, self.plane)
            del drawn["ids"]
        accuracy = forest.correct / forest.total if forest.total else None
        return {**drawn, "keys": list(forest.rows), "accuracy": accuracy, "last": forest.last}


def _as_point(x: list[Any]) -> Array:
    if len(x) != 2 or not {*map(type, x)} <= {int, float} or max(map(abs, x)) > 1e6:
        raise RowError("'x' must be two numbers of at most a million.")
    return np.array(x, float)


def _explain(forest: PlayForest, point: Array) -> dict[str, Any] | None:
    if not forest.rows:
        return None
    path = describe_path(forest.model.explain(point))
    path.pop("features", None)  # the page draws both
    ids, rows = forest.model.forest_.ids.tolist(), list(forest.rows.items())
    for step in path["steps"][:-1]:
        key, (x, _) = rows[ids.index(step["id"])]
        step |= {"key": key, "at": x.tolist()}
    return path


def describe_path(path: Explanation) -> dict[str, Any]:
    """Return a path as JSON values; the last step is the example itself, without an id."""
    names = ("id", "key", "label", "distance", "cost")
    found: dict[str, Any] = {
        "label": path.label,
        "cost": path.cost,
        "rival": None if path.rival is None else describe_path(path.rival),
        "steps": [{name: getattr(step, name) for name in names} for step in path.steps],
    }
    if path.table is not None:
        found["features"] = describe_features(path, MAX_FEATURES)
    if path.voters:
        names = ("id", "key", "label", "offer", "weight")
        found["voters"] = [{name: getattr(one, name) for name in names} for one in path.voters]
    return found
