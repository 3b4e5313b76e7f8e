"""How commands fail: one line that says what to do, and exit code 2."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer


@contextmanager
def say_errors() -> Iterator[None]:
    """Turn errors that the user can mend into one line and exit code 2."""
    try:
        yield
    except (ValueError, ImportError, OSError) as error:
        typer.echo(f"opforest: error: {error}", err=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        typer.echo("Stopped; the same command goes on from here.", err=True)
        raise typer.Exit(130) from None
