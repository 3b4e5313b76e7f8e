"""The command ``opforest``, of which each group of commands is a module."""

import io
import os
import sys
from typing import Any

from opforest.io.library_errors import hide_panics


def main() -> None:
    """Run the command line."""
    try:
        app = make_app()
    except ImportError:
        sys.exit("The command line needs typer and rich: pip install 'opforest[cli]'")
    hide_panics()
    _print_anything()
    sys.exit(_run(app, sys.argv[1:]))


def _print_anything() -> None:
    """Escape what the terminal has no characters for, such as the bytes of a name in Latin-1."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def _run(app: Any, arguments: list[str]) -> int:
    """Return the exit code of a command; say in one line what is wrong with its arguments."""
    import typer

    from opforest.apps.cli.errors import UNFORESEEN, USAGE, say

    wrong_usage: Any = typer.BadParameter.__base__  # typer has no name for it
    try:
        return app(arguments or ["--help"], prog_name="opforest", standalone_mode=False) or 0
    except wrong_usage as error:
        context = error.ctx.command_path if error.ctx else "opforest"
        say(f"{error.format_message()} `{context} --help` says what there is.")
        return USAGE
    except Exception as error:
        if os.environ.get("OPFOREST_DEBUG"):
            raise
        say(f"this is a bug, please report it: {error!r} (OPFOREST_DEBUG=1 says where)")
        return UNFORESEEN


def make_app() -> Any:
    """Return the application, a ``typer.Typer``."""
    import rich  # noqa: F401
    import typer

    from opforest.apps.cli.compile import compile_
    from opforest.apps.cli.demo import demo
    from opforest.apps.cli.distance import distance
    from opforest.apps.cli.estimators import cluster, prune
    from opforest.apps.cli.files import convert, info
    from opforest.apps.cli.learn import train, update
    from opforest.apps.cli.lists import accept_version, datasets, metrics
    from opforest.apps.cli.plot import plot
    from opforest.apps.cli.predict import evaluate, predict
    from opforest.apps.cli.reproduce import reproduce
    from opforest.apps.cli.serve import play, serve
    from opforest.apps.cli.store import make_store_app
    from opforest.apps.cli.stream import stream
    from opforest.apps.cli.tools import fold, merge, normalize, split

    app = typer.Typer(
        no_args_is_help=True,
        rich_markup_mode=None,  # help in boxes takes half as long again
        pretty_exceptions_enable=False,
    )
    app.callback()(accept_version)
    models = (train, update, predict, evaluate, cluster, prune, stream, plot)
    data = (info, convert, split, fold, merge, normalize, distance)
    for command in (*models, *data, metrics, datasets, demo, reproduce, serve, play):
        app.command()(command)
    app.add_typer(make_store_app(), name="store")
    app.command("compile")(compile_)
    return app
