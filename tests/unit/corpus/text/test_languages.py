"""Language codes and abbreviations; a language without a list is reported."""

from pathlib import Path

import pytest
from sacremoses.corpus import NonbreakingPrefixes

from docaps.corpus.text.languages import abbreviations, check_language, language_in_name, note_on
from docaps.corpus.text.tokenization import Tokenizer
from docaps.errors import ConfigError


@pytest.mark.parametrize("language", ["en", "de", "tdt", "mni", "ja", "xyz"])
def test_codes_are_accepted(language: str) -> None:
    check_language(language)


@pytest.mark.parametrize("language", ["", "xx", "german", "DE", "de-AT", "e", "d e"])
def test_what_is_no_code_is_refused(language: str) -> None:
    with pytest.raises(ConfigError, match="is not a language code like 'en' or 'de'") as caught:
        Tokenizer(language)
    assert repr(language) in str(caught.value)


def test_a_near_code_is_named() -> None:
    with pytest.raises(ConfigError, match="did you mean 'de'"):
        check_language("DE")
    with pytest.raises(ConfigError, match=r"'xx' is not .*; any three letters will do for a language without one"):
        check_language("xx")


def test_a_language_without_abbreviations_falls_back_to_english_and_says_so() -> None:
    assert note_on("de") is None
    assert note_on("ja") == "no list of abbreviations for 'ja': full stops are tokenised as in English"
    assert abbreviations("ja") == abbreviations("en")
    assert abbreviations("de") != abbreviations("en")


def test_some_abbreviations_only_count_before_numbers() -> None:
    assert abbreviations("en")["Mr"] is False
    assert abbreviations("en")["No"] is True
    assert "Haus" not in abbreviations("de")


@pytest.mark.parametrize("language", ["en", "de"])
def test_built_in_lists_are_those_of_moses(language: str) -> None:
    expected = {
        word.removesuffix("#NUMERIC_ONLY#").strip(): word.endswith("#NUMERIC_ONLY#")
        for word in NonbreakingPrefixes().words(language)
    }
    assert abbreviations(language) == expected


def test_other_languages_have_the_lists_of_sacremoses() -> None:
    assert len(abbreviations("fr")) == len(set(NonbreakingPrefixes().words("fr"))) > 50
    assert note_on("fr") is None


NAMED = [
    ("story.de", "de"),
    ("data/europarl.train.en.gz", "en"),
    ("hypothesis.v2.FR.txt", "fr"),
    ("newstest2014-deen-ref.de.sgm", "de"),
    ("story.de.jsonl.zst", "de"),
    ("story.txt", None),
    ("story", None),
    ("story.xx", None),
    ("de", None),
    (".de", None),
    ("-", None),
    ("de.txt", None),
]


@pytest.mark.parametrize(("name", "language"), NAMED, ids=[name for name, _ in NAMED])
def test_the_name_of_a_file_tells_its_language(name: str, language: str | None) -> None:
    assert language_in_name(Path(name)) == language


def test_the_name_of_a_directory_tells_its_language(tmp_path: Path) -> None:
    (tmp_path / "de").mkdir()
    (tmp_path / "stories.fr").mkdir()
    assert language_in_name(tmp_path / "de") == "de"
    assert language_in_name(tmp_path / "stories.fr") == "fr"
    assert language_in_name(tmp_path) is None
