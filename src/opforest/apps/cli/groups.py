"""Groups of commands and how their help lists them."""

import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

#: Help as wide as the terminal is harder to read beyond this.
WIDEST = 100


class Command(TyperCommand):
    """A command whose help names arguments as people do: DATA, not {DATA} or DATA <str>."""

    def get_help(self, ctx: Any) -> str:
        """Return the help."""
        usage, _, rest = super().get_help(ctx).partition("\n\n")
        rest = re.sub(r"\s+\[required\](?=\n)", "", rest)
        rest = re.sub(r"<(str|list\[str\])>", lambda found: " " * len(found[0]), rest)
        usage = re.sub(r"{([^}]* [^}]*)}\.\.\.", r"\1", usage)  # [MODEL] DATA is not repeated
        return re.sub(r"{(.+?)}", r"\1", usage) + "\n\n" + rest


class CommandGroup(TyperGroup):
    """A group of commands that its help lists under headings, each with a whole sentence."""

    headings: ClassVar[Mapping[str, Iterable[str]]] = {}

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands under their headings."""
        width = max(map(len, self.commands))
        for heading, names in self.headings.items():
            rows = [(f"{name:{width}}", _first_sentence(self.commands[name])) for name in names]
            with formatter.section(heading):
                formatter.write_dl(rows)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments; without any, show the help and succeed."""
        if not args and not ctx.resilient_parsing:
            typer.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)


def make_group(
    headings: Mapping[str, Sequence[Callable[..., Any] | typer.Typer]],
    help: str,
    callback: Callable[..., Any] | None = None,
    name: str | None = None,
) -> typer.Typer:
    """Return a group of commands and other groups, which are given by heading."""
    named = {heading: {_name_of(member): member for member in members}
             for heading, members in headings.items()}  # fmt: skip
    group: Any = type("Group", (CommandGroup,), {"headings": named})

    app = typer.Typer(
        name=name,
        cls=group,
        help=help,
        callback=callback,
        rich_markup_mode=None,  # help in boxes takes half as long again
        pretty_exceptions_enable=False,
        context_settings={
            "help_option_names": ["-h", "--help"],
            "max_content_width": min(WIDEST, shutil.get_terminal_size().columns),
        },
    )
    for members in named.values():
        for command, member in members.items():
            if isinstance(member, typer.Typer):
                app.add_typer(member, name=command)
            else:
                app.command(command, cls=Command)(member)
    return app


def _name_of(member: Any) -> str:
    """Return the name of a command or a group; ``compile_`` is called compile."""
    return str(getattr(member, "__name__", "").rstrip("_") or member.info.name)


def _first_sentence(command: Any) -> str:
    """Return the first paragraph of the help of a command."""
    return " ".join((command.help or "").split("\n\n")[0].split())
