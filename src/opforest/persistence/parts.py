"""Save and load models in parts: a folder with a manifest, and a file for each part.

The files of a model are in a subfolder, which the manifest names. A new model is written beside the
old one, and becomes the model of the folder when its manifest replaces the old manifest, at once.
A folder without a manifest is not a model.
"""

import hashlib
import itertools
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from opforest._utils.atomic import open_atomic
from opforest._utils.name_lock import lock_folder
from opforest.core.metrics.types import Array
from opforest.core.parts.cell import CellForest
from opforest.core.parts.conquest import Map
from opforest.core.parts.costs import CellCosts
from opforest.core.parts.links import Links
from opforest.errors import ModelFileError
from opforest.estimators.parts import PartsClassifier
from opforest.forest.parts import ForestParts
from opforest.persistence.container import refuse_constant, require
from opforest.persistence.executor import SUFFIX, FolderExecutor, PartFile, verify_part
from opforest.persistence.header import (
    NONE,
    Reader,
    dump_feature_names,
    dump_parameters,
    resolve_silently,
    restore_parameters,
    to_json,
)
from opforest.persistence.part_checks import ModelSize, check_cell
from opforest.persistence.records import write_record

MANIFEST, FORMAT, KIND = "manifest.json", 1, "PartsClassifier"

#: The names of subfolders of models.
SUBFOLDER = re.compile(r"parts-[0-9a-f]{16}")

#: The names of their files.
FILE = re.compile(r"[a-z]+(-[0-9]{5,9})?\.opforest")

#: The names that ``open_atomic`` gives to files until they are complete.
PARTIAL = re.compile(r"\..+-[0-9a-f]{16}")

#: Kinds of NumPy types of labels, and those that are objects.
LABEL_TYPES = re.compile(r"\|b1|[<|][iuf][1248]|<U[0-9]{1,8}|object")


class PartFiles(NamedTuple):
    """The files of a model."""

    forests: list[PartFile]
    costs: list[PartFile]
    joined: PartFile
    map: PartFile

    def list_names(self) -> dict[str, Any]:
        """Return the names and checksums of all files, for a manifest."""

        def describe(part: PartFile) -> list[str]:
            return [os.path.basename(part.path), part.checksum]

        return {
            "forests": [*map(describe, self.forests)],
            "costs": [*map(describe, self.costs)],
            "joined": describe(self.joined),
            "map": describe(self.map),
        }


def is_parts_folder(path: object) -> TypeGuard[str | os.PathLike[str]]:
    """Return whether a path is the folder of a model in parts, finished or not."""
    if not isinstance(path, str | os.PathLike) or not os.path.isdir(path):
        return False
    return any(name == MANIFEST or SUBFOLDER.fullmatch(name) for name in os.listdir(path))


@contextmanager
def claim_folder(folder: str) -> Iterator[None]:
    """Create a folder for a model, and keep other processes from writing a model there."""
    if is_new := not os.path.lexists(folder):
        os.makedirs(folder, exist_ok=True)
    else:
        _require_ours(folder)
    try:
        with lock_folder(folder) as is_free:
            if not is_free:
                raise ValueError(
                    f"{folder}: another process is writing a model into this folder. Wait until it "
                    "has ended, or name another folder."
                )
            yield
    finally:
        if is_new:
            with suppress(OSError):  # unless there is something to keep
                os.rmdir(folder)


def _require_ours(folder: str) -> None:
    if not os.path.isdir(folder):
        kind = "a file" if os.path.exists(folder) else "a link to a folder that does not exist"
        raise ValueError(f"{folder} is {kind}: a model in parts needs a folder.")
    for name in _list_foreign(folder):
        raise ValueError(
            f"{folder} has other files, such as {name}: name a folder that does not exist or is "
            "empty."
        )


def _list_foreign(folder: str) -> Iterator[str]:
    """Yield the paths of files that no model of ours has: a fit would replace or remove them."""
    names = os.listdir(folder)
    has_model = any(SUBFOLDER.fullmatch(name) for name in names)
    for name in names:
        if SUBFOLDER.fullmatch(name):
            for inner in os.listdir(os.path.join(folder, name)):
                if inner != "work" and not FILE.fullmatch(inner) and not PARTIAL.fullmatch(inner):
                    yield os.path.join(name, inner)
        elif name.startswith((MANIFEST, f".{MANIFEST}")):
            if not has_model:  # the manifest of ours is written after the files of a subfolder
                yield name
        elif not name.startswith(".lock"):
            yield name


