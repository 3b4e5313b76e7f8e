"""Freed memory is returned where the C library offers it, and nothing happens elsewhere."""

import ctypes

import pytest

from opforest._utils import heap


@pytest.fixture(autouse=True)
def forget_function():
    heap._find_trim.cache_clear()
    yield
    heap._find_trim.cache_clear()


def test_heap_is_trimmed_or_left_alone():
    heap.trim_heap()
    heap.trim_heap()


@pytest.mark.parametrize("error", [OSError, TypeError, AttributeError])
def test_other_systems_do_nothing(monkeypatch, error):
    def load(_):
        raise error("no such library")

    monkeypatch.setattr(ctypes, "CDLL", load)
    heap.trim_heap()
