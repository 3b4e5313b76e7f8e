"""Processes that are forked, and what they say."""

import os
import signal

import pytest


def forks(test):
    """Mark a test that forks."""
    test = pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")(test)
    return pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")(test)


def in_a_child(function):
    """Return what a function returns in a forked process, as text; a child that hangs is killed."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(120)  # ends the process by default
            text = str(function())
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
        os.write(theirs, text.encode())
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as stream:
        said = stream.read().decode()
    assert os.waitpid(child, 0)[1] == 0, "the child has hung"
    return said
