"""A model and a data file: how a command reads examples that fit the model."""

import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

from opforest._utils.numerals import Cells
from opforest._utils.text import count
from opforest.apps.cli.errors import locate_errors
from opforest.apps.cli.lazy_modules import np, table, tables
from opforest.apps.cli.models import classifier_of, preparation_of, prepare
from opforest.apps.cli.output import print_notes
from opforest.errors import DataFileError
from opforest.io.source import STANDARD

#: Cells that stand for a missing label.
NO_LABEL = ("", "?", "nan", "NaN")

#: A label that is a whole number.
WHOLE = re.compile(r"[+-]?(0|[1-9]\d{0,17})", re.ASCII)


#: Bytes and rows of queries at a time for a model in parts: each call reads all of them.
QUERY_BYTES, MAX_QUERIES = 1 << 26, 1 << 17


class Job:
    """A model and the data file that it learns or is applied to.

    ``reading`` combines the options of the command with the columns that the model expects;
    ``n_dropped`` counts the rows that were left out because cells are missing.
    """

    def __init__(
        self,
        model: Any,
        path: str,
        reading: "table.ReadOptions",
        *,
        needs_label: bool = False,
        ignores_label: bool = False,
    ) -> None:
        preparation, is_pipeline = preparation_of(model), hasattr(model, "steps")
        self._is_fitted = hasattr(classifier_of(model), "n_features_in_")
        drops = needs_label and preparation is not None and preparation.missing == "drop"
        self.model, self.path, self.n_dropped = model, path, 0
        self.reading = replace(
            reading,
            allow_missing=is_pipeline and (preparation is None or preparation.missing != "error"),
            categories=is_pipeline and (preparation is None or preparation.encode != "error"),
            expected=schema_of(model) if self._is_fitted else reading.expected,
            needs_label=needs_label,
            may_lack_labels=reading.may_lack_labels or drops,
            remedy="" if hasattr(classifier_of(model), "parts_") else reading.remedy,
        )
        self._ignores_label, self._drops_unlabeled = ignores_label, drops
        self._has_text_labels = self.reading.expected and self.reading.expected.text_labels
        self._noted: set[str] = set()

    def read(self) -> "table.Data":
        """Return all complete rows."""
        with self._explain_distances():
            return self.drop_incomplete(tables.read_table(self.path, self.reading))

    def chunks(self, **limits: int) -> Iterator["table.Data"]:
        """Yield all rows in chunks; ``limits`` are those of ``read_chunks``."""
        last = classifier_of(self.model)
        if hasattr(last, "parts_") and self.path != STANDARD:  # a pipe must not be read ahead
            rows = min(MAX_QUERIES, QUERY_BYTES // (8 * last.n_features_in_))
            limits = {"rows": max(table.ROWS, rows), **limits}
        with self._explain_distances():
            yield from tables.read_chunks(self.path, self.reading, **limits)

    @contextmanager
    def _explain_distances(self) -> Iterator[None]:
        """Add to errors what a data file for a model of distances must hold."""
        try:
            yield
        except DataFileError as error:
            last = classifier_of(self.model)
            if not self._is_fitted or last.metric != "precomputed":
                raise
            n = last.n_features_in_
            reason = (
                f"{error.reason}; the model was trained with --distances, so each row must hold "
                f"its distances to the {count(n, 'example')} of the model, in "
                f"{count(n, 'column')}, in the order of learning"
            )
            raise DataFileError(reason, error.path, error.line, error.column) from error

    def query_chunks(self) -> Iterator["table.Data"]:
        """Yield all rows in chunks; print notes that are new, except on the label."""
        for data in self.chunks():
            self._print_new(note for note in data.notes if not note.startswith("the label is"))
            yield data

    def _print_new(self, notes: Iterable[str]) -> None:
        new = [note for note in notes if note not in self._noted]
        self._noted.update(new)
        print_notes(new)

    def complete_chunks(self) -> Iterator["table.Data"]:
        """Return the complete rows in chunks that are not empty."""
        return filter(len, map(self.drop_incomplete, self.chunks()))

    def drop_incomplete(self, data: "table.Data") -> "table.Data":
        """Return the rows that the model can use; print notes that are new."""
        complete = self.find_complete(data)
        self._print_new(self._notes_on(data))
        if complete is not None and not complete.all():
            self.n_dropped += len(data) - int(complete.sum())
            data = data.take(complete.nonzero()[0])
        return self._restore_numbers(data) if self._drops_unlabeled else data

    def find_complete(self, data: "table.Data") -> "table.Array | None":
        """Return which rows have no missing cells, nor labels; None if the model accepts them."""
        complete = find_complete(self.model, data)
        if complete is None or not self._drops_unlabeled or data.y is None:
            return complete
        return complete if data.y.dtype.kind != "U" else complete & ~np.isin(data.y, NO_LABEL)

    def _restore_numbers(self, data: "table.Data") -> "table.Data":
        """Return the data with labels that are numbers again: missing ones made them text."""
        y = data.y
        if y is None or not len(y):
            return data
        if self._has_text_labels is None:
            self._has_text_labels = y.dtype.kind == "U" and not all(map(WHOLE.fullmatch, y))
        if self._has_text_labels or y.dtype.kind != "U":
            return data
        for i, label in enumerate(y):
            if not WHOLE.fullmatch(label):
                reason = f"the label must be a whole number, as all before, got {str(label)!r}"
                raise data.error_at(i, reason, self.path)
        return replace(data, y=y.astype(np.int64))

    def _notes_on(self, data: "table.Data") -> list[str]:
        if self._is_fitted:
            layout = getattr(classifier_of(self.model), "columns_", None) or {}
            return notes_on(data, self.reading, layout.get("label_name"))
        ending = "; labels are ignored here" if self._ignores_label else ""
        return [f"{note}{ending}" if note.startswith("the label is") else note
                for note in data.notes]  # fmt: skip

    def print_dropped(self, more: Iterable[str] = ()) -> None:
        """Print a note on rows that were left out, and other notes."""
        verb = "is" if self.n_dropped == 1 else "are"
        dropped = f"{count(self.n_dropped, 'row')} with missing cells {verb} left out"
        print_notes([*more, *([dropped] if self.n_dropped else [])])

    def fit(self, data: "table.Data", y: Any = None) -> None:
        """Fit the model; the caller warns of scales in the words of the command line."""
        with locate_errors(self.path, data), quiet_about_scales():
            if not len(data):
                raise ValueError("cells are missing in every row; --missing median fills them.")
            self.model.fit(data.X, y)


def find_complete(model: Any, data: "table.Data") -> "table.Array | None":
    """Return which rows have no missing cells; None if the model accepts missing cells."""
    preparation = preparation_of(model)
    if preparation is None or preparation.missing != "drop":
        return None
    return cast("table.Array", preparation.is_complete(data.X))


def labels_of(data: "table.Data", path: str, advice: str = "") -> "table.Array":
    """Return the labels of examples, or raise an error with advice if one is missing."""
    if data.y is None:
        raise DataFileError("there are no labels; --label names their column", path)
    if data.y.dtype.kind == "U":
        missing = np.isin(data.y, NO_LABEL)
        if missing.any():
            raise data.error_at(int(missing.argmax()), f"the label is missing{advice}", path)
    return data.y


def notes_on(
    data: "table.Data", reading: "table.ReadOptions", known_label: str | None = None
) -> list[str]:
    """Return the notes of the reader, and one on the label column if it is new to the model."""
    notes = list(data.notes)
    is_noted = reading.label is not None or any(one.startswith("the label is") for one in notes)
    if data.y is not None and not is_noted and data.label_name not in (None, known_label):
        notes.append(f"the label is column {data.label_name!r} (--label names another)")
    return notes


def schema_of(model: Any) -> "table.InputSchema":
    """Return the columns that a fitted model expects."""
    classifier, preparation = classifier_of(model), preparation_of(model)
    is_text = not hasattr(classifier, "classes_") or classifier.classes_.dtype.kind in "UO"
    layout = getattr(classifier, "columns_", None)
    if preparation is None:
        names = getattr(model, "feature_names_in_", None)
        return make_schema(model.n_features_in_, names, is_text, layout)
    return make_schema(preparation.n_features_in_, preparation.columns_, is_text, layout,
                       preparation.categorical_)  # fmt: skip


def make_schema(
    n_features: int,
    names: Iterable[Any] | None,
    text_labels: bool | None,
    layout: dict[str, Any] | None,
    text: Iterable[int] = (),
) -> "table.InputSchema":
    """Return the schema of a model whose features have these names; ``text`` features are text."""
    known = None if names is None else tuple(map(str, names))
    cells = Cells.from_data((layout or {}).get("cells", {}))
    return table.InputSchema(n_features, known, text_labels, layout, frozenset(text), cells)


@contextmanager
def quiet_about_scales() -> Iterator[None]:
    """Suppress the warning of the library, whose advice is Python code."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "features differ in spread")
        yield


def warn_of_scales(model: Any, data: "table.Data", remedy: str, X: Any = None) -> None:
    """Warn of features whose spreads differ, by the names or numbers of their columns.

    ``remedy`` is the option to use; X are the prepared examples if the caller has them.
    """
    from opforest.estimators.validation import warn_about_scales

    names = list(data.feature_names or ())
    if hasattr(model, "steps"):
        names = list(model.steps[-2][1].get_feature_names_out())
    names = names or [f"column {k}" for k in (data.layout or {}).get("features", ())]
    X = prepare(model, data.X) if X is None else X
    warn_about_scales(X, classifier_of(model).metric, names or None, remedy)
