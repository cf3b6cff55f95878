"""Answers to contrastive items stay with their items, and agree with scorer and translator."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.invariants import tiny

from docaps.corpus.contrastive import ContrastiveItem, GenerativeItem
from docaps.corpus.contrastive.contrastive_set import AnyItem, without_history
from docaps.corpus.documents import Document
from docaps.diagnosis.choices import answer_items
from docaps.translation.scoring import score_contrastive
from docaps.translation.trained_model import TrainedModel
from docaps.translation.translator import Translator

HISTORY = ("the cat ran", "a dog came", "the cat sat here", "it was old", "the dog slept")


def choice(name: str, **fields: object) -> ContrastiveItem:
    known = {"source": "it ran", "right": "er lief", "wrong": ("sie lief", "es lief sehr alt"), "history": HISTORY}
    return ContrastiveItem(**{"id": name, **known, **fields})


def task(name: str, **fields: object) -> GenerativeItem:
    return GenerativeItem(**{"id": name, "source": "it slept", "expected": ("sie",), "history": HISTORY, **fields})


ITEMS: list[AnyItem] = [task("a"), choice("b"), task("c", history=()), choice("d", source="the dog ran", history=())]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> TrainedModel:
    return tiny.trained(tiny.prepared(tmp_path_factory.mktemp("corpus")))


def test_answers_are_those_of_scorer_and_translator(trained: TrainedModel) -> None:
    answers = answer_items(trained, ITEMS)
    assert [answer.item for answer in answers] == ITEMS
    for answer in answers:
        item = answer.item
        if isinstance(item, ContrastiveItem):
            (scores,) = score_contrastive(trained, [item])
            assert answer.scores == pytest.approx(scores, abs=1e-4)
            assert answer.translation == (item.right, *item.wrong)[scores.index(max(scores))]
            assert answer.decision.right is (answer.translation == item.right)
        else:
            last = Translator(trained).translate([Document((*item.history, item.source))])[0][-1]
            assert (answer.translation, answer.scores[0]) == (last.text, pytest.approx(last.score, abs=1e-4))


OWN = [
    name for name in (*tiny.SYSTEMS, *tiny.MODES) if not name.startswith("qcn-shuffled") and not name.endswith("+reg")
]
"""Systems that see their own document; with the regularisation term, which only training knows, they are the same."""


@pytest.mark.parametrize("name", OWN)
def test_a_generative_answer_is_the_last_sentence_of_a_translated_document(name: str, tmp_path: Path) -> None:
    model = tiny.trained(tiny.prepared(tmp_path), name)
    tasks = [item for item in ITEMS if isinstance(item, GenerativeItem)]
    for answer in answer_items(model, tasks):
        history = answer.item.history[-model.model.view.history :] if model.model.view.history else ()
        last = Translator(model).translate([Document((*history, answer.item.source))])[0][-1]
        assert (answer.translation, answer.scores[0]) == (last.text, pytest.approx(last.score, abs=1e-4))


@pytest.mark.parametrize("name", ["han-decoder", "concat-2-to-2", "concat-n-to-n"])
def test_translations_of_the_history_are_those_of_the_item_or_the_models_own(name: str, tmp_path: Path) -> None:
    model = tiny.trained(tiny.prepared(tmp_path), name)
    written = ("die Katze lief", "ein Hund kam", "die Katze saß hier", "sie war alt", "der Hund schlief")
    given: list[AnyItem] = [task("a", target_history=written), choice("b", target_history=written)]
    bare: list[AnyItem] = [task("a"), choice("b")]
    shown, own = ([answer.scores for answer in answer_items(model, items)] for items in (given, bare))
    assert [answer.scores for answer in answer_items(model, given, translations="own")] == own
    for one, other in zip(shown, own, strict=True):
        assert one != pytest.approx(other, abs=1e-6)
    translator = Translator(model)
    (last,) = translator.translate_with_histories(
        ["it slept"], [HISTORY[-model.model.history :]], [written[-model.model.history :]]
    )
    assert shown[0] == (pytest.approx(last.score, abs=1e-9),)


def test_a_sentence_model_answers_alike_with_and_without_history(tmp_path: Path) -> None:
    model = tiny.trained(tiny.prepared(tmp_path), "transformer")
    with_history, without = answer_items(model, ITEMS), answer_items(model, without_history(ITEMS))
    assert [answer.translation for answer in with_history] == [answer.translation for answer in without]


def test_a_model_with_shuffled_histories_never_sees_its_own_document_when_it_translates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny.trained(tiny.prepared(tmp_path), "qcn-shuffled")
    items = [
        task(f"{film}{n}", document=film, history=(f"{film} {n}",) * 5) for film in ("one", "two") for n in range(3)
    ]
    given: list[tuple[str, ...]] = []
    plain = Translator.translate_with_histories

    def spy(self: Translator, sentences: Sequence[str], histories: Sequence[tuple[str, ...]], *more: Any) -> object:
        given.extend(histories)
        return plain(self, sentences, histories, *more)

    monkeypatch.setattr(Translator, "translate_with_histories", spy)
    assert [answer.item for answer in answer_items(model, items)] == items
    assert len(given) == 6
    for item, history in zip(items, given, strict=True):
        assert len(history) == model.model.history
        assert all(sentence.split()[0] not in (item.document, "it") for sentence in history)
