"""Pages in headless Chromium, driven by Playwright."""

import shutil
import time
from contextlib import contextmanager

import pytest

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)

#: The marks of a module whose tests use a browser.
MARKS = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is here: apt-get install chromium"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@contextmanager
def launch():
    """Start a browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Page:
    """A page at an address, or at a port of this machine, and what went wrong on it."""

    def __init__(self, browser, where, size=(1300, 850), **more):
        url = where if isinstance(where, str) else f"http://127.0.0.1:{where}/"
        viewport = dict(zip(("width", "height"), size, strict=True))
        self.context = browser.new_context(viewport=viewport, reduced_motion="reduce", **more)
        self.page = self.context.new_page()
        self.errors = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self._read)
        self.page.on("request", self._look)
        self.home = url.rpartition("/")[0]
        self.page.goto(url)

    def _read(self, message):
        if "Content Security Policy" in message.text:
            self.errors.append(message.text)

    def _look(self, request):
        if not request.url.startswith((self.home, "data:", "blob:")):
            self.errors.append(f"asks elsewhere: {request.url}")

    def __enter__(self):
        return self.page

    def __exit__(self, *_):
        self.context.close()
        assert self.errors == []


def wait(page, expression, seconds=120):
    """Wait for something to be true; the page's policy forbids other evaluation."""
    end = time.monotonic() + seconds
    while not page.evaluate(expression):
        assert time.monotonic() < end, expression
        page.wait_for_timeout(40)
