"""Pipelines: saved, loaded, growing and forgetting, against the steps done by hand."""

import json
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from tests.support.comparison import same_forest
from tests.support.model_files import sealed, split

import opforest
from opforest import ModelFileError, OPFClassifier, Pipeline, Preparation

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3)) * [1, 100, 0.01]
Y = RNG.integers(0, 3, 40)


def make(*steps):
    return Pipeline([(f"s{k}", step) for k, step in enumerate(steps)])


class TestGrowing:
    def test_it_reaches_through(self):
        model = make(StandardScaler(), OPFClassifier()).fit(X[:30], Y[:30])
        scaler = StandardScaler().fit(X[:30])
        alone = OPFClassifier().fit(scaler.transform(X[:30]), Y[:30])
        model.partial_fit(X[30:], Y[30:]).forget([3, 5])
        alone.partial_fit(scaler.transform(X[30:]), Y[30:]).forget([3, 5])
        assert same_forest(model.steps[-1][1], alone)
        assert np.array_equal(model.predict(X), alone.predict(scaler.transform(X)))
        assert np.array_equal(model.class_costs(X), alone.class_costs(scaler.transform(X)))
        assert model.update_report_ == alone.update_report_
        assert str(model.explain(X[0])) == str(alone.explain(scaler.transform(X[:1])))
        assert model.conquerors(X)[0].tolist() == alone.conquerors(scaler.transform(X))[0].tolist()
        found, expected = model.conquerors(X, 3), alone.conquerors(scaler.transform(X), 3)
        assert [part.tolist() for part in found] == [part.tolist() for part in expected]

    def test_the_first_call_is_a_fit(self):
        whole = make(StandardScaler(), OPFClassifier()).fit(X, Y)
        first = make(StandardScaler(), OPFClassifier()).partial_fit(X, Y, classes=[0, 1, 2, 7])
        assert np.array_equal(first.forest_.cost, whole.forest_.cost)
        assert np.array_equal(first.forest_.edges, whole.forest_.edges)
        assert first.classes_.tolist() == [0, 1, 2, 7]

    def test_scikit_learn_knows_it(self):
        model = make(StandardScaler(), OPFClassifier()).set_params(s1__metric="manhattan")
        assert clone(model).fit(X, Y).score(X, Y) == 1
        assert pickle.loads(pickle.dumps(model.fit(X, Y))).predict(X).tolist() == Y.tolist()


SCALERS = [StandardScaler(), StandardScaler(with_mean=False), StandardScaler(with_std=False),
           RobustScaler(), RobustScaler(quantile_range=(10, 90)), MinMaxScaler(),
           MinMaxScaler((-1, 2), clip=True), MaxAbsScaler(), SimpleImputer(strategy="mean"),
           Preparation(scale="robust", missing="median"), "passthrough"]  # fmt: skip


class TestSaving:
    @pytest.mark.parametrize("scaler", SCALERS, ids=str)
    def test_scalers(self, tmp_path, scaler):
        model = make_pipeline(scaler, OPFClassifier()).fit(X, Y)
        opforest.save(model, tmp_path / "m")
        again = opforest.load(tmp_path / "m")
        assert isinstance(again, Pipeline)
        assert [name for name, _ in again.steps] == [name for name, _ in model.steps]
        new = X + 0.1
        assert np.array_equal(
            again.class_costs(new), model[-1].class_costs(model[:-1].transform(new))
        )
        opforest.save(again, tmp_path / "n")
        assert (tmp_path / "n").read_bytes() == (tmp_path / "m").read_bytes()

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    @pytest.mark.parametrize("encoder", [OneHotEncoder(sparse_output=False), OrdinalEncoder(),
                                         OneHotEncoder(sparse_output=False, drop="first"),
                                         OneHotEncoder(handle_unknown="ignore")])  # fmt: skip
    def test_columns_with_names(self, tmp_path, library, encoder):
        frames = pytest.importorskip(library)
        frame = frames.DataFrame({"a": X[:, 0], "k": ["p", "q"] * 20, "b": X[:, 1], "c": X[:, 2]})
        words = make_pipeline(SimpleImputer(strategy="most_frequent"), encoder)
        columns = ColumnTransformer([("n", make_pipeline(StandardScaler()), ["a", "b"]),
                                     ("w", words, ["k"])], remainder="passthrough",
                                    sparse_threshold=0)  # fmt: skip
        model = make_pipeline(columns, OPFClassifier()).fit(frame, Y)
        opforest.save(model, tmp_path / "m")
        again = opforest.load(tmp_path / "m")
        assert np.array_equal(again.predict_proba(frame), model.predict_proba(frame))
        assert again[0].get_feature_names_out().tolist() == columns_out(model)
        again.partial_fit(frame, Y)

    @pytest.mark.parametrize("step", [PCA(2), OneHotEncoder(min_frequency=3)], ids=str)
    def test_others_are_refused_by_name(self, tmp_path, step):
        data = X if isinstance(step, PCA) else X.round()
        model = make_pipeline(step, OPFClassifier())
        model[0].fit(data)
        model[-1].fit(X, Y)
        with pytest.raises(ValueError, match="cannot be saved"):
            opforest.save(model, tmp_path / "m")
        assert not (tmp_path / "m").exists()

    def test_categories_to_drop_are_refused(self, tmp_path):
        """A file with them could not be loaded."""
        words = np.array([["p"], ["q"]] * 20, object)
        encoder = OneHotEncoder(drop=["p"], sparse_output=False)
        model = make_pipeline(encoder, OPFClassifier()).fit(words, Y)
        with pytest.raises(ValueError, match=r"with drop=\['p'\] cannot be saved"):
            opforest.save(model, tmp_path / "m")

    def test_refusals_name_what_can_be_saved(self, tmp_path):
        with pytest.raises(ValueError, match=r"only StandardScaler, .*ColumnTransformer"):
            opforest.save(make_pipeline(PCA(2), OPFClassifier()).fit(X, Y), tmp_path / "m")

    def test_a_model_with_preparation_is_of_a_new_format(self, tmp_path):
        opforest.save(make_pipeline(StandardScaler(), OPFClassifier()).fit(X, Y), tmp_path / "m")
        header, _ = split((tmp_path / "m").read_bytes())
        assert header["format"] == 2
        opforest.save(OPFClassifier().fit(X, Y), tmp_path / "m")
        assert split((tmp_path / "m").read_bytes())[0]["format"] == 1


