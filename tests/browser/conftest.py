"""The browser, and the way to the fake runs that the unit tests of the report use too."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

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
