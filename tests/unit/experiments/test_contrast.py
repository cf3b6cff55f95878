"""Taking a contrastive test: answers stay with their items, and agree with scorer and translator."""

import json
from pathlib import Path

import pytest
from tests.invariants import tiny

from docaps.corpus.contrastive import AnyItem, ContrastiveItem, ContrastiveSet, GenerativeItem
from docaps.corpus.documents import Document
from docaps.diagnosis.contrastive_test import Answer, choose_examples, choose_items, sign, summarise, take_test
from docaps.evaluation.contrastive import Decision
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
    answers = take_test(trained, ITEMS)
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


OWN = [name for name in (*tiny.SYSTEMS, *tiny.MODES) if name != "qcn-shuffled" and not name.endswith("+reg")]
"""Systems that see their own document; with the regularisation term, which only training knows, they are the same."""


@pytest.mark.parametrize("name", OWN)
def test_what_is_written_is_the_last_sentence_of_a_translated_document(name: str, tmp_path: Path) -> None:
    model = tiny.trained(tiny.prepared(tmp_path), name)
    tasks = [item for item in ITEMS if isinstance(item, GenerativeItem)]
    for answer in take_test(model, tasks):
        history = answer.item.history[-model.model.view.history :] if model.model.view.history else ()
        last = Translator(model).translate([Document((*history, answer.item.source))])[0][-1]
        assert (answer.translation, answer.scores[0]) == (last.text, pytest.approx(last.score, abs=1e-4))


def test_a_sentence_model_takes_the_test_as_well(tmp_path: Path) -> None:
    model = tiny.trained(tiny.prepared(tmp_path), "transformer")
    with_history, without = take_test(model, ITEMS), take_test(model, choose_items(set_of(ITEMS), "none", None))
    assert [answer.translation for answer in with_history] == [answer.translation for answer in without]


def test_a_control_never_sees_the_own_document_when_it_translates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny.trained(tiny.prepared(tmp_path), "qcn-shuffled")
    items = [
        task(f"{film}{n}", document=film, history=(f"{film} {n}",) * 5) for film in ("one", "two") for n in range(3)
    ]
    given: list[tuple[str, ...]] = []
    plain = Translator.read_history
    monkeypatch.setattr(
        Translator, "read_history", lambda self, text, view: (given.append(tuple(text)), plain(self, text, view))[1]
    )
    assert [answer.item for answer in take_test(model, items)] == items
    assert len(given) == 6
    for item, history in zip(items, given, strict=True):
        assert len(history) == model.model.history
        assert all(sentence.split()[0] not in (item.document, "it") for sentence in history)


def set_of(items: list[AnyItem]) -> ContrastiveSet:
    return ContrastiveSet(tuple(items), {"file": len(items)})


def test_items_come_with_the_history_asked_for() -> None:
    items = [choice(str(number), history=(f"h{number}",)) for number in range(6)]
    found = set_of(list(items))
    assert choose_items(found, "own", None) == items
    assert [item.history for item in choose_items(found, "none", 2)] == [(), ()]
    shuffled = choose_items(found, "shuffled", 3)
    assert [item.id for item in shuffled] == ["0", "2", "4"]
    assert all(item.history != (f"h{item.id}",) for item in shuffled)


def answer(name: str, right: bool, phenomenon: str = "pronoun") -> Answer:
    item = choice(name, phenomenon=phenomenon, distance=1, pronoun="er", document=name[0])
    return Answer(item, item.right, (-1.0, -2.0, -3.0), Decision(right, item.chance))


ANSWERS = [answer("a1", True), answer("a2", True), answer("a3", False), answer("b1", True, "bank"), answer("b2", False)]


def test_examples_are_wrong_and_right_ones_of_all_phenomena() -> None:
    assert [one.item.id for one in choose_examples(ANSWERS, 9)] == ["a3", "a1", "b2", "b1", "a2"]
    assert [one.item.id for one in choose_examples(ANSWERS, 2)] == ["a3", "a1"]
    assert choose_examples(ANSWERS, 0) == []


def test_a_summary_holds_what_was_measured() -> None:
    found = json.loads(json.dumps(summarise(ANSWERS, 1)))
    assert (found["accuracy"], found["items"], found["ties"]) == (0.6, 5, 0)
    assert found["chance"] == pytest.approx(1 / 3)
    assert found["by_phenomenon"] == {"bank": 1.0, "pronoun": 0.5}
    assert found["by_distance"] == {"1": 0.6}
    assert found["by_pronoun"] == {"er": 0.6}
    assert found["by_form"] == {}
    assert found["interval"]["method"] == "bootstrap over documents"
    assert found["details"]["by_phenomenon"]["bank"]["items"] == 1
    assert found["details"]["by_phenomenon_and_distance"]["pronoun"]["1"]["accuracy"] == 0.5
    (example,) = found["examples"]
    assert (example["id"], example["correct"], example["history"]) == ("a3", False, list(HISTORY[-3:]))
    assert (example["right"], example["chosen"], example["scores"]) == ("er lief", "er lief", [-1.0, -2.0, -3.0])


def test_another_set_history_or_weights_is_another_signature(tmp_path: Path) -> None:
    def run(name: str, weights: bytes) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "run.json").write_text('{"status": "finished"}')
        (folder / "model.safetensors").write_bytes(weights)
        return folder

    one, other = run("one", b"1"), run("other", b"2")
    first = sign(ITEMS, one, "jsonl", "own")
    assert first == sign(list(ITEMS), one, "jsonl", "own")
    assert first.startswith("set:jsonl|items:4|history:own|data:")
    others = [
        sign(ITEMS[::-1], one, "jsonl", "own"),
        sign(ITEMS, other, "jsonl", "own"),
        sign(ITEMS, one, "jsonl", "none"),
    ]
    assert len({first, *others}) == 4
