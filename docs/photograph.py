"""Take the screenshots of ``opforest play`` in the README: ``python docs/photograph.py``.

This needs Chromium and the dependency group ``test``. The pictures in ``docs/images`` are
committed.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from tests.support.browser import launch  # noqa: E402
from tests.support.playground import playground  # noqa: E402

#: The size of the window, in pixels of the page, and the pixel ratio of the picture.
SIZE, SCALE = {"width": 1280, "height": 1200}, 1.5

#: How many examples to learn after the first sixty; which one to forget and where to point, as
#: fractions of the canvas.
STEPS, FORGOTTEN, POINT = 40, (0.364, 0.555), (0.84, 0.36)


def photograph(browser, url: str, scheme: str, name: str) -> None:
    """Play a part of a stream, forget an example, point at a place, and save the screenshot."""
    context = browser.new_context(
        viewport=SIZE, device_scale_factor=SCALE, reduced_motion="reduce", color_scheme=scheme
    )
    page = context.new_page()
    page.goto(url)
    for _ in range(STEPS):
        page.click("#step")
    canvas = page.locator("#panel-exact canvas")
    box = canvas.bounding_box()
    forgotten, point = (
        {"x": x * box["width"], "y": y * box["height"]} for x, y in (FORGOTTEN, POINT)
    )
    canvas.click(position=forgotten, button="right")
    page.evaluate("document.activeElement.blur()")  # no cursor of the keyboard
    canvas.hover(position=point)
    page.wait_for_selector("#path .chip")
    page.wait_for_timeout(300)
    legend = page.locator(".legends").bounding_box()
    clip = {"x": 0, "y": 0, "width": SIZE["width"], "height": legend["y"] + legend["height"] + 16}
    page.screenshot(path=HERE / "images" / name, clip=clip)
    context.close()


if __name__ == "__main__":
    with playground() as url, launch() as browser:
        photograph(browser, url, "light", "play.png")
        photograph(browser, url, "dark", "play-dark.png")
