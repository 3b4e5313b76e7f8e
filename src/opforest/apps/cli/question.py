"""Questions about a data file, which a person at a terminal answers by one key."""

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from opforest.apps.cli.output import print_notes
from opforest.errors import DataFileError

#: As many answers as there are keys.
KEYS = "123456789"

#: Keys that take the first answer, and that end the command.
ACCEPT, CANCEL = "\r\n", "q\x1b\x03\x04"


def ask_and_run(function: Callable[..., Any], values: dict[str, Any]) -> Any:
    """Run a command; if its file leaves something undecided, ask, and run it again.

    Files are read before anything is changed, so nothing happens twice. Without a terminal, the
    error passes.
    """
    while True:
        try:
            return function(**values)
        except DataFileError as error:
            choices = getattr(error, "choices", ())
            if not choices or "reading" not in values or not _can_ask():
                raise
            answer = _ask(error)
        values["reading"] = replace(values["reading"], **answer.values)
        print_notes([f"next time, add {answer.option}"])


def _can_ask() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _ask(error: Any) -> Any:
    """Return the ``Choice`` of a person; raise a KeyboardInterrupt if there is none."""
    import click

    choices, keys = error.choices[: len(KEYS)], KEYS[: len(error.choices)]
    width = max(len(choice.option) for choice in choices)
    lines = [f"{error.path}: {error.question}"]
    lines += [f"  {key}  {choice.option:{width}}  {choice.meaning}"
              for key, choice in zip(keys, choices, strict=True)]  # fmt: skip
    if more := len(error.choices) - len(choices):
        lines.append(f"     and {more} more, which the option can name")
    span = " or ".join(keys) if len(keys) < 3 else f"1 to {keys[-1]}"
    lines.append(f"Press {span}; Enter takes 1, q stops.")
    sys.stderr.write("\n".join(lines) + "\n")
    sys.stderr.flush()
    while True:
        key = click.getchar()
        if key in CANCEL:
            raise KeyboardInterrupt
        if key in ACCEPT:
            return choices[0]
        if key in keys:
            return choices[keys.index(key)]
