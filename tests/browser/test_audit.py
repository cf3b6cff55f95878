"""The audit page in a browser: judging by mouse and keyboard, counting, filtering, keeping and exporting."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from docaps.corpus.contrastive import ContrastiveItem
from docaps.report.audit_page import build_audit

pytestmark = pytest.mark.browser
ITEM = ContrastiveItem(
    id="1",
    source="It was warm.",
    phenomenon="pronoun",
    distance=1,
    history=("Anna bought a coat.",),
    target_history=("Anna kaufte einen Mantel.",),
    right="Er war warm.",
    wrong=("Sie war warm.", "Es war warm."),
)
ITEMS = [ITEM, replace(ITEM, id="2"), replace(ITEM, id="3", phenomenon="formality")]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page that `open_page` opens."""
    path: Path = tmp_path_factory.mktemp("audit") / "audit.html"
    path.write_text(build_audit(ITEMS, title="Mined items"), encoding="utf-8")
    return path.as_uri()


def rows(page: Any) -> list[str]:
    return [row.inner_text().replace("\t", " ") for row in page.locator("#table tbody tr").all()]


def test_judgements_are_counted_and_kept(open_page: Any) -> None:
    page = open_page()
    page.locator(".item").nth(0).focus()
    page.keyboard.press("r")
    page.locator(".item").nth(1).locator("input[value=wrong]").check()
    assert page.locator("#count").inner_text() == "2 of 3 judged"
    assert rows(page) == ["pronoun 2 1 1 50 %", "formality 1 0 0 -"]
    page.reload()
    assert rows(page) == ["pronoun 2 1 1 50 %", "formality 1 0 0 -"]
    assert page.locator(".item").nth(0).locator("input[value=right]").is_checked()


def test_letters_of_a_remark_judge_nothing(open_page: Any) -> None:
    page = open_page()
    remark = page.locator(".item").nth(0).locator("input[type=text]")
    remark.press_sequentially("rarely wrong")
    assert page.locator("#count").inner_text() == "0 of 3 judged"


def test_items_are_filtered(open_page: Any) -> None:
    page = open_page()
    page.select_option("#filter", "pronoun")
    assert page.locator(".item:visible").count() == 2
    page.locator(".item").nth(0).locator("input[value=right]").check()
    page.check("#open")
    assert page.locator(".item:visible").count() == 1


def test_judgements_are_exported(open_page: Any) -> None:
    page = open_page()
    page.locator(".item").nth(2).locator("input[value=right]").check()
    with page.expect_download() as download:
        page.click("#export")
    found = json.loads(Path(download.value.path()).read_text())
    assert [(one["id"], one["phenomenon"], one["verdict"]) for one in found] == [
        ("1", "pronoun", None),
        ("2", "pronoun", None),
        ("3", "formality", "right"),
    ]


def test_nothing_is_wider_than_a_phone(open_page: Any) -> None:
    page = open_page()
    page.set_viewport_size({"width": 360, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
