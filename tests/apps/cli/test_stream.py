"""``stream``."""

import os
import signal
import sys
import threading
import time

import pytest

import opforest
from opforest import OPFClassifier

pytest.importorskip("typer")
pytest.importorskip("pyarrow")
from tests.support.commands import run, run_json
from tests.support.comparison import same_forest


class TestStream:
    @pytest.mark.parametrize("update", ["exact", "opfi", "dift"])
    def test_test_then_train(self, folder, iris, update):
        told = run_json("stream", "s", "iris.csv", "--every", "50", "--update", update)
        model, right = OPFClassifier(update=update), 0
        for i, (x, label) in enumerate(zip(iris.X, iris.y, strict=True)):
            right += i > 0 and model.predict([x])[0] == label
            model.partial_fit([x], [label])
        assert (told["tested"], told["accuracy"]) == (149, right / 149)
        assert [line["examples"] for line in told["reports"]] == [50, 100, 150]
        assert same_forest(opforest.load("s"), model)

    def test_reports(self, folder):
        lines = run("stream", "s", "iris.csv", "--every", "60").stdout.splitlines()
        assert lines[0] == "examples\taccuracy\trolling"
        assert [line.split("\t")[0] for line in lines[1:]] == ["60", "120", "150"]

    @pytest.mark.parametrize("batch", [1, 4])
    def test_resume_after_an_error(self, folder, batch):
        rows = (folder / "iris.csv").read_text().splitlines()
        whole = run_json("stream", "whole", "iris.csv", "--batch", batch, "--every", 20)
        (folder / "data.csv").write_text("\n".join([*rows[:83], "1,2,broken"]))
        run("stream", "s", "data.csv", "--batch", batch, "--every", 20, "--json", code=3)
        (folder / "data.csv").write_text("\n".join(rows))
        assert len(opforest.load("s").forest_) == 80
        told = run("stream", "s", "data.csv", code=2).stderr
        assert "--resume continues it" in told
        told = run_json("stream", "s", "data.csv", "--batch", batch, "--every", 20, "--resume")
        assert (folder / "s").read_bytes() == (folder / "whole").read_bytes()
        assert (told["accuracy"], told["tested"]) == (whole["accuracy"], whole["tested"])

    def test_resume_learns_new_rows(self, folder, iris):
        rows = (folder / "iris.csv").read_text().splitlines(keepends=True)
        (folder / "log.csv").write_text("".join(rows[:100]))
        run("stream", "s", "log.csv")
        with (folder / "log.csv").open("a") as stream:
            stream.writelines(rows[100:])
        assert run_json("stream", "s", "log.csv", "--resume")["examples"] == 150
        assert same_forest(opforest.load("s"), OPFClassifier().fit(iris.X, iris.y))

    def test_a_trained_model_learns_more(self, folder, iris):
        run("stream", "iris.opforest", "test.csv")
        assert same_forest(opforest.load("iris.opforest"), OPFClassifier().fit(iris.X, iris.y))
        assert (
            "does not say" in run("stream", "iris.opforest", "train.csv", "--resume", code=2).stderr
        )
        told = run("stream", "iris.opforest", "test.csv", "--metric", "manhattan", code=2).stderr
        assert "was made with metric='euclidean'" in told

    def test_an_invalid_journal(self, folder):
        (folder / "s.stream").write_text("{}")
        assert "not a journal of a stream" in run("stream", "s", "iris.csv", code=2).stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals are others there")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_missed_signal_is_repeated(number):
    """It came a moment before the wait began, or another thread got it, as here."""
    from opforest.apps.cli.signals import catch_signals

    receive, send = os.pipe()
    over, rescued = threading.Event(), []

    def get_signal():
        time.sleep(0.3)  # by now the other thread waits; if it does not, nothing is to be shown
        signal.pthread_kill(threading.get_ident(), number)
        if not over.wait(60):
            rescued.append(os.write(send, b"data"))

    def chunks():
        thread.start()
        yield os.read(receive, 4)

    thread = threading.Thread(target=get_signal)
    with catch_signals() as stop:
        found = stop.wait_for(chunks())
    over.set()
    thread.join()
    assert found is None
    assert stop.is_set
    assert not rescued
    os.close(receive)
    os.close(send)


def test_signal_handlers_are_restored():
    from opforest.apps.cli.signals import catch_signals

    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    threads = threading.active_count()
    with catch_signals():
        pass
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    assert signal.set_wakeup_fd(-1) == -1
    assert threading.active_count() == threads
