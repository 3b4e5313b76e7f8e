"""Copy the playground of ``opforest play`` to the site.

Browsers load no modules from files that were opened without a server, so the modules become one
script: each is a function that returns the names that others import.
"""

import re
import shutil
from pathlib import Path

STATIC = Path(__file__).parents[1] / "src" / "opforest" / "apps" / "serve" / "static"
FILES = ("style.css", "play.css", "icon.svg")
MAIN = "play/main.js"

IMPORT = re.compile(r'^import \{([\w, ]+)\} from "(.*)";$', re.MULTILINE)
EXPORT = re.compile(r"^export (?=const|function|class)", re.MULTILINE)


def list_modules(path: Path) -> list[Path]:
    """Return a module and all that it imports, each after those that it imports itself."""
    found: list[Path] = []
    for _, name in IMPORT.findall(path.read_text("utf-8")):
        found += list_modules((path.parent / name).resolve())
    return list(dict.fromkeys([*found, path]))


def bundle(main: Path) -> str:
    """Return a module, and all that it imports, as one script."""
    modules = list_modules(main)
    variables = {path: f"module{i}" for i, path in enumerate(modules)}
    texts, wanted = {}, {path: set() for path in modules}
    for path in modules:

        def link(match: re.Match[str], path: Path = path) -> str:
            names, module = match[1], (path.parent / match[2]).resolve()
            wanted[module] |= {name.strip() for name in names.split(",")}
            return f"const {{{names}}} = {variables[module]};"

        texts[path] = EXPORT.sub("", IMPORT.sub(link, path.read_text("utf-8")))
    script = "".join(
        f"const {variables[path]} = (() => {{\n{texts[path]}"
        f"return {{ {', '.join(sorted(wanted[path]))} }};\n}})();\n"
        for path in modules
    )
    if left := re.search(r"^(import|export)\b.*", script, re.MULTILINE):
        raise ValueError(f"docs/playground.py cannot bundle this line: {left[0]}")
    return f'"use strict";\n{script}'


def build(target: Path) -> None:
    """Write the page into a folder, where it works with and without a server."""
    target.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        shutil.copyfile(STATIC / name, target / name)
    page = (STATIC / "play.html").read_text("utf-8")
    tag = f'<script type="module" src="{MAIN}"></script>'
    if tag not in page:
        raise ValueError(f"docs/playground.py looks for {tag} in play.html.")
    page = page.replace(tag, '<script defer src="play.js"></script>')
    (target / "index.html").write_text(page, "utf-8")
    (target / "play.js").write_text(bundle((STATIC / MAIN).resolve()), "utf-8")
