"""Golden files, and the published data sets that lie beside the project."""

from pathlib import Path

import numpy as np
import pytest

#: What LibOPF answered; a README there tells where it comes from.
LIBOPF = Path(__file__).parent / "golden" / "libopf"
LIBOPF_SETS = ("cone-torus", "data1", "parkinsons")

#: Published data sets and the paper, which are no part of the project.
SHARED = Path(__file__).parents[2] / "shared"
PUBLISHED_DATA = SHARED / "data"

needs_published_data = pytest.mark.skipif(
    not PUBLISHED_DATA.is_dir(),
    reason="../shared/data is not there: published data sets are no part of the repository",
)


def published(names):
    """Return parameters for tests of published data sets; a single one to skip if there are none.

    So a test that needs data which are not there is counted once.
    """
    if PUBLISHED_DATA.is_dir():
        return list(names)
    return [pytest.param("", marks=needs_published_data, id="published")]


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
