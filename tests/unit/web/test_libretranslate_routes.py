"""The client of LibreTranslate translates texts, detects languages and lists them."""

import urllib.error
from typing import Any

import pytest
from libretranslatepy import LibreTranslateAPI
from tests.unit.web.serving import TOKEN, Served


def post(served: Served, body: Any) -> Any:
    return served.post({"source": "en", "target": "de", **body}, path="/translate")


def own(served: Served, *sentences: str, **options: Any) -> list[Any]:
    translations: list[Any] = served.post({"sentences": list(sentences), **options}).json()["translations"]
    return translations


def test_the_client_translates_running_text(served: Served) -> None:
    one, two = (row["translation"] for row in own(served, "It was old.", "It ran."))
    client = LibreTranslateAPI(served.url)
    assert client.translate("It was old. It ran.\n", "en", "de") == f"{one} {two}\n"
    assert client.languages() == [{"code": "en", "name": "English", "targets": ["de"]}]
    likely = client.detect("This is the house that Jack built.")
    assert likely[0]["language"] == "en"
    assert likely[0]["confidence"] > 50


def test_a_list_of_texts_is_one_document(served: Served) -> None:
    found = post(served, {"q": ["It was old.", "", "It ran."], "source": "auto"}).json()
    one, two = (row["translation"] for row in own(served, "It was old.", "It ran."))
    assert found["translatedText"] == [one, "", two]
    assert [row["language"] for row in found["detectedLanguage"]] == ["en"] * 3
    assert post(served, {"q": []}).json() == {"translatedText": [], "confidence": []}


def test_a_text_far_from_what_the_model_knows_has_a_warning(served: Served) -> None:
    far = "Grazing zebras never hesitate. It was old."
    found = post(served, {"q": far}).json()
    assert found["warning"] == "43% of the words are rare or unknown to this model (3 of 7); see its card"
    assert [one["rare_words"] for one in found["confidence"]] == [3, 0]
    several = post(served, {"q": ["It was old.", "", far]}).json()
    assert [[one["words"] for one in text] for text in several["confidence"]] == [[3], [], [4, 3]]
    assert "warning" not in post(served, {"q": "It was old."}).json()
    assert LibreTranslateAPI(served.url).translate(far, "en", "de") == found["translatedText"]
    form = {"data": {"source": "en", "target": "de"}, "files": {"file": ("a.txt", far)}}
    with served.client() as client:
        assert client.post("/translate_file", **form).json()["warning"] == found["warning"]


def test_alternatives_are_the_next_best(served: Served) -> None:
    found = post(served, {"q": "It was old.", "alternatives": 2}).json()
    (row,) = own(served, "It was old.", nbest=3)
    assert [found["translatedText"], *found["alternatives"]] == [one["translation"] for one in row["alternatives"]]
    many = post(served, {"q": ["It was old.", "It ran."], "alternatives": 1}).json()
    assert [len(one) for one in many["alternatives"]] == [1, 1]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"q": "x", "target": "fr"}, "no model for this language; target: one of de"),
        ({"q": "x", "source": "fr"}, "source: into 'de', one of en"),
        ({"q": "x", "alternatives": 32}, "alternatives"),
        ({"q": "x", "alternatives": 20}, "the beam is too wide"),
        ({"q": {"a": "b"}}, "q: Input should be a valid list"),
        ({}, "q: Field required"),
    ],
)
def test_errors_are_those_of_libretranslate(served: Served, body: Any, message: str) -> None:
    answer = post(served, body)
    assert answer.status_code == 400
    assert set(answer.json()) == {"error"}
    assert message in answer.json()["error"]


def test_the_key_is_a_field_of_the_body(strict: Served) -> None:
    client = LibreTranslateAPI(strict.url, api_key=TOKEN)
    assert client.translate("It ran.", "en", "de")
    assert client.detect("It ran.")
    assert client.languages()
    for key in ("wrong", None):
        other = LibreTranslateAPI(strict.url, api_key=key)
        for call in (other.languages, lambda c=other: c.detect("x"), lambda c=other: c.translate("x", "en", "de")):
            with pytest.raises(urllib.error.HTTPError) as refused:
                call()
            assert refused.value.code == 403
            refused.value.close()
    assert strict.post({"q": "x"}, "/detect", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
    assert (
        strict.post({"q": "x", "api_key": TOKEN}, "/detect", headers={"Authorization": "Bearer x"}).status_code == 403
    )
    assert strict.get("/languages", params={"api_key": TOKEN}).status_code == 200


def test_languages_of_several_texts_are_detected(served: Served) -> None:
    body = {"q": ["Das Haus steht am Ufer des Flusses.", "12", "Il pleut sur la ville depuis hier."]}
    german, nothing, french = served.post(body, "/detect").json()
    assert (german[0]["language"], nothing, french[0]["language"]) == ("de", [], "fr")
