from pathlib import Path
from typing import Any

import pytest
from tests.unit.report.fake_runs import write_document_run, write_sentence_run

from docaps.report import build_page, read_results

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("report")
    runs = [read_results(write(folder)) for write in (write_sentence_run, write_document_run)]
    path: Path = folder / "report.html"
    commands = [("Train both stages", "docaps run minidocs --output runs/minidocs")]
    page = build_page(runs, title="Mini-documents", subtitle="English to German", commands=commands)
    path.write_text(page, encoding="utf-8")
    return path.as_uri()


def shown(page: Any, iteration: int) -> int:
    maps = page.locator(f"#routing details[open] svg.heatmap[data-iteration='{iteration}']")
    return sum(maps.nth(index).is_visible() for index in range(maps.count()))


def test_table_samples_maps_and_curves_are_there(open_page: Any) -> None:
    page = open_page()
    assert page.locator("table#results tbody tr").count() == 2
    assert page.locator("table#results tfoot th").first.inner_text() == "Chance"
    assert page.locator("#samples table").count() == 5
    assert page.locator("#samples mark.right[title]").first.is_visible()
    assert page.locator("#curves svg.chart").count() == 4
    maps = page.locator("#routing details").first.locator("svg.heatmap")
    assert maps.count() == 2 * 2 * 4  # history sentences, kinds, iterations
    assert maps.first.locator("rect.cell").count() == 4 * 8


def test_the_slider_works_by_keyboard(open_page: Any) -> None:
    page = open_page()
    slider = page.get_by_label("Routing iteration").first
    assert (shown(page, 3), shown(page, 0)) == (4, 0)
    slider.focus()
    page.keyboard.press("ArrowLeft")
    assert (shown(page, 3), shown(page, 2)) == (0, 4)
    page.keyboard.press("Home")
    assert (shown(page, 2), shown(page, 0)) == (0, 4)
    assert page.locator("#routing output").first.inner_text() == "0 of 3"


def test_all_iterations_can_be_shown_by_keyboard(open_page: Any) -> None:
    page = open_page()
    page.get_by_label("show all").first.focus()
    page.keyboard.press("Space")
    assert [shown(page, iteration) for iteration in range(4)] == [4, 4, 4, 4]


def test_samples_unfold_by_keyboard(open_page: Any) -> None:
    page = open_page()
    second = page.locator("#routing details").nth(1)
    assert second.get_attribute("open") is None
    second.locator("summary").focus()
    page.keyboard.press("Enter")
    assert second.locator("svg.heatmap[data-iteration='3']").first.is_visible()


def test_without_javascript_all_iterations_are_shown_and_no_dead_controls(open_page: Any) -> None:
    page = open_page(java_script_enabled=False)
    assert [shown(page, iteration) for iteration in range(4)] == [4, 4, 4, 4]
    assert not page.locator(".controls").first.is_visible()
    assert not page.locator(".copy").first.is_visible()


def test_paper_shows_all_iterations_and_no_controls(open_page: Any) -> None:
    page = open_page(color_scheme="dark")
    page.emulate_media(media="print")
    assert [shown(page, iteration) for iteration in range(4)] == [4, 4, 4, 4]
    assert not page.locator(".controls").first.is_visible()
    red, green, blue = channels(page, "color")
    assert max(red, green, blue) < 60  # dark ink, even for those who read in the dark


def test_every_table_fits_on_paper(beyond_paper: list[tuple[str, float]]) -> None:
    assert beyond_paper == []


@pytest.mark.parametrize("width", [320, 390, 768, 1200])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_never_scrolls_sideways(open_page: Any, width: int, scheme: str) -> None:
    page = open_page(viewport={"width": width, "height": 844}, color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_table_of_results_with_five_phenomena_does_not_scroll_in_a_wide_window(open_page: Any) -> None:
    page = open_page()
    assert page.locator("#results thead tr").last.locator("th").count() == 5 + 3
    box = page.locator(".scroll:has(#results)")
    assert box.evaluate("box => box.scrollWidth - box.clientWidth") <= 0


def test_what_scrolls_on_a_phone_can_be_reached_by_keyboard(open_page: Any) -> None:
    page = open_page(viewport={"width": 390, "height": 844})
    box = page.locator(".scroll:has(#results)")
    assert box.get_attribute("tabindex") == "0"
    assert box.get_attribute("aria-label") == "Table of results"
    box.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.querySelector('.scroll:has(#results)').scrollLeft > 0")


def test_dark_is_dark_and_light_is_light(open_page: Any) -> None:
    assert max(channels(open_page(color_scheme="dark"), "background-color")) < 60
    assert min(channels(open_page(color_scheme="light"), "background-color")) > 200


def test_a_command_is_copied(open_page: Any) -> None:
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy").first.click()
    page.wait_for_function("document.querySelector('.copy').textContent !== 'Copy'")
    assert page.evaluate("getSelection().toString() || navigator.clipboard.readText()").startswith("docaps run")


def channels(page: Any, attribute: str) -> list[int]:
    colour = page.evaluate(f"getComputedStyle(document.body).getPropertyValue('{attribute}')")
    return [int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
