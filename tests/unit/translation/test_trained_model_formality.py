"""The form of address: a tag in front of the source, as in training, for models that learnt it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.invariants import tiny
from tests.unit.training import long_sentences

from docaps.corpus.documents import Document
from docaps.corpus.store import Store
from docaps.errors import DocapsError
from docaps.training.stages import train_recipe
from docaps.translation.trained_model import TrainedModel, load_trained
from docaps.translation.translator import Control, TranslationOptions, Translator

TEXTS = ("the cat came here", "it was old")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return long_sentences.prepared(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def trained(store: Store) -> TrainedModel:
    found = tiny.trained(store, "qcn")
    return replace(found, tags=store.codec.vocabulary.marks)


def seen(trained: TrainedModel, monkeypatch: pytest.MonkeyPatch, control: Control, **settings: Any) -> list[Any]:
    """The sources and histories that the encoder reads."""
    batches: list[Any] = []
    encode = trained.model.encode
    monkeypatch.setattr(trained.model, "encode", lambda batch, *rest: (batches.append(batch), encode(batch, *rest))[1])
    decoding = trained.decoding.model_copy(update=settings)
    translator = Translator(trained, decoding, control=control, warn=lambda _: None)
    list(translator.stream([Document(TEXTS)], TranslationOptions()))
    rows = [row for batch in batches for row in zip(batch.source.tolist(), batch.history.tolist(), strict=True)]
    return sorted(rows, key=lambda row: len(row[1]))


@pytest.mark.parametrize("formality", ["formal", "informal"])
def test_the_tag_is_the_first_token_of_the_source_and_of_nothing_else(
    trained: TrainedModel, monkeypatch: pytest.MonkeyPatch, formality: Any
) -> None:
    tag = trained.codec.vocabulary.marks[formality]
    tagged = seen(trained, monkeypatch, Control(formality=formality), batch_tokens=1)
    free = seen(trained, monkeypatch, Control(), batch_tokens=1)
    assert sorted(source for source, _ in tagged) == sorted([tag, *source] for source, _ in free)
    assert [history for _, history in tagged] == [history for _, history in free]


def test_every_part_of_a_long_sentence_has_the_tag(trained: TrainedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    tag = trained.tags["formal"]
    rows = seen(trained, monkeypatch, Control(formality="formal"), longest_source=10, batch_tokens=1)
    assert len(rows) >= 2
    assert all(source[0] == tag and source.count(tag) == 1 for source, _ in rows)


def test_the_tag_is_no_part_of_the_ratio_of_lengths(trained: TrainedModel) -> None:
    translator = Translator(trained, control=Control(formality="formal"))
    assert translator.segment(TEXTS[0]).size == Translator(trained).segment(TEXTS[0]).size


def test_a_model_that_did_not_learn_a_tag_refuses_it_with_the_reason(store: Store, trained: TrainedModel) -> None:
    with pytest.raises(DocapsError, match=r"form of address: no stage of its training had the setting formality"):
        Translator(replace(trained, tags={}), control=Control(formality="formal"))
    codec = replace(store.codec, vocabulary=type(store.codec.vocabulary)(("<pad>", "<s>", "</s>", "<unk>", "a")))
    with pytest.raises(DocapsError, match=r"form of address: its corpus has no marks \(formality=informal\)"):
        Translator(replace(trained, codec=codec, tags={}), control=Control(formality="informal"))


def test_a_run_knows_the_tags_that_its_stages_learnt(store: Store, tmp_path: Path) -> None:
    """Also those of the stage that it started from; a run of a version that did not record them has its settings."""
    file = tmp_path / "marks.jsonl"
    long_sentences.annotate(file, store)
    signal = {"stage__sentence__formality": str(file), "stage__sentence__formality_share": 0.5}
    short = {"stage__sentence__steps": 1, "stage__document__steps": 1, "stage__document__system": "transformer"}
    tagged = train_recipe(tiny.recipe(**signal, **short), store, tmp_path / "tagged")
    for run in tagged:
        assert load_trained(run.path).tags == store.codec.vocabulary.marks
        assert run.read()["tags"] == ["formal", "informal"]
    (plain,) = train_recipe(tiny.recipe(**short), store, tmp_path / "plain", stages=["sentence"])
    assert load_trained(plain.path).tags == {}
    assert "tags" not in plain.read()
    description = tagged[0].read()
    del description["tags"]
    tagged[0].description.write_text(json.dumps(description))
    assert load_trained(tagged[0].path).tags == store.codec.vocabulary.marks


def test_models_with_a_tag_translate_otherwise(trained: TrainedModel) -> None:
    """The model has random weights: any change of its source changes its scores."""
    scores = set()
    for formality in (None, "formal", "informal"):
        translator = Translator(trained, control=Control(formality=formality), warn=lambda _: None)
        ((_, (first, _)),) = translator.stream([Document(TEXTS)])
        scores.add(round(first.score, 4))
    assert len(scores) == 3
