"""Take the screenshots of ``opforest serve``: ``python docs/photograph_store.py``.

This needs Chromium and the dependency group ``test``. They are committed in ``docs/images``.
"""

import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_wine

from opforest import Learner, Preparation

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from tests.support.service import running  # noqa: E402

#: Width and height of the window, and the pixel ratio of the pictures.
WIDTH, HEIGHT, SCALE = 1240, 900, 1.5
FEATURES = ["alcohol", "malic_acid", "ash", "flavanoids", "color_intensity", "hue", "proline"]


def fill(learner: Learner) -> None:
    """Learn wines in batches; two labels are wrong."""
    wine = load_wine(as_frame=True)
    X, order = wine.data[FEATURES], np.random.default_rng(4).permutation(len(wine.data))
    labels = np.array(["barolo", "grignolino", "barbera"])[wine.target]
    labels[order[[20, 70]]] = ["barbera", "barolo"]
    for part in np.array_split(order, 12):
        keys = [f"bottle-{i:03}" for i in part]
        learner.learn_named(
            X.iloc[part].values.tolist(), labels[part].tolist(), keys, False, tuple(FEATURES)
        )


def photograph(browser, port: int, scheme: str, suffix: str) -> None:
    """Ask about one wine, search for others, and save the screenshot."""
    page = browser.new_page(
        viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=SCALE, color_scheme=scheme
    )
    page.goto(f"http://127.0.0.1:{port}/")
    page.check("#edit")
    page.wait_for_selector("#suspects .change")
    page.click("#ask-latest")
    page.wait_for_selector("#ask-result .answer")
    page.fill("#search-key", "bottle-083")
    page.wait_for_selector("#search-found li")
    page.evaluate("document.activeElement.blur()")
    page.wait_for_timeout(500)
    page.screenshot(path=HERE / "images" / f"serve{suffix}.png", full_page=True)


if __name__ == "__main__":
    folder = tempfile.TemporaryDirectory()
    preparation = Preparation(scale="standard")
    learner = Learner(Path(folder.name, "wine.db"), score=True, preparation=preparation)
    fill(learner)
    with folder, running(learner) as port, sync_playwright() as driver:
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        photograph(browser, port, "light", "")
        photograph(browser, port, "dark", "-dark")
        browser.close()
