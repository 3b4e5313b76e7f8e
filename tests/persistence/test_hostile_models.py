"""Model files that are damaged, cut short or forged: an error that says why, and nothing worse."""

import hashlib
import io
import pickle
import resource
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.model_files import sealed, split

import opforest
from opforest import ModelFileError, OPFClassifier
from opforest.core.tree_costs import as_tree, conquer, count_cuts

KINDS = ["exact", "opfi", "dift", "precomputed", "index", "river"]
X = np.array([[0, 0], [1, 0], [3, 1], [4, 4], [5, 5], [9, 2], [9, 3]], float)
Y = np.array(["a", "a", "b", "b", "a", "c", "c"])


def make(kind):
    if kind == "river":
        from opforest.river import OPFClassifier as StreamClassifier

        model = StreamClassifier(window_size=5)
        for x, y in zip(X, Y, strict=True):
            model.learn_one({"u": x[0], "v": x[1]}, str(y))
        model.predict_proba_one({"u": 1, "v": 2})  # finds the calibration, which is saved
        return model
    if kind == "precomputed":
        return OPFClassifier("precomputed").fit(np.abs(X[:, :1] - X[:, 0]), Y)
    if kind == "index":
        model = OPFClassifier(algorithm="kd_tree").fit(X, Y)
        model.predict_proba(X)
        return model
    return OPFClassifier(update=kind).fit(X[:4], Y[:4]).partial_fit(X[4:], Y[4:])


@pytest.fixture(scope="session", params=KINDS)
def saved(request, tmp_path_factory):
    if request.param == "river":
        pytest.importorskip("river")
    path = tmp_path_factory.mktemp("saved") / request.param
    opforest.save(make(request.param), path)
    return path.read_bytes()


@pytest.fixture(scope="session")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("hostile") / "model"


def array_in(header, body, wanted):
    """Return an array of a file as a view, to be changed in place."""
    at = 0
    for name, dtype, shape in header["arrays"]:
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if name == wanted:
            return np.frombuffer(memoryview(body)[at : at + size], dtype).reshape(shape)
        at += size + -size % 8
    raise KeyError(wanted)


def load(path, content):
    path.write_bytes(content)
    return opforest.load(path)


def use(model):
    """Do with a model what it is for; it must be a valid one."""
    if isinstance(model, OPFClassifier):
        forest = model.forest_
        forest.check()
        vars(model).pop("feature_names_in_", None)  # forged names are names; scikit-learn warns
        if len(forest):
            new = [[1.0] * forest.n_features]
            model.predict_proba(new)
            assert len(model.predict(new)) == 1
            model.explain(new)
            if not forest.grown_by or forest.grown_by == model.update:
                model.partial_fit(new, model.classes_[:1])
                if not forest.grown_by and model.update == "exact":
                    model.forget(forest.ids[:1])
                model.forest_.check()
    else:
        model.predict_one({"u": 1.0, "w": 2.0})
        model.learn_one({"u": 1.0, "w": 2.0}, "new")
        model.forest.check()


def refuse_or_use(path, content):
    """Load a file that may be valid by chance; then it must be as good as any."""
    try:
        model = load(path, content)
    except ModelFileError as error:
        assert str(path) in str(error)  # noqa: PT017
        return False
    try:
        use(model)
    except ValueError as error:
        # Two kinds of files are valid and useless: of features so large, and of updates so set,
        # that learning says what is wrong.
        assert "must" in str(error) or "cannot" in str(error) or "needs" in str(error)  # noqa: PT017
    return True


def test_files_are_as_the_tests_think(saved, path):
    header, body = split(saved)
    assert sealed(header, body) == saved
    use(load(path, saved))


def test_every_truncation_is_refused(saved, path):
    for length in range(len(saved)):
        with pytest.raises(ModelFileError, match=r"empty|first bytes|short|checksum"):
            load(path, saved[:length])
    with pytest.raises(ModelFileError, match="checksum"):
        load(path, saved + b"\0")


@pytest.mark.parametrize("saved", ["exact", "river"], indirect=True)
def test_every_flip_of_a_bit_is_refused(saved, path):
    """A bit of every byte: all of them are checked alike."""
    for place in range(len(saved)):
        flipped = bytearray(saved)
        flipped[place] ^= 1 << place * 5 % 8
        with pytest.raises(ModelFileError, match=r"first bytes|checksum"):
            load(path, flipped)


def forged(saved, name, place, value):
    header, body = split(saved)
    array_in(header, body, name)[place] = value
    return sealed(header, body)


