"""The page of `docaps serve` in a browser, with a small trained model."""

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

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
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Models wait until this event is set."""
    from tests.unit.web.serving import gated

    with gated(monkeypatch) as opened:
        yield opened


@pytest.fixture
def complaints() -> list[str]:
    return []


@pytest.fixture
def open_page(browser: Any, url: str, complaints: list[str]) -> Iterator[Any]:
    """Open the page with given browser settings; fail at the end on console errors and external requests."""
    contexts, requests = [], []

    def open_with(
        path: str = "/", *, url: str = url, prepared: Callable[[], None] = lambda: None, **settings: Any
    ) -> Any:
        prepared()
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **settings})
        context.set_default_timeout(60_000)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text) if message.type != "log" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on("request", lambda request: requests.append((request.url, url)))
        page.goto(f"{url}{path}")
        if path == "/":
            finished(page)
        return page

    yield open_with
    for context in contexts:
        context.close()
    assert complaints == []
    assert [one for one, own in requests if not one.startswith((own, "blob:", "data:"))] == []


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


def drop_file(page: Any, name: str, script: str) -> None:
    """Drop a file whose content a script returns."""
    page.evaluate(
        f"""() => {{
        const data = new DataTransfer();
        data.items.add(new File([{script}], "{name}", {{type: "text/plain"}}));
        document.getElementById("drop").dispatchEvent(new DragEvent("drop", {{dataTransfer: data, bubbles: true}}));
    }}"""
    )


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
    page.locator("#chooser").set_input_files(tmp_path / "story.txt")
    has_sentences(page, 2)
    drop_file(page, "story.txt", "'It rained.'")
    has_sentences(page, 1)


HTML = "<!doctype html><html lang=en><p>It <b>rained</b>.</p><p>It was cold.</p></html>"


def test_a_file_is_translated_and_saved(open_page: Any, url: str) -> None:
    page = open_page()
    files = {"name": "two words.html", "mimeType": "text/html", "buffer": HTML.encode()}
    page.locator("#chooser").set_input_files(files)
    button = page.get_by_role("button", name="Save two words.de.html")
    button.wait_for()
    assert page.locator("#file-status").inner_text() == "two words.html is translated: 2 sentences."
    assert not page.locator("#file-stop").is_visible()
    with page.expect_download() as download:
        button.click()
    assert download.value.suggested_filename == "two words.de.html"
    content = Path(download.value.path()).read_text(encoding="utf-8")
    assert content.startswith("<!doctype html><html lang=de><p>")
    assert content.count("<b>") == content.count("</b>") == 1
    assert page.locator("tr.sentence").count() == 9  # the text of the page is still there


def test_a_file_keeps_to_the_glossary(open_page: Any) -> None:
    page = open_page()
    page.get_by_text("Glossary", exact=True).click()
    page.locator("#glossary").fill("\n\nit rained")
    files = {"name": "a.html", "mimeType": "text/html", "buffer": HTML.encode()}
    page.locator("#chooser").set_input_files(files)
    page.get_by_text("Glossary, line 3: expected a term").wait_for()
    page.locator("#glossary").fill("\nIt was | # = sie war")
    page.locator("#chooser").set_input_files(files)
    page.get_by_text("a.html is translated: 2 sentences.").wait_for()
    with page.expect_download() as download:
        page.locator("#file-save").click()
    assert "sie war" in Path(download.value.path()).read_text(encoding="utf-8").lower()


def test_the_options_of_subtitles_are_chosen(open_page: Any, complaints: list[str]) -> None:
    page = open_page()
    content = "1\n00:00:01,000 --> 00:00:01,100\nThe caf\xe9 was old.\n".encode("latin-1")
    files = {"name": "a.srt", "mimeType": "text/plain", "buffer": content}
    page.locator("#chooser").set_input_files(files)
    page.get_by_text("a.srt:3: not UTF-8: byte 0xe9; name its encoding, such as encoding=windows-1252").wait_for()
    page.get_by_text("Subtitles and strings", exact=True).click()
    page.get_by_label("Encoding").fill("windows-1252")
    page.get_by_label("Lines of a cue").fill("0")
    page.locator("#chooser").set_input_files(files)
    page.get_by_text("lines: Input should be greater than or equal to 1").wait_for()
    complaints.clear()  # of the browser: the service answered with 422
    page.get_by_label("Lines of a cue").fill("1")
    page.get_by_label("Characters of a line").fill("3")
    page.locator("#chooser").set_input_files(files)
    page.get_by_text("a.srt is translated: 1 sentence.").wait_for()
    doubts = page.locator("#file-warning").inner_text()
    assert "1 of 1 cues do not fit into 1 line of 3 characters" in doubts
    assert "more than 17 characters per second" in doubts


def test_strings_are_translated_again_if_asked(open_page: Any) -> None:
    page = open_page()
    content = b'msgid "It was old."\nmsgstr "Alt."\n\nmsgid "It ran."\nmsgstr ""\n'
    files = {"name": "a.po", "mimeType": "text/plain", "buffer": content}
    page.locator("#chooser").set_input_files(files)
    page.get_by_text("a.po is translated: 1 sentence.").wait_for()
    page.get_by_text("Subtitles and strings", exact=True).click()
    page.get_by_label("Translate again what has a translation").check()
    page.locator("#chooser").set_input_files(files)
    page.get_by_text("a.po is translated: 2 sentences.").wait_for()


def test_the_form_of_address_is_chosen(open_page: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    from tests.unit.web.serving import model_with_tags, serving

    with serving([model_with_tags(tmp_path_factory.mktemp("tags"))]) as running:
        page = open_page(url=running.url)
        found = []
        for label, formality in (("as the model chooses", None), ("formal", "formal")):
            page.get_by_label("Address").select_option(label)
            translate(page, "It was old.")
            found.append(page.locator("tr.sentence .text").first.inner_text())
            (own,) = running.post({"text": "It was old.", "formality": formality}).json()["translations"]
            assert found[-1] == own["translation"]
        assert found[0] != found[1]


def test_doubts_are_shown(open_page: Any) -> None:
    page = open_page()
    page.get_by_label("Compare with").select_option("")
    finished(page)
    page.get_by_text("Glossary", exact=True).click()
    page.locator("#glossary").fill("it = 漢字")
    page.get_by_label("Your document").fill("Quokkas frobnicate zyzzyvas. It was old. It was cold.")
    page.get_by_role("button", name="Translate").click()
    page.get_by_text("The translation may make no sense.").wait_for()
    assert page.locator("#warning").inner_text().endswith(" document: terms that could not be written: It = 漢字.")
    assert "3 of 9" in page.locator("#warning").inner_text()


def test_translating_a_file_can_be_stopped(open_page: Any, gate: threading.Event) -> None:
    page = open_page(prepared=gate.set)
    gate.clear()
    page.locator("#chooser").set_input_files({"name": "a.html", "mimeType": "text/html", "buffer": HTML.encode()})
    page.get_by_text("a.html: 0 of 2 sentences").wait_for()
    page.locator("#file-stop").click()
    page.get_by_text("a.html was not translated.").wait_for()
    gate.set()
    assert not page.locator("#file-save").is_visible()
    assert not page.get_by_role("alert").is_visible()


def test_translate_stays_translate_while_an_option_changes(open_page: Any, gate: threading.Event) -> None:
    page = open_page(prepared=gate.set)
    gate.clear()
    page.get_by_label("Your document").fill("It rained.\nIt was cold.")
    page.get_by_label("One sentence per line").check()
    page.get_by_role("button", name="Stop").wait_for()
    assert page.locator("#submit").inner_text() == "Translate"
    page.get_by_role("button", name="Translate").click()  # starts it over, and stops nothing
    gate.set()
    has_sentences(page, 2)
    assert "of 2 sentences" in page.locator("#status").inner_text()
    assert not page.get_by_role("button", name="Stop").is_visible()
    gate.clear()
    page.get_by_role("button", name="Translate").click()
    page.get_by_role("button", name="Stop").click()
    page.get_by_text("Stopped after 0 sentences.").wait_for()
    gate.set()
    assert page.evaluate("document.activeElement.id") == "submit"


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
    page.locator("#chooser").set_input_files({"name": "a.png", "mimeType": "image/png", "buffer": b"\x89PNG\0\xff"})
    page.get_by_role("alert").get_by_text("a.png").wait_for()
    assert page.locator("#file-status").inner_text() == "a.png was not translated."
    drop_file(page, "b.txt", "'x'.repeat(10_000_001)")
    page.get_by_text("b.txt is too large: the limit of this service is 10000000 bytes").wait_for()


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


def test_the_api_can_be_browsed_and_tried(open_page: Any) -> None:
    page = open_page("/docs")
    page.locator("#count").get_by_text("operations").wait_for()
    everything = page.locator("#operations details").count()
    assert everything > 25
    page.get_by_label("Find").fill("post /v2/translate")
    page.get_by_text("1 operation", exact=True).wait_for()
    page.locator("summary", has_text="/v2/translate").click()
    form = page.get_by_role("form", name="POST /v2/translate")
    assert "David stopped" in form.get_by_label("Body").input_value()
    form.get_by_role("button", name="Send").click()
    form.get_by_text("200 OK").wait_for()
    assert '"detected_source_language": "EN"' in form.get_by_label("Response").inner_text()
    page.get_by_label("Find").fill("post /v1/files")
    page.locator("summary", has_text="/v1/files").first.click()
    upload = page.get_by_role("form", name="POST /v1/files")
    upload.get_by_label("Fields, as JSON").fill('{"name": "a.txt", "context": false}')
    upload.locator("[type=file]").set_input_files({"name": "a", "mimeType": "text/plain", "buffer": b"It rained."})
    upload.get_by_role("button", name="Send").click()
    upload.get_by_text("202 Accepted").wait_for()
    page.get_by_label("Find").fill("translate_file")
    page.locator("summary", has_text="/translate_file").click()
    form = page.get_by_role("form", name="POST /translate_file")
    form.get_by_label("Fields, as JSON").fill('{"source": "en", "target": "de"}')
    form.locator("[type=file]").set_input_files({"name": "a.txt", "mimeType": "text/plain", "buffer": b"It rained."})
    form.get_by_role("button", name="Send").click()
    form.get_by_text("translatedFileUrl").wait_for()


def test_every_operation_can_be_opened(open_page: Any) -> None:
    page = open_page("/docs", viewport={"width": 390, "height": 800})
    page.locator("#count").get_by_text("operations").wait_for()
    for summary in page.locator("#operations summary").all():
        summary.click()
    count = page.locator("#operations details").count()
    page.locator(".attempt").nth(count - 1).wait_for()
    assert page.locator(".attempt").count() == count
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert "undefined" not in page.locator("#operations").inner_text()


def find_violations(page: Any) -> list[tuple[str, list[str]]]:
    """Return the serious violations of accessibility rules."""
    if not AXE.exists():
        pytest.skip(
            "axe-core is not installed: npm install --prefix .venv/axe axe-core, or set DOCAPS_AXE to axe.min.js"
        )
    page.evaluate(AXE.read_text(encoding="utf-8"))  # not a script element, which the content security policy forbids
    found = page.evaluate("axe.run()")
    assert len(found["passes"]) > 15
    serious = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
    return [(one["id"], [node["html"] for node in one["nodes"]]) for one in serious]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_the_api(open_page: Any, scheme: str) -> None:
    page = open_page("/docs", color_scheme=scheme)
    page.locator("#count").get_by_text("operations").wait_for()
    for path in ("/v1/translate", "/v1/files", "/v2/document"):
        page.locator("summary", has_text=path).first.click()
    assert find_violations(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_violation(open_page: Any, scheme: str) -> None:
    page = open_page(color_scheme=scheme)
    page.locator(".toggle").nth(2).click()
    page.locator(".panel").wait_for()
    page.locator("#chooser").set_input_files({"name": "a.html", "mimeType": "text/html", "buffer": HTML.encode()})
    page.locator("#file-save").wait_for()
    assert find_violations(page) == []
