"""The browser, and the path to the fake runs that the unit tests of the report share."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[1] / "unit" / "report"))

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


PAPER = int((210 - 2 * 14) / 25.4 * 96)
"""The width of A4 in pixels without the margins of the style sheet."""


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (docaps[dev])")
    chromium = os.environ.get("DOCAPS_CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        pytest.skip("no Chromium: install the package chromium or set DOCAPS_CHROMIUM to its path")
    with playwright.sync_playwright() as drivers:
        browser = drivers.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Any, report: str) -> Iterator[Any]:
    """Open the report with given browser settings; fail at the end on console errors and external requests."""
    contexts, complaints, requests = [], [], []

    def open_with(**settings: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **settings})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(report)
        return page

    yield open_with
    for context in contexts:
        context.close()
    assert complaints == []
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []


@pytest.fixture
def printed(open_page: Any) -> Any:
    """Return the page as printed, with everything unfolded."""
    page = open_page(viewport={"width": PAPER, "height": 970})
    page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true })")
    page.emulate_media(media="print")
    return page


@pytest.fixture
def beyond_paper(printed: Any) -> list[tuple[str, float]]:
    """Return the tables that are wider than the paper, with their right edges."""
    edge = "table => [table.id || table.caption?.textContent || table.className, table.getBoundingClientRect().right]"
    edges = printed.evaluate(f"[...document.querySelectorAll('table')].map({edge})")
    assert len(edges) > 5
    return [(name, right) for name, right in edges if right > PAPER]
