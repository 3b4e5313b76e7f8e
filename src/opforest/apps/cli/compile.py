"""``opforest compile``."""

from typing import Annotated

import typer


def compile_(
    jobs: Annotated[
        int | None, typer.Option(help="processes at a time; one for each core if left out", min=1)
    ] = None,
) -> None:
    """Compile everything ahead, so that no first call has to wait.

    Example: opforest compile
    """
    from opforest.apps.cli.errors import say_errors

    with say_errors():
        from opforest.apps.compile import run

        run(jobs)