@pytest.mark.parametrize(
    ("kind", "name", "place", "value", "message"),
    [
        ("exact", "parent", 0, 7, "a parent is not an example"),
        ("exact", "parent", 0, -2, "a parent is not an example"),
        ("exact", "parent", 0, 2**62, "a parent is not an example"),
        ("exact", "parent", slice(None), [1, 2, 3, 4, 5, 6, 0], "parents form a cycle"),
        ("exact", "parent", 3, 3, "parents form a cycle"),
        ("exact", "parent", 3, -1, "a root has the weight"),
        ("exact", "label", 1, 3, "the class of an example"),
        ("exact", "label", 1, -1, "the class of an example"),
        ("exact", "label", 1, 2, "cut edges are miscounted"),
        ("exact", "cuts", 0, 5, "cut edges are miscounted"),
        ("exact", "cuts", 0, -1, "too many cut edges"),
        ("exact", "weight", 1, np.nan, "the weight of an edge"),
        ("exact", "weight", 1, -1, "the weight of an edge"),
        ("exact", "weight", 1, 99, "is not the one it was learned with"),
        ("exact", "cost", 0, np.nan, "a cost is not finite"),
        ("exact", "cost", 0, -1, "a cost is not the largest step"),
        ("exact", "cost", slice(None), 3, "the cost of a prototype is not 0"),
        ("exact", "rows", 0, np.inf, "not finite"),
        ("exact", "rows", 0, 1e300, "Features are too large"),
        ("exact", "rows", 0, 17, "is not the one it was learned with"),
        ("exact", "arrival", 2, 0, "ids are not in ascending"),
        ("exact", "arrival", 6, 7, "an id is larger"),
        ("exact", "arrival", 0, -1, "ids are not in ascending"),
        ("exact", "classes", 0, "z", "labels are not in order"),
        ("exact", "classes", 1, "a", "labels are not in order"),
        ("opfi", "root", 0, 5, "a root is not the last ancestor"),
        ("opfi", "root", 0, 99, "a root is not the last ancestor"),
        ("opfi", "pair", 0, 99, "a pair is not an example"),
        ("opfi", "pair", slice(None), 0, "ordinary example has a pair|pair is of the same class"),
        ("opfi", "parent", slice(None), [1, 2, 3, 4, 5, 6, 0], "parents form a cycle"),
        ("opfi", "cost", slice(None), 0.5, "the cost of a prototype is not 0"),
        ("precomputed", "rows", (0, 1), 2, "not symmetric"),
        ("precomputed", "rows", slice(None), -1, "a distance is negative"),
        ("precomputed", "rows", (0, 0), 1, "distance of an example to itself"),
    ],
)
def test_forged_arrays_are_refused_for_what_they_are(path, kind, name, place, value, message):
    opforest.save(make(kind), path)
    with pytest.raises(ModelFileError, match=message):
        load(path, forged(path.read_bytes(), name, place, value))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 3}, "of format 3"),
        ({"format": "1"}, "'format' cannot be"),
        ({"kind": "Pipeline"}, "must be one of"),
        ({"arrays": None}, "no list of arrays"),
        ({"arrays": [["rows", "<f8", [2**40, 2**40]]]}, "its array .rows."),
        ({"arrays": [["rows", "<f8", [-1, 2]]]}, "invalid array"),
        ({"arrays": [["rows", "|O8", [1, 1]]]}, "invalid array"),
        ({"arrays": [["rows", "<U99999999999", [1]]]}, "invalid array"),
        ({"arrays": [["rows", "<f8", [True, 2]]]}, "invalid array"),
        ({"arrays": []}, "longer or shorter"),
        ({"parameters": {}}, "'(metric_params|metric|update)' cannot be"),
        ({"parameters": 3}, "is not an object"),
        ({"forest": None}, "is not an object"),
        ({"feature_names": ["a"]}, "feature names"),
        ({"feature_names": [1, 2]}, "feature names"),
        ({"classes": [["a"]]}, "cannot be"),
        ({"update_report": {"learned": "x"}}, "report"),
    ],
)
def test_forged_headers_are_refused_for_what_they_are(path, change, message):
    opforest.save(make("exact"), path)
    header, body = split(path.read_bytes())
    with pytest.raises(ModelFileError, match=message):
        load(path, sealed({**header, **change}, body))


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"metric": "euclidian"}, "metric must be one of"),
        ({"metric": {"function": "system"}}, "function 'system'.*Pass it again"),
        ({"metric": "minkowski", "metric_params": {"p": 10**400}}, "too large"),
        ({"metric": "minkowski", "metric_params": {"p": "os.system"}}, "parameter p > 0"),
        ({"metric": "manhattan"}, "not the one it was learned with"),
        ({"update": "magic"}, "must be one of"),
        ({"algorithm": "magic"}, "algorithm'? must be"),
        ({"metric_params": {"": 1}}, "takes no parameters"),
        ({"metric": "minkowski", "metric_params": {"": 1}}, "takes only 'p'"),
        ({"n_jobs": 10**9}, "n_jobs must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
    ],
)
def test_forged_parameters_are_refused_for_what_they_are(path, entries, message):
    opforest.save(make("exact"), path)
    header, body = split(path.read_bytes())
    header["parameters"] |= entries
    with pytest.raises(ModelFileError, match=message):
        load(path, sealed(header, body))


