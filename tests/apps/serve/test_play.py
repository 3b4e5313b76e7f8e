"""The playground in a real browser."""

import http.client
import importlib.util
import re
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api")

from tests.support.browser import MARKS, Page, wait
from tests.support.playground import playground

from opforest.apps.serve.play import STATIC, PlayServer

pytestmark = MARKS

DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
PHONE = {"size": (390, 844), "is_mobile": True, "has_touch": True, "color_scheme": "dark"}


@pytest.fixture(scope="module")
def url():
    with playground() as url:
        yield url


def encode(examples, begin=1):
    """Return the part of a link that holds examples (x, y, label)."""
    codes = [((label - 1) * 600 + y) * 800 + x for x, y, label in examples]
    digits = [DIGITS[code >> shift & 63] for code in codes for shift in (18, 12, 6, 0)]
    return f"#1-{begin}-{''.join(digits)}"


def decode(page):
    """Return the examples in the address of a page, which is written when nothing changes."""
    page.wait_for_timeout(600)
    text = re.fullmatch(r".*#1-\d+-([^~]*)(~.*)?", page.url)[1]
    codes = [sum(DIGITS.index(text[i + k]) << 18 - 6 * k for k in range(4))
             for i in range(0, len(text), 4)]  # fmt: skip
    return [(code % 800, code // 800 % 600, code // 480_000 + 1) for code in codes]


FOUR = [(100, 500, 1), (160, 480, 1), (500, 200, 2), (560, 180, 2)]


def place(page, x, y, panel="exact"):
    """Return where a point of the plane is on a canvas."""
    box = page.locator(f"#panel-{panel} canvas").bounding_box()
    return {"x": x / 800 * box["width"], "y": (600 - y) / 600 * box["height"]}


def click(page, x, y, panel="exact", **more):
    page.locator(f"#panel-{panel} canvas").click(position=place(page, x, y, panel), **more)


def choose(page, tool):
    page.locator("#tools .pill", has_text=tool).click()


def is_proved(page):
    return "dentical to refitting" in page.inner_text("#proof h2")


def notice(page, panel="exact"):
    """Return what is said on a drawing."""
    return page.text_content(f"#panel-{panel} .notice")


def test_clicks_learn_and_other_gestures_forget(browser, url):
    with Page(browser, url) as page:
        page.select_option("#stream", "empty")
        assert "No examples" in page.inner_text("#proof")
        for n, (x, y, label) in enumerate(FOUR, 1):
            choose(page, str(label))
            click(page, x, y)
            assert f"Learned example {n}" in page.inner_text("#proof")
            assert is_proved(page)
        drawn = decode(page)
        for found, wanted in zip(drawn, FOUR, strict=True):
            assert found[2] == wanted[2]
            assert max(abs(a - b) for a, b in zip(found, wanted, strict=True)) <= 2
        click(page, 560, 188)  # near an example, even so a click learns
        assert len(decode(page)) == 5
        assert notice(page) == ""
        click(page, 300, 300, button="right")
        assert notice(page) == "There is no example here to forget."
        assert len(decode(page)) == 5
        click(page, 100, 500, button="right")
        assert "Forgot example 1:" in page.inner_text("#proof")
        assert is_proved(page)
        assert notice(page) == ""
        choose(page, "Forget")
        click(page, 525, 200)  # not near enough to the example at 500, with a mouse
        assert "no example here" in notice(page)
        assert decode(page)[:3] == drawn[1:]
        click(page, 500, 200)
        assert "Forgot example 3:" in page.inner_text("#proof")
        for x, y in ((160, 480), (560, 180), (560, 188)):
            click(page, x, y)
        assert decode(page) == []
        choose(page, "3")
        click(page, 300, 300)
        assert "Learned example 6" in page.inner_text("#proof")
        assert is_proved(page)


def test_a_link_opens_the_same_drawing(browser, url):
    with Page(browser, url + encode(FOUR, begin=2)) as page:
        assert "Loaded 4 examples" in page.inner_text("#proof")
        assert page.input_value("#stream") == "empty"
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.click("#copy")
        wait(page, "document.getElementById('copied').textContent.includes('Copied')")
        assert page.evaluate("navigator.clipboard.readText()") == url + encode(FOUR, begin=2)
        page.evaluate(f"location.hash = {encode(FOUR[:3])!r}")
        wait(page, "document.getElementById('proof').textContent.includes('Loaded 3')")
        click(page, 300, 300)
        drawn = decode(page)
        assert drawn[:3] == FOUR[:3]
        page.reload()
        assert "Loaded 4 examples" in page.inner_text("#proof")
        assert decode(page) == drawn


def test_a_link_keeps_the_numbers_of_the_examples(browser, url):
    with Page(browser, url) as page:
        page.select_option("#stream", "drift")
        for _ in range(5):
            page.click("#step")  # each forgets the oldest one
        choose(page, "Forget")
        page.evaluate("document.activeElement.blur()")
        drawn = decode(page)
        assert page.url.endswith("~1-5")
        click(page, *drawn[2][:2])
        click(page, *drawn[-1][:2])
        assert len(decode(page)) == 58
        assert page.url.endswith("~1-5.8.65")
        page.reload()
        assert "Loaded 58 examples" in page.inner_text("#proof")
        click(page, *drawn[3][:2], button="right")
        assert "Forgot example 9:" in page.inner_text("#proof")
        choose(page, "1")
        click(page, 20, 20)
        assert "Learned example 66:" in page.inner_text("#proof")
        decode(page)
        assert page.url.endswith("~1-5.8-9.65")
    with Page(browser, url + "#1-1-~1-6") as page:  # all were forgotten
        click(page, 300, 300)
        assert "Learned example 7" in page.inner_text("#proof")


@pytest.mark.parametrize(
    "text",
    ["#1-1-AAA", "#2-1-AAAA", "#nonsense", "#1-0-AAAA", "#1-1-____", "#1-1-" + "AAAA" * 401,
     "#1-1-<b>x", "#1-9999-AAAA", "#1-1-AAAA~", "#1-1-AAAA~0", "#1-1-AAAA~3", "#1-1-AAAA~2-1",
     "#1-1-AAAA~1.1", "#1-1-AAAA~1-2-3", "#1-1-AAAA~1.", "#1-1-AAAA~1-99999999"],
)  # fmt: skip
def test_a_bad_link_is_refused_with_a_reason(browser, url, text):
    with Page(browser, url + text) as page:
        assert "nothing was loaded" in notice(page)
        assert "Learned 60 examples" in page.inner_text("#proof")
        page.click("#step")
        assert notice(page) == ""


def test_the_longest_step_decides_where_it_surprises(browser, url):
    with Page(browser, url) as page:
        page.select_option("#stream", "lonely")
        assert "Class 1" in page.inner_text("#path")
        assert "The longest step decides, not the nearest point." in page.inner_text("#surprise")
        page.locator("#panel-exact canvas").hover(position=place(page, 620, 250))
        assert not page.is_visible("#surprise")
        assert page.inner_text("#path").startswith("Class 2")
        assert page.locator("#path .chip").last.inner_text() == "here"
        page.mouse.move(0, 0)
        assert "Point anywhere" in page.inner_text("#path")


def test_three_forests_and_the_cases_of_opfi(browser, url):
    with Page(browser, url) as page:
        assert not page.is_visible("#panel-opfi")
        page.click("#tabs button[value=three]")
        seen = set()
        for stream in ("lithuanian", "moons"):
            page.select_option("#stream", stream)
            for _ in range(40):
                page.click("#step")
                seen.add(page.inner_text("#panel-opfi .message b"))
                assert "as every new example" in page.inner_text("#panel-dift .message")
                assert is_proved(page)
        assert seen == {"Case 1", "Case 2", "Case 3"}
        assert page.locator("#panel-exact dd").all_inner_texts()[::2] == ["100", "100 %"]
        assert page.locator("#panel-dift dd").all_inner_texts()[:2] == ["100", "90"]
        assert page.inner_text("#proof h2").split("\n")[-1] == "Exact: identical to refitting"
        for panel in ("opfi", "exact"):
            page.locator(f"#panel-{panel} canvas").hover(position=place(page, 300, 300, panel))
            assert page.inner_text("#why h2").split()[-1].lower() == panel
            assert page.locator("#path .chip").last.inner_text() == "here"
        choose(page, "Forget")
        page.evaluate(f"location.hash = {encode(FOUR)!r}")
        wait(page, "document.getElementById('proof').textContent.includes('Loaded 4')")
        click(page, 100, 500, "dift")
        assert "learned all examples again" in page.inner_text("#panel-opfi .message")
        assert page.locator("#panel-opfi dd").first.inner_text() == "3"
        click(page, 700, 500, "dift")
        assert "no example here" in notice(page, "dift")
        assert notice(page) == ""
        page.click("#tabs button[value=one]")
        assert not page.is_visible("#panel-dift")
        assert page.inner_text("#why h2").strip() == "Why this class?"


def test_a_stream_is_played_to_its_end_and_the_window_forgets(browser, url):
    with Page(browser, url) as page:
        page.select_option("#stream", "drift")
        canvas = page.locator("#panel-exact canvas")
        before = canvas.bounding_box()
        page.click("#run")
        assert "Pause" in page.inner_text("#run")
        assert canvas.bounding_box() == before  # nothing moves under the pointer
        wait(page, "document.getElementById('proof').textContent.includes('Forgot example 3')")
        page.click("#run")
        assert "Play" in page.inner_text("#run")
        count = page.inner_text("#proof")
        page.wait_for_timeout(500)
        assert page.inner_text("#proof") == count
        assert len(decode(page)) == 60
        while page.is_enabled("#step"):
            page.click("#step")
        assert "Forgot example 100" in page.inner_text("#proof")
        assert not page.is_enabled("#run")
        page.click("#again")
        assert page.is_enabled("#run")


def test_the_path_follows_the_pointer_while_a_stream_is_played(browser, url):
    with Page(browser, url) as page:
        page.click("#run")
        page.locator("#panel-exact canvas").hover(position=place(page, 300, 300))
        assert page.locator("#path .chip").last.inner_text() == "here"
        wait(page, "document.getElementById('proof').textContent.includes('Learned example 64')")
        assert page.locator("#path .chip").last.inner_text() == "here"
        page.click("#run")
        assert page.locator("#path .chip").count() == 0


def test_the_keyboard_is_enough(browser, url):
    with Page(browser, url + encode(FOUR)) as page:
        page.locator("#panel-exact canvas").focus()
        page.keyboard.press("3")
        for key in ("Shift+ArrowRight", "Shift+ArrowUp", "ArrowLeft"):
            page.keyboard.press(key)
        page.wait_for_selector("#path .chip")
        page.keyboard.press("Enter")
        assert decode(page)[4][2] == 3
        page.keyboard.press("e")
        page.keyboard.press("Enter")
        assert len(decode(page)) == 5
        page.keyboard.press("Delete")
        assert decode(page) == FOUR
        page.keyboard.press("Delete")
        assert "no example here" in notice(page)
        page.keyboard.press("f")
        assert page.locator("#tools input[value=forget]").is_checked()
        page.select_option("#stream", "moons")
        page.locator("#panel-exact canvas").focus()
        page.keyboard.press("s")
        assert "Learned example 61" in page.inner_text("#proof")
        page.keyboard.press("Space")
        assert "Pause" in page.inner_text("#run")
        page.keyboard.press("Space")
        assert "Play" in page.inner_text("#run")


def test_a_phone(browser, url):
    with Page(browser, url, **PHONE) as page:
        for view in ("three", "one"):
            page.tap(f"#tabs button[value={view}]")
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert background == "rgb(15, 20, 27)"
        page.locator("#tools .pill", has_text="Explain").tap()
        page.locator("#panel-exact canvas").tap(position=place(page, 400, 300))
        page.wait_for_selector("#path .chip")
        assert "Learned 60 examples" in page.inner_text("#proof")
        page.locator("#tools .pill", has_text="2").tap()
        page.locator("#panel-exact canvas").tap(position=place(page, 400, 300))
        assert "Learned example 61" in page.inner_text("#proof")
        page.locator("#tools .pill", has_text="Forget").tap()
        # Ten units are five pixels here: a finger may miss by more.
        page.locator("#panel-exact canvas").tap(position=place(page, 410, 310))
        assert "Forgot example 61" in page.inner_text("#proof")


def test_on_a_phone_the_reason_is_below_the_drawing_that_it_explains(browser, url):
    def top(page, name):
        return page.locator(name).bounding_box()["y"]

    with Page(browser, url, **PHONE) as page:
        assert top(page, "#panel-exact") < top(page, "#why") < top(page, "#proof")
        assert top(page, "#proof") < top(page, "#copy") < top(page, ".legends")
        assert page.locator("#why").bounding_box()["height"] < 110  # there is nothing to explain
        page.tap("#tabs button[value=three]")
        page.locator("#tools .pill", has_text="Explain").tap()
        page.locator("#panel-opfi canvas").tap(position=place(page, 400, 300, "opfi"))
        assert top(page, "#panel-opfi") < top(page, "#why") < top(page, "#panel-dift")


def test_there_is_a_limit(browser, url):
    many = [(i % 40 * 20, i // 40 * 50, 1 + i % 4) for i in range(400)]
    with Page(browser, url + encode(many, begin=400)) as page:
        assert is_proved(page)
        click(page, 5, 595)
        assert "which is its limit" in notice(page)
        assert decode(page) == many
        click(page, 400, 300, button="right")
        assert len(decode(page)) == 399
        click(page, 5, 595)
        assert len(decode(page)) == 400


def test_the_copy_for_the_site_needs_no_server(browser, tmp_path):
    root = Path(__file__).parents[3]
    spec = importlib.util.spec_from_file_location("playground", root / "docs" / "playground.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.build(tmp_path / "playground")
    (tmp_path / "index.html").write_text(
        "<!doctype html><iframe src='playground/index.html' id='frame'></iframe>"
        "<script>addEventListener('message', ({ data }) => {"
        "document.title = data.playgroundHeight; });</script>"
    )
    with Page(browser, f"file://{tmp_path}/playground/index.html{encode(FOUR)}") as page:
        assert "Loaded 4 examples" in page.inner_text("#proof")
        click(page, 300, 300)
        assert is_proved(page)
        assert decode(page)[:4] == FOUR
    with Page(browser, f"file://{tmp_path}/index.html") as page:
        wait(page, "Number(document.title) > 300")
        frame = page.frame_locator("#frame")
        assert not frame.locator("header h1").is_visible()
        assert frame.locator("#alone").get_attribute("href").endswith("playground/index.html")


def test_only_files_of_the_page_are_served(url):
    def ask(path):
        connection = http.client.HTTPConnection(url.split("/")[2], timeout=60)
        connection.request("GET", path)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer, content

    answer, content = ask("/")
    assert answer.status == 200
    assert b"<title>opforest playground</title>" in content
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    answer, _ = ask("/play/main.js")
    assert answer.headers["content-type"].startswith("text/javascript")
    for path in ("/play/", "/play", "/../app.py", "/%2e%2e/app.py", "/nothing", "//etc/passwd"):
        answer, content = ask(path)
        assert answer.status in (301, 404), path
        assert b"main.js" not in content


def test_a_port_that_is_taken():
    with PlayServer() as first, pytest.raises(OSError, match="cannot listen on 127"):
        PlayServer(first.server_port)


def test_scripts_are_small():
    # Of the playground alone: three algorithms, two views, links and streams.
    sizes = [len(path.read_text("utf-8").splitlines()) for path in (STATIC / "play").glob("*.js")]
    assert sum(sizes) <= 1000
    assert max(sizes) <= 250
