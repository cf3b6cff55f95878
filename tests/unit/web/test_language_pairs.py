"""The first model of a pair of languages is chosen, and the language of a text is told."""

from itertools import pairwise

import pytest

from docaps.web.http_errors import HttpError
from docaps.web.language_pairs import LanguagePairs, detect_languages, language_name
from docaps.web.schemas import ModelCard


def card(name: str, source: str, target: str) -> ModelCard:
    languages = {"source_language": source, "target_language": target}
    numbers = {"history": 3, "beam": 4, "parameters": 1}
    return ModelCard(name=name, system="qcn", title="", formality=name == "b", default=False, **languages, **numbers)


PAIRS = LanguagePairs([card("a", "en", "de"), card("b", "en", "de"), card("c", "fr", "de"), card("d", "de", "en")])
FIELDS = ("source", "target")


@pytest.mark.parametrize(
    ("source", "target", "text", "name"),
    [
        ("en", "de", "", "a"),
        ("EN-GB", "De_AT", "", "a"),
        ("fr", "de", "", "c"),
        (None, "en-US", "Il pleut sur la ville.", "d"),
        (None, "de", "It has been raining in the city since yesterday.", "a"),
        (None, "de", "Il pleut sur la ville depuis hier.", "c"),
        (None, "de", "", "a"),
    ],
)
def test_a_model_is_chosen(source: str | None, target: str, text: str, name: str) -> None:
    assert PAIRS.choose(source, target, text, fields=FIELDS).name == name


@pytest.mark.parametrize(
    ("source", "target", "message"), [("en", "fr", "one of de, en"), ("it", "de", "into 'de', one of en, fr")]
)
def test_other_languages_are_refused(source: str, target: str, message: str) -> None:
    with pytest.raises(HttpError) as refused:
        PAIRS.choose(source, target, fields=FIELDS)
    assert message in str(refused.value.details)


def test_lists_of_languages() -> None:
    assert (PAIRS.sources, PAIRS.targets) == (["en", "fr", "de"], ["de", "en"])
    assert PAIRS.targets_of("en") == ["de"]
    assert [PAIRS.formal(code) for code in PAIRS.targets] == [True, False]
    assert [language_name(code) for code in ("de", "xyz")] == ["German", "xyz"]


def test_languages_are_detected() -> None:
    found = detect_languages("Das Haus steht seit vielen Jahren am Ufer des Flusses.")
    assert found[0].code == "de"
    assert found[0].confidence > 0.9
    assert all(one.confidence >= other.confidence for one, other in pairwise(found))
    assert detect_languages(" 12. ") == []
