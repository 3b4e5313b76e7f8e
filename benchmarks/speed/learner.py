"""Measure how fast a store learns, opens and answers over HTTP, compared with a 1-NN service."""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from benchmarks.common import Row, best_of, main, strips, wall_seconds

import opforest

N, HALF, CLIENTS, SECONDS = 100_000, 50_000, 32, 4.0

#: Bars: batches of 100 to single commits, snapshot to refitting, ours to 1-NN.
BATCHING, OPENING, NOT_SLOWER = 20, 5, 1


# The two services, each in a separate process.


def serve_store(path: str) -> None:
    from opforest.apps.serve.app import make_app
    from opforest.apps.serve.server import bind, make_server

    listener = bind("127.0.0.1", 0)
    learner = opforest.Learner(path)
    app = make_app(learner)
    if len(learner):
        learner.predict(np.zeros((1, 2)))
    print(listener.getsockname()[1], flush=True)
    make_server(app, *listener.getsockname()).run(sockets=[listener])


def serve_neighbors(path: str) -> None:
    """Serve scikit-learn's 1-NN, which learns by refitting, as its users would write it."""
    import uvicorn
    from fastapi import FastAPI
    from pydantic import BaseModel
    from sklearn.neighbors import KNeighborsClassifier

    from opforest.apps.serve.server import bind

    table = np.load(path)
    state = {"X": table["X"], "y": table["y"]}
    state["model"] = KNeighborsClassifier(1, algorithm="kd_tree").fit(state["X"], state["y"])
    app = FastAPI()

    class Rows(BaseModel):
        rows: list[list[float]]
        labels: list[str] = []

    @app.post("/v1/predict")
    async def predict(body: Rows) -> dict[str, list[str]]:
        return {"labels": state["model"].predict(body.rows).tolist()}

    @app.post("/v1/learn")
    def learn(body: Rows) -> dict[str, int]:
        state["X"] = np.vstack((state["X"], body.rows))
        state["y"] = np.concatenate((state["y"], body.labels))
        state["model"] = KNeighborsClassifier(1, algorithm="kd_tree").fit(state["X"], state["y"])
        return {"examples": len(state["y"])}

    listener = bind("127.0.0.1", 0)
    print(listener.getsockname()[1], flush=True)
    config = uvicorn.Config(app, log_level="warning", access_log=False, http="h11", loop="asyncio")
    uvicorn.Server(config).run(sockets=[listener])


