"""On Dask by pairs of blocks: pairs that cannot have an edge of the tree are left out."""

import gc
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("distributed", reason="Dask is not installed: pip install 'opforest[dask]'")
from tests.support.blocks import in_blocks, sizes_from
from tests.support.comparison import assert_same_model
from tests.support.strategies import learning_problems
from tests.support.tuning import tune

import dask
from opforest import OPFClassifier
from opforest.core.select.mst import FEATURES_TO_SIFT_PAIRS
from opforest.dask import DaskOPFClassifier, spanning
from opforest.dask.spanning import find_near_pairs, opforest_outline, opforest_span
from opforest.metrics import resolve


@settings(max_examples=40)
@given(problem=learning_problems(), cuts=st.lists(st.integers(0, 30), max_size=8))
def test_blocks_in_order_give_the_model_of_one_machine(problem, cuts):
    """Blocks that follow each other in space are those that leave out pairs."""
    X, y, Q = problem
    X = X[np.lexsort(X.T)]
    with dask.config.set(scheduler="synchronous"):
        clf = DaskOPFClassifier(algorithm="brute").fit(in_blocks(X, sizes_from(cuts, len(X))), y)
    assert_same_model(clf, OPFClassifier().fit(X, y), Q)


def list_near_pairs(blocks, metric):
    trees = [opforest_span([block], [0], metric, "brute") for block in blocks]
    outlines = [opforest_outline(*two) for two in zip(blocks, trees, strict=True)]
    return find_near_pairs(outlines, metric).tolist()


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
def test_far_pairs_are_left_out(metric):
    metric = resolve(metric)
    line = np.arange(60.0)[:, None] * [1, 0.5]
    assert list_near_pairs(np.split(line, 6), metric) == [[i, i + 1] for i in range(5)]
    near = list_near_pairs(np.split(line[np.random.default_rng(0).permutation(60)], 6), metric)
    assert len(near) == 15
    lonely = [line[:10], line[10:20], line[50:51] + 1000]
    assert list_near_pairs(lonely, metric) == [[0, 1], [1, 2]]
    assert list_near_pairs([line[:5], line[:5], line[:5]], metric) == [[0, 1], [0, 2], [1, 2]]


def test_tasks_of_far_pairs_are_not_made(monkeypatch):
    made, span = [], opforest_span

    def count(blocks, *args):
        made.append(len(blocks))
        return span(blocks, *args)

    monkeypatch.setattr(spanning, "opforest_span", count)
    X = np.arange(400.0).reshape(200, 2)
    with dask.config.set(scheduler="synchronous"):
        clf = DaskOPFClassifier().fit(in_blocks(X, (20,) * 10), X[:, 0] > 150)
    assert (made.count(1), made.count(2)) == (10, 9)
    assert_same_model(clf, OPFClassifier().fit(X, X[:, 0] > 150), X[:9] + 0.5)


@pytest.mark.parametrize("d", [FEATURES_TO_SIFT_PAIRS, 40])
def test_many_features(d):
    """The sieve spans both blocks; there are duplicates within blocks and between them."""
    tune(few_to_span=100, sieve_bytes=0, sieve_block=64)
    rng = np.random.default_rng(d)
    X, y = rng.normal(size=(600, d)).round(1), rng.integers(0, 3, 600)
    X[100:150], X[400:450] = X[:50], X[:50]
    with dask.config.set(scheduler="synchronous"):
        clf = DaskOPFClassifier().fit(in_blocks(X, (200, 150, 250)), y)
    with_prim = OPFClassifier(algorithm="brute")
    tune(sieve_bytes=2**60)
    assert_same_model(clf, with_prim.fit(X, y), X[:20] + 0.1)


def test_blocks_are_given_up_after_the_fit(client):
    X = np.random.default_rng(0).random((80, 3))
    gc.collect()
    gc.disable()  # it would find the futures sooner or later
    try:
        DaskOPFClassifier(algorithm="brute").fit(in_blocks(X, (20,) * 4), X[:, 0] > 0.5)
        end = time.monotonic() + 10
        while names := client.run_on_scheduler(
            lambda dask_scheduler: [
                str(task.key)
                for task in dask_scheduler.tasks.values()
                if task.state == "memory" and str(task.key).startswith("opforest_embed")
            ]
        ):
            assert time.monotonic() < end, names
            time.sleep(0.05)
    finally:
        gc.enable()
