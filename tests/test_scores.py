import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, recall_score

from opforest.scores import class_recall, opf_accuracy
from tests.oracles import forest as oracle

labels = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=30)


@given(pairs=labels)
def test_accuracy_equals_oracle(pairs):
    y_true, y_pred = zip(*pairs, strict=True)
    assert opf_accuracy(y_true, y_pred) == pytest.approx(oracle.opf_accuracy(y_true, y_pred))


def test_two_classes_give_balanced_accuracy_more_do_not():
    assert opf_accuracy([0, 0, 0, 1], [0, 0, 1, 1]) == pytest.approx(
        balanced_accuracy_score([0, 0, 0, 1], [0, 0, 1, 1])
    )
    three = [0, 0, 1, 1, 2, 2], [0, 1, 1, 1, 2, 0]
    assert opf_accuracy(*three) != pytest.approx(balanced_accuracy_score(*three))


def test_recall():
    y_true, y_pred = ["b", "a", "a", "c", "a"], ["b", "a", "x", "a", "a"]
    recall = class_recall(y_true, y_pred)
    expected = recall_score(y_true, y_pred, labels=["a", "b", "c"], average=None)
    assert recall == dict(zip(["a", "b", "c"], expected.tolist(), strict=True))
    assert list(recall) == ["a", "b", "c"]


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        opf_accuracy([0, 1], [0])


def test_no_labels_have_no_accuracy():
    with pytest.raises(ValueError, match="at least one label"):
        opf_accuracy([], [])
