"""Check that internal links of the built site work and that no page loads from other sites.

``python docs/check_links.py docs/_build/html``; links to other sites are not followed.
"""

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: Attributes that make a browser load a resource.
LOADED = {
    ("script", "src"),
    ("img", "src"),
    ("img", "srcset"),
    ("source", "src"),
    ("iframe", "src"),
}


class Page(HTMLParser):
    """The anchors, links and loaded resources of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = {"", "top"}
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record the anchors and references of a tag."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.add(given["href"])
        if tag == "link" and given.get("rel") in ("stylesheet", "preload", "icon", "prefetch"):
            self.loads.add(given.get("href", ""))
        for name in ("src", "srcset"):
            if (tag, name) in LOADED and name in given:
                self.loads |= {part.split()[0] for part in given[name].split(",") if part.strip()}


def find_problems(root: Path) -> Iterator[str]:
    """Yield one line for each problem of a site."""
    found = (path.resolve() for path in root.rglob("*.html") if "_static" not in path.parts)
    pages = {path: Page(path) for path in found}
    if not pages:
        yield f"{root}: no pages found"
    for path, page in pages.items():
        name = path.relative_to(root.resolve())
        for target in page.links | page.loads:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                if target in page.loads and parts.scheme != "data":
                    yield f"{name} loads {target}"
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if file.is_dir():
                file /= "index.html"
            if not file.exists():
                yield f"{name} links to {target}, which does not exist"
            elif file in pages and unquote(parts.fragment) not in pages[file].anchors:
                yield f"{name} links to {target}, whose anchor does not exist"
    for style in root.rglob("*.css"):
        text = style.read_text("utf-8")
        if re.search(r"(@import|url\()[\s\"'(]*(https?:)?//", text):
            yield f"{style.name} loads from another site"


if __name__ == "__main__":
    found = sorted(set(find_problems(Path(sys.argv[1]))))
    print("\n".join(found) or "all internal links work; nothing is loaded from other sites")
    sys.exit(bool(found))
