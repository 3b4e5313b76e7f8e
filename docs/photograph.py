"""Take the screenshot of ``opforest play`` in the README: ``python docs/photograph.py``.

This needs Chromium and the dependency group ``test``. The picture is committed in ``docs/images``.
"""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from opforest import Learner

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from tests.support.service import Client, running  # noqa: E402

#: The width of the window and the pixel ratio of the picture.
WIDTH, SCALE = 1440, 1.5


def photograph(browser, port: int) -> None:
    """Play half of a stream, point at one place, and save the screenshot."""
    client = Client(port)
    client.post("/v1/play/start", {"set": "moons", "seed": 5})
    for _ in range(6):
        client.post("/v1/play/step", {"count": 20})
    while True:  # until the rare third case, which shows the most
        state = client.post("/v1/play/step", {"count": 1})
        if "Case 3" in state["forests"]["opfi"]["last"]["message"]:
            break
    page = browser.new_page(viewport={"width": WIDTH, "height": 900}, device_scale_factor=SCALE)
    page.goto(f"http://127.0.0.1:{port}/")
    canvas = page.locator("#panel-exact canvas")
    canvas.wait_for()
    page.wait_for_timeout(500)
    box = canvas.bounding_box()
    canvas.hover(position={"x": 0.79 * box["width"], "y": 0.3 * box["height"]})
    page.wait_for_selector("#path .chip")
    page.wait_for_timeout(300)
    path = page.locator("#path").bounding_box()
    height = path["y"] + path["height"] + 5
    clip = {"x": 0, "y": 0, "width": WIDTH, "height": height}
    page.screenshot(path=HERE / "images" / "play.png", clip=clip)


if __name__ == "__main__":
    with running(Learner(":memory:", score=True), play=True) as port, sync_playwright() as driver:
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        photograph(browser, port)
        browser.close()
