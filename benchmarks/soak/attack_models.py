"""Load damaged and forged model files of all kinds: each is rejected or gives a working model.

The checksum detects plain damage. So most files get a valid checksum: over damaged bytes, over a
header with exchanged JSON values, or over changed numbers in arrays.

python -m benchmarks.soak.attack_models --count 100000 --seed 1
"""

import copy
import hashlib
import random
import tempfile
import warnings
from collections.abc import Callable
from functools import partial, reduce
from operator import getitem
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.soak import attack
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from tests.support.model_files import sealed, split

import opforest
from opforest import ModelFileError, OPFClassifier

FOLDER = tempfile.TemporaryDirectory(prefix="attack-")
RNG = np.random.default_rng(0)
X = RNG.integers(0, 9, (24, 2)).astype(float)
Y = RNG.choice(["a", "b", "c"], 24)
CELLS = np.array([[1.0, "red"], [2.5, "blue"], [0.0, "red"], [7.0, "green"]] * 6, object)

#: Unexpected values for headers.
VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2, 7, 2**31, 2**63, -(2**63), 10**400, 0.0, -0.5, 1.5, 1e300, "",
    "a", "red", "opfi", "dift", "exact", "manhattan", "cosine", "precomputed", "brute", "kd_tree",
    "<i8", "<f4", "|b1", "<U3", "passthrough", "drop", "remainder", "inf", "\x00", "é\ud800", [],
    [[]], [0], [None], ["a", "a"], {}, {"float": "inf"}, {"float": "nan"}, {"function": "f"},
    {"kind": "Pipeline"}, {"kind": "Preparation"}, {"kind": "StandardScaler"}, [1.5] * 3,
]  # fmt: skip

#: Unexpected numbers for arrays.
NUMBERS = [0, 1, -1, 2, 23, 24, 25, 2**31, 2**62, -(2**63), 1e300, 1e-300, -0.0, np.inf, np.nan]


def make_models() -> dict[str, Any]:
    """Return a model of every kind."""
    from opforest.river import OPFClassifier as StreamClassifier

    stream = StreamClassifier(window_size=12)
    for x, y in zip(X, Y, strict=True):
        stream.learn_one({"u": x[0], "v": x[1]}, str(y))
    columns = ColumnTransformer([
        ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), [0]),
        ("words", OneHotEncoder(sparse_output=False), [1]),
    ])  # fmt: skip
    codes = ColumnTransformer([("words", OrdinalEncoder(), [1])], remainder="passthrough")

    models = {
        "exact": OPFClassifier().fit(X, Y),
        "opfi": OPFClassifier(update="opfi").fit(X[:9], Y[:9]).partial_fit(X[9:], Y[9:]),
        "dift": OPFClassifier(update="dift").fit(X[:9], Y[:9]).partial_fit(X[9:], Y[9:]),
        "precomputed": OPFClassifier("precomputed").fit(np.abs(X[:, :1] - X[:, 0]), Y),
        "index": OPFClassifier(algorithm="kd_tree").fit(X, Y),
        "river": stream,
        "clustering": opforest.OPFClustering(k_max=5).fit(X),
        "knn": opforest.OPFKNNClassifier(k_max=3, random_state=0).fit(X, Y),
        "outlier": opforest.OPFOutlier(k_max=3).fit(X),
        "scaled": opforest.Pipeline([("scale", MinMaxScaler()), ("model", OPFClassifier())]),
        "columns": opforest.Pipeline([("columns", columns), ("model", OPFClassifier())]),
        "codes": opforest.Pipeline([("codes", codes), ("model", OPFClassifier())]),
        "prepared": opforest.Pipeline([
            ("prepare", opforest.Preparation(encode="onehot", missing="median", scale="standard")),
            ("model", OPFClassifier()),
        ]),
    }  # fmt: skip
    models["exact"].predict_proba(X)
    models["seeds"] = opforest.OPFSemiSupervised().fit(X, np.where(np.arange(24) % 3, Y, "-1"))
    models["scaled"].fit(X, Y)
    for name in ("columns", "codes", "prepared"):
        models[name].fit(CELLS, Y)
    return models


# Forging.


def find_paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path to every value in nested lists and objects."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, part in inside:
        found.append((*path, key))
        if isinstance(part, dict | list):
            found += find_paths(part, (*path, key))
    return found


def get(value: Any, path: tuple[Any, ...]) -> Any:
    """Return the value at a path."""
    return reduce(getitem, path, value)


