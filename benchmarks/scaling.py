"""Speed and traffic of ``fit`` on Dask: two workers against one thread here."""

import os
import time
from importlib.util import find_spec

import numpy as np
from common import Row, best_of, main

from opforest import OPFClassifier

N, D, BLOCK = 50_000, 10, 5000
N_WORKERS = 2
SPEED_BAR = 1.5  #: times as fast as one thread
TRAFFIC_BAR = 1.0  #: times the bytes of the model of docs/scaling.md, at the most
REPEATS = 3

#: The names of our tasks.
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
    local.fit(X[:2000], y[:2000])  # compiles
    remote.fit(blocks[: 4 * BLOCK : 20], y[: 4 * BLOCK : 20])
    moved, begun = bytes_moved(client), seconds_in_tasks(client)
    best = best_of(
        REPEATS,
        opforest=lambda: wall_seconds(lambda: remote.fit(blocks, y)),
        one_thread=lambda: wall_seconds(lambda: local.fit(X, y)),
    )
    moved = (bytes_moved(client) - moved) / REPEATS
    spent = {name: (s - begun[name]) / REPEATS for name, s in seconds_in_tasks(client).items()}
    assert np.array_equal(local.forest_.edges, remote.forest_.edges), "the trees differ"
    speed = best["one_thread"] / best["opforest"]
    return [
        Row(f"{case}, {N_WORKERS} workers vs one thread", speed, bar=SPEED_BAR, seconds=best),
        traffic(case, moved),
        *(Row(f"{name}, all tasks", seconds, "s") for name, seconds in spent.items()),
    ]


def traffic(case: str, between_workers: float) -> Row:
    """Compare what went over the wire with the model: candidates of 24 bytes, and the data."""
    to_client = 8 * N * D + 24 * (N - 1)
    model = 24 * N * (N // BLOCK) + 8 * N * D
    total = between_workers + to_client
    note = (
        f"{between_workers / 1e6:.1f} MB between workers, {to_client / 1e6:.1f} MB to the client; "
        f"the model says {model / 1e6:.1f} MB"
    )
    return Row(f"{case}, bytes moved", total / model, "×", TRAFFIC_BAR, "at most", note=note)


def wall_seconds(call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def bytes_moved(client) -> int:
    """Return what the workers have received from each other so far."""
    return sum(client.run(_received).values())


def _received(dask_worker) -> int:
    return sum(entry["total"] for entry in dask_worker.transfer_incoming_log)


def seconds_in_tasks(client) -> dict[str, float]:
    """Return the time that tasks have taken so far, by name."""
    found = client.run_on_scheduler(_durations)
    return {name: found.get(name, 0.0) for name in TASKS}


def _durations(dask_scheduler) -> dict[str, float]:
    prefixes = dask_scheduler.task_prefixes.items()
    return {name: prefix.all_durations["compute"] for name, prefix in prefixes}


if __name__ == "__main__":
    os.environ["DASK_DISTRIBUTED__ADMIN__LOW_LEVEL_LOG_LENGTH"] = "100000"  # of transfers
    main(
        "scaling",
        __doc__,
        measure,
        f"Wall time, best of {REPEATS} in turn; {N_WORKERS} worker processes of one thread each on"
        " this machine, the data in their\nmemory; fit on Dask includes fetching points and tree"
        " to the client. Kernels have been compiled in all\nprocesses by a smaller fit. Bytes"
        " between workers are what they log as received. Both fits give the\nsame tree, which is"
        " checked.",
    )
