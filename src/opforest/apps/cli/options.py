"""Options that several commands share."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opforest.io.formats import FORMATS

if TYPE_CHECKING:
    from opforest.io.columns.table import InputSchema, ReadOptions


#: Formats of data files, by the names that the registry has for them.
Format = StrEnum("Format", {name.upper().replace("-", "_"): name for name in FORMATS})  # type: ignore[misc]


class Encode(StrEnum):
    """What becomes of columns of text."""

    ONEHOT = "onehot"
    ORDINAL = "ordinal"
    DROP = "drop"


class Missing(StrEnum):
    """What becomes of missing cells."""

    ERROR = "error"
    DROP = "drop"
    MEDIAN = "median"


class Scale(StrEnum):
    """How columns of numbers are scaled."""

    NONE = "none"
    STANDARD = "standard"
    ROBUST = "robust"
    MINMAX = "minmax"


class Update(StrEnum):
    """How models grow."""

    EXACT = "exact"
    OPFI = "opfi"
    DIFT = "dift"


def complete_metric(incomplete: str) -> list[str]:
    """Return the metrics whose names begin so."""
    from opforest.core.metrics.registry import METRIC_NAMES

    return [name for name in METRIC_NAMES if name.startswith(incomplete)]


DataFile = Annotated[
    str, typer.Argument(metavar="DATA", help="a data file; - is the standard input")
]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="a model file")]
FormatOption = Annotated[
    Format | None,
    typer.Option(
        "--format", "-f", metavar="FORMAT",
        help=f"the format of the data: {', '.join(Format)} (default: found out)",
    ),
]  # fmt: skip
LabelOption = Annotated[
    str | None,
    typer.Option(
        "--label", "-l",
        help="the column with the labels: its name, its number from 1 (-1: the last), or none "
        "(default: by its name, or the only column of categories; else you are asked)",
    ),
]  # fmt: skip
DropOption = Annotated[
    list[str] | None,
    typer.Option("--drop", help="columns to leave out, by name or number: a,b or 3-9; repeatable"),
]
KeepOption = Annotated[
    list[str] | None,
    typer.Option("--keep", help="columns to take in though they look like ids or dates"),
]
EncodeOption = Annotated[
    Encode | None,
    typer.Option(
        "--encode", show_default=False,
        help="columns of text: a column for each category, its number, or nothing "
        "(default: an error)",
    ),
]  # fmt: skip
MissingOption = Annotated[
    Missing | None,
    typer.Option(
        "--missing", show_default=False,
        help="missing cells: an error, rows left out, or the median (default: error)",
    ),
]  # fmt: skip
ScaleOption = Annotated[
    Scale | None,
    typer.Option(
        "--scale", show_default=False,
        help="numbers: to deviation 1, quartile distance 1, or the range 0 to 1 (default: none)",
    ),
]  # fmt: skip
DelimiterOption = Annotated[
    str | None, typer.Option(help="what separates the cells of a CSV file (default: found out)")
]
HeaderOption = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="whether the first line of a CSV file has names (default: found out, or you are "
        "asked)",
        show_default=False,
    ),
]
DecimalOption = Annotated[
    str | None,
    typer.Option(
        "--decimal", metavar="MARK",
        help="what comes before the fraction of a number, . or , (default: found out)",
    ),
]  # fmt: skip
NaOption = Annotated[
    list[str] | None,
    typer.Option(
        "--na", metavar="CELL",
        help="a cell that means a missing value, beside ?, NA and the like; repeatable",
    ),
]  # fmt: skip
JsonOption = Annotated[bool, typer.Option("--json", help="print one JSON object")]
JobsOption = Annotated[
    int | None, typer.Option("--jobs", "-j", help="threads; -1 for all processors (default: 1)")
]
MetricOption = Annotated[
    str | None,
    typer.Option(
        "--metric", "-m", autocompletion=complete_metric,
        help="the metric (default: euclidean); `opforest metrics` lists all",
    ),
]  # fmt: skip
ParamOption = Annotated[
    list[str] | None,
    typer.Option("--metric-param", help="a parameter of the metric, such as p=3; may be repeated"),
]
UpdateOption = Annotated[
    Update | None,
    typer.Option("--update", help="how the model will grow (default: exact)", show_default=False),
]
SeedOption = Annotated[int, typer.Option(help="what all random choices follow from", min=0)]
OutFormatOption = Annotated[
    Format | None,
    typer.Option(
        "--to", metavar="FORMAT", help="the format to write (default: by the file's name)"
    ),
]


@dataclass(frozen=True)
class How:
    """How to read data files, as options say."""

    format: FormatOption = None
    label: LabelOption = None
    drop: DropOption = None
    delimiter: DelimiterOption = None
    header: HeaderOption = None
    keep: KeepOption = None
    decimal: DecimalOption = None
    na: NaOption = None

    def reading(
        self,
        *,
        allow_missing: bool = False,
        expected: "InputSchema | None" = None,
        categories: bool = False,
        needs_label: bool = False,
        lossless: bool = False,
        may_lack_labels: bool = False,
        remedy: str = "here",
    ) -> "ReadOptions":
        """Return it as readers want it, or say which option makes no sense."""
        from opforest.io.columns.table import ReadOptions

        delimiter = self.delimiter
        if delimiter is not None:
            delimiter = {"\\t": "\t", "tab": "\t", "space": " "}.get(delimiter, delimiter)
            if len(delimiter) != 1 or delimiter in "\"'\r\n":
                raise ValueError(
                    f"--delimiter must be a character, tab or space, got {delimiter!r}."
                )
        decimal = {"point": ".", "comma": ","}.get(self.decimal or "", self.decimal)
        if decimal not in (None, ".", ","):
            raise ValueError(f"--decimal must be . or , got {decimal!r}.")
        kind = None if self.format is None else self.format.value
        return ReadOptions(
            kind,
            self.label,
            tuple(self.drop or ()),
            delimiter,
            self.header,
            allow_missing,
            expected,
            tuple(self.keep or ()),
            categories,
            needs_label,
            lossless,
            may_lack_labels,
            decimal,
            tuple(mark.strip() for mark in self.na or ()),
            remedy,
        )


#: What is not said is found out.
FOUND_OUT = How()


def reads_data(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command, before its last parameters, an option for each field of its ``how``."""
    fields = list(inspect.signature(How).parameters.values())
    fields = [field.replace(kind=inspect.Parameter.KEYWORD_ONLY) for field in fields]
    signature = inspect.signature(command)
    own = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
           for name, parameter in signature.parameters.items() if name != "how"]  # fmt: skip
    last = [parameter for parameter in own if parameter.name == "json"]
    first = [parameter for parameter in own if parameter.name != "json"]

    @wraps(command)
    def run(**options: Any) -> None:
        how = How(**{field.name: options.pop(field.name) for field in fields})
        command(**options, how=how)

    merged = [*first, *fields, *last]
    run.__signature__ = signature.replace(parameters=merged)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in merged}
    return run


def parse_params(params: list[str] | None) -> dict[str, Any] | None:
    """Return the parameters of a metric that options name."""
    found = {}
    for param in params or ():
        name, _, value = param.partition("=")
        try:
            found[name] = float(value)
        except ValueError:
            name = ""
        if not name:
            raise ValueError(f"--metric-param must be like p=3, got {param!r}.")
    return found or None
