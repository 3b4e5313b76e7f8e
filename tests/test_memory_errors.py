"""Too little memory is a ``MemoryError`` that says what has been done, and never a hang."""

import io
import os
import subprocess
import sys
import threading
import types

import numpy as np
import pytest

import opforest
from opforest import ModelFileError, OPFClassifier, OPFSemiSupervised
from opforest._utils import chunks
from opforest.forest import storage as storing
from tests.support.shortage import no_memory
from tests.support.tuning import tune

RNG = np.random.default_rng(0)
X, Y = RNG.random((300, 2)), np.arange(300) % 3


def assert_plain(error, pattern):
    """Check type and text, and that the cause is not lost."""
    assert type(error.value) is MemoryError
    assert pattern in str(error.value)
    assert isinstance(error.value.__cause__, MemoryError)


def test_numpys_error_is_not_made_of_a_text():
    with pytest.raises(MemoryError) as error:
        no_memory()
    with pytest.raises(TypeError):
        type(error.value)("text")


class TestUpdates:
    @pytest.mark.parametrize("kind", [OPFClassifier, OPFSemiSupervised])
    def test_at_once(self, kind, monkeypatch):
        clf = kind().fit(X[:200], Y[:200])
        cost = clf.forest_.cost
        monkeypatch.setattr(storing.ForestStorage, "stage", no_memory)
        monkeypatch.setattr(storing.ForestStorage, "make_room", no_memory)
        with pytest.raises(MemoryError) as error:
            clf.partial_fit(X[200:220], Y[200:220])
        assert_plain(error, "partial_fit ran out of memory: 0 of 20 examples have been learned")
        with pytest.raises(MemoryError) as error:
            clf.forget([0, 1])
        assert_plain(error, "forget ran out of memory: 0 of 2 examples have been forgotten")
        assert np.array_equal(clf.forest_.cost, cost)
        clf.forest_.check()

    @pytest.mark.parametrize("kind", [OPFClassifier, OPFSemiSupervised])
    def test_before_anything_changes(self, kind, monkeypatch):
        clf = kind().fit(X[:200], Y[:200])
        monkeypatch.setattr(kind, "_check_metric", no_memory)
        for name, call in (("partial_fit", lambda: clf.partial_fit(X[200:], Y[200:])),
                           ("forget", lambda: clf.forget([0, 1]))):  # fmt: skip
            with pytest.raises(MemoryError) as error:
                call()
            assert_plain(error, f"{name} ran out of memory, and the model is as it was before.")
        assert len(clf.forest_) == 200

    def test_half_way(self, monkeypatch):
        tune(removals_per_call=1)
        clf = OPFClassifier().fit(X, Y)
        calls = []

        def fail_later(self):
            calls.append(self)
            if len(calls) == 2:
                no_memory()

        monkeypatch.setattr(storing.ForestStorage, "make_room_in_index", fail_later)
        with pytest.raises(MemoryError) as error:
            clf.forget([3, 5, 7])
        assert_plain(error, "2 of 3 examples have been forgotten, and the model is valid.")
        assert len(clf.forest_) == 298
        clf.forest_.check()

    def test_an_interrupt_is_one(self, monkeypatch):
        class Told(KeyboardInterrupt):
            def __init__(self, number, name):
                super().__init__(number, name)

        def interrupt(*_):
            raise Told(2, "SIGINT")

        clf = OPFClassifier().fit(X, Y)
        monkeypatch.setattr(storing.ForestStorage, "make_room", interrupt)
        with pytest.raises(KeyboardInterrupt, match="forget was interrupted: 0 of 1"):
            clf.forget([0])


class TestLoading:
    @pytest.fixture
    def path(self, tmp_path):
        opforest.save(OPFClassifier().fit(X, Y), tmp_path / "m.opforest")
        return tmp_path / "m.opforest"

    @pytest.mark.parametrize(
        "name", ["files.read_container", "registry.restore_forest", "files.restore_pipeline"]
    )
    def test_it_is_not_called_damage(self, path, name, monkeypatch):
        monkeypatch.setattr(f"opforest.persistence.{name}", no_memory)
        with pytest.raises(MemoryError) as error:
            opforest.load(path)
        assert_plain(error, f"{path}: there is not enough memory for this model")
        with pytest.raises(MemoryError) as error:
            opforest.load(io.BytesIO(path.read_bytes()))
        assert_plain(error, "the stream: there is not enough memory for this model")
        assert not isinstance(error.value, ModelFileError)

    def test_a_function_that_needs_memory_is_not_called_wrong(self, path, tmp_path):
        def plain(a, b):
            return float(np.abs(a - b).sum())

        with pytest.warns(UserWarning, match="Python function"):
            opforest.save(OPFClassifier(plain).fit(X[:20], Y[:20]), tmp_path / "f")
        greedy = types.FunctionType(no_memory.__code__, no_memory.__globals__, "plain")
        with pytest.raises(MemoryError, match="not enough memory"):
            opforest.load(tmp_path / "f", metric=greedy)

    @pytest.mark.parametrize("start", ["refused", "no memory", "dead"])
    def test_threads_that_do_not_start(self, path, monkeypatch, start):
        """Whatever becomes of helpers, the calling thread does their work."""
        starts = []

        def fail(*_):
            starts.append(1)
            if start == "refused":
                raise RuntimeError("can't start new thread")
            if start == "no memory":
                no_memory()

        monkeypatch.setattr(chunks, "start_new_thread", fail)
        tune(many_to_check=10)
        grown = OPFClassifier(algorithm="kd_tree").fit(X, Y)
        opforest.save(grown, path)
        again = opforest.load(path)
        again.forest_.check()
        assert np.array_equal(again.forest_.cost, grown.forest_.cost)
        assert starts
        parallel = OPFClassifier(n_jobs=3).fit(X, Y)
        assert np.array_equal(parallel.predict(X), grown.predict(X))


