"""Insertions with an index: by a search, or by a scan of all vertices if that is faster."""

import numpy as np
import pytest
from tests.support.comparison import assert_same_model, insertions_only

from opforest import OPFClassifier
from opforest.core.dynamic.candidates_kdtree import FEW_VISITS, SCANNED_PER_VISIT


@pytest.mark.parametrize("update", ["exact", "opfi"])
@pytest.mark.parametrize(("d", "gives_up"), [(2, False), (12, True)])
def test_a_search_is_given_up_where_it_takes_longer(update, d, gives_up):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3200, d))
    y = (X[:, 0] > 0) + 2 * (X[:, 1] > 0)
    models = []
    for algorithm in ("kd_tree", "brute"):
        clf = OPFClassifier(algorithm=algorithm, update=update).fit(X[:3000], y[:3000])
        with insertions_only():
            clf.partial_fit(X[3000:], y[3000:])
        clf.forest_.check()
        models.append(clf)
    effort = models[0].forest_.storage.fields.index.status["effort"][0]
    assert effort > 0
    assert (effort > 16 * (len(X) // SCANNED_PER_VISIT + FEW_VISITS)) == gives_up
    assert_same_model(*models, X[:200] + 0.1)


def test_a_search_is_tried_again():
    """Many features make it give up; when only one of them varies, it continues."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((3600, 12))
    X[3000:, 1:] = X[0, 1:]
    y = (X[:, 0] > 0) * 1
    clf = OPFClassifier(algorithm="kd_tree").fit(X[:3000], y[:3000])
    with insertions_only():
        clf.partial_fit(rng.standard_normal((40, 12)), np.zeros(40, int))
        assert clf.forest_.storage.fields.index.status["pause"][0] > 0
        for _ in range(12):
            clf.partial_fit(X[3000:3100] + rng.random((100, 1)), y[3000:3100])
    assert clf.forest_.storage.fields.index.status["pause"][0] == 0
    clf.forest_.check()
