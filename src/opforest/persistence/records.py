"""Parts of a forest as files: records of arrays, which are mapped into memory when they are used.

See ``container`` for the file format. The arrays of a record within a record are named after both,
such as ``tree.points``.
"""

import os
from collections.abc import Iterator
from typing import Any, get_type_hints

import numpy as np

from opforest.core.kdtree.static import NODE, StaticKDTree
from opforest.core.metrics.types import Array
from opforest.core.parts.cell import CellForest
from opforest.core.parts.conquest import Map
from opforest.core.parts.costs import CellCosts, Ports
from opforest.core.parts.links import Links
from opforest.persistence.container import map_container, require, write_container
from opforest.persistence.header import Reader

#: The version of the format of a record.
FORMAT = 1

#: The records that can be written, by their names in files.
RECORDS = {kind.__name__: kind for kind in (CellForest, CellCosts, Links, Ports, Map)}


def write_record(path: str | os.PathLike[str], record: Any) -> str:
    """Write a record to a file, atomically, and return its checksum."""
    header = {"format": FORMAT, "record": type(record).__name__}
    return write_container(path, header, dict(_list_arrays(record)))


def map_record(path: str | os.PathLike[str], *, verify: bool) -> tuple[Any, str]:
    """Return the record in a file, whose arrays are read when they are used, and its checksum.

    Its structure is not checked: see ``part_checks``.
    """
    header, arrays, checksum = map_container(path, verify=verify)
    file = Reader(header, arrays)
    found = file.get("format", int)
    require(found == FORMAT, f"it is of format {found}, and this version reads format {FORMAT}.")
    record = _build(RECORDS[file.choice("record", RECORDS)], file)
    require(not arrays, f"it has unknown arrays: {str([*arrays])[:100]}.")
    return record, checksum


def _list_arrays(record: Any, prefix: str = "") -> Iterator[tuple[str, Array]]:
    for name, value in record._asdict().items():
        if isinstance(value, tuple):
            yield from _list_arrays(value, f"{prefix}{name}.")
        else:
            is_structured = value.dtype == NODE
            yield prefix + name, value.view(np.int64).reshape(-1, 3) if is_structured else value


def _build(kind: Any, file: Reader, prefix: str = "") -> Any:
    """Return a record of this kind from the arrays of a file, which are removed from it."""
    fields = {
        name: file.pop(prefix + name)
        if hint is np.ndarray
        else _build(hint, file, f"{prefix}{name}.")
        for name, hint in get_type_hints(kind).items()
    }
    if kind is StaticKDTree:
        nodes = fields["nodes"]
        is_valid = nodes.dtype == np.int64 and nodes.ndim == 2 and nodes.shape[1] == 3
        require(is_valid, "its nodes must be three columns of int64.")
        fields["nodes"] = nodes.view(NODE).reshape(-1)
    return kind(**fields)
