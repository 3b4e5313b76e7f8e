"""Golden files, and published data sets."""

from pathlib import Path

import numpy as np

#: LibOPF's results; the README there says where they come from.
LIBOPF = Path(__file__).parents[1] / "golden" / "libopf"
LIBOPF_SETS = ("cone-torus", "data1", "parkinsons")

#: The paper's table and its small data sets; the README there says where they come from.
GOLDEN = Path(__file__).parents[1] / "golden"

#: All published data sets if they are beside the project, otherwise the small ones.
SHARED_DATA = Path(__file__).parents[3] / "shared" / "data"
PUBLISHED_DATA = SHARED_DATA if SHARED_DATA.is_dir() else GOLDEN / "data"


def at_hand(file):
    """Return whether a published file is available."""
    return (PUBLISHED_DATA / "opfi" / file).exists() or (PUBLISHED_DATA / "uci" / file).exists()


def read_dat(path):
    raw = path.read_bytes()
    n, _, d = np.frombuffer(raw, "<i4", 3)
    rows = np.frombuffer(raw, "<f4", offset=12).reshape(n, d + 2)
    return rows[:, 2:].astype(np.float64), rows[:, 1].copy().view("<i4")


def read_model(path):
    """Return the path costs and the predecessors of a classifier.opf."""
    raw = path.read_bytes()
    n, _, d = np.frombuffer(raw, "<i4", 3)
    nodes = np.frombuffer(raw, "<i4", n * (7 + d), offset=32).reshape(n, 7 + d)
    return nodes[:, 4].copy().view("<f4"), nodes[:, 2]
