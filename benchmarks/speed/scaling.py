"""Measure the speed and traffic of ``fit`` on Dask: two workers against one local thread."""

import os
import sys
import time
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from common import Row, best_of, cpu_seconds, main, wall_seconds

from opforest import OPFClassifier

N, D, BLOCK = 50_000, 10, 12_500
N_WORKERS = 2
SPEED_BAR = 1.5  #: relative to one thread
TRAFFIC_BAR = 1.0  #: the largest ratio to the bytes that docs/scaling.md predicts
REPEATS = 5

#: The names of opforest's Dask tasks.
TASKS = ("opforest_embed", "opforest_span", "opforest_merge")


def measure() -> list[Row]:
    case = f"{N}×{D} in blocks of {BLOCK}"
    if find_spec("distributed") is None:
        return [Row(case, bar=SPEED_BAR, note="Dask is not installed")]
    from distributed import Client, LocalCluster

    options = {"n_workers": N_WORKERS, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        return on(client, case)


def on(client, case: str) -> list[Row]:
    import dask.array as da

    from opforest.dask import DaskOPFClassifier

    X = np.random.default_rng(0).normal(size=(N, D))
    y = (X[:, 0] > 0).astype(int)
    blocks = client.persist(da.from_array(X, chunks=(BLOCK, D)))
    local, remote = OPFClassifier(), DaskOPFClassifier(client=client)
    for model, data in ((local, X), (remote, blocks)):
        model.fit(data[::2], y[::2])  # compile first
    before = Counts(client)
    best = best_of(
        REPEATS,
        opforest=lambda: wall_seconds(lambda: remote.fit(blocks, y)),
        one_thread=lambda: wall_seconds(lambda: local.fit(X, y)),
    )
    after = Counts(client)
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


def work(case: str, alone: float, spent: np.ndarray) -> Row:
    """Compare processor times, which do not depend on other load."""
    workers = spent.sum() / REPEATS
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


class Counts:
    """Traffic, processor times and task times of the workers so far."""

    def __init__(self, client) -> None:
        self.received = sum(client.run(_received).values())
        self.processor = np.array(list(client.run(time.process_time).values()))
        self.tasks = client.run_on_scheduler(_seconds_in_tasks)


def _received(dask_worker) -> int:
    return sum(entry["total"] for entry in dask_worker.transfer_incoming_log)


def _seconds_in_tasks(dask_scheduler) -> dict[str, float]:
    prefixes = dask_scheduler.task_prefixes
    return {name: prefixes[name].all_durations["compute"] for name in TASKS}


if __name__ == "__main__":
    os.environ["DASK_DISTRIBUTED__ADMIN__LOW_LEVEL_LOG_LENGTH"] = "100000"  # transfers
    main(
        "scaling",
        __doc__,
        measure,
        f"Wall time, best of {REPEATS} in turn; {N_WORKERS} worker processes of one thread each on"
        " this machine, with the data in\ntheir memory; fit on Dask includes fetching points and"
        " tree to the client. A smaller fit has compiled\nthe kernels in all processes. Bytes"
        " between workers are those that they log as received. Both fits\nmust give the same"
        " tree.",
    )
