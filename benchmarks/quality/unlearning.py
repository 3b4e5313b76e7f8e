"""Compare ways to delete training examples: time, equality with retraining, values left in files.

A quarter of each set is for tests. One in a hundred training examples, and at least 100, are
deleted one by one, or as many as BUDGET seconds allow; the time of all of them is extrapolated
then, which the table marks by "~". Features are standardized, with noise of a thousandth of
their standard deviation, so that each value identifies its example and can be searched for in the
saved file. ``--quick`` takes 800 examples of each set and a second for each model; names of
sets as arguments select some. It writes results/unlearning.json and, for the site,
results/unlearning.md. See unlearners.py for the models, DaRE and DynFrs among them.
"""

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.common import RESULTS, Row, cpu_seconds, main
from benchmarks.quality.sets import sets as all_sets
from benchmarks.unlearners import PROGRAMS, run_program, unlearners
from sklearn.datasets import (
    make_circles,
    make_classification,
    make_gaussian_quantiles,
    make_moons,
)
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

IS_QUICK = "--quick" in sys.argv
CHOSEN = [name for name in sys.argv[1:] if name != "--quick"]
MOST, BUDGET, LEAST = (800, 1.0, 20) if IS_QUICK else (3_000, 3.0, 100)
NAMES = ("Breast cancer", "Digits", "SpamBase", "Telco churn", "Occupancy", "Letter")
NOISE = 1e-3

Data = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Result:
    """What one model did on one set."""

    train: float  #: seconds
    median: float
    p99: float
    all: float  #: seconds for all deletions, one by one
    is_extrapolated: bool
    accuracy: float  #: in percent, after the deletions
    same: float | None  #: percent of test labels that are those of the retrained model
    is_identical: bool | None  #: whether all arrays of the model are, where that can be compared
    left: float | None  #: percent of deleted examples whose values are in the saved file
    before: float | None = None  #: the same, of the file saved before the deletions

    def cells(self) -> list[str]:
        """Return the cells of a table."""
        identical = {True: "identical", False: "DIFFERENT", None: ""}[self.is_identical]
        same = "" if self.same is None else f"{self.same:.1f} %"
        return [
            describe_time(self.train), describe_time(self.median), describe_time(self.p99),
            ("~ " if self.is_extrapolated else "") + describe_time(self.all),
            f"{self.accuracy:.1f}", identical or same,
            "" if self.left is None else f"{self.left:.0f} %",
        ]  # fmt: skip


HEAD = ("train", "delete one", "p99", "1 %", "accuracy, %",
        "same labels", "left in file")  # fmt: skip


def describe_time(seconds: float) -> str:
    """Return a time with two digits, in a unit that suits it."""
    scales = {"s": 1.0, "ms": 1e3, "µs": 1e6}
    unit = next((name for name, scale in scales.items() if seconds * scale >= 1), "µs")
    value = seconds * scales[unit]
    return f"{value:.0f} {unit}" if value >= 10 else f"{value:.2g} {unit}"


def sets() -> Iterator[tuple[str, Data, Data]]:
    """Yield names, training sets and test sets."""
    found = {name: (X, y) for name, X, y in all_sets() if name in NAMES}
    found["Moons"] = make_moons(MOST, noise=0.3, random_state=0)
    found["Circles"] = make_circles(MOST, noise=0.15, factor=0.5, random_state=0)
    found["Shells"] = make_gaussian_quantiles(n_samples=MOST, n_features=6, random_state=0)
    found["Hypercube"] = make_classification(MOST, 20, n_informative=8, n_classes=4, random_state=0)
    for name, (X, y) in found.items():
        if CHOSEN and name not in CHOSEN:
            continue
        rng = np.random.default_rng(0)
        some = rng.permutation(len(X))[:MOST]
        X, code = np.asarray(X, float)[some], np.unique(y[some], return_inverse=True)[1]
        X_train, X_test, y_train, y_test = train_test_split(X, code, random_state=0)
        scaler = StandardScaler().fit(X_train)

        def prepare(X: np.ndarray, scaler: Any = scaler, rng: Any = rng) -> np.ndarray:
            noisy = scaler.transform(X) + NOISE * rng.standard_normal(X.shape)
            return noisy.astype(np.float32)

        yield name, (prepare(X_train), y_train), (prepare(X_test), y_test)


