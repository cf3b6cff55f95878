"""Character entities are read as text, and written as the string writes them."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.corpus.formats.rewriting import read, translate

from docaps.corpus.formats.strings.entities import EntityReader, EntityWriter


@pytest.mark.parametrize(
    ("text", "expected", "written"),
    [
        ("don&#39;t", "don't", "DON&#39;T"),
        ("f&uuml;r", "für", "F&Uuml;R"),
        ("f&#252;r", "für", "F&#220;R"),
        ("AT&amp;T &lt; R&D", "AT&T < R&D", "AT&amp;T &lt; R&D"),
        ("a &quot;b&quot; 'c'", "a \"b\" 'c'", "A &quot;B&quot; 'C'"),
        ("&amp;nbsp; is it", "&nbsp; is it", "&amp;NBSP; IS IT"),
        ("f&uuml;r naïve", "für naïve", "FÜR NAÏVE"),
        ("Donau&shy;dampf", "Donau\xaddampf", "DONAU&shy;DAMPF"),
    ],
)
def test_entities_of_characters_are_text(text: str, expected: str, written: str) -> None:
    content = json.dumps({"a": text}, ensure_ascii=False)
    assert read("json", content).sentences == (expected,)
    found = json.loads(translate("json", content))["a"]
    assert found == written


def test_what_is_no_entity_of_a_character_stays() -> None:
    content = json.dumps({"a": "one &foo; two &NotEqualTilde; three & four"})
    assert read("json", content).sentences == ("one two three & four",)
    assert json.loads(translate("json", content))["a"] == "ONE &foo; TWO &NotEqualTilde; THREE & FOUR"


def test_a_translation_cannot_make_an_entity_or_a_tag_of_text() -> None:
    content = json.dumps({"a": "a &lt; b"})
    assert json.loads(translate("json", content, ["a < b & c > d"]))["a"] == "a &lt; b &amp; c &gt; d"
    assert json.loads(translate("json", json.dumps({"a": "x & &quot;"}), ["&gt; x"]))["a"] == "&amp;gt; x"


@settings(max_examples=50)
@given(
    st.lists(st.sampled_from(["&amp;", "&", "&lt;", "<", "'", "&#39;", "&#x27;", "ü", "&uuml;", "a", ";"]), max_size=8)
)
def test_encoding_undoes_decoding(parts: list[str]) -> None:
    reader = EntityReader()
    text = " ".join(parts)
    decoded = reader.decode(text)
    assert EntityWriter(reader.forms).encode(decoded) == text
