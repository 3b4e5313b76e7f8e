"""The page of a store, in a real browser."""

import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("playwright.sync_api")

from tests.support.browser import MARKS, Page, wait
from tests.support.service import Client, running

from opforest import Learner, Preparation

pytestmark = MARKS


def test_a_store_in_use_is_shown_and_changed_only_on_request(browser, store):
    with running(store) as port, Page(browser, port) as page:
        page.wait_for_selector("#facts strong")
        wait(page, "document.querySelector('#facts strong')?.textContent === '40'")
        assert "cat" in page.inner_text("#bars")
        assert "img-39" in page.inner_text("#last")
        assert "predicted correctly" in page.inner_text("#accuracy-note")
        canvas = page.locator("#forest")
        canvas.click(position={"x": 300, "y": 200})
        assert "tick the box" in page.inner_text("#message")
        assert len(store) == 40
        page.check("#edit")
        page.locator("#labels .pill", has_text="dog").click()
        # The numbers are shown before the forest, in which the second click looks for the example.
        with page.expect_response(lambda answer: "/v1/forest?" in answer.url):
            canvas.click(position={"x": 5, "y": 5})
        wait(page, "document.querySelector('#facts strong')?.textContent === '41'")
        page.wait_for_timeout(300)
        assert "1 learned :41" in page.inner_text("#log")
        canvas.click(position={"x": 5, "y": 5})
        wait(page, "document.querySelector('#facts strong')?.textContent === '40'")
        canvas.hover(position={"x": 300, "y": 200})
        page.wait_for_selector("#why .chip")
        store.learn([[0.5, 0.5]], ["cow"], ["by-hand"])  # not through the service: not told
        page.reload()
        wait(page, "document.querySelector('#facts strong')?.textContent === '41'")
        assert "cow" in page.inner_text("#bars")


def test_many_features_are_drawn_on_a_plane_and_the_page_says_so(browser, tmp_path):
    from sklearn.datasets import load_iris

    flowers = load_iris()
    learner = Learner(tmp_path / "iris.db")
    learner.learn(flowers.data, flowers.target)
    with running(learner) as port, Page(browser, port) as page:
        wait(page, "document.getElementById('seen').textContent.includes('principal')")
        page.wait_for_selector("#bars li")


def test_a_service_that_goes_and_comes_back_is_found_again(browser, tmp_path):
    path = tmp_path / "a.db"
    with Learner(path) as learner:
        learner.learn([[0.0, 0], [1, 1]], ["a", "b"])
    with running(Learner(path)) as port:
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{port}/")
        wait(page, "document.querySelector('#facts strong')?.textContent === '2'")
    page.wait_for_selector("#offline", state="visible")
    with Learner(path) as learner:
        learner.learn([[2.0, 2]], ["b"])
    time.sleep(0.2)
    with running(Learner(path), port=port):
        page.wait_for_selector("#offline", state="hidden", timeout=120_000)
        wait(page, "document.querySelector('#facts strong')?.textContent === '3'")
    context.close()


def test_a_token_is_asked_for_until_it_is_known(browser, store):
    from opforest.apps.serve.security import Tokens

    tokens = Tokens("r" * 20, "w" * 20)
    with running(store, tokens=tokens) as port, Page(browser, port) as page:
        page.wait_for_selector("#token[open]")
        assert page.inner_text("#token h2") == "A token is required"
        page.fill("#token-text", "wrong")
        page.click("#token button")
        wait(page, "document.querySelector('#token h2').textContent.includes('unknown')")
        assert page.input_value("#token-text") == ""
        page.fill("#token-text", "r" * 20)
        page.click("#token button")
        wait(page, "document.querySelector('#facts strong')?.textContent === '40'")
        page.reload()
        wait(page, "document.querySelector('#facts strong')?.textContent === '40'")
        page.check("#edit")
        page.locator("#forest").click(position={"x": 4, "y": 4})
        wait(
            page,
            "document.getElementById('message').textContent.includes('but not writing')",
        )


