"""Options that several commands share, and the decorator that makes a function a command."""

import inspect
import re
from collections.abc import Callable
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Self

from typer import Argument, BadParameter, Option
from typer.models import ArgumentInfo

import opforest
from opforest.apps.cli.errors import report_errors
from opforest.apps.cli.lazy_modules import table, tables
from opforest.apps.cli.output import print_facts
from opforest.apps.cli.question import ask_and_run
from opforest.errors import DataFileError
from opforest.io.encodings import find_encoding
from opforest.io.formats import FORMATS

if TYPE_CHECKING:
    from opforest.io.columns.table import ReadOptions as ReadOptions
else:
    ReadOptions = Any  # so that ``--help`` need not import NumPy

#: The result of a command, which is printed as a table or as JSON; None prints nothing.
Facts = dict[str, Any] | None
Command = Callable[..., Facts]

Format = StrEnum("Format", {name.upper().replace("-", "_"): name for name in FORMATS})  # type: ignore[misc]
Encode = StrEnum("Encode", ["ONEHOT", "ORDINAL", "DROP"])
Missing = StrEnum("Missing", ["ERROR", "DROP", "MEDIAN"])
Scale = StrEnum("Scale", ["NONE", "STANDARD", "ROBUST", "MINMAX", "RELEVANCE", "AUTO"])
Unknown = StrEnum("Unknown", ["ERROR", "IGNORE"])
Update = StrEnum("Update", ["EXACT", "OPFI", "DIFT"])


def complete_metric(incomplete: str) -> list[str]:
    """Return the metrics whose names begin with the given text."""
    from opforest.core.metrics.registry import METRIC_NAMES

    return [name for name in METRIC_NAMES if name.startswith(incomplete)]


def parse_voters(text: str) -> int | str:
    """Return a number of voters or "auto"; raise a ``BadParameter`` if it is invalid."""
    if text == "auto":
        return text
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text) > 0):
        raise BadParameter(
            f"it must be a whole number from 1 to 999,999,999, or auto, got {text!r}."
        )
    return int(text)


