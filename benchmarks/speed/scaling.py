"""Measure speed, traffic and memory on Dask: two workers against one local thread."""

import os
import tempfile
import time
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from benchmarks.common import Row, best_of, cpu_seconds, main, wall_seconds

from opforest import OPFClassifier

N, D, BLOCK = 50_000, 10, 12_500
N_WORKERS = 2
SPEED_BAR = 1.5  #: relative to one thread
TRAFFIC_BAR = 1.0  #: the largest ratio to the bytes that docs/scaling.md predicts
REPEATS = 5

#: By cells: examples, features, blocks, queries. Bars: wall time of ``fit`` relative to one thread;
#: peak memory of a worker in GB; processor time of predictions relative to one thread.
LARGE, LARGE_D, LARGE_BLOCKS, QUERIES = 10_000_000, 3, 16, 1_000_000
WALL_BAR, MEMORY_BAR, PREDICT_BAR = 0.75, 1.3, 1.5

#: The names of opforest's Dask tasks.
TASKS = ("opforest_embed", "opforest_span", "opforest_merge")


def measure() -> list[Row]:
    case = f"{N}×{D} in blocks of {BLOCK}"
    if find_spec("distributed") is None:
        return [Row(case, bar=SPEED_BAR, note="Dask is not installed")]
    options = {"n_workers": N_WORKERS, "threads_per_worker": 1, "dashboard_address": ":0"}
    with cluster(options) as client:
        rows = on(client, case)
    return rows + by_cells(options)


