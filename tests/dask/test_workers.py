"""What workers are sent, and what happens when they die."""

import os
import pickle
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

pytest.importorskip("distributed", reason="Dask is not installed: pip install 'opforest[dask]'")
from distributed import Client, LocalCluster, Status, get_worker
from tests.support.blocks import grid, in_blocks
from tests.support.comparison import assert_same_model
from tests.support.tuning import tune

import dask
from opforest import OPFClassifier
from opforest.dask import DaskOPFClassifier, progress, spanning
from opforest.dask.spanning import opforest_span


def _count_models():
    from opforest.forest.storage import ForestStorage

    ForestStorage.uncounted = ForestStorage.__dict__["from_state"]
    ForestStorage.restored = 0

    def count(cls, *parts):
        ForestStorage.restored += 1
        return cls.uncounted(*parts)

    ForestStorage.from_state = classmethod(count)


def _stop_counting():
    from opforest.forest.storage import ForestStorage

    ForestStorage.from_state = ForestStorage.__dict__["uncounted"]
    return ForestStorage.restored


def test_the_model_is_sent_to_each_worker_once(client):
    X, y = grid(400, 3)
    clf = DaskOPFClassifier().fit(in_blocks(X, (100,) * 4), y)
    client.wait_for_workers(2)
    client.run(_count_models)
    queries = in_blocks(X, (10,) * 40)
    dask.compute(clf.predict(queries), clf.class_costs(queries), clf.predict_proba(queries))
    assert sorted(client.run(_stop_counting).values()) in ([0, 1], [1, 1])


def test_progress_on_a_cluster_and_here(client, capsys):
    X, y = grid(100, 2)
    with progress():
        DaskOPFClassifier().fit(in_blocks(X, (20,) * 5), y)
    shown = ""
    while "100% Completed" not in shown:  # the bar is drawn beside the work
        time.sleep(0.01)
        shown += capsys.readouterr().out
    with progress(), dask.config.set(scheduler="synchronous"):
        DaskOPFClassifier().fit(in_blocks(X, (20,) * 5), y)
    assert "100% Completed" in capsys.readouterr().out
    DaskOPFClassifier().fit(in_blocks(X, (20,) * 5), y)
    assert capsys.readouterr().out == ""


def test_tasks_have_names_for_the_dashboard(client):
    X, y = grid(100, 2)
    DaskOPFClassifier().fit(in_blocks(X, (20,) * 5), y)
    prefixes = client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.task_prefixes))
    assert {"opforest_embed", "opforest_span", "opforest_merge"} <= set(prefixes)


def _hold_back(folder):
    """Let a worker make two spans, then set a flag and wait until all may go on."""
    span, made = spanning.opforest_span, []

    def opforest_span(*args):
        made.append(1)
        if len(made) == 3:
            (folder / f"held back {os.getpid()}").touch()
        while len(made) > 2 and not (folder / "go on").exists():
            time.sleep(0.01)
        return span(*args)

    spanning.opforest_span = opforest_span


def _wait_until_nothing_is_known(client):
    """Wait until the scheduler has been told that no result is wanted."""
    while client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)):
        time.sleep(0.01)


def test_a_worker_is_killed(client, tmp_path):
    X, y = grid(800, 3)
    client.wait_for_workers(2)
    client.run(_hold_back, tmp_path)
    process = client.run(os.getpid)
    clf, blocks = DaskOPFClassifier(), in_blocks(X, (100,) * 8)
    with ThreadPoolExecutor() as pool:
        fit = pool.submit(clf.fit, blocks, in_blocks(y, (100,) * 8))
        while len(list(tmp_path.iterdir())) < 2:  # both workers are in the middle of it
            assert not fit.done()
            time.sleep(0.01)
        os.kill(next(iter(process.values())), signal.SIGKILL)
        (tmp_path / "go on").touch()
        fit.result()
    local = OPFClassifier().fit(X, y)
    assert_same_model(clf, local, X[:50] + 0.5)
    lazy = clf.predict(blocks)
    assert np.array_equal(lazy.compute(), local.predict(X))
    client.wait_for_workers(2)
    for process in client.run(os.getpid).values():
        os.kill(process, signal.SIGKILL)
    assert np.array_equal(lazy.compute(), OPFClassifier().fit(X, y).predict(X))


def test_no_workers():
    tune(worker_timeout=1.0)
    X, y = grid(30, 2)
    message = "has had no workers for 1 seconds. Start some"
    with (
        LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        clf = DaskOPFClassifier(client=client).fit(in_blocks(X, (15, 15)), y)
        before = pickle.dumps(clf)
        _wait_until_nothing_is_known(client)  # what is known is computed again elsewhere
        cluster.scale(0)
        while client.nthreads():
            time.sleep(0.01)
        begin = time.monotonic()
        with pytest.raises(TimeoutError, match=message):
            clf.fit(in_blocks(X, (10,) * 3), y)
        assert time.monotonic() - begin >= 1
        assert pickle.dumps(clf) == before
        _wait_until_nothing_is_known(client)
        with pytest.raises(TimeoutError, match=message):
            clf.score(in_blocks(X, (30,)), y)
        assert np.array_equal(clf.predict(X), OPFClassifier().fit(X, y).predict(X))


def test_workers_vanish_meanwhile(monkeypatch):
    tune(worker_timeout=1.0)
    monkeypatch.setattr("opforest.dask.spanning.opforest_span", _span_as_long_as_there_is_a_worker)
    BEGUN.clear()
    X, y = grid(80, 2)
    with (
        LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
        ThreadPoolExecutor() as pool,
    ):
        clf = DaskOPFClassifier(client=client)
        fit = pool.submit(clf.fit, in_blocks(X, (10,) * 8), y)
        BEGUN.wait()
        cluster.scale(0)
        with pytest.raises(TimeoutError, match="has had no workers"):
            fit.result()
        assert not hasattr(clf, "forest_")


BEGUN = threading.Event()


def _span_as_long_as_there_is_a_worker(*args):
    BEGUN.set()
    worker = get_worker()
    while worker.status is Status.running:
        time.sleep(0.01)
    return opforest_span(*args)