@pytest.mark.parametrize("kind", ["index", "river"])
@pytest.mark.parametrize(
    "values",
    [3.0, [], [2.0], [2, 0.1, 7, 7], ["2", 0.1, 7, 7], [2.0, 0.1, 7.0, 7], [True, 0.1, 7, 7],
     [0.0, 0.1, 7, 7], [-1.0, 0.1, 7, 7], [1e300, 0.1, 7, 7], [2.0, -0.1, 7, 7],
     [2.0, 0.1, 7, 8], [2.0, 0.1, 7, -1], [2.0, 0.1, 2**80, 7], [2.0, 0.1, 7, 7, 7],
     [2.0, 0.1, 7, 7, 5, 0.1], [2.0, 0.1, 7, 7, 5, 0.1, 4], [2.0, 0.1, 7, 7, 5, 0.0, 5],
     [2.0, 0.1, 7, 7, 0, 0.1, 0], [2.0, 0.1, 7, 7, 5, 0.1, "many"], [2.0, 0.1, 7, 7, 1, 0.1, 1],
     [-1.0, 0.1, 7, 7, 5, 0.1, 5], [2.0, 0.1, 7, 7, 5.0, 0.1, 5],
     [2.0, 0.1, 7, 7, 5, 0.1, "auto", [1]], [2.0, 0.1, 7, 7, 5, 0.1, "auto", [0.0]],
     [2.0, 0.1, 7, 7, 5, 0.1, "auto", [1.0] * 99], [2.0, 0.1, 7, 7, 5, 0.1, 5, [1.0]],
     [2.0, 0.1, 7, 7, 1, 0.0, "auto", [1.0]], [2.0, 0.1, 7, 7, 5, 0.1, "auto", 1.0]],
)  # fmt: skip
def test_a_forged_calibration_is_refused(path, kind, values):
    opforest.save(make(kind), path)
    header, body = split(path.read_bytes())
    assert len(header["forest"]["sharpness"]) == 4
    header["forest"]["sharpness"] = values
    with pytest.raises(ModelFileError, match=r"calibration|sharpness"):
        load(path, sealed(header, body))


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"[]", b"3", b"null", b"[" * 100_000, b'{"format": NaN}', b'{"format": 1}', b"\xff",
     b'{"format": ' + b"9" * 10_000 + b"}"],
)  # fmt: skip
def test_headers_that_are_no_json_are_refused(path, text):
    with pytest.raises(ModelFileError, match=r"header|entry|no list"):
        load(path, sealed(text, b""))
    lying = bytearray(sealed(text, b""))
    lying[8:16] = (2**63).to_bytes(8, "little")
    with pytest.raises(ModelFileError, match="longer than the file"):
        load(path, bytes(lying[:-32]) + hashlib.sha256(lying[:-32]).digest())


class Bomb:
    def __reduce__(self):
        return Path.touch, (Path(__file__).with_name("exploded"),)


def test_pickles_and_zips_are_never_opened(path):
    numpys, zipped = io.BytesIO(), io.BytesIO()
    np.save(numpys, np.array([Bomb()], object), allow_pickle=True)
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("rows.npy", bytes(10**8))
    for planted in (pickle.dumps(Bomb()), numpys.getvalue(), zipped.getvalue()):
        with pytest.raises(ModelFileError, match="its first bytes are wrong"):
            load(path, planted)
        with pytest.raises(ModelFileError, match="not JSON"):
            load(path, sealed(planted, b""))
    assert not Path(__file__).with_name("exploded").exists()


def test_lying_sizes_take_no_memory(path):
    """A process with little memory to spare refuses what claims to be large."""
    opforest.save(make("exact"), path)
    header, body = split(path.read_bytes())
    for shape in ([2**32, 2**10], [7, 2**40], [2**47, 0], [0, 2**47]):
        header["arrays"][1][2] = shape
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with pytest.raises(ModelFileError):
            load(path, sealed(header, body))
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kilobytes


def test_a_forged_file_is_refused_by_an_optimized_python_too(path):
    opforest.save(make("exact"), path)
    path.write_bytes(forged(path.read_bytes(), "cuts", 0, 5))
    code = "import sys, opforest; opforest.load(sys.argv[1])"
    result = subprocess.run(
        [sys.executable, "-O", "-c", code, path], capture_output=True, text=True, check=False
    )
    assert "ModelFileError" in result.stderr
    assert "cut edges are miscounted" in result.stderr


