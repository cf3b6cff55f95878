"""Translations that a file has already are kept; only missing ones are made."""

from pathlib import Path

import pytest
from tests.unit.corpus.formats.rewriting import read, translate

from docaps.errors import CorpusError

FILES = {
    "json": (
        '{"a": "One", "b": {"c": ["Two", "Three"], "d": "Four {x}"}, "e": "Five"}',
        '{"b": {"c": ["", "Drei"], "d": "Vier {x}"}, "a": "Eins", "old": "Alt"}',
        '{"a": "Eins", "b": {"c": ["TWO", "Drei"], "d": "Vier {x}"}, "e": "FIVE"}',
    ),
    "yaml": (
        "en:\n  a: One\n  b:\n    c: [Two, Three]\n    d: |\n      Four\n  e: Five\n",
        "de:\n  b: {c: ['', Drei], d: Vier}\n  a: Eins\n",
        "de:\n  a: Eins\n  b:\n    c: [TWO, Drei]\n    d: |\n      Vier\n  e: FIVE\n",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_only_keys_without_a_translation_are_translated(name: str, tmp_path: Path) -> None:
    source, known, expected = FILES[name]
    existing = tmp_path / f"de.{name}"
    existing.write_text(known, encoding="utf-8")
    document = read(name, source, existing=str(existing))
    assert [document.sentences[number] for number in sorted(document.context_only)] == ["One", "Three", "Four"]
    assert translate(name, source, existing=str(existing)) == expected
    assert translate(name, source, existing=str(existing), everything=True) == translate(name, source)
    existing.write_text(translate(name, source), encoding="utf-8")
    assert translate(name, source, lambda _: "no", existing=str(existing)) == translate(name, source)


def test_an_existing_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    existing = tmp_path / "de.json"
    with pytest.raises(CorpusError, match=r"de\.json: no such file"):
        read("json", '{"a": "b"}', existing=str(existing))
    existing.write_text("{", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"de\.json:1: not JSON"):
        read("json", '{"a": "b"}', existing=str(existing))
