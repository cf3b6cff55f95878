"""A diagnosis agrees with scorer, translator and contrastive test; an untrained model uses no context."""

import dataclasses
import json
import math
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from tests.invariants import tiny

from docaps.corpus.contrastive import ContrastiveItem
from docaps.corpus.documents import Document, ParallelDocument
from docaps.corpus.store import Store
from docaps.diagnosis import DiagnosisOptions, ablation
from docaps.diagnosis.choices import answer_items
from docaps.diagnosis.data import DataOptions, DiagnosisData, find_sentence_model
from docaps.diagnosis.run import diagnose, diagnose_run
from docaps.evaluation.translation_metrics import bleu
from docaps.runs.directory import Run
from docaps.training.stages import train_recipe
from docaps.translation.scoring import score_documents
from docaps.translation.trained_model import TrainedModel, load_trained
from docaps.translation.translator import Translator

QUICK = DiagnosisOptions(shuffles=2, draws=100, examples=2)

ITEMS = [
    ContrastiveItem(
        id=str(number),
        source="it ran",
        right="er lief",
        wrong=("sie lief",),
        history=("the cat ran", "a dog came", "it was old", "the dog slept")[: 1 + number % 4],
        document=str(number // 2),
        distance=1 + number % 2,
        phenomenon="pronoun",
    )
    for number in range(8)
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return tiny.prepared(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def model(store: Store) -> TrainedModel:
    return tiny.trained(store)


@pytest.fixture(scope="module")
def other(store: Store) -> TrainedModel:
    return tiny.trained(store, "transformer")


@pytest.fixture(scope="module")
def documents(store: Store) -> list[ParallelDocument]:
    return [*store.raw("dev"), ParallelDocument(("the dog ran", "", "it slept"), ("der Hund lief", "", "er schlief"))]


@pytest.fixture(scope="module")
def found(model: TrainedModel, other: TrainedModel, documents: list[ParallelDocument]) -> dict[str, Any]:
    plain = json.dumps(diagnose(model, other, DiagnosisData(documents, ITEMS), QUICK))
    return dict(json.loads(plain))


def row(found: dict[str, Any], condition: str) -> dict[str, Any]:
    return next(one for one in found["conditions"] if one["condition"] == condition)


def perplexity(model: TrainedModel, documents: list[ParallelDocument], *, use_context: bool) -> float:
    scored = [one for _, ones in score_documents(model, documents, use_context=use_context) for one in ones]
    return math.exp(-sum(one.log_probability for one in scored) / sum(one.tokens for one in scored))


def test_likelihoods_are_those_of_the_scorer(
    found: dict[str, Any], model: TrainedModel, other: TrainedModel, documents: list[ParallelDocument]
) -> None:
    assert row(found, "true")["perplexity"] == pytest.approx(perplexity(model, documents, use_context=True))
    assert row(found, "none")["perplexity"] == pytest.approx(perplexity(model, documents, use_context=False))
    assert row(found, "against")["perplexity"] == pytest.approx(perplexity(other, documents, use_context=True))
    assert len({round(one["perplexity"], 6) for one in found["conditions"]}) == 6


def test_the_nearest_sentences_are_those_of_a_shorter_history(
    found: dict[str, Any], model: TrainedModel, documents: list[ParallelDocument]
) -> None:
    for count in (1, 2):
        cut = [
            ParallelDocument(document.source[first : last + 1], document.target[first : last + 1])
            for document in documents
            for last in range(len(document.source))
            for first in [max(0, last - count)]
        ]
        last = [ones[-1] for _, ones in score_documents(model, cut)]
        wanted = math.exp(-sum(one.log_probability for one in last) / sum(one.tokens for one in last))
        assert row(found, f"nearest {count}")["perplexity"] == pytest.approx(wanted)


def test_translations_are_those_of_the_translator(
    found: dict[str, Any], model: TrainedModel, other: TrainedModel, documents: list[ParallelDocument]
) -> None:
    references = [sentence for document in documents for sentence in document.target]
    for condition, one, use_context in (("true", model, True), ("none", model, False), ("against", other, True)):
        texts = Translator(one).translate(
            [Document(document.source) for document in documents], use_context=use_context
        )
        wanted = bleu([sentence.text for sentences in texts for sentence in sentences], references)
        assert row(found, condition)["bleu"] == pytest.approx(wanted.score)
    assert found["bleu_signature"] == wanted.signature


def test_choices_are_those_of_answer_items(found: dict[str, Any], model: TrainedModel, other: TrainedModel) -> None:
    for condition, one in (("true", model), ("against", other)):
        right = [answer.decision.right for answer in answer_items(one, ITEMS)]
        assert row(found, condition)["accuracy"] == pytest.approx(sum(right) / len(right))
    assert found["choices"]["chance"] == 0.5
    assert set(found["choices"]["by_distance"]["none"]) == {"1", "2"}


def test_sentences_are_shown_with_their_own_history_and_cxmi(
    found: dict[str, Any], model: TrainedModel, documents: list[ParallelDocument]
) -> None:
    shown = [*found["better"], *found["worse"]]
    assert shown
    with_history, without = (
        [ones for _, ones in score_documents(model, documents, use_context=use)] for use in (True, False)
    )
    for one in shown:
        d, s = int(one["document"]) - 1, one["sentence"] - 1
        assert one["source"] == documents[d].source[s]
        assert one["reference"] == documents[d].target[s]
        assert one["history"] == list(documents[d].source[max(0, s - tiny.K) : s])
        nats = with_history[d][s].log_probability - without[d][s].log_probability
        assert one["cxmi"] == pytest.approx(nats / math.log(2), abs=1e-5)
        assert {"translation_true", "translation_none"} <= set(one)
    assert all(one["cxmi"] > 0 for one in found["better"])
    assert all(one["cxmi"] < 0 for one in found["worse"])
    assert found["cxmi"]["sentences_with_history"] == 5  # of ten, three begin a document and two are empty


def test_chunk_size_changes_nothing(
    found: dict[str, Any],
    model: TrainedModel,
    other: TrainedModel,
    documents: list[ParallelDocument],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ablation, "CHUNK", 2)
    again = diagnose(model, other, DiagnosisData(documents, ()), QUICK)
    for one, before in zip(again["conditions"], found["conditions"], strict=True):
        assert one["perplexity"] == pytest.approx(before["perplexity"], rel=1e-6)
        assert one["bleu"] == pytest.approx(before["bleu"])
    assert [one["source"] for one in again["better"]] == [one["source"] for one in found["better"]]
    assert again["choices"] is None
    counts = [[place["count"] for place in trace["places"]] for trace in again["traces"]]
    assert counts == [[place["count"] for place in trace["places"]] for trace in found["traces"]]


def test_without_translations_there_is_no_bleu(model: TrainedModel, documents: list[ParallelDocument]) -> None:
    found = diagnose(model, None, DiagnosisData(documents), dataclasses.replace(QUICK, bleu=False))
    assert {one["bleu"] for one in found["conditions"]} == {None}
    assert row(found, "against")["perplexity"] is None
    assert "translation_true" not in found["better"][0]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("system", ["qcn", "capsnet"])
def test_an_untrained_model_uses_no_context(store: Store, system: str, seed: int) -> None:
    """Many little documents, so that nothing is excused by their number."""
    base = tiny.trained(store, system)
    model = tiny.build(tiny.settings(system), vocabulary=len(store.codec.vocabulary), seed=seed)
    documents = [document for document in [*store.raw("dev")] for _ in range(6)]
    found = diagnose(
        dataclasses.replace(base, model=model), None, DiagnosisData(documents), dataclasses.replace(QUICK, bleu=False)
    )
    assert (found["verdict"], found["verdict_code"]) == ("context not used", "not_used")


@pytest.fixture(scope="module")
def runs(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    train_recipe(tiny.recipe(), store, folder)
    return folder


def test_a_run_knows_its_corpus_and_the_model_it_started_from(runs: Path) -> None:
    found = diagnose_run(runs / "document", DataOptions(), dataclasses.replace(QUICK, bleu=False))
    assert found["against"]["run"] == str(runs / "sentence")
    assert (found["part"], found["documents"], found["history"]) == ("dev", 2, tiny.K)
    assert found["signature"].startswith("documents:2|items:0|data:")
    assert find_sentence_model(Run(runs / "sentence")) is None


def test_both_models_of_a_diagnosis_compute_in_the_same_precision(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[torch.dtype] = []

    def load(*arguments: Any) -> TrainedModel:
        loaded.append((trained := load_trained(*arguments)).writes_in)
        return trained

    monkeypatch.setattr("docaps.diagnosis.run.load_trained", load)
    quick = dataclasses.replace(QUICK, bleu=False)
    found = diagnose_run(runs / "document", DataOptions(), quick, precision="int8")
    assert loaded == [torch.int8, torch.int8]
    assert found["precision"] == "int8"
    assert "|precision:int8|" in found["signature"]


def test_a_sentence_model_does_the_same_with_every_history(runs: Path) -> None:
    found = diagnose_run(runs / "sentence", DataOptions(), QUICK)
    assert (found["verdict_code"], found["reason"], found["history"]) == ("not_used", "no_history", 0)
    assert found["explanation"][0].startswith("this model sees one sentence at a time")
    measured = [one for one in found["conditions"] if one["condition"] != "against"]
    assert [one["condition"] for one in measured] == ["true", "shuffled", "none"]
    assert {(one["perplexity"], one["bleu"]) for one in measured} == {
        (row(found, "true")["perplexity"], row(found, "true")["bleu"])
    }
    assert all(one["reason"] == "no_history" for one in found["phenomena"])
    assert not any(found["by_distance"].values())
    assert found["cxmi"]["per_token"] == 0


@pytest.mark.parametrize("shown", ["reference", "own"])
def test_a_diagnosis_says_with_which_translations_histories_are_shown(
    store: Store, model: TrainedModel, documents: list[ParallelDocument], shown: Literal["reference", "own"]
) -> None:
    reader, options = tiny.trained(store, "concat-2-to-2"), dataclasses.replace(QUICK, translations=shown)
    found = diagnose(reader, model, DiagnosisData(documents), options)
    assert found["translations"] == shown
    (plain,) = {one["condition"]: one for one in found["conditions"] if one["condition"] == "true"}.values()
    expected = perplexity(reader, documents, use_context=True)
    assert (plain["perplexity"] == pytest.approx(expected, rel=1e-6)) is (shown == "reference")
    assert (
        diagnose(model, None, DiagnosisData(documents), dataclasses.replace(options, bleu=False))["translations"]
        is None
    )
