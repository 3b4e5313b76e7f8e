"""Models written by version 0.1.0, before the core was rewritten: they load and continue.

``golden/models`` has, for each, the file, what was learned and forgotten next, and all that the
version that wrote it said of the forest before and after; its probabilities were shares of inverse
costs. golden/models/README.md says how.
"""

from pathlib import Path

import numpy as np
import pytest

import opforest
from opforest.core.probability.softmin import softmin

FOLDER = Path(__file__).parent / "golden" / "models"
#: Models of version 0.2.0, with the parameters whose names it had and that changed since.
DENSITY = {
    "clustering": {"merge_by": "area", "threshold": 0.1},
    "knn_classifier": {"validation_fraction": 0.4},
    "outlier": {"k_max": 8},
}
NAMES = sorted(path.stem for path in FOLDER.glob("*.opforest"))


def facts(model, queries):
    forest = model.forest_
    ids, offer = model.conquerors(queries)
    index = forest.index_of(ids)  # as version 0.1 named them
    costs = model.class_costs(queries)
    assert np.array_equal(model.classes_[model.predict_proba(queries).argmax(axis=1)],
                          model.predict(queries))  # fmt: skip
    return {
        "label": forest.label,
        "cost": forest.cost,
        "predecessor": forest.predecessor,
        "root": forest.root,
        "edges": forest.edges,
        "ids": forest.ids,
        "prototypes": forest.prototypes,
        "conqueror": index,
        "offer": offer,
        "proba": softmin(costs, forest.label[index], np.isfinite(costs), 1.0, 0.0),
        "classes": model.classes_,
    }


def test_there_are_models_of_all_kinds():
    assert len(NAMES) == 13


@pytest.mark.parametrize("name", sorted({*NAMES} - {"stream"} - DENSITY.keys()))
def test_a_model_of_before_goes_on_as_it_did(name):
    model, golden = opforest.load(FOLDER / f"{name}.opforest"), np.load(FOLDER / f"{name}.npz")
    for fact, value in facts(model, golden["Q"]).items():
        assert np.array_equal(value, golden[f"before_{fact}"]), fact
    model.partial_fit(golden["X"], golden["y"])
    if len(golden["forget"]):
        model.forget(golden["forget"])
    model.forest_.check()
    for fact, value in facts(model, golden["Q2"]).items():
        assert np.array_equal(value, golden[f"after_{fact}"]), fact
    assert list(vars(model.update_report_).values()) == golden["report"].tolist()


@pytest.mark.parametrize("name", DENSITY)
def test_a_density_model_of_before_predicts_as_it_did(name):
    model, golden = opforest.load(FOLDER / f"{name}.opforest"), np.load(FOLDER / f"{name}.npz")
    assert DENSITY[name].items() <= model.get_params().items()
    assert model.k_ == golden["k"]
    assert model.n_features_in_ == 2
    assert np.array_equal(model.predict(golden["Q"]), golden["prediction"])


def test_a_stream_of_before_goes_on_as_it_did():
    pytest.importorskip("river")
    model, golden = opforest.load(FOLDER / "stream.opforest"), np.load(FOLDER / "stream.npz")
    for (a, b), label, guess in zip(
        golden["X"].tolist(), golden["y"].tolist(), golden["guess"].tolist(), strict=True
    ):
        x = {"a": a, "b": b}
        assert model.predict_one(x) == guess
        model.learn_one(x, f"class {label}")
    model.forest.check()
    for name in ("cost", "edges", "ids", "label"):
        assert np.array_equal(getattr(model.forest, name), golden[name])
