"""Published data sets: found, downloaded from a local server, or rejected with a reason."""

import hashlib
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from tests.support.data_files import PUBLISHED_DATA, at_hand
from tests.support.tuning import tune

from opforest.apps.reproduce.sets import find_sources
from opforest.datasets import PUBLISHED, DownloadError, UnreachableError, files, load_published
from opforest.datasets.files import find_home

SATURN = PUBLISHED["Saturn"].file


class Handler(BaseHTTPRequestHandler):
    """Responds as the first folder of the path says."""

    content = b""

    def do_GET(self):
        manner = self.path.split("/")[1]
        if manner == "missing":
            self.send_error(404)
            return
        if manner == "slow":
            time.sleep(1)
            return
        content = self.content if manner != "wrong" else b"something else"
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if manner == "cut" else content)

    def log_message(self, *args):
        pass


@pytest.fixture
def server(monkeypatch):
    """Start a server; return a function that downloads from it in the given manner."""
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{httpd.server_port}"

    def use(manner):
        monkeypatch.setattr(files, "SOURCES", dict.fromkeys(files.SOURCES, f"{address}/{manner}/"))
        if manner == "slow":
            tune(download_timeout=0.3)

    yield use
    httpd.shutdown()
    httpd.server_close()


@pytest.fixture
def toy(monkeypatch):
    """Make a small data set in LibOPF's format that passes for the published Saturn."""
    rows = np.zeros((3, 4), "<f4")
    rows[:, 1] = np.array([1, 2, 1], "<i4").view("<f4")
    rows[:, 2:] = [[0.5, 1], [2, 3], [4, 5]]
    content = np.array([3, 2, 2], "<i4").tobytes() + rows.tobytes()
    file = SATURN._replace(sha256=hashlib.sha256(content).hexdigest())
    monkeypatch.setitem(PUBLISHED, "Saturn", PUBLISHED["Saturn"]._replace(file=file))
    monkeypatch.setattr(Handler, "content", content)
    return content


