"""Deferred interrupts."""

import os
import signal
import threading

import pytest

from opforest._utils.interrupts import defer_interrupts


def test_ctrl_c_waits_for_a_function():
    done = []

    @defer_interrupts
    def work():
        os.kill(os.getpid(), signal.SIGINT)
        done.append("all of it")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["all of it"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_results_errors_and_other_threads_pass():
    assert defer_interrupts(lambda x: x + 1)(1) == 2
    with pytest.raises(ZeroDivisionError):
        defer_interrupts(lambda: 1 / 0)()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    found = []
    thread = threading.Thread(target=defer_interrupts(lambda: found.append(1)))
    thread.start()
    thread.join()
    assert found == [1]
