"""Placeholders stay as they are, in place, with the spaces around them."""

import json
import re
from collections import Counter
from collections.abc import Callable
from xml.sax.saxutils import escape

import polib
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.corpus.formats.rewriting import read, sentences, translate
from translate.storage import xliff as toolkit

from docaps.corpus.formats.passages import fill
from docaps.corpus.formats.strings.placeholders import spread_placeholders, take_placeholders


def in_json(text: str, rule: Callable[[str], str] = str.upper) -> str:
    content = json.dumps({"first": "A text.", "text": text}, ensure_ascii=False)
    return str(json.loads(translate("json", content, rule))["text"])


@pytest.mark.parametrize(
    "placeholder",
    [
        "$name", "${name}", ":name", "@name", "%Y-%m-%d", "%H:%M", "%d %B %Y", "%Y", "__name__", "@:common.ok",
        "@.lower:common.ok", "<%= name %>", "<%- name %>", "%name%", "%(name)s", "%1$s", "%5.2f", "{name}", "{0:>8}",
        "{{ name }}", "%{name}", "#{name}", "$t(name)", "name@example.org", "https://example.org/name?x=y", ":smile:",
    ],
)  # fmt: skip
def test_what_a_program_fills_in_is_not_translated(placeholder: str) -> None:
    assert in_json(f"we saw {placeholder}, and {placeholder} left") == f"WE SAW {placeholder}, AND {placeholder} LEFT"


@pytest.mark.parametrize("text", ["it cost $5 or 5%", "note:text at 10:30", "file[s] and a [b] c", "100% Yes, a @ b"])
def test_what_only_looks_like_a_placeholder_is_text(text: str) -> None:
    assert in_json(text) == text.upper()


def test_tags_in_square_brackets_go_around_their_words() -> None:
    found = in_json("see [b]the house[/b] and [url=x]go[/url]", lambda text: " ".join(reversed(text.split())))
    assert found == "[url=x]go[/url] and [b]house the[/b] see"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("First line<br>Second line", ("First line Second line",)),
        ("End.<br />Next one", ("End.", "Next one")),
        ("10&nbsp;km", ("10 km",)),
        ("10&#160;km", ("10 km",)),
        ("10\u202fkm", ("10 km",)),
        ("one<br><br>two", ("one two",)),
        ("<p>One.</p>\n<p>Two<li>three</p>", ("One.", "Two", "three")),
        ("foo%sbar", ("foo bar",)),
        ("Deleted %d %s files.", ("Deleted files.",)),
        ("Done. %s files are left.", ("Done.", "files are left.")),
        ("Hello {name}, (%s) and", ("Hello, () and",)),
    ],
)
def test_the_text_between_has_the_spaces_that_words_need(text: str, expected: tuple[str, ...]) -> None:
    assert read("json", json.dumps([text])).sentences == expected
    assert in_json(text) == text.upper().replace("%S", "%s").replace("%D", "%d").replace("{NAME}", "{name}").replace(
        "<BR", "<br"
    ).replace("&NBSP", "&nbsp").replace("P>", "p>").replace("LI>", "li>")


@pytest.mark.parametrize(
    ("text", "order", "expected"),
    [
        ("%s file", ["file", 0], "file %s"),
        ("the %s file", [0, "file the"], "%s file the"),
        ("%dpx wide", ["wide", 0, "px"], "wide %dpx"),
        ("(%s) file", ["file", 0, "()"], "file %s ()"),
        ("Hello %s, you", ["you", 0, "hello,"], "you %s hello,"),
        ("you, %s: no", ["no", 0, ", you"], "no %s, you"),
        ("one<br>two", ["two,", 0, "one"], "two,<br>one"),
        ("10&nbsp;km", ["km 10", 0, "!"], "km 10&nbsp;!"),
        ("%d %s files", ["files", 1, 0], "files %s %d"),
        ("<b>%s now</b> go", ["go", 0, "now", 1, 2], "go <b>now %s</b>"),
        ("a %s. b", ["«", 0, "»"], "«%s»"),
    ],
)
def test_a_placeholder_that_moves_has_a_space_where_it_needs_one(
    text: str, order: list[int | str], expected: str
) -> None:
    marks = take_placeholders(text)[1]
    pieces = spread_placeholders(marks[one] if isinstance(one, int) else one for one in order)
    assert fill(pieces, str) == expected


