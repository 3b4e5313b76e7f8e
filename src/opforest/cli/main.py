"""The command ``opforest``, of which each group of commands is a module."""

import sys
from typing import Any


def main() -> None:
    """Run the command line."""
    try:
        app = make_app()
    except ImportError:
        sys.exit("The command line needs typer and rich: pip install 'opforest[cli]'")
    app()


def make_app() -> Any:
    """Return the application, a ``typer.Typer``."""
    import rich  # noqa: F401
    import typer

    from opforest.cli.demo import demo
    from opforest.cli.reproduce import reproduce

    app = typer.Typer(
        help="Optimum-path forests: a parameter-free, multi-class, explainable classifier.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    for command in (demo, reproduce):
        app.command()(command)
    return app
