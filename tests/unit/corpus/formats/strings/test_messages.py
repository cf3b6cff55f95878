"""What all files of strings share: files in other languages are refused, and files name their language."""

from pathlib import Path

import pytest
from tests.unit.corpus.formats.rewriting import read, translate

from docaps.corpus.formats import iterate_documents
from docaps.errors import CorpusError

PO = 'msgid ""\nmsgstr ""\n"{}\\n"\n\nmsgid "one"\nmsgstr ""\n'
OLD = '<xliff version="1.2"><file {}><trans-unit><source>one</source></trans-unit></file></xliff>'
NEW = '<xliff version="2.0" {}><unit><segment><source>one</source></segment></unit></xliff>'


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("po", PO.format("Language: fr"), "into 'fr'"),
        ("po", PO.format("Language: en_GB"), "into 'en_GB'"),
        ("po", PO.format("X-Source-Language: it"), "from 'it'"),
        ("xliff", OLD.format('source-language="fr" target-language="it"'), "from 'fr' into 'it'"),
        ("xliff", OLD.format('source-language="en" target-language="it-CH"'), "from 'en' into 'it-CH'"),
        ("xliff", NEW.format('srcLang="fr"'), "from 'fr'"),
        ("json", '{"@@locale": "fr", "a": "b"}', "from 'fr'"),
    ],
)
def test_a_file_in_other_languages_is_refused_with_both_codes(name: str, content: str, found: str) -> None:
    message = rf"file\.{name}:\d: the file says {found}, but the translation is from 'en' into 'de'"
    with pytest.raises(CorpusError, match=message):
        read(name, content)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("po", PO.format("Language: de_AT")),
        ("po", PO.format("Language: German")),
        ("po", PO.format("Language: deu")),
        ("po", PO.format("Language-Team: fr")),
        ("xliff", OLD.format('source-language="en-US" target-language="DE"')),
        ("xliff", NEW.format('srcLang="en" trgLang="de-CH"')),
        ("json", '{"@@locale": "en_US", "a": "b"}'),
    ],
)
def test_a_file_in_these_languages_is_read(name: str, content: str) -> None:
    assert len(read(name, content).sentences) == 1


@pytest.mark.parametrize("name", ["json", "yaml", "po"])
def test_more_paragraphs_than_sentences_are_allowed_are_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docaps.corpus.formats.strings.messages.MOST_SENTENCES", 3)
    contents = {
        "json": ('["A.\\nB.",', '"C."', ',"D."]'),
        "yaml": ('- "A.\\nB."\n', "- C.\n", "- D.\n"),
        "po": ('msgid "A.\\nB."\nmsgstr ""\n\n', 'msgid "C."\nmsgstr ""\n', '\nmsgid "D."\nmsgstr ""\n'),
    }
    first, second, third = contents[name]
    assert len(read(name, first + second + "]" * (name == "json")).sentences) == 3
    with pytest.raises(CorpusError, match="more than 3 paragraphs: split the file"):
        read(name, first + second + third)


def test_a_string_that_is_longer_than_any_is_refused() -> None:
    with pytest.raises(
        CorpusError, match="a string of 1,000,002 characters, its tags included, expected at most 1,000"
    ):
        read("json", '["' + "A.\\n" * 333_334 + '"]')


def test_a_paragraph_that_is_longer_than_any_is_refused_before_its_placeholders_are_taken(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text('["a",\n"' + "{a} b " * 40_000 + '"]', encoding="utf-8")
    message = r"a\.json:2: a paragraph of 240,000 characters, its tags included, expected at most 200,000: split it"
    with pytest.raises(CorpusError, match=message):
        list(iterate_documents(file, running_text=True))


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("json", '{"@@locale": "en_US", "a": "b"}', '{"@@locale": "de", "a": "B"}'),
        ("yaml", "# c\n---\nen:\n  a: b\n", "# c\n---\nde:\n  a: B\n"),
        ("yaml", "en-GB: {a: b}\n", "de: {a: B}\n"),
        ("yaml", "en:\n  a: b\nx: c\n", "en:\n  a: B\nx: C\n"),
        ("yaml", "it:\n  a: b\n", "it:\n  a: B\n"),
        ("yaml", "end:\n  a: b\n", "end:\n  a: B\n"),
        ("yaml", "- en: b\n", "- en: B\n"),
    ],
)
def test_a_file_names_the_language_that_it_is_in(name: str, content: str, expected: str) -> None:
    assert translate(name, content) == expected
