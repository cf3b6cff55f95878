"""The report of a real demo, opened in a browser."""

from pathlib import Path
from typing import Any

import pytest


@pytest.mark.browser
def test_the_demos_report_shows_its_table_and_heat_maps(tiny_demo: Path, browser: Any) -> None:
    page = browser.new_page()
    faults: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto((tiny_demo / "runs" / "demo" / "report.html").as_uri())
    table = page.locator("#results").inner_text()
    assert "Sentence-level Transformer" in table
    assert "Transformer + QCN + regularisation" in table
    assert "hance" in table
    for kind in ("coupling", "pcc"):
        maps = page.locator(f"svg.heatmap[data-kind={kind}]")
        assert maps.count() >= 3 * 2  # three history sentences, two iterations at least
    assert page.locator("#samples").is_visible()
    assert page.locator("#curves svg").count() >= 1
    assert not faults
    assert all(url.startswith(("file:", "data:")) for url in requests)
    page.close()
