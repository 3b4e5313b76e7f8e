"""``opforest demo``."""

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option(help="where to write the picture, a PNG file")] = Path(
        "opforest-demo.png"
    ),
) -> None:
    """Learn a stream in five ways, explain an answer, forget with a proof, draw a picture.

    Example: opforest demo --out forest.png
    """
    from opforest.apps.cli.errors import say_errors

    with say_errors():
        from opforest.apps.demo import run

        run(out)
