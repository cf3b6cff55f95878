"""JSON files of strings: every string that is a value is translated; all else stays as it was."""

import json
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.corpus.formats.rewriting import Rule, grows_evenly, read, rules, sentences, translate, translate_bytes

from docaps import progress
from docaps.corpus.formats.registry import detect_file
from docaps.errors import CorpusError

CATALOGUE = r"""{
  "@@locale": "en",
  "greet": "Good morning, Dr. Weber. Do you have a moment?",
  "@greet": {"description": "Not this"},
  "list": [1, 2.5e3, true, null, {"deep": "Hello {name}, you have {{count}} new <b>messages</b>.\nSecond."}],
  "files": "{count, plural, one {# file} other {# files from {who}}}",
  "e": "",   "u": "caf\u00e9"
}
"""


def test_values_are_translated_and_nothing_else() -> None:
    expected = (
        CATALOGUE.replace("Good morning, Dr. Weber.", "GOOD MORNING, DR. WEBER.")
        .replace("Do you have a moment", "DO YOU HAVE A MOMENT")
        .replace("Hello {name}, you have {{count}} new", "HELLO {name}, YOU HAVE {{count}} NEW")
        .replace("messages", "MESSAGES")
        .replace("Second", "SECOND")
        .replace("# file}", "# FILE}")
        .replace("# files from", "# FILES FROM")
        .replace(r"caf\u00e9", r"CAF\u00c9")
        .replace('"@@locale": "en"', '"@@locale": "de"')
    )
    assert translate("json", CATALOGUE) == expected
    assert read("json", CATALOGUE).sentences[1:3] == ("Good morning, Dr. Weber.", "Do you have a moment?")


def test_descriptions_are_context() -> None:
    content = '{"a": "Open", "b": {"a": "Near"}, "@a": {"description": "The state of a shop."}, "@b": "x"}'
    document = read("json", content)
    assert (document.sentences, document.context_only) == (("The state of a shop.", "Open", "Near"), {0})
    assert translate("json", content) == content.replace("Open", "OPEN").replace("Near", "NEAR")


@pytest.mark.parametrize("value", ["some_key", "MAX_SIZE", "#ff00aa", "/img/logo", "logo.png", "a/b.html"])
def test_values_for_programs_stay(value: str) -> None:
    assert read("json", json.dumps(["A text", value])).sentences == ("A text",)
    assert read("yaml", f"a: A text\nb: '{value}'\n").sentences == ("A text",)


@pytest.mark.parametrize("value", ["well-known", "and/or", "Yes", "e.g. this", "OK"])
def test_short_texts_are_translated(value: str) -> None:
    assert json.loads(translate("json", json.dumps([value], ensure_ascii=False)))[0] == value.upper()


def test_escapes_are_as_the_file_has_them() -> None:
    assert translate("json", '{"a": "für"}') == '{"a": "FÜR"}'
    assert translate("json", r'{"a": "f\u00fcr"}') == r'{"a": "F\u00dcR"}'
    assert translate("json", '{"a": "fur"}', ["für"]) == '{"a": "für"}'
    assert translate("json", r'{"a": "and\/or", "b": "c"}') == r'{"a": "AND\/OR", "b": "C"}'
    assert translate_bytes("json", '{"a": "für"}'.encode("utf-16")).decode("utf-16") == '{"a": "FÜR"}'


