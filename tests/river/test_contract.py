"""What river expects of a classifier."""

import pytest
from river.checks import yield_checks

from opforest.forest.updates import UPDATES
from opforest.river import OPFClassifier

CHECKS = [
    pytest.param(update, check, id=f"{update}-{i}-{check.__name__}")
    for update in UPDATES
    for i, check in enumerate(yield_checks(OPFClassifier(update=update)))
]


@pytest.mark.parametrize(("update", "check"), CHECKS)
def test_river_check(update, check):
    check(OPFClassifier(update=update))


def test_no_check_is_skipped():
    assert OPFClassifier()._unit_test_skips() == set()
    names = {param.values[1].__name__ for param in CHECKS}
    assert "check_learn_many_matches_learn_one" in names
    assert "check_predict_proba_many_matches_predict_proba_one" in names
