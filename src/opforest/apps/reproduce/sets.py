"""Data of an experiment: published data if available, generated data otherwise."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from opforest.apps.reproduce.protocol import Array, standardize
from opforest.datasets import (
    PUBLISHED,
    DownloadError,
    UnreachableError,
    load_published,
    synthetic,
)  # fmt: skip

#: Generators that replace published data sets that are not available.
GENERATORS: dict[str, Callable[..., tuple[Array, Array]]] = {
    "Base1": partial(synthetic.make_base, kind=1),
    "Base2": partial(synthetic.make_base, kind=2),
    "Base3": partial(synthetic.make_base, kind=3),
    "C-vs-G": synthetic.make_circle_vs_gaussian,
    "Lithu": synthetic.make_lithuanian,
    "Cone-Torus": synthetic.make_cone_torus,
    "Saturn": synthetic.make_saturn,
}

GENERATOR_SEED = 0


@dataclass(frozen=True)
class DataSource:
    """The source of a data set."""

    name: str
    data_home: str | None
    origin: str  #: the SHA-256 of the file, or ``"generated"``

    @property
    def is_generated(self) -> bool:
        """Whether the data are generated instead of published."""
        return self.origin == "generated"


def find_sources(
    names: Iterable[str], data_home: str | None
) -> tuple[list[DataSource], dict[str, str]]:
    """Return the sources of data sets, and why published ones are not available.

    A data set that is neither available nor generated has no source. Nothing more is downloaded
    from a host that cannot be reached.
    """
    sources, missing, unreachable = [], {}, dict[str, str]()
    for name in names:
        file = PUBLISHED[name].file
        origin = file.sha256
        try:
            load_published(
                name, data_home=data_home, download_if_missing=file.folder not in unreachable
            )
        except DownloadError as error:
            if isinstance(error, UnreachableError):
                unreachable[file.folder] = str(error)
            missing[name] = unreachable.get(file.folder, str(error))
            if name not in GENERATORS:
                continue
            origin = "generated"
        sources.append(DataSource(name, data_home, origin))
    return sources, missing


@lru_cache(maxsize=2)
def load(source: DataSource) -> tuple[Array, Array]:
    """Return the z-scores of a data set's features, and its classes."""
    if source.is_generated:
        X, y = GENERATORS[source.name](random_state=GENERATOR_SEED)
    else:
        X, y = load_published(source.name, data_home=source.data_home, return_X_y=True)
    return standardize(X), y


def describe(source: DataSource) -> dict[str, Any]:
    """Return facts about a data set for the report."""
    X, y = load(source)
    return {
        "origin": source.origin,
        "n_samples": len(y),
        "n_features": X.shape[1],
        "n_classes": len(set(y.tolist())),
        "n_subsets": PUBLISHED[source.name].n_subsets,
    }
