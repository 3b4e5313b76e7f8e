"""Data sets of the paper on OPF-Incremental, and generators of similar data."""

from opforest.datasets.files import DownloadError, UnreachableError
from opforest.datasets.published import PUBLISHED, load_published
from opforest.datasets.synthetic import (
    make_base,
    make_circle_vs_gaussian,
    make_cone_torus,
    make_lithuanian,
    make_saturn,
)

__all__ = [
    "PUBLISHED",
    "DownloadError",
    "UnreachableError",
    "load_published",
    "make_base",
    "make_circle_vs_gaussian",
    "make_cone_torus",
    "make_lithuanian",
    "make_saturn",
]