UNITS = {"": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
         "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}  # fmt: skip


def parse_memory(text: str) -> float:
    """Return a number of bytes, such as 2GB; raise a ``BadParameter`` if it is invalid.

    Examples
    --------
    >>> from opforest.apps.cli.options import parse_memory
    >>> parse_memory("1.5 GB")
    1500000000.0
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Z]*)", text.strip().upper(), re.ASCII)
    if not found or found[2] not in UNITS:
        raise BadParameter(f"it must be like 2GB or 500MB, got {text!r}.")
    return float(found[1]) * UNITS[found[2]]


DataFile = Annotated[str, Argument(help="The data file; - is the standard input.")]
ModelPath = Annotated[str, Argument(help="The model file.")]
OutPath = Annotated[str, Argument(help="The file to write; - is the standard output.")]
OutOption = Annotated[str, Option("--out", "-o", help="The output file; - is standard output.")]
OutFormatOption = Annotated[
    Format | None, Option(metavar="FORMAT", help="The format to write. Default: by the file name.")
]
UpdateOption = Annotated[
    Update | None, Option(help="How the model learns more examples later. Default: exact.")
]
VotersOption = Annotated[
    Any,  # an int or a str, which Typer does not accept as a type
    Option(
        parser=parse_voters,
        metavar="N|auto",
        help="How many of the cheapest offers vote on a label; auto chooses the number that makes "
        "the known labels most likely. More voters help where labels are noisy. Default: 1.",
    ),
]
JobsOption = Annotated[
    int | None, Option("--jobs", "-j", help="The number of threads; -1 uses all processors.")
]
MemoryOption = Annotated[
    Any,  # a float, by a parser
    Option(
        parser=parse_memory,
        metavar="SIZE",
        help="About how much memory --out-of-core uses, such as 500MB. Default: 2GB.",
    ),
]
ProbaOption = Annotated[bool, Option(help="Add the probability of each class.")]
CopyOption = Annotated[
    list[str] | None,
    Option(
        metavar="COLUMNS",
        help="Copy these columns of DATA beside the labels, such as name,age or 3-9, and its ids. "
        "Repeatable.",
    ),
]
SeedOption = Annotated[int, Option(min=0, help="The random seed.")]
JsonOption = Annotated[bool, Option(help="Print one JSON object.")]


#: What metrics need that have a parameter for each feature.
ARRAY_PARAMETERS = {
    "seuclidean": "the variances of the features: --metric-param V=1,2.5,… or V=@FILE, in one row "
    "or column",
    "mahalanobis": "the covariances of the features: --metric-param V=@FILE, a square table of "
    "numbers without names, or VI=@FILE, its inverse",
}


def _parse_metric_param(name: str, text: str, is_matrix: bool) -> Any:
    """Return a number, a list, or the numbers in a file; raise a ValueError otherwise."""
    if text.startswith("@"):
        numbers = tables.read_table(text[1:], table.ReadOptions(label="none", lossless=True)).X
        is_row = 1 in numbers.shape and not is_matrix
        return (numbers.ravel() if is_row else numbers).tolist()
    values = list(map(float, text.split(",")))
    return values if len(values) > 1 or name in ("V", "VI", "w") else values[0]


class MetricOptions(NamedTuple):
    """The options of commands that measure distances; None is the default."""

    metric: str | None
    metric_params: dict[str, Any] | None
    files: tuple[str, ...] = ()  #: that hold parameters

    @classmethod
    def parse(cls, metric: str | None, metric_param: list[str] | None) -> Self:
        """Return the options of a command, or raise a ValueError if one is invalid."""
        found: dict[str, Any] = {}
        files, is_matrix = [], metric == "mahalanobis"
        for param in metric_param or ():
            name, _, value = param.partition("=")
            if value.startswith("@"):
                files.append(value[1:])
            try:
                found[name] = _parse_metric_param(name, value, is_matrix)
            except DataFileError:
                raise
            except ValueError:
                name = ""
            if not name:
                raise ValueError(
                    "--metric-param must be like p=3, w=1,2.5,1 or V=@FILE, a table of numbers, "
                    f"got {param!r}."
                )
        if metric in ARRAY_PARAMETERS:
            arrays = [found[name] for name in ("V", "VI") if name in found]
            if not arrays or any(isinstance(one[0], list) != is_matrix for one in arrays):
                raise ValueError(f"--metric {metric} needs {ARRAY_PARAMETERS[metric]}.")
        return cls(metric, found or None, tuple(files))


class PreparationOptions(NamedTuple):
    """The options of commands that prepare data; None is the default."""

    encode: str | None
    missing: str | None
    scale: str | None
    unknown: str | None

    def make(self) -> "opforest.Preparation":
        """Return the preparation, which may have nothing to do."""
        given = {name: str(value) for name, value in self._asdict().items() if value is not None}
        return opforest.Preparation(**given)


def parse_read_options(
    delimiter: str | None, decimal: str | None, thousands: str | None, **options: Any
) -> ReadOptions:
    """Return the options of commands that read data, or raise a ValueError if one is invalid."""
    if delimiter is not None:
        delimiter = {"\\t": "\t", "tab": "\t", "space": " "}.get(delimiter, delimiter)
        if len(delimiter) != 1 or delimiter in "\"'\r\n":
            raise ValueError(f"--delimiter must be a character, tab or space, got {delimiter!r}.")
    decimal = _parse_decimal(decimal, thousands)
    options["skip"] = options["skip"] or 0
    if options["encoding"] is not None:
        options["encoding"] = find_encoding(options["encoding"])
    for name in ("drop", "keep", "na"):
        options[name] = tuple(options[name] or ())
    options["na"] = tuple(cell.strip() for cell in options["na"])
    return table.ReadOptions(delimiter=delimiter, decimal=decimal, **options)


def _parse_decimal(decimal: str | None, thousands: str | None) -> str | None:
    """Return the decimal mark; a comma or a point for thousands leaves the other one."""
    marks = {"point": ".", "comma": ",", "space": " ", "apostrophe": "'"}
    decimal, group = marks.get(decimal or "", decimal), marks.get(thousands or "", thousands)
    if decimal not in (None, ".", ","):
        raise ValueError(f"--decimal must be . or , got {decimal!r}.")
    if group not in (None, ".", ",", " ", "'"):
        raise ValueError(f"--thousands must be , . space or apostrophe, got {thousands!r}.")
    if group is not None and group == decimal:
        raise ValueError(f"--decimal and --thousands must differ, got {decimal!r} for both.")
    return decimal or {",": ".", ".": ","}.get(group or "")


def _option(kind: Any, help: str, *names: str, **more: Any) -> Any:
    return Annotated[kind, Option(*names, help=help, **more)]


#: Groups of options by the parameter of a command that receives them, as the parser returns them.
GROUPS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "metric": (MetricOptions.parse, {
        "metric": _option(str | None, "The metric; `opforest metrics` lists all. Default: "
                          "euclidean.", "--metric", "-m", autocompletion=complete_metric),
        "metric_param": _option(list[str] | None, "A parameter of the metric, such as p=3, "
                                "w=1,2.5,1 or V=@FILE, a table of numbers. Repeatable."),
    }),
    "preparation": (PreparationOptions, {
        "encode": _option(Encode | None, "Encode text columns: one column per category, the "
                          "category's number, or drop the column. By default, text is an error."),
        "missing": _option(Missing | None, "Handle missing cells: report an error (the default), "
                           "drop the row, or fill in the median."),
        "scale": _option(Scale | None, "Scale numeric columns to standard deviation 1, "
                         "interquartile range 1, or the range 0 to 1. Relevance weights "
                         "standardized columns by how much they tell about the label; auto "
                         "chooses standard or relevance. By default, they are not scaled."),
        "unknown": _option(Unknown | None, "Handle a category that training did not have: report "
                           "an error (the default), or ignore it."),
    }),
    "reading": (parse_read_options, {
        "format": _option(Format | None, f"The format of the data: {', '.join(Format)}. Default: "
                          "detected.", "--format", "-f", metavar="FORMAT"),
        "label": _option(str | None, "The label column: its name, its number from 1, last, first, "
                         "or none. Default: detected; if that is ambiguous, you are asked, or an "
                         "error lists the candidates.",
                         "--label", "-l"),
        "drop": _option(list[str] | None, "Columns to leave out, by name or number, such as a,b "
                        "or 3-9. Repeatable."),
        "delimiter": _option(str | None, "The delimiter of a CSV file: a character, tab or space. "
                             "Default: detected."),
        "header": _option(bool | None, "Whether the first line of a CSV file is a header. "
                          "Default: detected."),
        "keep": _option(list[str] | None, "Columns to use even if they look like ids or dates. "
                        "Repeatable."),
        "decimal": _option(str | None, "The decimal mark, . or ,. Default: detected.",
                           metavar="MARK"),
        "thousands": _option(str | None, "The mark between thousands: , or . or space or "
                             "apostrophe. Default: detected.", metavar="MARK"),
        "skip": _option(int | None, "Lines to leave out before the table, or rows of a sheet.",
                        min=0, metavar="N"),
        "sheet": _option(str | None, "The sheet of a workbook, by name or number.",
                         metavar="NAME"),
        "encoding": _option(str | None, "The encoding of a text file, such as latin-1. Default: "
                            "detected.", metavar="NAME"),
        "na": _option(list[str] | None, "A cell that means a missing value, in addition to ?, NA "
                      "and the like. Repeatable.", metavar="CELL"),
    }),
}  # fmt: skip


def command(stopped: str = "Stopped; nothing was changed.") -> Callable[[Command], Command]:
    """Return a decorator that makes a function a command, which reports its errors.

    Parameters that are named in ``GROUPS`` become the options of the group, after the others; if a
    command has one of these itself, the group gets its value. The facts that a function returns are
    printed, and ``--json`` is added. After Ctrl-C, ``stopped`` is printed.
    """

    def decorate(function: Command) -> Command:
        signature = inspect.signature(function)
        names = [name for name in GROUPS if name in signature.parameters]
        own = signature.parameters.keys() - set(names)
        parameters, has_facts = _expand(signature, names), signature.return_annotation is not None

        @wraps(function)
        def run(**values: Any) -> None:
            with report_errors(stopped):
                as_json = has_facts and values.pop("json")
                for name in names:
                    parse, options = GROUPS[name]
                    given = {option: values[option] for option in options}
                    for option in options.keys() - own:
                        del values[option]
                    values[name] = parse(**given)
                if facts := ask_and_run(function, values):
                    print_facts(facts, as_json)

        # \b keeps an example on its line, so that it can be copied.
        run.__doc__ = (function.__doc__ or "").replace(
            "\n\n    Example: ", "\n\n    \b\n    Example: "
        )
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in parameters}
        return run

    return decorate


def _expand(signature: inspect.Signature, groups: list[str]) -> list[inspect.Parameter]:
    """Return the parameters of a command, with those of its groups."""
    keyword, own = inspect.Parameter.KEYWORD_ONLY, signature.parameters.keys() - set(groups)
    parameters = [one.replace(kind=keyword) for name, one in signature.parameters.items()
                  if name not in groups]  # fmt: skip
    for group in groups:
        parameters += [inspect.Parameter(name, keyword, default=None, annotation=option)
                       for name, option in GROUPS[group][1].items()
                       if name not in own]  # fmt: skip
    if signature.return_annotation is not None:
        parameters.append(inspect.Parameter("json", keyword, default=False, annotation=JsonOption))
    for one in parameters:
        info = one.annotation.__metadata__[0]
        if one.default is False:  # a flag: there is no --no-json
            info.param_decls = (f"--{one.name.replace('_', '-')}",)
        elif isinstance(info, ArgumentInfo):
            info.metavar = info.metavar or one.name.upper()
        else:
            info.metavar = info.metavar or _placeholder(one.annotation.__origin__)
    return sorted(parameters, key=lambda one: one.name == "json")  # last in the help


def _placeholder(kind: Any) -> str | None:
    """Return what stands for the value of an option in the help; None if the type says more."""
    kinds = {one for one in getattr(kind, "__args__", (kind,)) if one is not type(None)}
    names = {str: "TEXT", list[str]: "TEXT", int: "N", float: "NUMBER", Path: "FILE"}
    return names.get(kinds.pop()) if len(kinds) == 1 else None