def forge_header(rng: random.Random, header: dict[str, Any], other: dict[str, Any]) -> None:
    """Exchange, remove, repeat or rename a value in a header."""
    paths = find_paths(header)
    *path, last = rng.choice([one for one in paths if one[0] != "arrays"] * 3 + paths)
    part = get(header, tuple(path))
    how = rng.choice(("value", "value", "value", "remove", "repeat", "rename", "other", "swap"))
    if how == "value":
        part[last] = copy.deepcopy(rng.choice(VALUES))
    elif how == "remove":
        del part[last]
    elif how == "repeat" and isinstance(part, list):
        part.insert(last, copy.deepcopy(part[last]))
    elif how in ("rename", "repeat"):
        new = rng.choice(("", "kind", "names", "steps", "parts", "learned", "x"))
        if isinstance(part, dict):
            part[new] = part.pop(last)
        else:
            part[last] = {new: part[last]}
    elif how == "other":
        part[last] = copy.deepcopy(get(other, rng.choice(find_paths(other))))
    else:
        *elsewhere, there = rng.choice(paths)
        target = get(header, tuple(elsewhere))
        one, two = copy.deepcopy(part[last]), copy.deepcopy(target[there])
        target[there] = one
        part[last] = two


def forge_arrays(rng: random.Random, header: dict[str, Any], body: bytearray) -> None:
    """Change numbers in the arrays."""
    at, arrays = 0, []
    for _, dtype, shape in header["arrays"]:
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if size:
            arrays.append(np.frombuffer(memoryview(body)[at : at + size], dtype))
        at += size + -size % 8
    for _ in range(rng.choice((1, 1, 2, 5))):
        array = rng.choice(arrays)
        if array.dtype.kind == "U":
            raw = array.view(np.uint32)
            raw[rng.randrange(len(raw))] = rng.choice(
                (0, 65, 0xD800, 0x10FFFF, 0x110000, 2**32 - 1)
            )
        else:
            place = rng.randrange(len(array))
            value = rng.choice([*NUMBERS, *array.tolist()[:5]])
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                array[place] = np.array(value).astype(array.dtype)


def forge(how: str, rng: random.Random, content: bytes, other: bytes) -> bytes:
    """Return a forged file."""
    if how == "bytes":
        return attack.damage(rng, content, other)[1]
    if how == "sealed bytes":
        damaged = content[:8] + attack.damage(rng, content[8:-32], other[8:-32])[1]
        return damaged + hashlib.sha256(damaged).digest()
    header, body = split(content)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if how == "header":
            forge_header(rng, header, split(other)[0])
            if not isinstance(header.get("arrays"), list):
                break
        else:
            forge_arrays(rng, header, body)
    return sealed(header, body)


# Checking.


def use(model: Any) -> None:
    """Check the invariants of a model, and predict with the right number of features."""
    if hasattr(model, "predict_one"):
        model.predict_one({"u": 1.0, "v": 2.0})
        model.predict_proba_one({"u": 1.0, "v": 2.0})
        if model.forest is not None:
            model.forest.check()
        return
    if hasattr(model, "steps"):
        first, last = model.steps[0][1], model.steps[-1][1]
        width = getattr(first, "n_features_in_", None) or last.n_features_in_
        use(last)
        query = np.ones((2, width), object)
        if "Encoder" in str(model) or "Preparation" in str(model):
            query[:, 1:2] = "red"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the query has no feature names
                model.predict(query)
        except ValueError:
            pass  # steps may expect other cells
        return
    vars(model).pop("feature_names_in_", None)  # scikit-learn warns about them
    if hasattr(model, "forest_"):
        model.forest_.check()
        if not len(model.forest_):
            return
    query = np.ones((2, model.n_features_in_))
    assert len(model.predict(query)) == 2
    if hasattr(model, "predict_proba"):
        assert np.isfinite(model.predict_proba(query)).all()


def try_model(how: str, name: str, rng: random.Random) -> str:
    """Forge a model file, load it, and return the outcome."""
    folder = Path(FOLDER.name)
    files = sorted(folder.glob("*.opforest"))
    content = (folder / f"{name}.opforest").read_bytes()
    path = folder / "forged"
    path.write_bytes(forge(how, rng, content, rng.choice(files).read_bytes()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            model = opforest.load(path)
        except ModelFileError as error:
            if str(path) not in str(error):
                raise RuntimeError(f"no file name: {error}") from error
            return "refused"
        use(model)
    return "accepted"


def make_attacks() -> dict[str, Callable[[random.Random], str]]:
    """Save models, use each once to compile its kernels, and return the attacks on them."""
    attacks = {}
    for name, model in make_models().items():
        path = Path(FOLDER.name) / f"{name}.opforest"
        opforest.save(model, path)
        use(opforest.load(path))
        for how in ("bytes", "sealed bytes", "header", "header", "arrays"):
            attacks[f"{name}: {how}"] = partial(try_model, how, name)
    return attacks


if __name__ == "__main__":
    attack.main(make_attacks(), 100_000)
