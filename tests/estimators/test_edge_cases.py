"""The smallest and oddest data for each estimator of the family: an answer, or a clear error."""

import numpy as np
import pytest

import opforest
from opforest import OPFClassifier, OPFClustering, OPFKNNClassifier, OPFOutlier, OPFSemiSupervised

COPIES = np.ones((6, 2))


def test_one_example():
    X = [[3.0, 4.0]]
    assert OPFClustering().fit(X).predict([[9.0, 9.0]]).tolist() == [0]
    knn = OPFKNNClassifier().fit(X, ["a"])
    assert (knn.k_, knn.predict([[9.0, 9.0]]).tolist()) == (0, ["a"])
    semi = OPFSemiSupervised().fit(X, ["a"])
    assert semi.transduction_.tolist() == semi.predict([[9.0, 9.0]]).tolist() == ["a"]
    with pytest.raises(ValueError, match="a minimum of 2 is required"):
        OPFOutlier().fit(X)


def test_all_copies():
    assert OPFClustering(k_max=99).fit_predict(COPIES).tolist() == [0] * 6
    outlier = OPFOutlier(k_max=99).fit(COPIES)
    assert outlier.predict(COPIES).tolist() == [1] * 6
    assert outlier.predict([[2.0, 2.0]]).tolist() == [-1]
    knn = OPFKNNClassifier(k_max=99).fit(COPIES, [0, 0, 0, 1, 1, 1])
    assert set(knn.predict(COPIES)) <= {0, 1}
    semi = OPFSemiSupervised().fit(COPIES, [-1, 0, -1, 1, -1, -1])
    assert semi.transduction_[[1, 3]].tolist() == [0, 1]
    fresh = OPFSemiSupervised().fit(COPIES, [-1, 0, -1, 1, 0, -1])
    assert np.array_equal(semi.label(4, 0).transduction_, fresh.transduction_)


def test_one_class_and_more_neighbors_than_examples():
    X = np.arange(8.0)[:, None]
    assert OPFKNNClassifier(k_max=50).fit(X, np.zeros(8)).predict([[100.0]]).tolist() == [0]
    semi = OPFSemiSupervised().fit(X, [1, *[-1] * 7])
    assert semi.transduction_.tolist() == [1] * 8
    assert semi.predict_proba(X).tolist() == [[1.0]] * 8
    clf = OPFClassifier().fit(X, np.zeros(8))
    assert opforest.prune(clf, X + 0.1, np.zeros(8))[1][-1].accuracy == 1
    better, history = opforest.learn_from_errors(clf, X + 0.1, np.zeros(8))
    assert (len(better.forest_), len(history)) == (8, 1)
    assert opforest.active.query(clf, X, 99).tolist() == list(range(8))
    assert OPFClustering(k_max=50, k_min=20).fit(X).k_ == 7
    assert OPFOutlier(k_max=50).fit(X).k_ <= 7


def test_labels_and_ids_that_cannot_be():
    X = np.arange(4.0)[:, None]
    with pytest.raises(ValueError, match="y has no labels"):
        OPFSemiSupervised().fit(X, [-1] * 4)
    clf = OPFSemiSupervised().fit(X, ["a", None, None, "b"])
    before = clf.transduction_.tolist()
    for ids, label, message in [
        (9, "a", "the model has no example 9: forgotten, or never learned"),
        (0, "b", "example 0 already has the label 'a'"),
        ([1, 1], ["a", "a"], "ids must be unique"),
        ([1, 2], ["a"], "y must be 2 labels"),
        (1, None, "y must be labels"),
    ]:
        with pytest.raises(ValueError, match=message):
            clf.label(ids, label)
        assert clf.transduction_.tolist() == before


@pytest.mark.parametrize("kind", [OPFClustering, OPFKNNClassifier, OPFOutlier])
def test_distances_too_large_for_a_number(kind):
    X = np.array([[1e200], [-1e200], [0.0], [1.0], [2.0]])
    with pytest.raises(ValueError, match="would overflow"):
        kind(2, metric="sqeuclidean").fit(X, [0, 1, 0, 1, 0])