def save_parts(model: PartsClassifier, folder: str | os.PathLike[str]) -> None:
    """Save a model to a folder, part by part; a model that is there is replaced at the end."""
    model.fitted_parts()
    folder = os.fspath(folder)
    with claim_folder(folder):
        _refuse_own_folder(model, folder)
        name = f"parts-{secrets.token_hex(8)}"
        target = os.path.join(folder, name)
        os.mkdir(target)
        try:
            write_manifest(model, folder, name, _write_parts(model, target))
        except BaseException:
            shutil.rmtree(target, ignore_errors=True)
            raise
        remove_others(folder, name)


def _refuse_own_folder(model: PartsClassifier, folder: str) -> None:
    own = getattr(model.executor_, "folder", "")
    if own and os.path.realpath(os.path.dirname(own)) == os.path.realpath(folder):
        raise ValueError(f"{folder}: the model is in this folder already. Name another one.")


def _write_parts(model: PartsClassifier, target: str) -> PartFiles:
    """Write the parts of a model, one at a time."""
    parts, fetch = model.parts_, model.executor_.fetch

    def write(name: str, record: Any) -> PartFile:
        path = os.path.join(target, name + SUFFIX)
        return PartFile(path, write_record(path, record))

    def write_all(name: str, kept: Sequence[Any]) -> list[PartFile]:
        return [
            write(f"{name}-{cell:05}", fetch(return_part, [part])[0])
            for cell, part in enumerate(kept)
        ]

    return PartFiles(
        write_all("forest", parts.forests),
        write_all("costs", parts.costs),
        write("joined", parts.joined),
        write("map", parts.map),
    )


def return_part(part: Any) -> Any:
    """Return a part of a model, which the executor has loaded."""
    return part


def dump_labels(classes: Array) -> tuple[str, list[Any]]:
    """Return the type and the values of labels for a manifest."""
    kind = "object" if classes.dtype == object else classes.dtype.newbyteorder("<").str
    require(LABEL_TYPES.fullmatch(kind), f"labels of type {classes.dtype} cannot be saved.")
    return kind, [to_json(label, "labels") for label in classes.tolist()]


def write_manifest(model: PartsClassifier, folder: str, name: str, files: PartFiles) -> None:
    """Write the manifest, which makes a folder with complete files in a subfolder a model."""
    from opforest._utils.version import __version__

    box, (kind, labels) = model.parts_.map.box, dump_labels(model.classes_)
    manifest = {
        "format": FORMAT,
        "opforest": __version__,
        "kind": KIND,
        "parameters": dump_parameters(model, ()),
        "examples": model.n_examples_,
        "features": model.n_features_in_,
        "coordinates": box.shape[2],
        "cells": len(box),
        "dtype": box.dtype.name,
        "label_type": kind,
        "classes": labels,
        **dump_feature_names(model),
        "columns": getattr(model, "columns_", None),
        "folder": name,
        "files": files.list_names(),
    }
    manifest["sha256"] = _digest(manifest)
    text = json.dumps(manifest, allow_nan=False, indent=1) + "\n"
    with open_atomic(os.path.join(folder, MANIFEST)) as stream:
        stream.write(text.encode("ascii"))


