"""The command ``opforest``."""

import io
import logging
import os
import sys
from typing import Any

from opforest._utils.extras import install_command
from opforest.io.library_errors import hide_panics


def main() -> None:
    """Run the command line."""
    try:
        app = make_app()
    except ImportError:
        sys.exit(f"The command line needs typer and rich: {install_command('cli')}")
    hide_panics()
    logging.lastResort = None  # hides useless messages of libraries such as matplotlib
    # Names of files may contain bytes that the terminal cannot show.
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.exit(_run(app, sys.argv[1:]))


def _run(app: Any, arguments: list[str]) -> int:
    """Run a command and return its exit code; print invalid arguments in one line."""
    import typer

    from opforest.apps.cli.errors import BUG, USAGE
    from opforest.apps.cli.output import print_message

    usage_error: Any = typer.BadParameter.__base__  # typer does not export it
    try:
        return app(arguments or ["--help"], prog_name="opforest", standalone_mode=False) or 0
    except usage_error as error:
        context = error.ctx.command_path if error.ctx else "opforest"
        message = error.format_message().replace("Value error, ", "")
        message = message.replace("Input should be", "it must be")
        end = "" if message.endswith((".", "?")) else "."
        print_message("error", f"{message}{end} See `{context} --help`.")
        return USAGE
    except Exception as error:
        if os.environ.get("OPFOREST_DEBUG"):
            raise
        bug = f"this is a bug, please report it: {error!r} (OPFOREST_DEBUG=1 shows where)"
        print_message("error", bug)
        return BUG


def make_app() -> Any:
    """Return the application, a ``typer.Typer``."""
    import rich  # noqa: F401

    from opforest.apps.cli.about import accept_version, compile_, datasets, demo, metrics, reproduce
    from opforest.apps.cli.audit import audit
    from opforest.apps.cli.estimators import cluster, plot, prune
    from opforest.apps.cli.evaluate import evaluate
    from opforest.apps.cli.files import convert, info
    from opforest.apps.cli.forget import forget
    from opforest.apps.cli.groups import make_group
    from opforest.apps.cli.predict import predict
    from opforest.apps.cli.service import play, serve
    from opforest.apps.cli.store import make_store_app
    from opforest.apps.cli.stream import stream
    from opforest.apps.cli.tools import distance, fold, merge, normalize, split
    from opforest.apps.cli.train import train
    from opforest.apps.cli.update import update

    headings = {
        "Learn and predict": (train, evaluate, predict, update, forget, audit,
                              cluster, plot, prune),
        "Streams and stores": (stream, make_store_app()),
        "Data files": (info, convert, split, merge),
        "LibOPF tools": (fold, normalize, distance),
        "Service": (serve, play),
        "About opforest": (metrics, datasets, demo, reproduce, compile_),
    }  # fmt: skip
    about = "Optimum-path forests: a parameter-free, multi-class, explainable classifier."
    return make_group(headings, about, accept_version)


if __name__ == "__main__":
    main()
