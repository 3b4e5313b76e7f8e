"""Workers die in each phase of a fit by cells, and of predictions: the model is the same."""

import importlib
import os
import signal

import numpy as np
import pytest

pytest.importorskip("distributed", reason="Dask is not installed: pip install 'opforest[dask]'")
from tests.support.blocks import grid, in_blocks
from tests.support.comparison import assert_same_model
from tests.support.tuning import tune

from opforest import OPFClassifier
from opforest.dask import DaskOPFClassifier

CELL, ROUNDS, COSTS = (f"opforest.core.parts.{name}" for name in ("cell", "rounds", "costs"))

#: In each test one worker dies in the first phase, and another one in the second.
PHASES = [
    [("opforest.dask.cells", "deal"), (ROUNDS, "answer_questions")],
    [(CELL, "grow_cell"), (COSTS, "reduce_to_ports")],
    [(ROUNDS, "ask_cells"), (COSTS, "find_cell_costs")],
    [("opforest.dask.parts", "ask_cell")],
]


def _kill_one_worker(module, name, folder):
    """Let the first worker that calls a function twice kill itself, and lose the first result."""
    home = importlib.import_module(module)
    function, calls = getattr(home, name), []

    def call(*args):
        calls.append(1)
        if len(calls) == 2:
            try:
                (folder / name).touch(exist_ok=False)
            except FileExistsError:  # another worker was first
                return function(*args)
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*args)

    setattr(home, name, call)


def _have_two_workers(client):
    """Wait until killed workers are replaced, or start another one if that has failed."""
    try:
        client.wait_for_workers(2, timeout=20)
    except TimeoutError:
        client.cluster.scale(len(client.cluster.worker_spec) + 1)
        client.wait_for_workers(2)


@pytest.mark.parametrize("phases", PHASES)
def test_workers_are_killed(client, tmp_path, phases):
    tune(examples_per_part=60)
    X, y = grid(400, 3)
    X[:, 0] += np.arange(400) / 7
    _have_two_workers(client)
    for module, name in phases:
        client.run(_kill_one_worker, module, name, tmp_path)
    blocks = in_blocks(X, (100,) * 4)
    clf = DaskOPFClassifier(keep="parts").fit(blocks, in_blocks(y, (200, 200)))
    lazy = clf.predict(blocks).compute()
    assert {path.name for path in tmp_path.iterdir()} == {name for _, name in phases}
    local = OPFClassifier().fit(X, y)
    assert np.array_equal(lazy, local.predict(X))
    assert_same_model(clf.to_local(), local, X[:9])