def _digest(manifest: Mapping[str, Any]) -> str:
    text = json.dumps(manifest, allow_nan=False, sort_keys=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def find_current(folder: str) -> str | None:
    """Return the name of the subfolder of the model in a folder, if there is a valid manifest."""
    try:
        return str(read_manifest(folder).get("folder", str))
    except ModelFileError:
        return None


def remove_others(folder: str, *names: str | None) -> None:
    """Remove all subfolders but these: of former models, and of fits that were stopped."""
    for other in os.listdir(folder):
        if SUBFOLDER.fullmatch(other) and other not in names:
            shutil.rmtree(os.path.join(folder, other), ignore_errors=True)


def remove_partial(folder: str) -> None:
    """Remove files that were not complete when their process was killed."""
    with suppress(FileNotFoundError):
        for name in os.listdir(folder):
            if PARTIAL.fullmatch(name):
                os.remove(os.path.join(folder, name))


def load_parts(folder: str | os.PathLike[str]) -> PartsClassifier:
    """Load a model from a folder; its parts stay there, and are read when they are used.

    All files are read once, to verify them.
    """
    folder = os.fspath(folder)
    with name_errors(os.path.join(folder, MANIFEST)):
        manifest = read_manifest(folder)
        model = PartsClassifier(**restore_parameters(manifest.part("parameters"), (), None))
        metric = resolve_silently(model.metric, model.metric_params)
        require(metric.is_indexable, f"metric {metric.name!r} has no k-d tree.")
        classes = _restore_labels(manifest)
        dtype = np.dtype(manifest.choice("dtype", ("float32", "float64")))
        n, n_features, n_coordinates = (
            manifest.get(name, int) for name in ("examples", "features", "coordinates")
        )
        require(n > 0 and n_features > 0 and n_coordinates > 0, "it has no examples or features.")
        size = ModelSize(n, len(classes), n_coordinates, dtype)
        name = manifest.get("folder", str)
        require(SUBFOLDER.fullmatch(name), "its subfolder has another name.")
        names = _list_files(manifest, manifest.get("cells", int))
    executor = FolderExecutor(os.path.join(folder, name), size)
    parts = _verify_files(names, executor, size)
    with name_errors(os.path.join(folder, MANIFEST)):
        model.set_parts(executor, parts, classes, n, n_features)
        manifest.restore_feature_names(model)
        layout = manifest.get("columns", dict, NONE)
        if layout is not None:
            model.columns_ = layout
    return model


@contextmanager
def name_errors(path: str) -> Iterator[None]:
    """Prefix errors about the content of a file with its path."""
    try:
        yield
    except FileNotFoundError:
        raise ModelFileError(f"{path}: the file is missing.") from None
    except (OSError, MemoryError):
        raise
    except Exception as error:  # a forged file may fail in unforeseen ways
        raise ModelFileError(f"{path}: {error}") from error


def read_manifest(folder: str) -> Reader:
    """Return the manifest of a model."""
    path = os.path.join(folder, MANIFEST)
    if not os.path.exists(path):
        raise ModelFileError(
            "the file is missing, so the folder is not a complete model. If a fit was stopped, "
            "call it again, and it continues."
        )
    with open(path, "rb") as stream:
        content = stream.read()
    try:
        entries = json.loads(content.decode("ascii"), parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"it is not JSON: {error}") from None
    manifest = Reader(entries, {}, "manifest")
    found = manifest.get("format", int)
    require(found == FORMAT, f"it is of format {found}, and this version reads format {FORMAT}.")
    manifest.choice("kind", (KIND,))
    checksum = entries.pop("sha256", None)
    require(_digest(entries) == checksum, "its checksum is wrong: the file is damaged.")
    return manifest


def _restore_labels(manifest: Reader) -> Array:
    labels, kind = manifest.classes(), manifest.get("label_type", str)
    require(LABEL_TYPES.fullmatch(kind) and len(labels), "its labels are invalid.")
    if kind == "object":
        return labels
    classes = np.array(labels.tolist(), np.dtype(kind).newbyteorder("="))
    require(classes.tolist() == labels.tolist(), "its labels are not of their type.")
    return classes


def _list_files(manifest: Reader, n_cells: int) -> dict[str, list[list[str]]]:
    """Return the names and checksums of the files of a model."""
    listed = manifest.part("files")
    names = {name: listed.get(name, list) for name in ("forests", "costs", "joined", "map")}
    names |= {name: [names[name]] for name in ("joined", "map")}
    message = "its list of files is invalid."
    require(len(names["forests"]) == len(names["costs"]) == n_cells > 0, message)
    for entry in itertools.chain.from_iterable(names.values()):
        is_entry = isinstance(entry, list) and [*map(type, entry)] == [str, str]
        require(is_entry and FILE.fullmatch(entry[0]), message)
    return names


def _verify_files(
    names: dict[str, list[list[str]]], executor: FolderExecutor, size: ModelSize
) -> ForestParts:
    """Return the parts of a model after all checks of its files."""

    def verify(entry: list[str], kind: type) -> tuple[PartFile, Any]:
        path = os.path.join(executor.folder, entry[0])
        with name_errors(path):
            part, record = verify_part(path, size)
            require(part.checksum == entry[1], "it is another file than the manifest lists.")
            require(type(record) is kind, f"it is not a {kind.__name__}.")
        return part, record

    def verify_cell(one: list[str], other: list[str]) -> tuple[PartFile, PartFile, int, int]:
        part, forest = verify(one, CellForest)
        with_costs, costs = verify(other, CellCosts)
        with name_errors(with_costs.path):
            check_cell(forest, costs)
        return part, with_costs, len(forest.id), len(forest.certain.weight)

    found = executor.fetch(verify_cell, names["forests"], names["costs"])
    forests, costs, n_examples, n_edges = zip(*found, strict=True)
    (_, joined), (_, cells) = verify(names["joined"][0], Links), verify(names["map"][0], Map)
    with name_errors(executor.folder):
        is_whole = sum(n_examples) == size.n_examples and len(forests) == len(cells.box)
        is_whole = is_whole and sum(n_edges) + len(joined.weight) == size.n_examples - 1
        require(is_whole, "its parts are not those of one model.")
    return ForestParts(forests, costs, joined, cells)