@pytest.mark.parametrize(
    ("y", "new"),
    [([True, False], None), ([1.0, 2.0], -5.0), ([10, 9], 3), (["b", "__proto__"], "Z")],
)
def test_classes_of_any_kind_have_colors_that_stay(browser, y, new):
    learner = Learner(":memory:")
    learner.learn([[0.0, 0.0], [1.0, 1.0]], y, ["first", "second"])
    colors = """() => Object.fromEntries([...document.querySelectorAll('#last li')]
        .map(li => [li.children[0].textContent, li.children[1].className]))"""
    with running(learner) as port, Page(browser, port) as page:
        page.wait_for_selector("#last li code")
        before = page.evaluate(colors)
        assert set(before.values()) == {"k0", "k1"}
        page.check("#edit")
        page.locator("#labels .pill").nth(1).click()
        page.locator("#forest").click(position={"x": 5, "y": 5})
        wait(page, "document.querySelector('#facts strong')?.textContent === '3'")
        name = page.inner_text("#bars li:nth-child(2) b")
        assert str(learner.rows()[2].tolist()[-1]).lower().removesuffix(".0") == name
        if new is not None:  # it is sorted before the others
            Client(port).post("/v1/learn", {"rows": [[2, 2]], "labels": [new]})
            wait(page, "document.querySelector('#facts strong')?.textContent === '4'")
            after = page.evaluate(colors)
            assert {key: after[key] for key in before} == before
            assert after[":4"] == "k2"


def test_odd_names_are_shown_as_they_are_and_nothing_sticks_out(browser, tmp_path):
    """No name is taken for HTML, and no long one makes the page wider than a phone."""
    evil = "<img src=x onerror=document.title='evil'>"
    names = [evil, "ж" * 200, "x" * 256, *(f"class {k}" for k in range(20))]
    learner = Learner(tmp_path / ("a-long-name" * 15 + ".db"), feature_names=["a", evil])
    X, twice = np.random.default_rng(0).random((2 * len(names), 2)), 2 * names
    learner.learn(X, twice, [f"{name[:200]}{i}" for i, name in enumerate(twice)])
    with (
        running(learner) as port,
        Page(browser, port, size=(390, 844), color_scheme="dark", has_touch=True) as page,
    ):
        client = Client(port)
        client.post("/v1/learn", {"rows": [[0, 9]], "labels": [evil], "keys": [evil]})
        client.post("/v1/learn", {"rows": [[1, 9]], "labels": [evil], "keys": ["x" * 256]})
        wait(page, "document.querySelector('#facts strong')?.textContent === '48'")
        page.check("#edit")
        page.wait_for_selector("#labels .pill")
        page.locator("#forest").hover(position={"x": 40, "y": 40})
        page.wait_for_selector("#why .chip")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert evil in page.inner_text("#last")
        assert evil in page.inner_text("#log")
        assert "and 11 more" in page.inner_text("#bars")
        assert page.title() == "opforest"
        assert page.locator("main img, section img").count() == 0


def test_the_page_is_small_and_complete():
    from opforest.apps.serve.app import STATIC

    scripts = list(STATIC.glob("*.js"))
    assert sum(len(path.read_text("utf-8").splitlines()) for path in scripts) <= 1000
    for path in filter(Path.is_file, STATIC.rglob("*")):
        text = path.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in text
        assert "https:" not in text


def test_a_store_that_prepares_rows_is_shown_without_labels(browser, tmp_path):
    preparation = Preparation("onehot", "median", "standard")
    learner = Learner(tmp_path / "a.db", semi_supervised=True, preparation=preparation)
    learner.learn([[1, "red"], [2, "red"], [9, "blue"]], ["cat", None, "dog"], keys=list("abc"))
    with running(learner) as port, Page(browser, port) as page:
        page.wait_for_selector("#last li")
        assert "Unlabeled" in page.inner_text("#facts")
        assert "no label" in page.inner_text("#last")
        page.check("#edit")
        page.locator("#forest").click(position={"x": 5, "y": 5})
        assert "through the API" in page.inner_text("#message")
        assert len(learner) == 3


class TestSuspects:
    @pytest.fixture
    def noisy(self, store):
        store.correct("img-7", "cat" if store.rows()[2][7] == "dog" else "dog")
        return store

    def test_buttons_correct_and_forget(self, browser, noisy):
        with running(noisy) as port, Page(browser, port) as page:
            page.wait_for_selector("#suspects li:has-text('img-7')")
            first = page.locator("#suspects li", has_text="img-7")
            assert first.get_by_text("Correct").is_disabled()
            page.check("#edit")
            first.get_by_text("Correct").click()
            first.wait_for(state="detached")
            keys, X, labels = noisy.rows()
            i = keys.index("img-7")
            assert labels[i] == ("dog" if X[i, 0] > 0.5 else "cat")
            Client(port).post("/v1/correct", {"key": "img-7", "label": "dog" if labels[i] == "cat"
                                              else "cat"})  # fmt: skip
            first.wait_for()
            first.get_by_text("Forget").click()
            first.wait_for(state="detached")
            assert "img-7" not in noisy.rows()[0]

    def test_a_narrow_page(self, browser, noisy):
        with running(noisy) as port, Page(browser, port, (390, 800)) as page:
            page.wait_for_selector("#suspects li:has-text('img-7')")
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
