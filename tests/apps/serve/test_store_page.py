"""The page of a store in a real browser: ask, find, correct, forget."""

from contextlib import contextmanager

import numpy as np
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("playwright.sync_api")

from tests.support.browser import MARKS, Page
from tests.support.service import running

from opforest import Learner, Preparation

pytestmark = MARKS


@contextmanager
def shown(browser, learner, width=1280):
    """Serve a store, and yield its page."""
    with running(learner) as port, Page(browser, port, (width, 900)) as page:
        page.wait_for_selector("#ask-fields label")
        yield page


def test_values_give_a_class_its_probability_and_the_reason(browser, store):
    with shown(browser, store) as page:
        assert page.locator("#ask-fields span").all_inner_texts() == ["size", "weight"]
        page.fill("#ask-fields label:nth-child(1) input", "0.9")
        page.click("#ask button[type=submit]")
        page.wait_for_selector("#ask-message:has-text('Fill in weight')")
        page.fill("#ask-fields label:nth-child(2) input", "0.5")
        page.keyboard.press("Enter")
        page.wait_for_selector("#ask-result .answer")
        proba = store.predict_proba([[0.9, 0.5]])[0].max()
        assert page.inner_text(".answer") == f"dog with probability {100 * proba:.1f} %"
        conqueror = store.explain([0.9, 0.5]).steps[-2].key
        assert conqueror in page.inner_text("#ask-result .path")
        page.fill("#ask-fields label:nth-child(2) input", "heavy")
        page.keyboard.press("Enter")
        page.wait_for_selector("#ask-message:has-text('must be a number')")
        assert page.locator("#ask-result .answer").count() == 0
        page.click("#ask-latest")
        page.wait_for_selector("#ask-result .answer")
        assert float(page.input_value("#ask-fields input >> nth=0")) == store.rows()[1][-1, 0]


def test_an_example_is_found_corrected_and_forgotten(browser, store):
    with shown(browser, store) as page:
        page.fill("#search-key", "img-1")
        page.wait_for_selector("#search-found li:has-text('and more')")
        page.fill("#search-key", "img-17")
        found = page.locator("#search-found li")
        page.wait_for_selector("#search-found li:has-text('img-17') >> nth=0")
        page.wait_for_function("document.querySelectorAll('#search-found li').length === 1")
        assert found.get_by_text("Forget").is_disabled()
        page.check("#edit")
        before = store.rows()[2][17]
        other = "dog" if before == "cat" else "cat"
        found.locator("input").fill(other)
        found.get_by_text("Correct").click()
        page.wait_for_selector(f"#search-found b:has-text('{other}')")
        keys, _, labels = store.rows()
        assert labels[keys.index("img-17")] == other
        found.get_by_text("Forget").click()
        assert "img-17" in store.rows()[0]  # asks first
        found.get_by_text("Really forget?").click()
        page.wait_for_selector("#search-found li:has-text('No key begins with this text')")
        assert "img-17" not in store.rows()[0]


def test_text_and_missing_cells_can_be_asked(browser, tmp_path):
    learner = Learner(tmp_path / "a.db", preparation=Preparation("onehot", "median"))
    learner.learn([["red", 1.0], ["blue", 2.0], ["red", 1.5], ["blue", 2.5]], [1, 0, 1, 0])
    with shown(browser, learner) as page:
        page.fill("#ask-fields input >> nth=0", "red")
        page.click("#ask button[type=submit]")
        page.wait_for_selector("#ask-result .answer")
        assert page.inner_text(".answer").startswith("1 with probability")


def test_many_features_are_one_field(browser, tmp_path):
    X = np.random.default_rng(0).random((20, 30))
    learner = Learner(tmp_path / "a.db")
    learner.learn(X, np.arange(20) % 2)
    with shown(browser, learner) as page:
        assert page.locator("#ask-fields textarea").count() == 1
        page.fill("#ask-fields textarea", ", ".join(map(str, X[3])))
        page.click("#ask button[type=submit]")
        page.wait_for_selector("#ask-result .answer")
        page.fill("#ask-fields textarea", "1, 2")
        page.click("#ask button[type=submit]")
        page.wait_for_selector("#ask-message:has-text('must have 30 features')")


def test_a_narrow_page_and_no_path_of_the_server(browser, store, tmp_path):
    with shown(browser, store, 390) as page:
        page.click("#ask-latest")
        page.wait_for_selector("#ask-result .answer")
        page.fill("#search-key", "img-")
        page.wait_for_selector("#search-found li")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.inner_text("#tagline") == "animals.db"
        assert str(tmp_path) not in page.content()
