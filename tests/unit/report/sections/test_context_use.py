"""The report shows a diagnosis where there is one, escapes it, and says when it is out of date."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.unit.report.fake_runs import (
    made_up_phenomena,
    write_diagnosis,
    write_document_run,
    write_json,
    write_sentence_run,
)

from docaps.errors import RunError
from docaps.report import build_page, read_results

EVIL = "<script>alert('x')</script>"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = write_document_run(tmp_path)
    write_diagnosis(path)
    return path


def change(run: Path, **values: Any) -> None:
    file = run / "diagnosis.json"
    write_json(file, {**json.loads(file.read_text(encoding="utf-8")), **values})


def test_the_section_stands_where_a_run_was_diagnosed(run: Path, tmp_path: Path) -> None:
    plain = read_results(write_sentence_run(tmp_path))
    page = build_page([plain, read_results(run)], title="T")
    assert page.count('id="diagnosis"') == 1
    assert '<a href="#diagnosis">Is context used?</a>' in page
    for text in (
        "Context lowers perplexity by 8.4 %",
        "Another document",
        "−8.4",
        "+11.29 bits",
        "3 back",
        "entropy of c",
    ):
        assert text in page
    without = build_page([plain], title="T")
    assert "diagnosis" not in without.split("</style>")[1]


def test_a_change_is_that_of_the_two_perplexities_beside_it(run: Path) -> None:
    page = build_page([read_results(run)], title="T").replace("−", "-")
    (table,) = re.findall(r'<table class="conditions">.*?</table>', page, flags=re.DOTALL)
    cells = [re.findall(r"<td>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", table)[1:]]
    data = json.loads((run / "diagnosis.json").read_text(encoding="utf-8"))
    perplexities = {row["condition"]: row["perplexity"] for row in data["conditions"]}
    assert len(cells) == len(perplexities) == 5
    changes = []
    for found, perplexity in zip(cells, perplexities.values(), strict=True):
        changes.append(f"{100 * perplexity / perplexities['none'] - 100:+.1f}\u202f%")
        assert found[:2] == [f"{perplexity:.3f}", changes[-1]]
    told = re.findall(r'aria-label="Perplexity against no history: ([^"]*)"', page)[0]
    assert [bar.split(" ")[-1] for bar in told.split("; ")] == [text for text in changes if text != "+0.0\u202f%"]


@pytest.mark.parametrize(
    ("translations", "text"),
    [("reference", "shown with reference translations."), ("own", "shown with the model&#39;s own translations.")],
)
def test_the_translations_shown_are_named(run: Path, translations: str, text: str) -> None:
    assert "Histories are shown with" not in build_page([read_results(run)], title="T")
    change(run, translations=translations)
    assert f"Histories are {text}" in build_page([read_results(run)], title="T")


def test_p_values_stand_in_their_rows(run: Path) -> None:
    found = read_results(run).diagnosis
    assert found is not None
    assert found.p("true", "none") == found.p("none", "true") == 0.002  # the larger of both tests
    assert found.p("true", "nearest 1") is None
    row = build_page([read_results(run)], title="T").split("Another document&#39;s")[1].split("</tr>")[0]
    assert "0.031" in row
    assert "0.004" in row


def test_a_diagnosis_of_earlier_weights_is_flagged(run: Path) -> None:
    assert "retrained" not in build_page([read_results(run)], title="T")
    change(run, created="2020-01-01")
    assert "The run was retrained since: diagnose it again." in build_page([read_results(run)], title="T")


def test_sentences_cannot_become_markup(run: Path) -> None:
    data = json.loads((run / "diagnosis.json").read_text(encoding="utf-8"))
    sentence = {**data["better"][0], "history": [EVIL], "source": EVIL, "reference": EVIL, "document": EVIL}
    phenomena = [{**one, "phenomenon": EVIL, "verdict": EVIL, "explanation": [EVIL]} for one in made_up_phenomena()]
    change(run, better=[sentence], verdict=EVIL, explanation=[EVIL], signature=EVIL, phenomena=phenomena)
    page = build_page([read_results(run)], title="T")
    assert page.count("<script") == 1
    assert "alert('x')" not in page


def test_each_phenomenon_has_its_verdict_its_gains_and_its_power(run: Path) -> None:
    change(run, version=2, phenomena=made_up_phenomena())
    page = build_page([read_results(run)], title="T").replace("\u202f", " ")
    (table,) = re.findall(r'<table class="facts">(?:(?!</table>).)*Phenomenon.*?</table>', page, flags=re.DOTALL)
    rows = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in re.findall(r"<tr>(.*?)</tr>", table)]
    assert [" ".join(row) for row in rows[1:]] == [
        "Pronoun 1 212 0.314 0.271 0.003 0.052 370 69.9 61.2 59.7 0.003 6.1 points context used",
        "Ellipsis – – – – – 370 69.9 61.2 59.7 0.003 – context not used",
    ]
    assert "With 370 items a gain of 6.1 points." in page
    assert "The verdict over all tokens cannot see gains for pronoun below 0.48 bits per token:" in page
    seen = [{**one, "tokens": None} for one in made_up_phenomena()]
    change(run, phenomena=seen)
    assert "cannot see gains" not in build_page([read_results(run)], title="T")


def test_gains_by_phenomenon_are_drawn_with_their_intervals(run: Path) -> None:
    change(run, phenomena=made_up_phenomena())
    page = build_page([read_results(run)], title="T").replace("−", "-")
    tokens, choices = re.findall(r'aria-label="(Gains [^"]*)"', page)
    assert tokens == (
        "Gains of the tokens it decides: pronoun, over no history: +0.314 [+0.214, +0.414]; "
        "pronoun, over another document&#39;s: +0.271 [+0.171, +0.371]"
    )
    assert "pronoun, over no history: +10.2 [+0.2, +20.2]" in choices
    assert "ellipsis, over another document&#39;s: +8.7 [-1.3, +18.7]" in choices
    assert "9.0" not in tokens


def test_a_diagnosis_of_version_1_has_no_phenomena(run: Path) -> None:
    found = read_results(run).diagnosis
    assert found is not None
    assert found.phenomena == ()
    page = build_page([read_results(run)], title="T")
    assert "By phenomenon" not in page
    assert "cannot see" not in page


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"conditions": []}, "no perplexity with the history none, shuffled, true"),
        ({"better": [{"document": "1"}]}, "the key 'sentence' is missing"),
        ({"cxmi": None}, "not in the expected form"),
    ],
)
def test_a_broken_file_is_named(run: Path, broken: dict[str, Any], message: str) -> None:
    change(run, **broken)
    with pytest.raises(RunError, match=message) as caught:
        read_results(run)
    assert str(run / "diagnosis.json") in str(caught.value)
