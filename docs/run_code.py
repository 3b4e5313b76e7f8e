"""Run the code on pages of the site as a reader would: ``python docs/run_code.py docs/cli.md``.

All Python blocks of a page share one namespace. A text block must match the output of the code
before it. In console blocks, lines that begin with ``$ opforest`` are run. A block in an HTML
comment prepares data that a reader already has. Each page runs in a temporary folder.
"""

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # pages use a test helper to start the service

from tests.support import compile_cache  # noqa: E402

os.environ.setdefault("NUMBA_CACHE_DIR", str(compile_cache.FOLDER))  # Numba reads it at import
os.environ.setdefault("MPLBACKEND", "Agg")

BLOCK = re.compile(r"^```(python|console|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)

#: Commands that use the network, wait for requests or change the user's shell.
NOT_RUN = ("serve", "play", "reproduce", "demo", "compile", "--install-completion")


def blocks_of(page: Path) -> Iterator[tuple[str, str]]:
    """Yield the language and the text of each block, padded by blank lines to keep line numbers."""
    text = page.read_text("utf-8")
    for match in BLOCK.finditer(text):
        kind, code = match.groups()
        yield kind, "\n" * (text.count("\n", 0, match.start()) + 1) + code


def commands_of(code: str) -> Iterator[tuple[str, bool]]:
    """Yield each opforest command in a console block, and whether the page shows it failing."""
    lines = code.splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if re.match(r"\$ (cat \S+ \| )?opforest ", line):
            yield line[2:], following.startswith("opforest: error:")


def run_command(command: str, fails: bool) -> None:
    """Run one command within this process."""
    from typer.testing import CliRunner

    from opforest.apps.cli.main import make_app

    words = shlex.split(command, comments=True)
    stdin, target = None, None
    if "|" in words:
        stdin, words = Path(words[1]).read_text("utf-8"), words[words.index("|") + 1 :]
    if ">" in words:
        target, words = words[words.index(">") + 1], words[: words.index(">")]
    if words[1] in NOT_RUN:
        return
    result = CliRunner().invoke(make_app(), words[1:], input=stdin)
    if bool(result.exit_code) != fails:
        raise AssertionError(f"{command}\n{result.output}") from result.exception
    if target:
        Path(target).write_text(result.stdout, "utf-8")


def run_page(page: Path) -> int:
    """Run all blocks of a page and return their number."""
    page, count, output = page.resolve(), 0, io.StringIO()
    names = {"__name__": "__main__"}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for kind, code in blocks_of(page):
                count += 1
                if kind == "text":
                    if code.strip() not in output.getvalue():
                        raise AssertionError(f"{page} shows\n{code}but prints\n{output.getvalue()}")
                elif kind == "console":
                    for command, fails in commands_of(code):
                        run_command(command, fails)
                else:
                    output = io.StringIO()
                    with contextlib.redirect_stdout(output):
                        exec(compile(code, str(page), "exec"), names)
        finally:
            os.chdir(before)
            for value in names.values():
                if isinstance(value, contextlib.ExitStack):
                    value.close()
    return count


def pages() -> list[Path]:
    """Return all pages with code."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [page for page in found if any(blocks_of(page))]


if __name__ == "__main__":
    for page in [Path(name) for name in sys.argv[1:]] or pages():
        print(f"{page.name}: {run_page(page)} blocks run", flush=True)
