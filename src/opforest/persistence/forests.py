"""Serialize forests."""

from typing import Any

import numpy as np

from opforest.core.metrics.metric import Metric
from opforest.core.records import PrototypeTrees
from opforest.forest.forest import BaseForest
from opforest.forest.probabilities import LEAST, MOST, CostCalibration
from opforest.forest.state import ForestState, TreeModel
from opforest.forest.updates import UPDATES
from opforest.persistence.checks import build_checked
from opforest.persistence.container import require
from opforest.persistence.header import (
    NONE,
    EstimatorState,
    Reader,
    check_jobs,
    check_metric_unchanged,
    to_json,
)

#: The arrays of a ``TreeModel`` and of ``PrototypeTrees`` in files.
TREE = ("label", "parent", "weight", "cuts", "cost")
PROTOTYPES = ("root", "pair")


def dump_forest(model: Any, parts: ForestState) -> EstimatorState:
    """Return the entry ``forest`` and the arrays of the forest of a model."""
    check_metric_unchanged(model, parts.metric)
    facts = {
        "removed": parts.removed,
        "share": parts.visited_fraction,
        "grown_by": parts.grown_by,
        "algorithm": parts.algorithm,
        "n_jobs": check_jobs(to_json(parts.n_jobs, "n_jobs")),
        "sharpness": _dump_calibration(parts.calibration),
    }
    tree = dict(zip(TREE, parts.model, strict=True))
    arrays = {"rows": parts.rows, **tree, "arrival": parts.arrival}
    if parts.vectors is not None:
        arrays["vectors"] = parts.vectors
    if parts.prototype_trees is not None:
        arrays |= zip(PROTOTYPES, parts.prototype_trees, strict=True)
    return EstimatorState({"forest": facts}, arrays)


def restore_forest(file: Reader, metric: Metric, n_classes: int) -> BaseForest:
    """Return the forest of a file, after all checks."""
    facts = file.part("forest")
    grown_by = facts.get("grown_by", str)
    parts = ForestState(
        metric,
        file.pop("rows"),
        TreeModel(*map(file.pop, TREE)),
        file.pop("arrival"),
        facts.get("removed", int),
        file.arrays.pop("vectors", None),
        PrototypeTrees(*map(file.pop, PROTOTYPES)) if grown_by in UPDATES else None,
        grown_by,
        facts.get("algorithm", str),
        check_jobs(facts.get("n_jobs", int, NONE)),
        facts.get("share", int, float),
        _restore_calibration(facts, n_classes),
    )
    return build_checked(parts, n_classes)


def _dump_calibration(found: CostCalibration | None) -> list[Any] | None:
    """Return the calibration as a list; without what older files do not have, if possible."""
    if found is None:
        return None
    if found.requested == 1:
        return list(found[:4])
    return list(found if found.class_weights else found[:-1])


def _restore_calibration(facts: Reader, n_classes: int) -> CostCalibration | None:
    values = facts.get("sharpness", list, NONE)  # older files have none
    if values is None:
        return None
    types = [*map(type, values)]
    of_votes = ([int, float, int], [int, float, str], [int, float, str, list])
    is_valid = types[:4] == [float, float, int, int] and types[4:] in ([], *of_votes)
    require(is_valid, "its calibration is invalid.")
    found = CostCalibration(*values[:7])
    if len(values) > 7:
        found = found._replace(class_weights=tuple(values[7]))
    least = LEAST if found.voters == 1 else 0.0
    is_valid = least <= found.exponent <= MOST and 0 <= found.floor < np.inf
    is_valid &= found.voters >= 1 and found.requested in ("auto", found.voters)
    is_valid &= 0 < found.smoothing < np.inf if found.voters > 1 else found.smoothing == 0
    is_valid &= len(found.class_weights) <= (n_classes if found.voters > 1 else 0)
    is_valid &= all(type(w) is float and 0 < w < np.inf for w in found.class_weights)
    require(is_valid and 0 <= found.size <= found.changes < 2**63, "its calibration is invalid.")
    return found
