"""The page about a grid, in a browser."""

from pathlib import Path
from typing import Any

import pytest
from fake_grids import write_grid

from docaps.report import build_page, read_results
from docaps.report.gridfiles import read_grids, runs_of

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = write_grid(tmp_path_factory.mktemp("grid"))
    grids = read_grids(folder)
    runs = [read_results(run) for run in runs_of(folder, grids)]
    path = folder / "report.html"
    path.write_text(build_page(runs, title="Grid", grids=grids), encoding="utf-8")
    return path.as_uri()


def test_tables_charts_and_links_are_there(open_page: Any) -> None:
    page = open_page()
    assert page.locator("table#table2 tbody tr").count() == 11
    assert page.locator("#history svg.chart").count() == 2
    assert page.locator("#history svg.chart .dot").count() == 12
    assert page.locator("#data table tbody tr").count() == 3
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


def test_table_2_fits_on_paper(open_page: Any, tmp_path: Path) -> None:
    page = open_page(viewport={"width": 1000, "height": 1400})
    page.emulate_media(media="print")
    assert page.evaluate("document.querySelector('#table2').getBoundingClientRect().right") <= 1000
    assert not page.locator("nav").is_visible()
    page.pdf(path=tmp_path / "report.pdf", format="A4")
    assert (tmp_path / "report.pdf").read_bytes()[:5] == b"%PDF-"
