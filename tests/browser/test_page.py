"""The page of `docaps serve` in a browser, with a small trained model."""

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="fastapi is not installed (docaps[serve])")
sys.path.append(str(Path(__file__).parents[1] / "unit" / "web"))

ROOT = Path(__file__).parents[2]
AXE = Path(os.environ.get("DOCAPS_AXE") or ROOT / ".venv" / "axe" / "node_modules" / "axe-core" / "axe.min.js")
pytestmark = pytest.mark.browser
NASTY = "<img src=x onerror=alert(1)><b>bold</b> & \"quoted\" 'text'."


@pytest.fixture(scope="module")
def url(tiny_demo: Path) -> Iterator[str]:
    from tests.unit.web.serving import models, serving

    with serving(models(tiny_demo)) as running:
        yield running.url


@pytest.fixture
def complaints() -> list[str]:
    return []


@pytest.fixture
def open_page(browser: Any, url: str, complaints: list[str]) -> Iterator[Any]:
    """Open the page with given browser settings; fail at the end on console errors and external requests."""
    contexts, requests = [], []

    def open_with(**settings: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **settings})
        context.set_default_timeout(60_000)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text) if message.type != "log" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(url)
        finished(page)
        return page

    yield open_with
    for context in contexts:
        context.close()
    assert complaints == []
    assert [one for one in requests if not one.startswith((url, "blob:", "data:"))] == []


def finished(page: Any) -> None:
    page.wait_for_selector("#status:not([hidden])")
    page.wait_for_selector("#translation[aria-busy=false]")


def has_sentences(page: Any, count: int) -> None:
    """Wait for a translation of so many sentences; the content security policy forbids polling by script."""
    end = time.monotonic() + 60
    while page.locator("tr.sentence").count() != count:
        assert time.monotonic() < end
        page.wait_for_timeout(50)
    finished(page)


def translate(page: Any, text: str) -> None:
    page.get_by_label("Your document").fill(text)
    page.get_by_role("button", name="Translate").click()
    finished(page)


def test_the_page_starts_with_an_example(open_page: Any) -> None:
    page = open_page()
    assert page.locator("tr.sentence").count() == 9
    assert page.locator("thead th").all_inner_texts() == ["Source", "document", "document without context"]
    assert "of 9 sentences" in page.locator("#status").inner_text()


def test_a_document_is_translated_compared_and_downloaded(open_page: Any) -> None:
    page = open_page()
    page.get_by_label("Compare with").select_option("sentence")
    finished(page)
    translate(page, "Anna bought a coat. It was warm.\n\nIt rained.")
    assert page.locator("tr.sentence .toggle").all_inner_texts() == [
        "Anna bought a coat.",
        "It was warm.",
        "It rained.",
    ]
    own, other = (
        [row.locator(".text").nth(side).inner_text() for row in page.locator("tr.sentence").all()] for side in (0, 1)
    )
    for row, one, two in zip(page.locator("tr.sentence").all(), own, other, strict=True):
        assert (row.locator("mark").count() > 0) == (one != two)
    files = {}
    for form in ("Text", "TSV", "JSON"):
        with page.expect_download() as download:
            page.get_by_role("group", name="Download").get_by_role("button", name=form, exact=True).click()
        files[form] = Path(download.value.path()).read_text(encoding="utf-8")
    assert files["Text"] == f"{own[0]} {own[1]}\n\n{own[2]}\n"
    table = [line.split("\t") for line in files["TSV"].splitlines()]
    assert table[0] == ["sentence", "source", "translation", "score", "sentence"]
    assert [row[2] for row in table[1:]] == own
    assert [row[4] for row in table[1:]] == other
    assert [one["translation"] for one in json.loads(files["JSON"])["translations"]] == own


def test_context_can_be_switched_off(open_page: Any) -> None:
    page = open_page()
    page.get_by_role("checkbox", name="Context").uncheck()
    finished(page)
    page.locator("thead th").nth(1).get_by_text("document without context").wait_for()
    assert page.locator("thead th").all_inner_texts()[1] == "document without context"
    page.get_by_label("Compare with").select_option("")
    finished(page)
    assert page.locator("thead th").count() == 2
    assert page.locator("mark").count() == 0


def test_a_sentence_shows_its_routing(open_page: Any) -> None:
    page = open_page()
    page.get_by_role("button", name="Martin wanted to renovate it").click()
    panel = page.locator(".panel")
    panel.wait_for()
    assert panel.locator("svg.heatmap[data-kind=pcc]").count() == 2  # two sentences before it
    assert panel.locator(".capsules li").count() == 2
    assert panel.locator(".capsules .word").count() > 20
    assert "strongest:" in panel.locator(".strongest").first.inner_text()
    panel.get_by_label("Coupling c").check()
    slider = panel.get_by_role("slider")
    slider.fill("0")
    assert panel.locator("svg.heatmap[data-kind=coupling][data-iteration='0']").count() == 2
    shares = panel.locator("svg.heatmap rect title").all_text_contents()
    assert all(share.endswith("c = 0.500") for share in shares)  # shares begin equal among two capsules
    page.get_by_role("button", name="Martin wanted to renovate it").click()
    assert page.locator(".panel").count() == 0
    page.get_by_role("button", name="David stopped").click()
    page.locator(".panel").wait_for()
    assert "no earlier sentence" in page.locator(".panel").inner_text()


