"""The client of DeepL translates texts with context, lists languages and reads the usage."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import deepl
import httpx
import pytest
from tests.unit.web.serving import TOKEN, Served

from docaps.web.schemas import TranslationRequest
from docaps.web.service import Service

STORY = "David stopped in front of a famous church.  It was old.\n\nThe film was about vampires."


@pytest.fixture
def client(served: Served) -> Iterator[deepl.DeepLClient]:
    with_any_key = deepl.DeepLClient("any", server_url=served.url)
    yield with_any_key
    with_any_key.close()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[TranslationRequest]:
    """All requests that reach the service, in the own form."""
    requests: list[TranslationRequest] = []
    accept = Service.accept

    async def record(self: Service, request: TranslationRequest, *args: Any, **options: Any) -> Any:
        requests.append(request)
        return await accept(self, request, *args, **options)

    monkeypatch.setattr(Service, "accept", record)
    return requests


def post(served: Served, body: Any, **options: Any) -> httpx.Response:
    return served.post({"target_lang": "DE", **body}, path="/v2/translate", **options)


def test_texts_are_one_document_after_their_context(
    client: deepl.DeepLClient, served: Served, asked: list[TranslationRequest]
) -> None:
    found = client.translate_text([STORY, "It ran."], target_lang="DE", context="Anna came in. She sat down.")
    own = served.post({"sentences": asked[0].sentences, "history": asked[0].history}).json()["translations"]
    words = [one["translation"] for one in own]
    first = ["David stopped in front of a famous church.", "It was old.", "The film was about vampires."]
    assert asked[0].sentences == [*first, "It ran."]
    assert asked[0].history == ["Anna came in.", "She sat down."]
    assert [one.text for one in found] == [f"{words[0]}  {words[1]}\n\n{words[2]}", words[3]]
    assert [one.billed_characters for one in found] == [len(STORY), len("It ran.")]
    assert {one.detected_source_lang for one in found} == {"EN"}


@pytest.mark.parametrize(
    ("split", "sentences"),
    [
        ("0", ["He sat. She ran."]),
        ("1", ["He", "sat.", "She ran."]),
        ("nonewlines", ["He sat.", "She ran."]),
        (None, ["He", "sat.", "She ran."]),
    ],
)
def test_texts_are_split_as_asked(
    client: deepl.DeepLClient, asked: list[TranslationRequest], split: str | None, sentences: list[str]
) -> None:
    text = "He\nsat. She ran." if split != "0" else "He sat. She ran."
    client.translate_text(text, target_lang="DE", split_sentences=split)
    assert asked[-1].sentences == sentences


def test_tags_come_back(client: deepl.DeepLClient, asked: list[TranslationRequest]) -> None:
    text = "<doc><p>It <b>was</b> old.</p><p>It ran <x/>away. <k>Not this.</k></p></doc>"
    for kind in ("xml", "html"):
        found = client.translate_text(text, target_lang="DE", tag_handling=kind, ignore_tags="k").text
        assert Counter(re.findall(r"<[^>]+>", found)) == Counter(re.findall(r"<[^>]+>", text))
        assert "<k>Not this.</k>" in found or kind == "html"
    assert asked[0].sentences == ["It was old.", "It ran away."]
    client.translate_text("<p>a. b.</p><q>c</q>", target_lang="DE", tag_handling="xml", split_sentences="0")
    assert asked[-1].sentences == ["a. b.", "c"]


def test_glossaries_are_used(client: deepl.DeepLClient, asked: list[TranslationRequest]) -> None:
    one = client.create_glossary("one", "EN", "DE", {"coat": "Mantel"})
    two = client.create_glossary("two", "EN", "DE", {"coat": "Jacke", "cat": "Katze"})
    text = "Anna bought a coat."
    assert "Mantel" in client.translate_text(text, source_lang="EN", target_lang="DE", glossary=one).text
    client.translate_text(text, source_lang="EN", target_lang="DE", glossary_ids=[one, two])
    assert asked[-1].glossary == [["coat", "Mantel"], ["cat", "Katze"]]
    client.delete_glossary(one)
    client.delete_glossary(two)
    with pytest.raises(deepl.DeepLException, match="no such glossary"):
        client.translate_text(text, source_lang="EN", target_lang="DE", glossary=one)


def test_doubts_are_said_beside_what_the_client_reads(client: deepl.DeepLClient, served: Served) -> None:
    far = "Grazing zebras never hesitate. It was old."
    found = post(served, {"text": ["It was old.", far]}).json()
    assert found["warning"] == "30% of the words are rare or unknown to this model (3 of 10); see its card"
    confidences = [[one["rare_words"] for one in text["confidence"]] for text in found["translations"]]
    assert confidences == [[0], [3, 0]]
    near = post(served, {"text": "It was old."}).json()
    assert "warning" not in near
    assert "missing_terms" not in near["translations"][0]
    glossary = client.create_glossary("one", "EN", "DE", {"it": "漢字"})
    asked = {"text": far, "source_lang": "EN", "glossary_id": glossary.glossary_id}
    assert post(served, asked).json()["translations"][0]["missing_terms"] == 1
    client.delete_glossary(glossary)
    assert (
        client.translate_text(far, target_lang="DE").text
        == post(served, {"text": far}).json()["translations"][0]["text"]
    )


def test_formality_is_refused_or_preferred(client: deepl.DeepLClient, asked: list[TranslationRequest]) -> None:
    assert not any(one.supports_formality for one in client.get_target_languages())
    for wish in ("default", "prefer_more", "prefer_less"):
        client.translate_text("It ran.", target_lang="DE", formality=wish)
        assert asked[-1].formality is None
    with pytest.raises(deepl.DeepLException, match="the formality cannot be chosen"):
        client.translate_text("It ran.", target_lang="DE", formality="more")
    assert asked[-1].formality == "formal"
    with pytest.raises(deepl.DeepLException, match="the formality cannot be chosen"):
        client.translate_text("It ran.", target_lang="DE", formality="less")
    assert asked[-1].formality == "informal"


def test_formality_is_chosen(with_tags: Served) -> None:
    client = deepl.DeepLClient("any", server_url=with_tags.url)
    assert [one.supports_formality for one in client.get_target_languages()] == [True]
    for wish, formality in (("more", "formal"), ("prefer_more", "formal"), ("less", "informal"), ("default", None)):
        found = client.translate_text("it was old", target_lang="DE", formality=wish).text
        (own,) = with_tags.post({"sentences": ["it was old"], "formality": formality}).json()["translations"]
        (raw,) = post(with_tags, {"text": "it was old", "formality": wish}).json()["translations"]
        assert (found, raw["confidence"]) == (own["translation"], [own["confidence"]])


def test_languages_and_regions(client: deepl.DeepLClient, served: Served) -> None:
    assert [(one.code, one.name) for one in client.get_source_languages()] == [("EN", "English")]
    assert [(one.code, one.name) for one in client.get_target_languages()] == [("DE", "German")]
    region = client.translate_text("It ran.", source_lang="en", target_lang="de-AT")
    assert region.text == client.translate_text("It ran.", target_lang="DE").text
    assert served.get("/v2/languages?type=both").status_code == 400


def test_usage_counts_characters(client: deepl.DeepLClient) -> None:
    before = client.get_usage().character
    client.translate_text(["It ran.", "  It sat.  "], target_lang="DE", context="Not counted.")
    after = client.get_usage().character
    assert after.count - before.count == len("It ran.It sat.")
    assert after.limit == before.limit
    assert not after.limit_reached


def test_forms_are_accepted(served: Served) -> None:
    whole = post(served, {"text": ["It ran.", "It sat."], "split_sentences": 1}).json()
    fields = {"text": ["It ran.", "It sat."], "target_lang": "DE"}
    with served.client() as client:
        assert client.post("/v2/translate", data=fields).json() == whole
        parts = [("text", (None, "It ran.")), ("text", (None, "It sat.")), ("target_lang", (None, "DE"))]
        assert client.post("/v2/translate", files=parts).json() == whole
    assert post(served, {"text": "It ran."}).json()["translations"] == whole["translations"][:1]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"text": ["x"], "target_lang": "FR"}, "no model for this language; target_lang: one of de"),
        ({"text": ["x"], "source_lang": "FR"}, "no model for these languages; source_lang: into 'de', one of en"),
        ({"text": ["x"], "style_id": "a"}, "style_id: this service has no style rules"),
        ({"text": ["x"], "custom_instructions": ["a"]}, "custom_instructions: this service has no custom"),
        ({"text": ["x"], "wrong": 1}, "wrong: Extra inputs"),
        ({"text": ["a\0b"]}, "text.0: a NUL character"),
        ({"text": [7]}, "text.0"),
        ({}, "text: Field required"),
        ({"text": ["x" * 6000]}, "a sentence is too long; sentences.0: at most 5000 characters, found 6000"),
        ({"text": ["x"] * 2001}, "too many sentences; sentences: at most 2000 sentences, found 2001"),
    ],
)
def test_errors_have_a_status_and_a_message(served: Served, body: Any, message: str) -> None:
    answer = post(served, body)
    assert answer.status_code == 400
    assert set(answer.json()) == {"message"}
    assert message in answer.json()["message"]


def test_what_has_no_meaning_here_is_refused(client: deepl.DeepLClient) -> None:
    for call in (lambda: client.rephrase_text("x", target_lang="DE"), client.get_all_style_rules):
        with pytest.raises(deepl.DeepLException, match="of DeepL's API it has translate, document"):
            call()


def test_the_key_is_the_token(strict: Served) -> None:
    with pytest.raises(deepl.AuthorizationException, match="the key is missing or wrong"):
        deepl.DeepLClient("wrong", server_url=strict.url).get_usage()
    client = deepl.DeepLClient(TOKEN, server_url=strict.url)
    assert client.translate_text("It ran.", target_lang="DE").detected_source_lang == "EN"
    with pytest.raises(deepl.DeepLException, match="too many sentences"):
        client.translate_text("a\nb\nc\nd\ne", target_lang="DE")
    large = strict.post({"text": ["x" * 2000]}, "/v2/translate", headers={"Authorization": f"DeepL-Auth-Key {TOKEN}"})
    assert (large.status_code, set(large.json())) == (413, {"message"})
    own = strict.get("/v1/models", headers={"Authorization": f"DeepL-Auth-Key {TOKEN}"})
    assert own.status_code == 401


def test_bodies_that_cannot_be_read_get_400(served: Served) -> None:
    form, kind = "application/x-www-form-urlencoded", "application/json"
    nested = b"[" * 100_000
    bodies = [(kind, b"{"), (kind, b"[]"), (kind, nested), (form, b"text=%ff"), (form, b"\xff"), ("text/plain", b"x")]
    bodies += [("multipart/form-data", b"x"), ("multipart/form-data; boundary=b", b"--b\r\n")]
    with served.client() as client:
        for content_type, body in bodies:
            answer = client.post("/v2/translate", content=body, headers={"Content-Type": content_type})
            assert (answer.status_code, list(answer.json())) == (400, ["message"]), (content_type, body[:20])
        many = json.dumps({"text": ["x"], **{f"field{number}": 1 for number in range(1000)}})
        assert client.post("/v2/translate", content=many, headers={"Content-Type": kind}).status_code == 400