def test_a_choice_with_words_around_it_is_left_and_reported(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress.REPORTER, "enabled", True)
    left = '{"a": "One.",\n"b": "You have {n, plural, one {# file} other {# files}} left"}'
    assert translate("json", left) == left.replace("One.", "ONE.")
    assert "file.json:2: left untranslated: a choice (plural, select) with words around" in capsys.readouterr().err
    nested = '{"a": "{who, select, a {{n, plural, offset:1 =0 {none} other {# more}}} other {\'{\' text}}"}'
    assert translate("json", nested) == nested.replace("none", "NONE").replace("more", "MORE").replace("text", "TEXT")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"a": "b",\n}', r"file\.json:2: not JSON: expected a string, found '}'"),
        ('{"a" "b"}', "expected :, found '\"b\"'"),
        ('["a"', "expected , or ], found its end"),
        ('{"a": "b"} x', r"expected the end of the file, found 'x'"),
        ('{"a": "b\nc"}', "not JSON"),
        ('{"a": 01}', "not JSON"),
        ("[1, 2, 3]", "no strings to translate"),
        ("[" * 600 + "]" * 600, "more than 500 levels"),
        (r'{"a": "x \ud800"}', r"file\.json:1: .*U\+D800"),
        (b'{"a": "\xff"}', "not UTF-8"),
        ("", "expected a string or a number"),
    ],
)
def test_what_is_no_file_of_strings_is_refused(content: str | bytes, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read("json", content)


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CorpusError, match=r"file\.json:1: a sentence of 20,001 characters"):
        read("json", json.dumps(["a " * 10_000 + "b"]))
    monkeypatch.setattr("docaps.corpus.formats.strings.messages.MOST_STRINGS", 3)
    items = {
        "json": ("[", '"a b",', '"a b"]'),
        "yaml": ("", "- a b\n", "- a b\n"),
        "po": ("", 'msgid "a"\nmsgstr ""\n\n', 'msgid "a"\nmsgstr ""\n'),
        "tmx": ("<tmx>", '<tu><tuv xml:lang="en"><seg>a</seg></tuv></tu>', "</tmx>"),
        "xliff": ('<xliff version="1.2">', "<trans-unit><source>a</source></trans-unit>", "</xliff>"),
    }
    for name, (head, one, tail) in items.items():
        read(name, head + one * 2 + tail)
        with pytest.raises(CorpusError, match="more than 3 strings: split the file"):
            read(name, head + one * 4 + tail)


def test_only_files_named_so_are_taken_for_json(tmp_path) -> None:
    def found(name: str, content: bytes) -> str | None:
        one = detect_file(content, tmp_path / name)
        return one and one.name

    assert found("en.json", b'{"greet": "Hello"}') == "json"
    assert found("en.arb", b'{"greet": "Hello"}') == "json"
    assert found("en.jsonl", b'{"greet": "Hello"}') is None
    assert found("story.json", b'{"source": ["Hello"]}') is None
    assert found("notes.json", b"Hello") == "json"  # which is refused with its line


def test_end_tags_without_a_start_do_not_search_all_others() -> None:
    assert grows_evenly(lambda size: read("json", '{"a": "' + "<b>" * size + "</i>" * size + 'x"}'), 400)


NAMES = ["{name}", "{{n}}", "%{n}", "<b>", "</b>", "<br/>", "&nbsp;", "$t(key)", "https://a.org/b"]
PLACEHOLDERS = st.sampled_from(NAMES)
LITERALS = re.compile("|".join(map(re.escape, ["{{n}}", *NAMES])))
ODD = st.sampled_from(["\n", '"', "\\", "/", "\u2028", "😀", "{", "}", "#", "'"])
texts = st.lists(st.one_of(sentences(), PLACEHOLDERS, ODD), max_size=5).map(" ".join)
trees = st.recursive(
    st.one_of(texts, st.none(), st.booleans(), st.integers()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(sentences(), inner, max_size=3)),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(trees, rules, st.booleans(), st.sampled_from([None, 2, "\t"]))
def test_keys_and_other_values_stay(tree: Any, rule: Rule, ascii_only: bool, indent: int | str | None) -> None:
    content = json.dumps({"first": "A text.", "rest": tree}, ensure_ascii=ascii_only, indent=indent)
    found = json.loads(translate("json", content, rule))
    assert list(leaves(found, marks_only=True)) == list(leaves(json.loads(content), marks_only=True))


def leaves(tree: Any, *, marks_only: bool, path: tuple[Any, ...] = ()) -> Any:
    """Yield every leaf with its path; of a text, what must not change."""
    if isinstance(tree, dict | list):
        items = tree.items() if isinstance(tree, dict) else enumerate(tree)
        for key, inner in items:
            yield from leaves(inner, marks_only=marks_only, path=(*path, key))
    elif isinstance(tree, str):
        yield path, Counter(LITERALS.findall(tree)), tree.count("\n")
    else:
        yield path, tree
