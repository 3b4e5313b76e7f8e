"""BLAS uses one thread within a block, and as many as before after it."""

import threading

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from opforest import OPFClassifier
from opforest._utils.blas import one_blas_thread


def blas_threads():
    libraries = ThreadpoolController().select(user_api="blas").info()
    return [library["num_threads"] for library in libraries]


def test_one_blas_thread_gives_back_what_it_found():
    before = blas_threads()
    second_is_in, first_is_out = threading.Event(), threading.Event()

    def second():
        with one_blas_thread():
            second_is_in.set()
            first_is_out.wait(60)

    thread = threading.Thread(target=second)
    with one_blas_thread():
        thread.start()
        second_is_in.wait(60)
        assert set(blas_threads()) == {1}
    first_is_out.set()
    thread.join()
    assert blas_threads() == before
    with pytest.raises(KeyError), one_blas_thread():
        raise KeyError
    assert blas_threads() == before
    with one_blas_thread(), one_blas_thread():
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_threads_of_the_user_leave_the_setting_alone():
    before = blas_threads()
    X = np.random.default_rng(0).random((2000, 40))
    clf = OPFClassifier(algorithm="brute", n_jobs=2).fit(X[:1000], X[:1000, 0] > 0.5)
    expected = clf.conquerors(X)[0].tolist()
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(clf.conquerors(X)[0].tolist()))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 6
    assert blas_threads() == before
