"""Compare reading a table, and commands on one, with polars and the equivalent Python calls."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from benchmarks.common import Row, best_of, in_fresh_process, main, wall_seconds

READ_BAR, TRAIN_BAR, PREDICT_BAR = 2.5, 1.5, 2.0

READ = """
import json, sys, time
import polars as pl
from opforest.io.tables import read_table

path, seconds = sys.argv[1], {"polars": [], "opforest": []}
read_table(path)
for _ in range(5):
    start = time.process_time()
    pl.read_csv(path)
    seconds["polars"].append(time.process_time() - start)
    start = time.process_time()
    read_table(path)
    seconds["opforest"].append(time.process_time() - start)
print(json.dumps({name: min(times) for name, times in seconds.items()}))
"""

BY_HAND = """
import sys
import polars as pl
import opforest

what, data, model, out = sys.argv[1:]
frame = pl.read_csv(data)
X = frame.select("f1", "f2", "f3").to_numpy(order="c")
if what == "train":
    opforest.OPFClassifier().fit(X, frame["label"].to_numpy())
else:
    labels = opforest.load(model).predict(X)
    pl.DataFrame({"label": labels}).write_csv(out, include_header=False)
"""

COMMAND = "from opforest.apps.cli.main import main; main()"


def seconds_of(*arguments: str) -> float:
    """Return the wall time of a process with cached kernels."""
    command = [sys.executable, "-c", *arguments]
    env = {**os.environ, "OPFOREST_CACHE": "1"}
    return wall_seconds(lambda: subprocess.run(command, env=env, check=True, capture_output=True))


def measure() -> list[Row]:
    rng = np.random.default_rng(0)
    import polars as pl

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wide, long, model = (str(folder / part) for part in ("wide.csv", "long.csv", "m.opforest"))
        X = rng.normal(size=(200_000, 20))
        labels = pl.Series("label", rng.integers(0, 5, len(X)))
        names = [f"f{k + 1}" for k in range(20)]
        pl.DataFrame(X, schema=names).with_columns(labels).write_csv(wide)
        X = rng.random((200_000, 3))
        y = (8 * X[:, 0]).astype(int) % 4
        frame = pl.DataFrame(X, schema=["f1", "f2", "f3"]).with_columns(pl.Series("label", y))
        frame.write_csv(long)
        read = in_fresh_process(READ, wide, OMP_NUM_THREADS="2")
        out = str(folder / "labels")
        seconds_of(COMMAND, "train", long, model)  # compile first
        seconds_of(COMMAND, "predict", model, long, "--out", out)
        trained = best_of(
            3,
            opforest=lambda: seconds_of(COMMAND, "train", long, model),
            calls=lambda: seconds_of(BY_HAND, "train", long, model, out),
        )
        predicted = best_of(
            3,
            opforest=lambda: seconds_of(COMMAND, "predict", model, long, "--out", out),
            calls=lambda: seconds_of(BY_HAND, "predict", long, model, out),
        )
    return [
        Row("CSV, 200,000 × 20 and labels / polars, processor time",
            read["opforest"] / read["polars"], "×", READ_BAR, "at most", read),
        Row("`opforest train`, 200,000 × 3 / import, polars and fit",
            trained["opforest"] / trained["calls"], "×", TRAIN_BAR, "at most", trained),
        Row("`opforest predict` / import, polars, predict and writing",
            predicted["opforest"] / predicted["calls"], "×", PREDICT_BAR, "at most", predicted),
    ]  # fmt: skip


if __name__ == "__main__":
    main(
        measure,
        "Reading: processor time, best of 5 in one process, in turn with polars.read_csv.\n"
        "Commands: wall time, best of 3 processes each, in turn, with cached kernels; `calls`\n"
        "is a script that imports polars and opforest, reads by polars.read_csv, and fits, or\n"
        "loads the model, predicts and writes the labels.",
    )
