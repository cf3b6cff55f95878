"""The page about a grid, in a browser."""

from pathlib import Path
from typing import Any

import pytest
from tests.unit.report.fake_grids import write_grid, write_trials

from docaps.report import build_page, read_results
from docaps.runs.grid_results import read_grids, runs_of, sentence_models_of

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    grids, runs, first = [], [], []
    for name, write in (("grid", write_grid), ("trials", write_trials)):
        folder = write(tmp_path_factory.mktemp(name))
        found = read_grids(folder)
        grids += found
        runs += [read_results(run) for run in runs_of(folder, found)]
        first += [read_results(run) for run in sentence_models_of(folder, found)]
    path = folder / "report.html"
    path.write_text(build_page(runs, title="Grid", grids=grids, sentence_models=first), encoding="utf-8")
    return path.as_uri()


def test_tables_charts_and_links_are_there(open_page: Any) -> None:
    page = open_page()
    assert page.locator("table#table2 tbody tr").count() == 11
    assert page.locator("#history svg.chart").count() == 2
    assert page.locator("#history svg.chart .dot").count() == 12
    assert page.locator("#data table tbody tr").count() == 3
    assert page.locator("#trials table tbody tr").count() == 3
    assert page.locator("#curves svg.chart").count() == 4 + 2 + 1  # the retrieval of the regulariser
    for link in page.locator("nav a").all():
        target = link.get_attribute("href")
        assert page.locator(target).count() == 1, target


def test_the_slider_moves_the_heat_maps(open_page: Any) -> None:
    page = open_page()
    sample = page.locator("#routing details[open]").first
    slider = sample.get_by_label("Routing iteration")
    for key, iteration in (("Home", 0), ("ArrowRight", 1), ("End", 3)):
        slider.focus()
        page.keyboard.press(key)
        visible = [step.get_attribute("data-step") for step in sample.locator(".step").all() if step.is_visible()]
        assert set(visible) == {str(iteration)}


@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_sticks_out(open_page: Any, width: int, scheme: str) -> None:
    page = open_page(viewport={"width": width, "height": 844}, color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_table_scrolls_in_a_wide_window(open_page: Any, scheme: str) -> None:
    page = open_page(color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true })")
    wider = "[...document.querySelectorAll('.scroll:has(table)')].filter(box => box.scrollWidth > box.clientWidth)"
    assert page.evaluate(f"{wider}.map(box => box.dataset.scroll)") == []


def test_every_table_fits_on_paper(printed: Any, beyond_paper: list[tuple[str, float]], tmp_path: Path) -> None:
    assert beyond_paper == []
    assert printed.evaluate("document.documentElement.scrollWidth") <= printed.viewport_size["width"]
    assert not printed.locator("nav").is_visible()
    printed.pdf(path=tmp_path / "report.pdf", format="A4")
    assert (tmp_path / "report.pdf").read_bytes()[:5] == b"%PDF-"


BAND = 1000


def check_picture(path: Path, *, dark: bool) -> None:
    """Refuse a picture of which a part is blank, or which is dark where it should be light."""
    picture = pytest.importorskip("PIL.Image", reason="pillow is not installed (docaps[plots])").open(path).convert("L")
    for top in range(0, picture.height - BAND, BAND):
        low, high = picture.crop((0, top, picture.width, top + BAND)).getextrema()
        assert high - low > 100, f"{path.name} is blank from {top} to {top + BAND}"
    shades = picture.histogram()
    assert picture.height > 5 * BAND
    assert (sum(shades[:128]) > sum(shades[128:])) == dark


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_screenshot_is_not_blank(open_page: Any, tmp_path: Path, scheme: str) -> None:
    page = open_page(color_scheme=scheme)
    page.screenshot(path=tmp_path / f"report-{scheme}.png", full_page=True)
    check_picture(tmp_path / f"report-{scheme}.png", dark=scheme == "dark")


def test_a_screenshot_of_what_is_printed_is_not_blank(printed: Any, tmp_path: Path) -> None:
    printed.screenshot(path=tmp_path / "report-print.png", full_page=True)
    check_picture(tmp_path / "report-print.png", dark=False)
