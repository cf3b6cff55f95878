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
from docaps.corpus.documents import Document
from docaps.translation.translator import Control, Translator
from docaps.web.client import Client
from docaps.web.request_queue import RequestSettings
from docaps.web.service import Service

STORY = ["David stopped in front of a famous church.", "It was old.", "", "The film was about vampires.", "It ran."]


@pytest.fixture(scope="module")
def document(tiny_demo: Path) -> Any:
    return docaps.load(models(tiny_demo)[0])


ADDRESSES = ("the dog came here", "it was old")
TBX = """<martif><text><body>
<termEntry><langSet xml:lang="en"><tig><term>church</term></tig></langSet>
<langSet xml:lang="de"><tig><term>Kirche</term></tig></langSet></termEntry>
<termEntry><langSet xml:lang="en"><tig><term>film</term></tig><tig><term>films</term></tig></langSet>
<langSet xml:lang="de"><tig><term>Film</term></tig><tig><term>Filme</term></tig></langSet></termEntry>
</body></text></martif>"""


def translations(answer: Any) -> list[str]:
    return [one["translation"] for one in answer["translations"]]


@pytest.mark.filterwarnings("ignore:.*could not be written|.*was forced")
def test_a_glossary_is_kept_to_in_any_of_its_forms(served: Served, document: Any) -> None:
    """As pairs, with lists of forms, and as text of either kind; requests with different ones share the service."""
    pairs = [["church", "Kirche"], [["film", "films"], ["Film", "Filme"]]]
    expected = document.translate(STORY, glossary=[tuple(pair) for pair in pairs])
    for glossary in (pairs, "church\tKirche\nfilm|films\tFilm\tFilme", TBX):
        body = served.post({"sentences": STORY, "glossary": glossary}).json()
        assert translations(body) == expected.texts
        uses = [use for one in body["translations"] for use in one.get("terms", [])]
        assert [use["source"] for use in uses] == ["church", "film"]
        assert uses == [use.as_dict() for one in expected for use in one.terms]
    plain = served.post({"sentences": STORY}).json()
    assert not any("terms" in one for one in plain["translations"])
    assert Client(served.url).translate(STORY, glossary={"church": "Kirche"}).translations[0].terms is not None


def test_models_say_whether_requests_may_name_a_formality(served: Served) -> None:
    assert [one["formality"] for one in served.get("/v1/models").json()["models"]] == [False, False]


def test_the_form_of_address_is_chosen(with_tags: Served) -> None:
    (card,) = with_tags.get("/v1/models").json()["models"]
    assert card["formality"] is True
    trained = next(iter(with_tags.service.workers.values())).trained
    scores = []
    for formality in (None, "formal", "informal"):
        translator = Translator(trained, control=Control(formality=formality), warn=lambda _: None)
        ((_, expected),) = translator.stream([Document(ADDRESSES)])
        found = with_tags.post({"sentences": ADDRESSES, "formality": formality}).json()["translations"]
        assert [one["translation"] for one in found] == [one.text for one in expected]
        assert [one["score"] for one in found] == pytest.approx([one.score for one in expected], abs=1e-4)
        scores.append(round(found[0]["score"], 3))
    assert len(set(scores)) == 3


def test_words_are_aligned_whatever_else_is_translated(served: Served) -> None:
    body = {"sentences": STORY, "alignment": True}
    whole = served.post(body).json()["translations"]
    alone = [served.post({**body, "sentences": [one], "context": False}).json()["translations"][0] for one in STORY]
    without = served.post({**body, "context": False}).json()["translations"]
    assert [one.get("alignment") for one in alone] == [one.get("alignment") for one in without]
    assert [one for one, row in zip(STORY, whole, strict=True) if "alignment" not in row] == [""]
    for row in whole:
        for (start, end), (first, last) in row.get("alignment", []):
            assert 0 <= start < end <= len(row["source"])
            assert 0 <= first < last <= len(row["translation"])
            assert " " not in row["source"][start:end] + row["translation"][first:last]
    assert all("alignment" not in row for row in served.post({"sentences": STORY}).json()["translations"])


def test_a_response_has_one_translation_per_sentence(served: Served) -> None:
    answer = served.post({"sentences": STORY[1:], "history": STORY[:1]})
    assert answer.status_code == 200
    body = answer.json()
    assert [one["source"] for one in body["translations"]] == STORY[1:]
    assert body["model"] == "document"
    assert all(
        set(one) - {"confidence"} == {"source", "translation", "score", "log_probability"}
        for one in body["translations"]
    )


def test_a_document_far_from_what_the_model_knows_has_a_warning(served: Served, document: Any) -> None:
    near, far = "It was old. The film was old.", ["Grazing zebras never hesitate.", "", "It was old."]
    assert "warning" not in served.post({"text": near}).json()
    body = served.post({"sentences": far, "beam": 1}).json()
    assert body["warning"] == "43% of the words are rare or unknown to this model (3 of 7); see its card"
    confidences = [one.get("confidence") for one in body["translations"]]
    assert confidences[1] is None
    assert [one["rare_words"] for one in confidences[::2]] == [3, 0]
    wanted = document.translate(far, beam=1)
    for found, sentence in zip(confidences[::2], wanted[::2], strict=True):
        assert found == pytest.approx(sentence.confidence.as_dict(), abs=1e-4)


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
