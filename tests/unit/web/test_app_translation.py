"""Translations over HTTP equal those of the Python API, whatever other clients send."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.web.serving import Served, models

import docaps
from docaps.web.request_queue import RequestSettings
from docaps.web.service import Service

STORY = ["David stopped in front of a famous church.", "It was old.", "", "The film was about vampires.", "It ran."]


@pytest.fixture(scope="module")
def document(tiny_demo: Path) -> Any:
    return docaps.load(models(tiny_demo)[0])


def translations(answer: Any) -> list[str]:
    return [one["translation"] for one in answer["translations"]]


def test_a_response_has_one_translation_per_sentence(served: Served) -> None:
    answer = served.post({"sentences": STORY[1:], "history": STORY[:1]})
    assert answer.status_code == 200
    body = answer.json()
    assert [one["source"] for one in body["translations"]] == STORY[1:]
    assert body["model"] == "document"
    assert all(set(one) == {"source", "translation", "score", "log_probability"} for one in body["translations"])


@pytest.mark.parametrize("options", [{}, {"context": False}, {"beam": 1}, {"nbest": 3}, {"model": "sentence"}])
def test_translations_equal_those_of_the_python_api(
    served: Served, document: Any, options: dict[str, Any], tiny_demo: Path
) -> None:
    found = served.post({"sentences": STORY, **options}).json()
    model = docaps.load(models(tiny_demo)[1]) if "model" in options else document
    kept = {name: value for name, value in options.items() if name in ("beam", "nbest")}
    wanted = model.translate(STORY, use_context=options.get("context", True), **kept)
    assert translations(found) == wanted.texts
    assert [one["score"] for one in found["translations"]] == pytest.approx([one.score for one in wanted], abs=1e-4)
    for row, sentence in zip(found["translations"], wanted, strict=True):
        assert [one["translation"] for one in row.get("alternatives", [])] == [
            one.text for one in sentence.alternatives
        ]


def test_history_is_context_but_not_translated(served: Served, document: Any) -> None:
    found = served.post({"sentences": STORY[1:2], "history": STORY[:1], "routing": True}).json()
    wanted = document.translate(STORY[1:2], history=STORY[:1], routing=True)
    assert translations(found) == wanted.texts
    (trace,) = found["translations"][0]["routing"]
    assert trace == json.loads(json.dumps(wanted[0].routing[0].as_dict()))
    without = served.post({"sentences": STORY[1:2], "routing": True}).json()
    assert without["translations"][0]["routing"] == []


def test_a_document_cut_into_batches_keeps_its_history(
    served: Served, document: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = [f"{sentence} {place}." for place, sentence in enumerate(STORY * 4)]
    whole = document.translate(story)
    monkeypatch.setattr(RequestSettings, "room", 20)  # a few sentences a batch
    before = _batches(served.service)
    found = served.post({"sentences": story}).json()
    assert _batches(served.service) - before >= 8
    assert translations(found) == whole.texts
    assert [one["score"] for one in found["translations"]] == pytest.approx([one.score for one in whole], abs=1e-4)


def test_running_text_is_split_and_keeps_its_paragraphs(served: Served) -> None:
    found = served.post({"text": "It rained. It was cold.\n\nAnna came in.\n"}).json()
    assert [one["source"] for one in found["translations"]] == ["It rained.", "It was cold.", "Anna came in."]
    assert found["paragraphs"] == [2, 1]


@pytest.mark.parametrize("body", [{"sentences": []}, {"text": ""}, {"text": " \n\n "}])
def test_an_empty_document_has_an_empty_translation(served: Served, body: Any) -> None:
    answer = served.post(body)
    assert answer.status_code == 200
    assert answer.json()["translations"] == []


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40), max_size=6))
def test_any_sentences_come_back_in_number_and_order(served: Served, sentences: list[str]) -> None:
    answer = served.post({"sentences": sentences, "beam": 1})
    assert answer.status_code == 200
    assert [one["source"] for one in answer.json()["translations"]] == sentences
    assert all("\n" not in translation for translation in translations(answer.json()))


def test_many_clients_at_once_get_their_own_sentences(served: Served) -> None:
    batches = _batches(served.service)
    answers: dict[int, Any] = {}

    def ask(number: int) -> None:
        answers[number] = served.post({"sentences": [f"Number {number} went home.", f"It was {number}."]}).json()

    clients = [threading.Thread(target=ask, args=(number,)) for number in range(16)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    for number, answer in answers.items():
        assert [one["source"] for one in answer["translations"]] == [f"Number {number} went home.", f"It was {number}."]
    assert _batches(served.service) - batches <= 12  # some of them shared a batch


def _batches(service: Service) -> float:
    text = service.metrics.render({"document": 0}, 0)
    return next(float(line.split()[-1]) for line in text.splitlines() if line.startswith("docaps_batches_total{"))


def test_models_are_listed_by_name_the_default_first(served: Served) -> None:
    cards = served.get("/v1/models").json()["models"]
    assert [(card["name"], card["default"]) for card in cards] == [("document", True), ("sentence", False)]
    assert cards[0]["system"] == "qcn+reg"
    assert (cards[0]["history"], cards[1]["history"]) == (3, 0)
    assert (cards[0]["source_language"], cards[0]["target_language"]) == ("en", "de")