def files_in(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


AT_HAND = [name for name, about in PUBLISHED.items() if at_hand(about.file.name)]


@pytest.mark.parametrize("name", AT_HAND)
def test_published_sets_have_the_shapes_they_should(name):
    about = PUBLISHED[name]
    bunch = load_published(name, data_home=PUBLISHED_DATA, download_if_missing=False)
    assert bunch.data.shape == (about.n_samples, about.n_features)
    assert bunch.data.dtype == np.float64
    assert np.isfinite(bunch.data).all()
    assert bunch.target.shape == (about.n_samples,)
    assert bunch.target_names.tolist() == list(range(1, about.n_classes + 1))
    assert len(bunch.feature_names) == about.n_features
    assert name in bunch.DESCR


def test_class_sizes_and_skins_duplicates():
    sizes = {"C-vs-G": [500, 100], "NTL": [4682, 270], "Skin": [50859, 194198]}
    assert "C-vs-G" in AT_HAND
    for name in set(AT_HAND) & set(sizes):
        X, y = load_published(name.lower(), data_home=PUBLISHED_DATA, return_X_y=True)
        assert np.bincount(y)[1:].tolist() == sizes[name]
        if name == "Skin":
            assert len(np.unique(X, axis=0)) == 51433


def test_hashes_are_those_of_the_published_files():
    lines = (PUBLISHED_DATA / "SHA256SUMS").read_text().splitlines()
    known = {path: digest for digest, path in map(str.split, lines)}
    for about in PUBLISHED.values():
        assert about.file.sha256 == known[f"{about.file.folder}/{about.file.name}"]


def test_a_frame_on_request(toy, tmp_path):
    pd = pytest.importorskip("pandas")
    (tmp_path / "saturn.opf").write_bytes(toy)
    bunch = load_published("Saturn", data_home=tmp_path, as_frame=True)
    assert isinstance(bunch.frame, pd.DataFrame)
    assert bunch.frame.shape == (3, 3)
    X, y = load_published("Saturn", data_home=tmp_path, as_frame=True, return_X_y=True)
    assert list(X.columns) == bunch.feature_names
    assert y.name == "target"


def test_files_may_lie_in_the_folder_itself_which_a_variable_names(toy, tmp_path, monkeypatch):
    (tmp_path / "saturn.opf").write_bytes(toy)
    monkeypatch.setenv("OPFOREST_DATA", str(tmp_path))
    assert load_published("Saturn", download_if_missing=False).data.shape == (3, 2)


def test_home_is_the_users_cache_unless_said_otherwise(tmp_path, monkeypatch):
    monkeypatch.delenv("OPFOREST_DATA", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert find_home() == tmp_path / "opforest"
    monkeypatch.setenv("OPFOREST_DATA", str(tmp_path / "a"))
    assert find_home() == tmp_path / "a"
    assert find_home(tmp_path / "b") == tmp_path / "b"


def test_a_download_is_kept_and_not_repeated(server, toy, tmp_path):
    server("good")
    X, y = load_published("Saturn", data_home=tmp_path, return_X_y=True)
    assert X.tolist() == [[0.5, 1], [2, 3], [4, 5]]
    assert y.tolist() == [1, 2, 1]
    assert files_in(tmp_path) == ["saturn.opf"]
    server("missing")
    assert load_published("Saturn", data_home=tmp_path).filename.endswith("saturn.opf")


@pytest.mark.parametrize(
    ("manner", "reason"),
    [
        ("wrong", "SHA-256"),
        ("cut", "cut off|IncompleteRead"),
        ("missing", "404"),
        ("slow", "timed out"),
    ],
)
def test_a_bad_download_leaves_nothing_and_says_what_to_do(server, toy, tmp_path, manner, reason):
    server(manner)
    with pytest.raises(DownloadError, match=reason) as caught:
        load_published("Saturn", data_home=tmp_path)
    message = str(caught.value)
    assert f"{manner}/saturn.opf" in message
    assert "by hand" in message
    assert "OPFOREST_DATA" in message
    assert files_in(tmp_path) == []


def test_a_file_that_is_missing_hides_no_others(server, toy, tmp_path, monkeypatch):
    server("missing")
    sources, missing = find_sources(["NTL", "Saturn", "CTG"], str(tmp_path))
    assert [source.name for source in sources] == ["Saturn"]
    assert sources[0].is_generated
    assert all("404" in missing[name] for name in ("NTL", "Saturn", "CTG"))
    server("good")
    sources, missing = find_sources(["NTL", "Saturn"], str(tmp_path))
    assert not sources[0].is_generated
    assert list(missing) == ["NTL"]
    monkeypatch.setattr(files, "SOURCES", dict.fromkeys(files.SOURCES, "http://127.0.0.1:9/"))
    _, missing = find_sources(["NTL", "CTG"], str(tmp_path))
    assert "ntl.opf could not be downloaded" in missing["CTG"]


def test_a_good_file_below_goes_before_a_bad_one(toy, tmp_path):
    (tmp_path / "opfi").mkdir()
    (tmp_path / "opfi" / "saturn.opf").write_bytes(toy)
    (tmp_path / "saturn.opf").write_bytes(b"mine")
    assert load_published("Saturn", data_home=tmp_path).data.shape == (3, 2)


def test_downloads_that_drip_or_swell_are_given_up(server, toy, tmp_path):
    server("good")
    tune(max_download_bytes=10)
    with pytest.raises(DownloadError, match="more than 10 bytes"):
        load_published("Saturn", data_home=tmp_path)
    tune(download_deadline=-1.0)
    tune(max_download_bytes=1000)
    with pytest.raises(UnreachableError, match="it took more than"):
        load_published("Saturn", data_home=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_nobody_answers(toy, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "SOURCES", dict.fromkeys(files.SOURCES, "http://127.0.0.1:9/"))
    with pytest.raises(DownloadError, match="could not be downloaded"):
        load_published("Saturn", data_home=tmp_path)
    assert files_in(tmp_path) == []


def test_a_file_that_is_another_one_is_refused_and_kept(toy, tmp_path):
    (tmp_path / "saturn.opf").write_bytes(b"mine")
    with pytest.raises(ValueError, match=r"must have the SHA-256 .* Remove it"):
        load_published("Saturn", data_home=tmp_path)
    assert (tmp_path / "saturn.opf").read_bytes() == b"mine"


def test_no_download_and_no_folder(tmp_path):
    with pytest.raises(DownloadError, match=r"saturn.opf is neither in"):
        load_published("Saturn", data_home=tmp_path, download_if_missing=False)
    (tmp_path / "file").write_text("")
    with pytest.raises(DownloadError, match="cannot be written"):
        load_published("Saturn", data_home=tmp_path / "file")


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match=r"name must be one of .*'NTL'.*, got 'ntl2'"):
        load_published("ntl2")
