"""YAML files of strings: values keep their style where they can; comments, keys and anchors stay as they were."""

import io
import sys
from collections.abc import Callable

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.corpus.formats.rewriting import Rule, read, rules, sentences, translate

from docaps.errors import CorpusError, DocapsError

CATALOGUE = """# Comment
en: &anchor
  hello: Good morning, Dr. Weber.   # c
  quoted: 'It''s %{name}'
  double: "Line one\\nLine two"
  literal: |
    First line.
    Second line.

  folded: >-
    This text is folded
    over lines.

    Second paragraph.
  number: 5
  truth: yes
  date: 2020-01-01
  list: [One two, "Three", {a: b c}]
  ? complex key
  : value here
  anchored: &x !!str Some text
  alias: *x
  tagged: !other keep this
  several: this is
    a plain text
"""


def test_values_keep_their_style() -> None:
    assert translate("yaml", CATALOGUE) == (
        CATALOGUE.replace("en: &anchor", "de: &anchor")
        .replace("Good morning, Dr. Weber", "GOOD MORNING, DR. WEBER")
        .replace("It''s", "IT''S")
        .replace("Line one\\nLine two", "LINE ONE\\nLINE TWO")
        .replace("First line.\n    Second line.", "FIRST LINE.\n    SECOND LINE.")
        .replace("This text is folded\n    over lines.", "THIS TEXT IS FOLDED OVER LINES.")
        .replace("Second paragraph", "SECOND PARAGRAPH")
        .replace("One two", "ONE TWO")
        .replace("Three", "THREE")
        .replace("b c", "B C")
        .replace("value here", "VALUE HERE")
        .replace("Some text", "SOME TEXT")
        .replace("this is\n    a plain text", "THIS IS A PLAIN TEXT")
    )


def test_comments_are_context() -> None:
    content = (
        "# The whole file\n\na:\n  # Said to guests\n  # of the house\n  b: Welcome  # on the door\n"
        "  # c: an old entry\n  d: 'it # is'\n  e: |\n    # no comment\n"
    )
    document = read("yaml", content)
    notes = [document.sentences[number] for number in sorted(document.context_only)]
    assert notes == ["Said to guests of the house on the door"]
    assert document.sentences[1:] == ("Welcome", "it # is", "# no comment")
    assert "  b: WELCOME  # on the door\n" in translate("yaml", content)


@pytest.mark.parametrize(
    ("style", "text", "expected"),
    [
        ("a b", "no", '"no"'),
        ("a b", "- x", '"- x"'),
        ("a b", "x: y", '"x: y"'),
        ("a b", "x #y", '"x #y"'),
        ("'a b'", "it's", "'it''s'"),
        ('"a b"', 'say "x"', '"say \\"x\\""'),
        ("[a b]", "x, y", '["x, y"]'),
        ("a b", "x, y", "x, y"),
        ("|\n  a b", "12", "|\n  12"),
        ("|2\n  a b", "x", '"x\\n"'),
    ],
)
def test_a_value_is_quoted_where_its_style_cannot_hold_it(style: str, text: str, expected: str) -> None:
    assert translate("yaml", f"k: {style}\n", [text]) == f"k: {expected}\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a: [b\n", r"file\.yaml:2: not YAML"),
        ("a: 'b\n", "not YAML"),
        ("a: b\nc: d: e\n", r"file\.yaml:2: not YAML: mapping values are not allowed"),
        ("- 1\n- 2\n", "no strings to translate"),
        ("just a text\n", "no strings to translate"),
        ("[" * 200 + "a" + "]" * 200, "more than 100 levels"),
        ("a: \x07b\n", "not YAML"),
    ],
)
def test_what_is_no_file_of_strings_is_refused(content: str, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read("yaml", content)


def test_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(DocapsError, match=r"YAML files need PyYAML: pip install 'docaps\[files\]'"):
        read("yaml", "a: b c\n")


ODD = st.sampled_from(
    ["\n", '"', "'", ": ", " #", "- ", "%{n}", "\t", "😀", "\\", "&a", "*b", "[", "no", "\x85", "{x}"]
)
texts = st.lists(st.one_of(sentences(), ODD), min_size=1, max_size=5).map(" ".join)
trees = st.recursive(
    texts,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3), st.dictionaries(sentences(), inner, min_size=1, max_size=3)
    ),
    max_leaves=8,
)
STYLES = st.sampled_from([None, '"', "'", "|", ">"])


@settings(max_examples=80, deadline=None)
@given(trees, rules, STYLES, st.booleans(), st.sampled_from([20, 80]), st.sampled_from(["\n", "\r\n"]))
def test_the_result_has_the_same_keys_and_the_new_texts(
    tree: object, rule: Rule, style: str | None, flow: bool, width: int, line_end: str
) -> None:
    written = io.StringIO()
    content = {"first": "A text.", "rest": tree}
    yaml.safe_dump(content, written, default_style=style, default_flow_style=flow, width=width, allow_unicode=True)
    source = written.getvalue().replace("\n", line_end)
    found = yaml.safe_load(translate("yaml", source, rule))
    assert mapped(found, count_lines) == mapped(yaml.safe_load(source), count_lines)
    if rule is str:
        assert mapped(found, without_spaces) == mapped(yaml.safe_load(source), without_spaces)


def mapped(tree: object, rule: Callable[[str], object]) -> object:
    """Return a tree with something else in place of its texts."""
    if isinstance(tree, dict):
        return {key: mapped(inner, rule) for key, inner in tree.items()}
    return [mapped(inner, rule) for inner in tree] if isinstance(tree, list) else rule(str(tree))


def count_lines(text: str) -> int:
    return text.count("\n")


def without_spaces(text: str) -> str:
    """Leave out the spaces, of which those around placeholders may change."""
    return "".join(text.split())