@pytest.mark.parametrize(
    ("flag", "text", "expected"),
    [
        ("c-format", "sold % d pieces", "SOLD % d PIECES"),
        ("no-c-format", "sold 100 %d pieces", "SOLD 100 %D PIECES"),
        ("python-brace-format", "sold {0!r:>{width}} pieces", "SOLD {0!r:>{width}} PIECES"),
        ("", "sold 50 % d pieces of %d", "SOLD 50 % D PIECES OF %d"),
    ],
)
def test_the_flags_of_an_entry_say_what_is_a_placeholder(flag: str, text: str, expected: str) -> None:
    content = f'#, {flag}\nmsgid "{text}"\nmsgstr ""\n'
    assert polib.pofile(translate("po", content))[0].msgstr == expected


@pytest.mark.parametrize(
    "element",
    [
        '<x id="1" ctype="lb"/>',
        '<x id="1" ctype="x-html-br"/>',
        '<ph id="1">&lt;br/&gt;</ph>',
        '<ph id="1" equiv-text="&lt;br&gt;"/>',
        '<ph id="1" subType="xlf:lb"/>',
    ],
)
def test_an_inline_element_that_breaks_the_line_separates_words(element: str) -> None:
    source = f"one line{element}Second line"
    content = f'<xliff version="1.2"><trans-unit><source>{source}</source></trans-unit></xliff>'
    assert read("xliff", content).sentences == ("one line Second line",)
    assert f">ONE LINE{element}SECOND LINE</target>" in translate("xliff", content)


PLACEHOLDERS = [
    "%s", "%d", "%1$s", "{name}", "{{#if}}", "__name__", "$name", ":name", "@name", "<%= x %>", "%Y-%m-%d", "<b>",
    "</b>", "<i>", "</i>", "<br/>", "[b]", "[/b]", "&nbsp;", "&amp;", "&#39;", "&uuml;", "«", "»", "(", ")", "_",
    "\u00a0", "AT&T",
]  # fmt: skip
SPACES = st.sampled_from([" ", " ", ""])
texts = st.lists(st.tuples(st.one_of(sentences(), st.sampled_from(PLACEHOLDERS)), SPACES), min_size=1, max_size=7).map(
    lambda parts: "A text " + "".join(map("".join, parts)).strip(" ") + " ends."
)


orders = st.permutations(range(6))


def in_po(text: str) -> str:
    return polib.pofile(translate("po", f'msgid "{text}"\nmsgstr ""\n', str))[0].msgstr


def in_yaml(text: str) -> str:
    return str(yaml.safe_load(translate("yaml", yaml.safe_dump([text], allow_unicode=True, width=9999), str))[0])


def in_xliff(text: str) -> str:
    content = f'<xliff version="1.2"><file><body><trans-unit id="1"><source>{escape(text)}</source></trans-unit>'
    written = translate("xliff", content + "</body></file></xliff>", str)
    return str(toolkit.xlifffile.parsestring(written.encode()).units[0].target)


def in_tmx(text: str) -> str:
    content = f'<tmx><body><tu><tuv xml:lang="en"><seg>{escape(text)}</seg></tuv></tu></body></tmx>'
    found = re.findall("<seg>(.*?)</seg>", translate("tmx", content, str), re.DOTALL)
    assert found[0] == found[1]
    return text


def test_flags_are_those_of_the_entry() -> None:
    content = '#, no-c-format\nmsgid "all %d a"\nmsgstr ""\n\nmsgid "all %d b"\nmsgstr ""\n'
    assert [one.msgstr for one in polib.pofile(translate("po", content))] == ["ALL %D A", "ALL %d B"]


def test_several_spaces_beside_placeholders_stay() -> None:
    assert in_json(" see  %s  %d  now ") == " SEE  %s  %d  NOW "


@settings(max_examples=60)
@given(texts, st.sampled_from([lambda text: in_json(text, str), in_po, in_yaml, in_xliff, in_tmx]))
def test_a_translation_that_changes_nothing_gives_the_source(text: str, translated: Callable[[str], str]) -> None:
    assert translated(text) == text


@settings(max_examples=40)
@given(st.lists(st.one_of(sentences(), st.sampled_from(PLACEHOLDERS)), max_size=6).map(" ".join), orders)
def test_placeholders_are_the_same_however_words_move(text: str, order: list[int]) -> None:
    def move(sentence: str) -> str:
        words = sentence.split()
        return " ".join(words[number] for number in order if number < len(words))

    text = f"A text {text} ends."
    literals = [one for one in PLACEHOLDERS if len(one) > 1 and one not in ("&amp;", "&#39;", "&uuml;", "AT&T")]
    pattern = re.compile("|".join(map(re.escape, sorted(literals, key=len, reverse=True))))
    assert Counter(pattern.findall(in_json(text, move))) == Counter(pattern.findall(text))
