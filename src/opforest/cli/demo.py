"""``opforest demo``."""

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option(help="where to write the picture, a PNG file")] = Path(
        "opforest-demo.png"
    ),
) -> None:
    """Learn two data sets, print a table, explain an answer, draw both forests.

    Example: opforest demo --out forest.png
    """
    from opforest.cli.errors import say_errors

    with say_errors():
        from opforest.demo import main

        main(["--out", str(out)])
