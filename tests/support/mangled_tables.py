"""Real tables, written as people and programs write them: more than 150 variants."""

import gzip
import io
import json
import zipfile
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine


@dataclass(frozen=True)
class MangledTable:
    """A table, how it is written, and what is true of it."""

    names: list[str] | None
    X: np.ndarray
    y: list
    place: int = -1  #: of the label: -1 or 0
    label_name: str = "label"
    delimiter: str = ","
    decimal: str = "."
    missing: dict = field(default_factory=dict)  #: marks by (row, column)
    before: tuple = ()  #: lines before the header
    units: tuple | None = None
    ids: bool = False
    quotes: bool = False
    end: str = "\n"
    tail: str = ""  #: after each row
    blank_after: tuple = ()  #: rows that a blank line follows
    repeated: int | None = None  #: the row before which the header comes again
    encoding: str = "utf-8"
    suffix: str = ".csv"
    units_in_cells: str = ""
    thousands: str = ""

    @property
    def expected(self):
        """The features as they must be read."""
        X = self.X.astype(np.float64)
        for i, k in self.missing:
            X[i, k] = np.nan
        return X

    def cell(self, i, k):
        if (i, k) in self.missing:
            return self.missing[i, k]
        value = float(self.X[i, k])
        text = f"{int(value):,}" if self.thousands else f"{value!r}"
        text = text.replace(",", self.thousands) if self.thousands else text
        text = text.removesuffix(".0").replace(".", self.decimal) if not self.thousands else text
        return text + self.units_in_cells

    def with_label(self, cells, label):
        return [label, *cells] if self.place == 0 else [*cells, label]

    def line(self, cells):
        mark = self.delimiter if self.delimiter != "blanks" else "   "
        quoted = [f'"{cell}"' if self.quotes or mark in cell else cell for cell in cells]
        return mark.join(quoted) + self.tail

    def lines(self):
        head = None
        if self.names is not None:
            head = self.line(["id"] * self.ids + self.with_label(self.names, self.label_name))
        lines = [*self.before, *([head] if head else [])]
        if self.units is not None:
            lines.append(self.line([""] * self.ids + self.with_label(self.units, "")))
        for i, label in enumerate(self.y):
            if i == self.repeated:
                lines.append(head)
            cells = [self.cell(i, k) for k in range(self.X.shape[1])]
            lines.append(self.line([str(i + 1)] * self.ids + self.with_label(cells, str(label))))
            lines += [""] * (i in self.blank_after)
        return lines

    def content(self):
        if self.suffix.startswith((".json", ".ndjson")):
            return self._json()
        text = (self.end.join(self.lines()) + self.end).encode(self.encoding)
        if self.suffix == ".csv.gz":
            return gzip.compress(text)
        if self.suffix == ".zip":
            packed = io.BytesIO()
            with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("folder/data.csv", text)
                archive.writestr("__MACOSX/._data.csv", b"\0\5")
            return packed.getvalue()
        return text

    def _json(self):
        rows = [{**{name: None if (i, k) in self.missing else float(self.X[i, k])
                    for k, name in enumerate(self.names)}, self.label_name: label}
                for i, label in enumerate(self.y)]  # fmt: skip
        if self.suffix == ".ndjson" or self.encoding == "lines":
            return "".join(json.dumps(row) + "\n" for row in rows).encode()
        return json.dumps(rows, indent=2 if self.suffix == ".json" else None).encode()


def _choose(bunch, words, rows, columns):
    """Return a part of one of scikit-learn's tables; shuffled, so that classes are mixed."""
    order = np.random.default_rng(0).permutation(len(bunch.data))[:rows]
    labels = bunch.target[order]
    y = [str(bunch.target_names[k]) for k in labels] if words else labels.tolist()
    names = [str(name).replace(" (cm)", "") for name in bunch.feature_names[:columns]]
    return MangledTable(names, bunch.data[order, :columns], y)


def make_tables():
    """Return the tables by name."""
    digits = _choose(load_digits(), False, 300, 64)
    varied = [k for k in range(64) if len(np.unique(digits.X[:, k])) > 11]
    return {
        "iris": _choose(load_iris(), True, 150, 4),
        "wine": _choose(load_wine(), False, 178, 13),
        "cancer": _choose(load_breast_cancer(), True, 200, 10),
        "digits": replace(digits, names=[digits.names[k] for k in varied], X=digits.X[:, varied]),
    }


def _missing(table, mark, every=23):
    cells = [(i, i % table.X.shape[1]) for i in range(3, len(table.y), every)]
    return replace(table, missing=dict.fromkeys(cells, mark))