def columns_out(model):
    return model[0].get_feature_names_out().tolist()


class TestForged:
    """A file whose preparation lies is an error that says why."""

    @pytest.fixture
    def parts(self, tmp_path):
        table = np.column_stack((X.astype(object), np.array(["p", "q"] * 20, object)))
        model = make(Preparation("onehot", "median", "standard"), OPFClassifier()).fit(table, Y)
        model[-1].columns_ = {"width": 5, "features": [1, 2, 3, 4], "label": 5, "label_name": None}
        opforest.save(model, tmp_path / "m")
        return split((tmp_path / "m").read_bytes())

    def load(self, tmp_path, header, body):
        (tmp_path / "f").write_bytes(sealed(header, body))
        return opforest.load(tmp_path / "f")

    def test_it_loads_as_it_is(self, tmp_path, parts):
        assert len(self.load(tmp_path, *parts).forest_) == 40

    @pytest.mark.parametrize(
        ("path", "value"),
        [
            ((), None), ((), []), (("steps",), 3), (("last",), 3), (("steps", 0), ["a"]),
            (("steps", 0, 1), "drop"), (("steps", 0, 1), {"kind": "os.system"}),
            (("steps", 0, 1, "scale"), "minmax"), (("steps", 0, 1, "encode"), "error"),
            (("steps", 0, 1, "n_features"), 2**64), (("steps", 0, 1, "n_features"), 3),
            (("steps", 0, 1, "categorical"), [9]), (("steps", 0, 1, "columns"), ["a"] * 4),
            (("steps", 0, 1, "transformer"), "passthrough"),
            (("steps", 0, 1, "transformer", "n_features"), 10**15),
            (("steps", 0, 1, "transformer", "parts", 0, 2), [0, 0, 1]),
            (("steps", 0, 1, "transformer", "parts", 0, 1, "steps", 1, 1, "learned", "scale_"),
             [1.0, 0, 1]),
            (("steps", 0, 1, "transformer", "parts", 0, 1, "steps", 1, 1, "learned", "mean_"),
             ["x", 0, 1]),
            (("steps", 0, 1, "transformer", "parts", 1, 1, "steps", 1, 1, "learned", "categories_"),
             [["p", "p"]]),
            (("steps", 0, 1, "transformer", "parts", 1, 1, "steps", 1, 1, "learned", "categories_"),
             [["p", "q", "r"]]),
            (("steps", 0, 1, "transformer", "parts", 1, 1, "steps", 1, 1, "parameters"),
             {"handle_unknown": "ignore"}),
        ],
    )  # fmt: skip
    def test_lies(self, tmp_path, parts, path, value):
        header, body = parts
        inside, key = header, "preparation"
        for step in path:
            inside, key = inside[key], step
        inside[key] = value
        with pytest.raises(ModelFileError):
            self.load(tmp_path, header, body)

    @pytest.mark.parametrize("columns", [None, 3, {}, {"width": 5}, {
        "width": 5, "features": [1, 1], "label": None, "label_name": None}, {
        "width": "5", "features": [], "label": None, "label_name": None}])  # fmt: skip
    def test_columns_that_cannot_be(self, tmp_path, parts, columns):
        header, body = parts
        header["columns"] = columns
        with pytest.raises(ModelFileError):
            self.load(tmp_path, header, body)

    def test_deep_nests(self, tmp_path, parts):
        header, body = parts
        nest = json.loads('{"kind": "Pipeline", "names": null, "n_features": 1, "steps": []}')
        for _ in range(200):
            nest = {**nest, "steps": [["a", nest]]}
        header["preparation"]["steps"][0][1] = nest
        with pytest.raises(ModelFileError):
            self.load(tmp_path, header, body)

    @pytest.mark.parametrize("p", [2**64, 2**70, -(2**64), 10**400])
    def test_parameters_that_are_too_large(self, tmp_path, p):
        opforest.save(OPFClassifier("minkowski", metric_params={"p": 3}).fit(X, Y), tmp_path / "m")
        header, body = split((tmp_path / "m").read_bytes())
        header["parameters"]["metric_params"]["p"] = p
        with pytest.raises(ModelFileError):
            self.load(tmp_path, header, body)

    def test_arrival_numbers_that_are_words(self, tmp_path):
        opforest.save(OPFClassifier().fit(X, Y), tmp_path / "m")
        header, body = split((tmp_path / "m").read_bytes())
        for entry in header["arrays"]:
            if entry[0] == "arrival":
                entry[1] = "<U2"
        for begin in range(0, len(body)):
            body[begin] = body[begin]
        with pytest.raises(ModelFileError):
            self.load(tmp_path, header, body)