class TestSharing:
    """Work in parts, which any of the threads may take."""

    def test_each_part_is_done_once_and_in_place(self):
        done, parts = [], [np.array([k]) for k in range(40)]

        def work(part):
            done.append(int(part[0]))
            return -part[0]

        for jobs in (1, 2, 5):
            assert chunks.map_chunks(work, parts, jobs) == [-k for k in range(40)]
        assert sorted(done) == sorted([*range(40)] * 3)

    def test_threads_really_share(self):
        barrier = threading.Barrier(3)  # three threads must be inside at once
        names = chunks.map_chunks(lambda _: (barrier.wait(60), threading.get_ident())[1],
                               [np.zeros(1)] * 3, 3)  # fmt: skip
        assert len(set(names)) == 3

    @pytest.mark.parametrize("jobs", [2, 4])
    def test_the_first_error_in_order_is_raised_after_all_have_ended(self, jobs):
        running = []

        def work(part):
            running.append(1)
            try:
                if part[0] in (1, 2):
                    raise ValueError(f"part {part[0]}")
            finally:
                running.pop()

        for _ in range(50):
            with pytest.raises(ValueError, match=r"part [12]"):
                chunks.map_chunks(work, [np.array([k]) for k in range(6)], jobs)
            assert not running

    def test_an_interrupt_stops_the_others(self):
        here, done = threading.get_ident(), []
        inside = threading.Event()

        def work(part):
            if threading.get_ident() == here:
                inside.wait(60)  # until the other thread has a part
                raise KeyboardInterrupt
            inside.set()
            done.append(part[0])

        with pytest.raises(KeyboardInterrupt):
            chunks.map_chunks(work, [np.array([k]) for k in range(2)], 2)
        assert len(done) == 1


LIMITED = """
import ctypes, resource, sys
import numpy as np
import opforest
from opforest import OPFClassifier

OURS = ("ran out of memory", "not enough memory")
folder, megabytes = sys.argv[1], [float(size) for size in sys.argv[2:]]
rng = np.random.default_rng(0)
X = rng.random((60_000, 2)); y = (4 * X[:, 0]).astype(int) % 2
few, path = 20_000, folder + "/m.opforest"
some, many = np.arange(0, 1000, 7), np.arange(0, few, 3)  # made before memory is short


def operations():
    yield "load", lambda model: opforest.load(path)
    yield "learn", lambda model: model.partial_fit(X[few : few + 3000], y[few : few + 3000])
    yield "train", lambda model: model.partial_fit(X[few:], y[few:])
    yield "forget", lambda model: model.forget(some)
    yield "retrain", lambda model: model.forget(many)


def used():
    with open("/proc/self/statm") as stream:
        return int(stream.read().split()[0]) * resource.getpagesize()


begun = OPFClassifier(n_jobs=2).fit(X[:few], y[:few])
opforest.save(begun, path)
for _, operation in operations():  # so that all is compiled and imported
    operation(opforest.load(path))
trim = getattr(ctypes.CDLL(None), "malloc_trim", lambda _: None)  # not in every C library
_, hard = resource.getrlimit(resource.RLIMIT_AS)
for name, operation in operations():
    for size in megabytes:
        model = opforest.load(path)
        trim(0)  # no heap that was freed and is still there
        resource.setrlimit(resource.RLIMIT_AS, (used() + int(size * 2**20), hard))
        said = "done"
        try:
            operation(model)
        except MemoryError as error:
            said = "MemoryError"
            assert type(error) is MemoryError, error
            assert any(text in str(error) for text in OURS), error
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
        model.forest_.check()
        assert model.predict(X[:50]).shape == (50,)
        print(name, size, said, flush=True)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits are Linux's here")
def test_a_process_with_little_memory(tmp_path):
    """It ends with a ``MemoryError`` or without, never otherwise, and the model stays valid."""
    sizes = ["0.05", "0.5", "1", "2", "4", "512"]
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path), *sizes],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [line.split() for line in done.stdout.splitlines()]
    assert len(lines) == 5 * len(sizes)
    for name in {name for name, *_ in lines}:
        said = {float(size): outcome for operation, size, outcome in lines if operation == name}
        assert said[512] == "done", name
    assert [name for name, size, outcome in lines if size == "0.05" and outcome == "MemoryError"]
