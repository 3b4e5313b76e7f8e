"""Options that several commands share, and the decorator that makes a function a command."""

import inspect
from collections.abc import Callable
from enum import StrEnum
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opforest.apps.cli.errors import report_errors
from opforest.io.formats import FORMATS

if TYPE_CHECKING:
    from opforest.io.columns.table import ReadOptions

Format = StrEnum("Format", {name.upper().replace("-", "_"): name for name in FORMATS})  # type: ignore[misc]
Encode = StrEnum("Encode", ["ONEHOT", "ORDINAL", "DROP"])
Missing = StrEnum("Missing", ["ERROR", "DROP", "MEDIAN"])
Scale = StrEnum("Scale", ["NONE", "STANDARD", "ROBUST", "MINMAX"])
Update = StrEnum("Update", ["EXACT", "OPFI", "DIFT"])


def complete_metric(incomplete: str) -> list[str]:
    """Return the metrics whose names begin with the given text."""
    from opforest.core.metrics.registry import METRIC_NAMES

    return [name for name in METRIC_NAMES if name.startswith(incomplete)]


DataFile = Annotated[
    str, typer.Argument(metavar="DATA", help="The data file; - is the standard input.")
]
ModelPath = Annotated[str, typer.Argument(metavar="MODEL", help="The model file.")]
OutPath = Annotated[
    str, typer.Argument(metavar="OUT", help="The file to write; - is the standard output.")
]
OutOption = Annotated[
    str, typer.Option("--out", "-o", help="The file to write; - is the standard output.")
]
EncodeOption = Annotated[
    Encode | None,
    typer.Option(
        "--encode", show_default=False,
        help="Encode text columns: one column per category, the category's number, or drop the "
        "column. By default, text is an error.",
    ),
]  # fmt: skip
MissingOption = Annotated[
    Missing | None,
    typer.Option(
        "--missing", show_default=False,
        help="Handle missing cells: report an error (the default), drop the row, or fill in the "
        "median.",
    ),
]  # fmt: skip
ScaleOption = Annotated[
    Scale | None,
    typer.Option(
        "--scale", show_default=False,
        help="Scale numeric columns: to standard deviation 1, interquartile range 1, or the range "
        "0 to 1. By default, they are not scaled.",
    ),
]  # fmt: skip
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
JobsOption = Annotated[
    int | None,
    typer.Option("--jobs", "-j", help="The number of threads; -1 uses all processors. Default: 1."),
]
MetricOption = Annotated[
    str | None,
    typer.Option(
        "--metric", "-m", autocompletion=complete_metric,
        help="The metric; `opforest metrics` lists all. Default: euclidean.",
    ),
]  # fmt: skip
ParamOption = Annotated[
    list[str] | None,
    typer.Option("--metric-param", help="A parameter of the metric, such as p=3. Repeatable."),
]
UpdateOption = Annotated[
    Update | None,
    typer.Option("--update", help="How the model learns more examples later. Default: exact.",
                 show_default=False),
]  # fmt: skip
ProbaOption = Annotated[bool, typer.Option("--proba", help="Add the probability of each class.")]
SeedOption = Annotated[int, typer.Option(help="The random seed.", min=0)]
OutFormatOption = Annotated[
    Format | None,
    typer.Option("--to", metavar="FORMAT",
                 help="The format to write. Default: by the file name."),
]  # fmt: skip

#: The options of all commands that read data; each is a field of ``ReadOptions``.
READ_OPTIONS = {
    "format": Annotated[
        Format | None,
        typer.Option("--format", "-f", metavar="FORMAT",
                     help=f"The format of the data: {', '.join(Format)}. Default: detected."),
    ],
    "label": Annotated[
        str | None,
        typer.Option(
            "--label", "-l",
            help="The label column: its name, its number from 1 (-1 is the last), or none. "
            "Default: detected by name, or the only column of categories; if that is ambiguous, "
            "the command asks.",
        ),
    ],
    "drop": Annotated[
        list[str] | None,
        typer.Option("--drop", help="Columns to leave out, by name or number, such as a,b or 3-9. "
                     "Repeatable."),
    ],
    "delimiter": Annotated[
        str | None,
        typer.Option(help="The delimiter of a CSV file: a character, tab or space. Default: "
                     "detected."),
    ],
    "header": Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header", show_default=False,
            help="Whether the first line of a CSV file is a header. Default: detected; if that is "
            "ambiguous, the command asks.",
        ),
    ],
    "keep": Annotated[
        list[str] | None,
        typer.Option("--keep", help="Columns to use even if they look like ids or dates."),
    ],
    "decimal": Annotated[
        str | None,
        typer.Option("--decimal", metavar="MARK", help="The decimal mark, . or ,. Default: "
                     "detected."),
    ],
    "na": Annotated[
        list[str] | None,
        typer.Option("--na", metavar="CELL", help="A cell that means a missing value, in addition "
                     "to ?, NA and the like. Repeatable."),
    ],
}  # fmt: skip


def command(
    stopped: str = "Stopped; nothing was changed.",
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that makes a function a command, which reports its errors.

    A function with a parameter ``reading`` gets the options of ``ReadOptions`` instead. The option
    ``--json`` comes last in the help. After Ctrl-C, ``stopped`` is printed.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(function)
        added = READ_OPTIONS if "reading" in signature.parameters else {}
        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters = [one.replace(kind=keyword) for name, one in signature.parameters.items()
                      if name != "reading"]  # fmt: skip
        parameters += [inspect.Parameter(name, keyword, default=None, annotation=option)
                       for name, option in added.items()]  # fmt: skip
        parameters.sort(key=lambda one: one.name == "json")

        @wraps(function)
        def run(**values: Any) -> None:
            with report_errors(stopped):
                if added:
                    options = {name: values.pop(name) for name in added}
                    values["reading"] = parse_read_options(**options)
                function(**values)

        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in parameters}
        return run

    return decorate


def parse_read_options(
    delimiter: str | None, decimal: str | None, **options: Any
) -> "ReadOptions":  # fmt: skip
    """Return the options of a command as a record, or raise a ValueError if one is invalid."""
    from opforest.io.columns.table import ReadOptions

    if delimiter is not None:
        delimiter = {"\\t": "\t", "tab": "\t", "space": " "}.get(delimiter, delimiter)
        if len(delimiter) != 1 or delimiter in "\"'\r\n":
            raise ValueError(f"--delimiter must be a character, tab or space, got {delimiter!r}.")
    decimal = {"point": ".", "comma": ","}.get(decimal or "", decimal)
    if decimal not in (None, ".", ","):
        raise ValueError(f"--decimal must be . or , got {decimal!r}.")
    for name in ("drop", "keep", "na"):
        options[name] = tuple(options[name] or ())
    options["na"] = tuple(cell.strip() for cell in options["na"])
    return ReadOptions(delimiter=delimiter, decimal=decimal, **options)


def parse_params(params: list[str] | None) -> dict[str, Any] | None:
    """Return the parameters of a metric by name; None if there are none."""
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
