import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.unit.report.fake_runs import write_document_run, write_json, write_lines, write_run, write_sentence_run

from docaps.report import RunResults, build_page, read_results, write_report
from docaps.report.curves import thin
from docaps.report.headline import state_bleu, state_doubts, state_result
from docaps.report.provenance import split_settings
from docaps.report.routing import rejoin
from docaps.report.table import best_text, ordered
from docaps.runs.card import flatten
from docaps.runs.wording import describe_system, duration, label_runs, listing, sees_context, thousands

EVIL = "<script>alert('x')</script> & \"so\""
VOID = {"br", "col", "input", "link", "meta"}


class Outline(HTMLParser):
    """Checks that tags close in order, and collects ids and headings."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.levels: list[int] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.ids += [value for name, value in attributes if name == "id" and value]
        if re.fullmatch("h[1-6]", tag):
            self.levels.append(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture
def runs(tmp_path: Path) -> list[RunResults]:
    return [read_results(write_sentence_run(tmp_path)), read_results(write_document_run(tmp_path))]


def with_accuracy(run: Path, share: float) -> RunResults:
    file = run / "assessment" / "contrastive.json"
    data = json.loads(file.read_text(encoding="utf-8"))
    data["accuracy"]["all"] = share
    write_json(file, data)
    return read_results(run)


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


def test_the_headline_states_the_result(runs: list[RunResults]) -> None:
    sentence = state_result(runs).replace("\u202f", " ")
    assert sentence == (
        "With the three previous sentences in view, the model gets 98.1 % of context-dependent choices right; "
        "without context 38.9 % (chance 38.9 %)."
    )
    assert sentence in build_page(runs, title="T").replace("\u202f", " ")


def test_the_headline_is_honest_when_context_hurts_or_does_nothing(tmp_path: Path) -> None:
    plain, context = write_sentence_run(tmp_path), write_document_run(tmp_path)
    worse = [read_results(plain), with_accuracy(context, 0.2)]
    assert state_result(worse).endswith(": context did not help.")
    same = [read_results(plain), with_accuracy(context, 0.4)]
    assert "no clear difference on 2\u202f400 items" in state_result(same)


def test_two_document_models_are_compared_by_name(tmp_path: Path) -> None:
    runs = [with_accuracy(write_document_run(tmp_path / name), share) for name, share in (("a", 0.7), ("b", 0.9))]
    assert "document #2 gets 90.0\u202f% right and document #1 70.0\u202f%" in state_result(runs)


def test_bleu_of_many_runs_is_told_by_its_ends(runs: list[RunResults]) -> None:
    assert state_bleu(runs[:1]) == "BLEU on 200 documents of the test set: 61.2 (sentence-level Transformer)."
    ends = "from 61.2 (sentence-level Transformer) to 88.4 (Transformer + QCN + regularisation)."
    assert state_bleu([*runs, *runs]).endswith(ends)


def test_no_headline_without_two_assessed_runs(runs: list[RunResults]) -> None:
    assert state_result(runs[:1]) == ""
    assert state_result([]) == ""


def test_runs_that_cannot_be_compared_are_pointed_out(tmp_path: Path, runs: list[RunResults]) -> None:
    assert state_doubts(runs) == []
    write_json(tmp_path / "other" / "run.json", {"name": "other", "system": "qcn", "status": "training"})
    doubts = state_doubts([*runs, read_results(tmp_path / "other")])
    assert any("different corpora" in doubt for doubt in doubts)
    assert any("not finished: other" in doubt for doubt in doubts)


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


def test_the_best_value_is_bold_and_ties_share_it(runs: list[RunResults]) -> None:
    page = build_page(runs, title="T")
    assert "<strong>88.4</strong>" in page
    assert "<strong>61.2</strong>" not in page
    assert best_text(["9.9", "10.0", "–"]) == "10.0"
    assert best_text(["9.9", "–"]) is None
    assert best_text(["9.9", "9.9"]) is None


def test_settings_are_split_into_those_that_differ_and_those_shared(runs: list[RunResults]) -> None:
    differing, shared = split_settings(runs)
    assert differing == ["system", "dropout"]
    assert "model.size" in shared
    assert flatten({"a": {"b": {"c": 1}}, "d": {}}) == {"a.b.c": 1, "d": {}}


def test_curves_are_thinned_by_averaging() -> None:
    assert thin([(0, 1), (1, 3), (2, 5), (3, 7)], most=2) == [(0.5, 2), (2.5, 6)]
    assert thin([(0, 1)], most=5) == [(0, 1)]
    assert thin([]) == []


def test_pieces_are_read_as_words() -> None:
    assert rejoin(["An@@", "na", "s@@", "at", ".", "</s>"]) == "Anna sat ."


def test_wording() -> None:
    assert duration(121.3) == "2\u202fmin 1\u202fs"
    assert duration(7322) == "2\u202fh 2\u202fmin"
    assert duration(0.2) == "0\u202fs"
    assert thousands(1234567) == "1\u202f234\u202f567"
    assert listing(["a", "b", "c"]) == "a, b and c"
    assert ordered(["10", "2", "1"]) == ["1", "2", "10"]


@pytest.mark.parametrize(
    ("system", "words", "context"),
    [
        ("transformer", "sentence-level Transformer", False),
        ("transformer+reg", "Transformer + regularisation", False),
        ("qcn+reg", "Transformer + QCN + regularisation", True),
        ("han", "HAN-DocNMT (Miculicich et al. 2018)", True),
        ("capsnet+reg", "Transformer + plain capsule network + regularisation", True),
        ("new", "new", True),
    ],
)
def test_systems_in_words(system: str, words: str, context: bool) -> None:
    assert describe_system(system) == words
    assert sees_context(system) is context


def test_two_runs_of_one_system_are_told_apart(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_run(tmp_path / name, name=name, system="qcn")
    assert label_runs([read_results(tmp_path / name) for name in ("one", "two")]) == ["one", "two"]


def test_the_report_is_written_to_a_file(tmp_path: Path, runs: list[RunResults]) -> None:
    write_report(tmp_path / "out" / "report.html", runs, title="Größe")
    assert "<title>Größe</title>" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