def _accents(table, encoding):
    names = {label: f"é{label}" for label in table.y}
    return replace(table, y=[names[label] for label in table.y], encoding=encoding)


def _twice(table):
    return replace(table, names=[table.names[0], table.names[0], *table.names[2:]])


def _wide(table):
    return replace(table, X=np.rint(table.X * 1000), thousands=",", quotes=True)


#: How a table may be written: functions of a table.
MANGLES = {
    "plain": lambda t: t,
    "semicolons": lambda t: replace(t, delimiter=";"),
    "tabs": lambda t: replace(t, delimiter="\t"),
    "tabs, .tsv": lambda t: replace(t, delimiter="\t", suffix=".tsv"),
    "bars": lambda t: replace(t, delimiter="|"),
    "blanks": lambda t: replace(t, delimiter="blanks", names=[f"f{k}" for k, _ in
                                                              enumerate(t.names)]),
    "decimal commas": lambda t: replace(t, delimiter=";", decimal=","),
    "decimal commas, quoted": lambda t: replace(t, decimal=",", quotes=True),
    "thousands": _wide,
    "units in cells": lambda t: replace(t, units_in_cells=" mm"),
    "no header": lambda t: replace(t, names=None),
    "no header, label first": lambda t: replace(t, names=None, place=0),
    "label first": lambda t: replace(t, place=0),
    "an unknown name": lambda t: replace(t, label_name="what"),
    "an unknown name, label first": lambda t: replace(t, label_name="what", place=0),
    "quotes": lambda t: replace(t, quotes=True),
    "BOM": lambda t: replace(t, encoding="utf-8-sig"),
    "UTF-16": lambda t: replace(t, encoding="utf-16"),
    "accents": lambda t: _accents(t, "utf-8"),
    "Latin-1": lambda t: _accents(t, "latin-1"),
    "CP-1252": lambda t: replace(_accents(t, "cp1252"), label_name="label", before=("# 5 €",)),
    "CRLF": lambda t: replace(t, end="\r\n"),
    "CR": lambda t: replace(t, end="\r"),
    "blank lines": lambda t: replace(t, blank_after=(0, 5, 90)),
    "trailing delimiters": lambda t: replace(t, tail=","),
    "a comment": lambda t: replace(t, before=("# measured by hand", "#")),
    "a title": lambda t: replace(t, before=("Results of the experiment",)),
    "titles": lambda t: replace(t, before=("Results,", "of the experiment, by us", "")),
    "a wide title": lambda t: replace(t, before=("Results" + "," * t.X.shape[1],)),
    "an empty row": lambda t: replace(t, before=("Results", "," * t.X.shape[1])),
    "sep=": lambda t: replace(t, before=("sep=;",), delimiter=";"),
    "units": lambda t: replace(t, units=("cm",) * t.X.shape[1]),
    "some units": lambda t: replace(t, units=("(mm)", "", *("kg",) * (t.X.shape[1] - 2))),
    "a title and units": lambda t: replace(t, before=("Results",), units=("cm",) * t.X.shape[1]),
    "the header again": lambda t: replace(t, repeated=70),
    "names twice": _twice,
    "ids": lambda t: replace(t, ids=True),
    "gzip": lambda t: replace(t, suffix=".csv.gz"),
    "zip": lambda t: replace(t, suffix=".zip"),
    "JSON": lambda t: replace(t, suffix=".json"),
    "JSON lines": lambda t: replace(t, suffix=".ndjson"),
    "JSON lines, .json": lambda t: replace(t, suffix=".json", encoding="lines"),
    **{f"missing {mark}": (lambda t, mark=mark: _missing(t, mark))
       for mark in ("", "?", "NA", "-", "--", ".", "*", "#N/A", "#DIV/0!", "n.d.", "-999 ?")},
}  # fmt: skip

#: Mangles that change different things, to be combined in pairs.
COMBINED = ("semicolons", "tabs", "label first", "no header", "quotes", "Latin-1", "CRLF",
            "blank lines", "the header again", "missing -", "ids", "units", "a title")  # fmt: skip


def make_variants():
    """Return all variants by name."""
    variants = {f"{name}, {mangle}": change(table) for name, table in make_tables().items()
                for mangle, change in MANGLES.items()}  # fmt: skip
    tables = make_tables()
    for k, (one, other) in enumerate(combinations(COMBINED, 2)):
        name = ("iris", "wine", "cancer", "digits")[k % 4]
        if "no header" in (one, other) and {one, other} & {"the header again", "units", "ids"}:
            continue  # there is none to repeat
        table = MANGLES[other](MANGLES[one](tables[name]))
        variants[f"{name}, {one} and {other}"] = table
    return variants