WHOLE = st.sampled_from([0, 1, -1, 2, 3, 6, 7, 8, 2**31, 2**62, -(2**63)])
REAL = st.sampled_from([1e300, 1e-300, -0.0, float("inf"), float("nan")])


@given(data=st.data())
@settings(max_examples=150)
def test_forged_numbers_are_refused_or_a_forest(saved, path, data):
    header, body = split(saved)
    for _ in range(data.draw(st.integers(1, 3))):
        name = data.draw(
            st.sampled_from([name for name, *_ in header["arrays"] if name != "classes"])
        )
        array = array_in(header, body, name).reshape(-1)
        place = data.draw(st.integers(0, len(array) - 1))
        interesting = WHOLE if array.dtype.kind == "i" else WHOLE | REAL
        array[place] = data.draw(interesting | st.sampled_from(array.tolist()))
    refuse_or_use(path, sealed(header, body))


@given(data=st.data())
@settings(max_examples=80)
def test_forged_bytes_are_refused_or_a_forest(saved, path, data):
    content = bytearray(saved[:-32])
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(8, len(content) - 1))
        content[place] = data.draw(st.integers(0, 255))
    refuse_or_use(path, bytes(content) + hashlib.sha256(content).digest())


def places(value, way=()):
    """Yield the way to every value in nested lists and dicts."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in inside:
        yield (*way, key)
        if isinstance(part, dict | list):
            yield from places(part, (*way, key))


WORDS = ["opfi", "dift", "manhattan", "cosine", "brute", "kd_tree", "<i8", "<f4", 10**400]
PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
JSON = st.recursive(
    PLAIN | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@given(data=st.data())
@settings(max_examples=80)
def test_forged_entries_are_refused_or_a_forest(saved, path, data):
    header, body = split(saved)
    for _ in range(data.draw(st.integers(1, 2))):
        *way, last = data.draw(st.sampled_from(list(places(header))))
        part = header
        for key in way:
            part = part[key]
        if isinstance(part, dict) and data.draw(st.booleans()):
            last = data.draw(st.text(max_size=3))  # an unexpected entry
        part[last] = data.draw(JSON)
    refuse_or_use(path, sealed(header, body))


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 30),
    algorithm=st.sampled_from(["brute", "kd_tree"]),
)
@settings(max_examples=80)
def test_a_forged_tree_that_is_not_minimal_does_no_harm(path, seed, n, algorithm):
    """No file can prove that its tree is minimal; so any other must be safe to go on with."""
    rng = np.random.default_rng(seed)
    points, y = rng.integers(0, 5, (n, 2)).astype(float), rng.integers(0, 3, n)
    opforest.save(OPFClassifier(algorithm=algorithm).fit(points, y), path)
    header, body = split(path.read_bytes())
    order = rng.permutation(n)
    parent = np.full(n, -1)
    parent[order[1:]] = order[[rng.integers(0, k) for k in range(1, n)]]
    label = array_in(header, body, "label")
    weight = np.where(parent < 0, 0, ((points - points[parent]) ** 2).sum(1))
    cuts = count_cuts(parent, label)
    cost = conquer(as_tree(parent, weight), cuts > 0, label).cost
    for name, array in {"parent": parent, "weight": weight, "cuts": cuts, "cost": cost}.items():
        array_in(header, body, name)[:] = array
    model = load(path, sealed(header, body))
    for _ in range(6):
        model.partial_fit(rng.integers(0, 5, (1, 2)), y[:1])
        model.forget(rng.choice(model.forest_.ids, 1))
        assert len(model.predict(points)) == n


def test_unforeseen_faults_are_errors_of_the_file(path, monkeypatch):
    opforest.save(make("exact"), path)
    for error in (KeyError("names"), IndexError("far"), AttributeError("x"), RecursionError()):

        def fail(*_, error=error):
            raise error

        monkeypatch.setattr("opforest.persistence.files.restore_pipeline", fail)
        with pytest.raises(ModelFileError, match=r"damaged or forged: \w+Error") as caught:
            opforest.load(path)
        assert str(path) in str(caught.value)


def test_a_transformer_without_names_is_refused(path):
    from sklearn.preprocessing import StandardScaler

    model = opforest.Pipeline([("scale", StandardScaler()), ("model", OPFClassifier())])
    opforest.save(model.fit(X, Y), path)
    header, body = split(path.read_bytes())
    del header["preparation"]["steps"][0][1]["names"]
    with pytest.raises(ModelFileError, match="a transformer of its preparation is invalid"):
        load(path, sealed(header, body))
