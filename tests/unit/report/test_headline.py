"""The main result in words, and warnings about comparability."""

import json
from pathlib import Path

import pytest
from tests.unit.report.fake_runs import (
    write_document_run,
    write_json,
    write_lines,
    write_run,
    write_sentence_run,
)

from docaps.report import RunResults, build_page, read_results
from docaps.report.headline import state_alike_capsules, state_bleu, state_collapses, state_doubts, state_result
from docaps.report.markdown import build_markdown


@pytest.fixture
def runs(tmp_path: Path) -> list[RunResults]:
    return [read_results(write_sentence_run(tmp_path)), read_results(write_document_run(tmp_path))]


def with_accuracy(run: Path, share: float) -> RunResults:
    file = run / "assessment" / "contrastive.json"
    data = json.loads(file.read_text(encoding="utf-8"))
    data["accuracy"]["all"] = share
    write_json(file, data)
    return read_results(run)


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


def test_a_collapsed_regulariser_is_pointed_out(tmp_path: Path, runs: list[RunResults]) -> None:
    assert state_collapses(runs) == []
    for name, system in (("one", "qcn+reg"), ("two", "transformer+reg")):
        write_run(tmp_path / name, name=name, system=system, pcc=True, collapsed=True)
    collapsed = [read_results(tmp_path / name) for name in ("one", "two")]
    (said,) = state_collapses([*runs, *collapsed])
    assert said == (
        "The regulariser does not tell pairs apart (PCC of matched and of mismatched pairs): one (0.842 and 0.838, "
        "retrieval 0.031) and transformer+reg (0.842 and 0.838, retrieval 0.031)."
    )
    page, text = (build([*runs, *collapsed], title="T") for build in (build_page, build_markdown))
    assert f'<p class="doubt">{said}</p>' in page
    assert said in text


def test_a_collapse_shows_in_the_log_of_an_earlier_version_too(tmp_path: Path) -> None:
    """Its validations did not measure the regulariser; its training did."""
    log = [{"step": 50, "loss": 1.0, "pcc": 0.9, "pcc_mismatched": 0.5}, {"step": 100, "dev_loss": 2.0}]
    last = {"step": 100, "loss": 1.0, "pcc": 0.99, "pcc_mismatched": 0.9873}
    write_run(tmp_path, name="old", system="qcn+reg")
    write_lines(tmp_path / "metrics.jsonl", log)
    assert state_collapses([read_results(tmp_path)]) == []
    write_lines(tmp_path / "metrics.jsonl", [*log, last])
    (said,) = state_collapses([read_results(tmp_path)])
    assert said.endswith(": qcn+reg (0.990 and 0.987).")


def test_capsules_that_hold_the_same_are_pointed_out(tmp_path: Path, runs: list[RunResults]) -> None:
    assert state_alike_capsules(runs) == []
    write_run(tmp_path, name="one", system="qcn")
    apart = {"step": 50, "dev_loss": 2.0, "capsule_cosine": 0.01, "capsule_overlap": 0.3, "coupling_entropy": 0.7}
    alike = {**apart, "step": 100, "capsule_overlap": 0.9996, "coupling_entropy": 0.9999}
    write_lines(tmp_path / "metrics.jsonl", [alike, {**apart, "step": 150}])
    assert state_alike_capsules([read_results(tmp_path)]) == []  # the last validation counts
    write_lines(tmp_path / "metrics.jsonl", [apart, alike])
    results = [read_results(tmp_path)]
    (said,) = state_alike_capsules(results)
    assert said == (
        "The capsules of a sentence hold the same (cosine between capsules, cosine between their weights of words, and "
        "entropy of the coupling, 1 being equal shares): qcn (0.010, 1.000 and 1.000)."
    )
    page, text = (build([*runs, *results], title="T") for build in (build_page, build_markdown))
    assert '<p class="doubt">The capsules of a sentence hold the same' in page
    assert "The capsules of a sentence hold the same" in text
    assert "Capsules of a sentence" in page
    assert "Entropy of the coupling" in page