def test_text_is_never_markup(open_page: Any) -> None:
    page = open_page()
    page.get_by_label("One sentence per line").check()
    finished(page)
    translate(page, f"{NASTY}\n{NASTY}")
    assert page.locator("tr.sentence .toggle").first.inner_text().startswith("<img src=x")
    page.locator(".toggle").nth(1).click()
    page.locator(".panel").wait_for()
    assert page.locator("#translation img, #translation b").count() == 0


def test_a_file_can_be_opened_or_dropped(open_page: Any, tmp_path: Path) -> None:
    page = open_page()
    (tmp_path / "story.txt").write_text("Anna came in. It rained.", encoding="utf-8")
    page.locator("#file").set_input_files(tmp_path / "story.txt")
    has_sentences(page, 2)
    page.evaluate(
        """() => {
        const data = new DataTransfer();
        data.items.add(new File(["It rained."], "story.txt", {type: "text/plain"}));
        document.getElementById("drop").dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true}));
    }"""
    )
    has_sentences(page, 1)


def test_everything_can_be_done_from_the_keyboard(open_page: Any) -> None:
    page = open_page()
    page.get_by_label("Your document").focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("It rained. It was cold.")
    page.keyboard.press("Control+Enter")
    has_sentences(page, 2)
    names = []
    for _ in range(20):
        page.keyboard.press("Tab")
        names.append(page.evaluate("document.activeElement.id || document.activeElement.textContent"))
        if "It was cold." in names[-1]:
            break
    assert {"model", "comparison", "context", "lines", "submit", "open"} <= set(names)
    page.keyboard.press("Enter")
    page.locator(".panel").wait_for()
    assert page.locator(".toggle[aria-expanded=true]").inner_text() == "It was cold."


def test_errors_are_shown(open_page: Any) -> None:
    page = open_page()
    page.get_by_label("Your document").fill("  ")
    page.get_by_role("button", name="Translate").click()
    assert "nothing to translate" in page.get_by_role("alert").inner_text()
    page.locator("#file").set_input_files({"name": "a.png", "mimeType": "image/png", "buffer": b"\x89PNG\0\xff"})
    page.get_by_text("a.png is not a text file").wait_for()
    page.locator("#file").set_input_files({"name": "b.txt", "mimeType": "text/plain", "buffer": b"x" * 1_000_001})
    page.get_by_text("b.txt is too large: the limit of this service is 1000000 bytes").wait_for()


def test_an_error_replaces_the_previous_translation(open_page: Any, complaints: list[str]) -> None:
    page = open_page()
    page.get_by_label("Your document").fill("y" * 6000)
    page.get_by_role("button", name="Translate").click()
    page.get_by_text("text.0: at most 5000 characters, found 6000").wait_for()
    assert not page.locator("#status").is_visible()
    assert not page.locator("#translation").is_visible()
    translate(page, "It rained.")
    assert not page.get_by_role("alert").is_visible()
    assert page.locator("tr.sentence").count() == 1
    assert complaints  # the browser itself logs error responses
    assert all("status of 422" in one for one in complaints)
    complaints.clear()


def test_a_very_long_word_does_not_widen_the_page(open_page: Any) -> None:
    page = open_page()
    translate(page, "x" * 3000)
    assert page.evaluate("document.documentElement.scrollWidth") <= 1200


def test_a_phone_needs_no_sideways_scrolling(open_page: Any) -> None:
    page = open_page(viewport={"width": 390, "height": 800})
    page.locator(".toggle").nth(2).click()
    page.locator(".panel").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_differences_are_found_word_by_word(open_page: Any) -> None:
    page = open_page()
    script = """async ([one, other]) => (await import("/static/differences.js")).compare(one, other)
        .map((side) => side.map(({word, differs}) => (differs ? `[${word}]` : word)).join(" "))"""
    for one, other, wanted in [
        ("Er war alt.", "Sie war alt.", ["[Er] war alt.", "[Sie] war alt."]),
        ("a b c", "a c", ["a [b] c", "a c"]),
        ("a", "", ["[a]", ""]),
        ("x y", "x y", ["x y", "x y"]),
    ]:
        assert page.evaluate(script, [one, other]) == wanted


def test_events_are_split_where_they_end(open_page: Any) -> None:
    page = open_page()
    script = """async (text) => (await import("/static/service.js")).splitEvents(text)"""
    found = page.evaluate(script, ': wait\n\nevent: sentence\ndata: {"source": "a: b"}\n\nevent: do')
    assert found == {"events": [{"name": "sentence", "data": {"source": "a: b"}}], "rest": "event: do"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_violation(open_page: Any, scheme: str) -> None:
    if not AXE.exists():
        pytest.skip(
            "axe-core is not installed: npm install --prefix .venv/axe axe-core, or set DOCAPS_AXE to axe.min.js"
        )
    page = open_page(color_scheme=scheme)
    page.locator(".toggle").nth(2).click()
    page.locator(".panel").wait_for()
    page.evaluate(AXE.read_text(encoding="utf-8"))  # not a script element, which the content security policy forbids
    found = page.evaluate("axe.run()")
    serious = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
    assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in serious] == []
    assert len(found["passes"]) > 15