def fraction_left(saved: bytes, deleted: np.ndarray, others: np.ndarray) -> float:
    """Return the fraction of examples of which most values are in a file.

    Values that other examples have, too, do not count. They are searched for as float32 and as
    float64, at all positions; one value of two may be there by chance.
    """
    is_own = ~np.isin(deleted, others)
    is_found = np.zeros(deleted.shape, bool)
    for kind, word in ((np.float32, np.uint32), (np.float64, np.uint64)):
        wanted = deleted.astype(kind).view(word)
        for start in range(word().itemsize):
            end = start + (len(saved) - start) // word().itemsize * word().itemsize
            is_found |= np.isin(wanted, np.frombuffer(saved[start:end], word))
    n_own = is_own.sum(axis=1)
    is_left = 2 * (is_found & is_own).sum(axis=1) > n_own
    return float(is_left[n_own > 0].mean())


def choose_deleted(y: np.ndarray) -> np.ndarray:
    """Return the numbers of the examples to delete, in random order; every class remains."""
    order = np.random.default_rng(1).permutation(len(y))
    _, first = np.unique(y, return_index=True)
    count = min(max(LEAST, len(y) // 100), len(y) // 2)
    return order[~np.isin(order, first)][:count]


def measure_model(make: Callable[[], Any], train: Data, test: Data, deleted: Any) -> Result:
    """Train a model, delete examples one by one, and compare it with a retrained one."""
    (X, y), (queries, truth) = train, test
    rehearsal = make()  # so that compilation and first allocations are not timed
    rehearsal.train(X, y)  # all examples: fewer would be learned by another algorithm
    rehearsal.delete(int(deleted[0]))
    model = make()
    train_seconds = cpu_seconds(lambda: model.train(X, y))
    before = fraction_left(model.saved(), X[deleted], np.delete(X, deleted, axis=0))
    seconds: list[float] = []
    begin = time.perf_counter()
    for i in deleted.tolist():
        seconds.append(cpu_seconds(lambda i=i: model.delete(i)))
        if time.perf_counter() - begin > BUDGET:
            break
    done = deleted[: len(seconds)]
    stay = np.setdiff1d(np.arange(len(X)), done)
    twin = model.retrained(X, y, stay)
    labels = model.predict(queries)
    return Result(
        train_seconds, float(np.median(seconds)), float(np.quantile(seconds, 0.99)),
        float(np.mean(seconds)) * len(deleted), len(seconds) < len(deleted),
        100 * float((labels == truth).mean()),
        100 * float((labels == twin.predict(queries)).mean()),
        model.equals(twin),
        100 * fraction_left(model.saved(), X[done], X[stay]), 100 * before,
    )  # fmt: skip


def measure_program(variable: str, train: Data, test: Data, deleted: Any) -> Result | None:
    """Return the result of a program that an environment variable names."""
    report = run_program(variable, train, test, deleted)
    if report is None:
        return None
    seconds, labels = report["delete_seconds"], np.asarray(report["labels"])
    if len(seconds) != len(deleted) or len(labels) != len(test[1]):
        raise ValueError(
            f"{variable} must report {len(deleted)} delete_seconds and {len(test[1])} labels, "
            f"got {len(seconds)} and {len(labels)}."
        )
    retrained, saved = report.get("retrained_labels"), report["saved"]
    others = np.delete(train[0], deleted, axis=0)
    return Result(
        report["train_seconds"], float(np.median(seconds)), float(np.quantile(seconds, 0.99)),
        float(np.sum(seconds)), False, 100 * float((labels == test[1]).mean()),
        None if retrained is None else 100 * float((labels == np.asarray(retrained)).mean()),
        None, None if saved is None else 100 * fraction_left(saved, train[0][deleted], others),
    )  # fmt: skip


def measure_set(train: Data, test: Data) -> dict[str, Result]:
    """Return the results of all models on one set."""
    deleted = choose_deleted(train[1])
    found = {name: measure_model(make, train, test, deleted) for name, make in unlearners().items()}
    for name, variable in PROGRAMS.items():
        result = measure_program(variable, train, test, deleted)
        if result is not None:
            found[name] = result
    return found


def as_table(head: tuple[str, ...], lines: list[list[str]]) -> str:
    """Return a Markdown table whose cells, except the first, are aligned to the right."""
    rows = [list(head), ["---", *["---:"] * (len(head) - 1)], *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def describe_range(values: list[float]) -> str:
    """Return the smallest and the largest of some times, with one unit if they have the same."""
    low, high = describe_time(min(values)), describe_time(max(values))
    (number, unit), other = low.split(), high.split()[1]
    if low == high:
        return low
    return f"{number if unit == other else low}–{high}"


def summarize(results: dict[str, dict[str, Result]]) -> str:
    """Return a table with a line for each model: ranges over all sets, and the mean accuracy."""
    lines = []
    for name in dict.fromkeys(name for found in results.values() for name in found):
        of = [found[name] for found in results.values() if name in found]
        same = [one.same for one in of if one.same is not None]
        left = [one.left for one in of if one.left is not None]
        is_identical = bool(of) and all(one.is_identical for one in of)
        lines.append([
            name, describe_range([one.train for one in of]),
            describe_range([one.median for one in of]), describe_range([one.p99 for one in of]),
            describe_range([one.all for one in of]), f"{np.mean([one.accuracy for one in of]):.1f}",
            "identical" if is_identical else f"{min(same):.1f} %" if same else "",
            f"{max(left):.0f} %" if left else "",
        ])  # fmt: skip
    return as_table(("", *HEAD), lines)


def describe_sets(results: dict[str, dict[str, Result]]) -> Iterator[Row]:
    """Yield the median time of a deletion and the mean accuracy of each model, over all sets."""
    for name in dict.fromkeys(name for found in results.values() for name in found):
        of = [found[name] for found in results.values() if name in found]
        median = float(np.median([one.median for one in of]))
        yield Row(f"one deletion: {name}", 1000 * median, "ms")
        yield Row(f"accuracy: {name}", float(np.mean([one.accuracy for one in of])), "%")


def measure() -> list[Row]:
    results, tables, sizes = {}, [], []
    for name, train, test in sets():
        sizes.append(len(train[0]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results[name] = measure_set(train, test)
        title = f"{name}: {len(train[0])} × {train[0].shape[1]}, {train[1].max() + 1} classes"
        table = as_table((title, *HEAD), [[k, *r.cells()] for k, r in results[name].items()])
        print(f"{table}\n", flush=True)
        tables.append(table)
    summary = summarize(results)
    print(f"{summary}\n")
    RESULTS.mkdir(exist_ok=True)
    about = f"{len(sizes)} data sets with {min(sizes):,} to {max(sizes):,} training examples:"
    text = "\n\n".join([about, summary, "<!-- each set -->", *tables])
    (RESULTS / "unlearning.md").write_text(f"{text}\n", encoding="utf-8")
    ours = [found["opforest"] for found in results.values()]
    slower = [found["random forest, retrained"].median / found["opforest"].median
              for found in results.values()]  # fmt: skip
    return [
        Row("sets where ours is not identical to refitting",
            sum(not one.is_identical for one in ours), "", 0, "at most"),
        Row("deleted examples in our file, at worst", max(one.left for one in ours), "%", 0,
            "at most"),
        Row("the same before they are deleted", min(one.before for one in ours), "%", 100),
        Row("a deletion against retraining a random forest, at worst", min(slower), bar=100),
        *describe_sets(results),
    ]  # fmt: skip


if __name__ == "__main__":
    remark = "One thread, processor time; medians over the sets of the median time of one deletion."
    main(measure, remark, "Deletion of training examples.")
