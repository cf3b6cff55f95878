import json
import re
from pathlib import Path

import pytest
from tests.unit.report.fake_runs import write_document_run, write_json, write_lines, write_run, write_sentence_run
from tests.unit.report.page_reading import Outline

from docaps.report import RunResults, build_page, read_results
from docaps.report.sections.learning_curves import thin
from docaps.report.sections.provenance import split_settings
from docaps.report.sections.routing_maps import join_subwords
from docaps.runs.card import flatten

EVIL = "<script>alert('x')</script> & \"so\""


@pytest.fixture
def runs(tmp_path: Path) -> list[RunResults]:
    return [read_results(write_sentence_run(tmp_path)), read_results(write_document_run(tmp_path))]


def test_the_page_is_well_formed_with_unique_ids_and_no_heading_level_skipped(runs: list[RunResults]) -> None:
    outline = Outline(build_page(runs, title="T", subtitle="S", commands=[("train", "docaps train")]))
    assert outline.open == []
    assert len(outline.ids) == len(set(outline.ids))
    assert {"results", "samples", "routing", "curves", "provenance"} <= set(outline.ids)
    assert all(after <= before + 1 for before, after in zip(outline.levels, outline.levels[1:], strict=False))


def test_the_page_asks_for_nothing_from_outside(runs: list[RunResults]) -> None:
    page = build_page(runs, title="T")
    assert not re.search(r"https?://|@import|url\(|src=", page)


def test_sentences_cannot_become_markup(tmp_path: Path) -> None:
    run = write_document_run(tmp_path)
    document = {"id": EVIL, "source": [EVIL], "reference": [EVIL], "hypothesis": [f"{EVIL} <b>"]}
    document["labels"] = {"0": {"phenomenon": EVIL, "distance": 1}}
    write_lines(run / "assessment" / "translations.jsonl", [document])
    history = {"distance": 1, "words": [EVIL], "coupling": [[[0.5], [0.5]]], "pcc": [[[0.1], [0.1]]]}
    sample = {"document": EVIL, "sentence": 0, "source": EVIL, "translation": EVIL, "history": [history]}
    write_json(run / "assessment" / "routing.json", [sample])
    description = json.loads((run / "run.json").read_text(encoding="utf-8"))
    write_json(run / "run.json", {**description, "name": EVIL, "system": EVIL, "settings": {EVIL: [EVIL]}})
    page = build_page([read_results(run)], title=EVIL, subtitle=EVIL, commands=[(EVIL, EVIL)])
    assert page.count("<script") == 1  # our own
    assert "alert('x')" not in page
    assert Outline(page).open == []


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    write_run(tmp_path / "bare", name="bare", system="qcn")
    (tmp_path / "bare" / "metrics.jsonl").unlink()
    page = build_page([read_results(tmp_path / "bare")], title="T")
    for file in ("scores.json", "contrastive.json", "translations.jsonl", "routing.json"):
        assert f"<code>bare/assessment/{file}</code>" in page
    assert "<code>bare/metrics.jsonl</code>" in page
    assert Outline(page).open == []


def test_a_single_run_is_compared_with_the_reference(runs: list[RunResults]) -> None:
    page = build_page(runs[:1], title="T")
    assert '<mark class="wrong" title="does not agree with the reference">Es</mark>' in page
    assert '<mark class="right" title' not in page


def test_settings_are_split_into_those_that_differ_and_those_shared(runs: list[RunResults]) -> None:
    differing, shared = split_settings(runs)
    assert differing == ["system.name", "dropout"]
    assert "model.size" in shared
    assert flatten({"a": {"b": {"c": 1}}, "d": {}}) == {"a.b.c": 1, "d": {}}


def test_curves_are_thinned_by_averaging() -> None:
    assert thin([(0, 1), (1, 3), (2, 5), (3, 7)], most=2) == [(0.5, 2), (2.5, 6)]
    assert thin([(0, 1)], most=5) == [(0, 1)]
    assert thin([]) == []


def test_pieces_are_read_as_words() -> None:
    assert join_subwords(["An@@", "na", "s@@", "at", ".", "</s>"]) == "Anna sat ."


def test_the_page_is_plain_text_with_its_title(runs: list[RunResults]) -> None:
    page = build_page(runs, title="Größe")
    assert type(page) is str
    assert "<title>Größe</title>" in page