def by_cells(options: dict) -> list[Row]:
    """Fit many examples of few features, in new processes that load compiled kernels."""
    import dask.array as da

    case = f"{LARGE:.0e}×{LARGE_D} by cells".replace("e+0", "e")
    random = da.random.default_rng(0)
    size = LARGE // LARGE_BLOCKS
    X = random.random((LARGE, LARGE_D), chunks=(size, LARGE_D))
    Q = random.random((QUERIES, LARGE_D), chunks=(QUERIES // 4, LARGE_D))
    y = (X[:, 0] * 10).astype(int) % 3
    with tempfile.TemporaryDirectory() as folder:
        options = {**options, "env": {"OPFOREST_CACHE": "1", "NUMBA_CACHE_DIR": folder}}
        few = X[:40_000].rechunk((10_000, LARGE_D)), y[:40_000], Q[:1000]
        for keep in ("forest", "parts"):
            with cluster(options) as client:
                fit_on(client, keep, *few)  # compile
        found = {}
        for keep in ("forest", "parts"):
            with cluster(options) as client:
                fit_on(client, keep, *few)  # load the kernels
                found[keep] = fit_on(client, keep, X, y, Q)
    rows, labels, queries = (array.compute() for array in (X, y, Q))
    local = OPFClassifier(n_jobs=1)
    local.fit(rows[::200], labels[::200]).predict(queries[:1000])
    alone = wall_seconds(lambda: local.fit(rows, labels))
    asked = cpu_seconds(lambda: local.predict(queries))
    edges, right = local.forest_.edges, local.predict(queries)
    assert np.array_equal(found["forest"]["edges"], edges), "the trees differ"
    table = []
    for keep, result in found.items():
        assert np.array_equal(result["labels"], right), "the predictions differ"
        bars = (WALL_BAR, MEMORY_BAR, PREDICT_BAR) if keep == "parts" else (None,) * 3
        name, seconds = f"{case}, keep={keep!r}", {"opforest": result["wall"], "one_thread": alone}
        note = f"{result['received'] / 1e6:.0f} MB between workers, {result['cpu']:.1f} s of them"
        table += [
            Row(f"{name}, wall time of fit / one thread", result["wall"] / alone, "×", bars[0],
                "at most", seconds, note),
            Row(f"{name}, peak memory of a worker", result["peak"] / 1e9, "GB", bars[1], "at most"),
            Row(f"{name}, processor time of {QUERIES} predictions / one thread",
                result["asked"] / asked, "×", bars[2], "at most"),
        ]  # fmt: skip
    return table


@contextmanager
def cluster(options: dict):
    """Start workers, and yield a client."""
    from distributed import Client, LocalCluster

    with LocalCluster(**options) as workers, Client(workers) as client:
        yield client


def fit_on(client, keep: str, X, y, Q) -> dict:
    """Fit and predict, and return times, traffic, peak memory and what was found."""
    from opforest.dask import DaskOPFClassifier

    model = DaskOPFClassifier(algorithm="kd_tree", keep=keep)
    before, start = Usage(client), time.perf_counter()
    model.fit(X, y)
    wall, fitted = time.perf_counter() - start, Usage(client)
    peak = max(client.run(_peak).values())
    labels = model.predict(Q).compute()
    asked = Usage(client)
    return {
        "wall": wall,
        "cpu": fitted.processor - before.processor,
        "received": fitted.received - before.received,
        "asked": asked.processor - fitted.processor,
        "peak": peak,
        "labels": labels,
        "edges": model.forest_.edges if keep == "forest" else None,
    }


class Usage:
    """Traffic, processor time and task times of the workers so far."""

    def __init__(self, client) -> None:
        self.received = sum(client.run(_received).values())
        self.processor = sum(client.run(time.process_time).values())
        self.tasks = client.run_on_scheduler(_seconds_in_tasks)


def _peak() -> int:
    """Return the largest memory that this process has had, in bytes."""
    # Not ru_maxrss, which begins with the memory of the parent.
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def on(client, case: str) -> list[Row]:
    import dask.array as da

    from opforest.dask import DaskOPFClassifier

    X = np.random.default_rng(0).normal(size=(N, D))
    y = (X[:, 0] > 0).astype(int)
    blocks = client.persist(da.from_array(X, chunks=(BLOCK, D)))
    local, remote = OPFClassifier(), DaskOPFClassifier(client=client)
    for model, data in ((local, X), (remote, blocks)):
        model.fit(data[::2], y[::2])  # compile first
    before = Usage(client)
    best = best_of(
        REPEATS,
        opforest=lambda: wall_seconds(lambda: remote.fit(blocks, y)),
        one_thread=lambda: wall_seconds(lambda: local.fit(X, y)),
    )
    after = Usage(client)
    assert np.array_equal(local.forest_.edges, remote.forest_.edges), "the trees differ"
    alone = cpu_seconds(lambda: local.fit(X, y))
    speed = best["one_thread"] / best["opforest"]
    return [
        Row(f"{case}, {N_WORKERS} workers vs one thread", speed, bar=SPEED_BAR, seconds=best),
        work(case, alone, after.processor - before.processor),
        traffic(case, (after.received - before.received) / REPEATS),
        *(
            Row(f"{name}, all tasks", (after.tasks[name] - before.tasks[name]) / REPEATS, "s")
            for name in TASKS
        ),
    ]


def work(case: str, alone: float, spent: float) -> Row:
    """Compare processor times, which do not depend on other load."""
    workers = spent / REPEATS
    note = f"{workers:.2f} s of all workers, {alone:.2f} s of one thread"
    return Row(f"{case}, processor time of all workers / one thread", workers / alone, note=note)


def traffic(case: str, received: float) -> Row:
    """Compare the traffic between workers with the prediction: 24 bytes per edge, and the data."""
    model = 24 * N * (N // BLOCK) + 8 * N * D
    note = (
        f"{received / 1e6:.1f} MB of {model / 1e6:.1f} MB predicted. The client fetches "
        f"{(8 * D + 24) * N / 1e6:.1f} MB more, points and tree"
    )
    return Row(f"{case}, bytes moved", received / model, "×", TRAFFIC_BAR, "at most", note=note)


def _received(dask_worker) -> int:
    return sum(entry["total"] for entry in dask_worker.transfer_incoming_log)


def _seconds_in_tasks(dask_scheduler) -> dict[str, float]:
    prefixes = dask_scheduler.task_prefixes
    return {name: prefixes[name].all_durations["compute"] for name in TASKS if name in prefixes}


if __name__ == "__main__":
    os.environ["DASK_DISTRIBUTED__ADMIN__LOW_LEVEL_LOG_LENGTH"] = "100000"  # transfers
    main(
        measure,
        f"Wall time, best of {REPEATS} in turn; {N_WORKERS} worker processes of one thread each on"
        " this machine, with the data in\ntheir memory; fit on Dask includes fetching points and"
        " tree to the client. A smaller fit has compiled\nthe kernels in all processes. Bytes"
        " between workers are those that they log as received. Both fits\nmust give the same"
        " tree. By cells, workers load compiled kernels from a cache, and generate their blocks;\n"
        "their peak includes Python and the libraries.",
    )