class Process:
    """A service in a separate process."""

    def __init__(self, kind: str, path: str) -> None:
        command = [sys.executable, "-m", "benchmarks.speed.learner", kind, path]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    def memory(self) -> float:
        """Return the resident memory in bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        return 1024.0 * int(line.split()[1])

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(30)


# Clients.


def request(path: str, body: dict) -> bytes:
    content = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    return head.encode() + f"Content-Length: {len(content)}\r\n\r\n".encode() + content


async def post(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, message: bytes) -> None:
    writer.write(message)
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"), head
    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    await reader.readexactly(length)


async def load(port: int, learning: bool) -> tuple[float, np.ndarray, int]:
    """Return predictions per second, their latencies, and the number of batches learned."""
    Q = np.random.default_rng(1).random((500, 2))
    messages = [request("/v1/predict", {"rows": [q]}) for q in Q.tolist()]
    latency: list[float] = []
    learned = 0
    end = time.perf_counter() + SECONDS

    async def predict(number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        i = number
        while time.perf_counter() < end:
            begin = time.perf_counter()
            await post(reader, writer, messages[i % len(messages)])
            latency.append(time.perf_counter() - begin)
            i += CLIENTS
        writer.close()

    async def learn() -> None:
        nonlocal learned
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        rng = np.random.default_rng(time.time_ns())
        while time.perf_counter() < end:
            X = rng.random((10, 2))
            labels = [str(1 + int(4 * x) % 2) for x in X[:, 0]]
            await post(reader, writer, request("/v1/learn", {"rows": X.tolist(), "labels": labels}))
            learned += 1
        writer.close()

    begin = time.perf_counter()
    await asyncio.gather(*map(predict, range(CLIENTS)), *([learn()] if learning else []))
    return len(latency) / (time.perf_counter() - begin), np.array(latency), learned


def http_rows(folder: Path, X: np.ndarray, y: np.ndarray) -> list[Row]:
    path, table = folder / "served.db", folder / "table.npz"
    np.savez(table, X=X, y=y)
    rows = []
    with opforest.Learner(folder / "half.db") as learner:
        learner.learn(X[:HALF], y[:HALF])
    with opforest.Learner(path) as learner:
        learner.learn(X, y)
    # Both are opened from a snapshot and get the same requests, so only their examples differ.
    resident = []
    for served in (folder / "half.db", path):
        with Process("store", str(served)) as process:
            asyncio.run(load(process.port, False))
            resident.append(process.memory())
    memory = (resident[1] - resident[0]) / (N - HALF)
    with Process("store", str(path)) as ours, Process("neighbors", str(table)) as theirs:
        asyncio.run(load(ours.port, True))  # to compile and warm up
        asyncio.run(load(theirs.port, False))
        for learning in (False, True):
            runs = {"opforest": [], "1-NN": []}
            for _ in range(2):
                runs["opforest"].append(asyncio.run(load(ours.port, learning)))
                runs["1-NN"].append(asyncio.run(load(theirs.port, learning)))
            best = {name: max(found, key=lambda run: run[0]) for name, found in runs.items()}
            rate = {name: run[0] for name, run in best.items()}
            half = {name: float(np.quantile(run[1], 0.5)) for name, run in best.items()}
            tail = {name: float(np.quantile(run[1], 0.99)) for name, run in best.items()}
            case = "while one client learns" if learning else "alone"
            counts = ", ".join(f"{name} {run[2]}" for name, run in best.items())
            rows += [
                Row(f"predict over HTTP, {CLIENTS} clients, {case}: rate vs 1-NN",
                    rate["opforest"] / rate["1-NN"], bar=NOT_SLOWER,
                    note=f"{rate['opforest']:.0f} and {rate['1-NN']:.0f} per second"
                    + (f"; batches of 10 learned: {counts}" if learning else "")),
                Row(f"the same: p50 of 1-NN / ours, {case}", half["1-NN"] / half["opforest"],
                    seconds=half),
                Row(f"the same: p99 of 1-NN / ours, {case}", tail["1-NN"] / tail["opforest"],
                    bar=NOT_SLOWER, seconds=tail),
            ]  # fmt: skip
    rows.append(Row(f"memory of the service per example, {HALF} to {N} × 2", memory, "bytes"))
    return rows


# The store itself.


def learning_rows(folder: Path, X: np.ndarray, y: np.ndarray) -> list[Row]:
    rng = np.random.default_rng(2)
    rates, rows = {}, []
    with opforest.Learner(folder / "learning.db") as learner:
        learner.learn(X, y)
        learner.learn(rng.random((10, 2)), y[:10])
        for size, batches in ((1, 100), (10, 60), (100, 60), (1000, 10)):
            store = learner.session.database
            before, begin = store.commit_seconds, time.perf_counter()
            for _ in range(batches):
                new = rng.random((size, 2))
                learner.learn(new, np.char.mod("%d", 1 + (4 * new[:, 0]).astype(int) % 2))
            seconds = time.perf_counter() - begin
            rates[size] = size * batches / seconds
            waiting = (store.commit_seconds - before) / seconds
            rows.append(
                Row(f"learn in batches of {size}, n = {N}: rate vs single commits",
                    rates[size] / rates[1], bar=BATCHING if size == 100 else None,
                    note=f"{rates[size]:.0f} per second, {waiting:.0%} waiting for the disk")
            )  # fmt: skip
        learner.forget("#9")  # compile first
        keys = [f"#{1 + i}" for i in range(3)]
        seconds = wall_seconds(lambda: [learner.forget(key) for key in keys]) / len(keys)
        rows.append(Row("forget one, which rewrites the file, vs a single commit",
                        seconds * rates[1], note=f"{seconds:.3f} s"))  # fmt: skip
    return rows


def opening_rows(folder: Path, X: np.ndarray, y: np.ndarray) -> list[Row]:
    path = folder / "opening.db"
    with opforest.Learner(path) as learner:
        learner.learn(X, y, [f"example-{i}" for i in range(len(X))])

    def open_seconds() -> float:
        begin = time.perf_counter()
        learner = opforest.Learner(path)
        seconds = time.perf_counter() - begin
        learner.session.unsaved = 0  # closing takes no snapshot
        learner.close()
        return seconds

    open_seconds()
    seconds = best_of(5, snapshot=open_seconds)
    with opforest.Learner(path) as learner:
        store = learner.session.database
        store.write(lambda: store.writer.execute("DELETE FROM snapshot"))
    seconds |= best_of(5, refit=open_seconds)
    return [Row(f"open {N} × 2 from a snapshot vs refitting",
                seconds["refit"] / seconds["snapshot"], bar=OPENING, seconds=seconds)]  # fmt: skip


def measure() -> list[Row]:
    X, y = strips(N, 2, np.float64)
    labels = np.char.mod("%d", y)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        return [
            *learning_rows(folder, X, labels),
            *opening_rows(folder, X, labels),
            *http_rows(folder, X, labels),
        ]


if __name__ == "__main__":
    if sys.argv[1:2] == ["store"]:
        serve_store(sys.argv[2])
    elif sys.argv[1:2] == ["neighbors"]:
        serve_neighbors(sys.argv[2])
    else:
        main(
            measure,
            "Stores are in the folder for temporary files. HTTP: the service and all clients,\n"
            "which are coroutines of one process, share two cores; a request has one row; the\n"
            "better of two runs. The peer is a FastAPI service with scikit-learn's 1-NN and a\n"
            "k-d tree, which learns by refitting; both run under uvicorn with h11. Memory is\n"
            f"the difference between services with {N} and {HALF} examples, both opened from a\n"
            "snapshot and given the same requests.",
        )
