"""Markdown: text is translated; blocks, links, code and the like stay, as a parser sees them."""

import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from tests.unit.corpus.formats.marked_texts import translations
from tests.unit.corpus.formats.office_files import upper
from tests.unit.corpus.formats.rewriting import grows_evenly

from docaps import progress
from docaps.corpus.documents import Document
from docaps.corpus.formats import OutputDocument, ReadingOptions, WritingOptions
from docaps.corpus.formats.markdown_files import is_markdown, read_markdown, write_markdown
from docaps.errors import CorpusError

OPTIONS = ReadingOptions(Path("a.md"))
PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def read(text: str) -> Document:
    return read_markdown(text.encode(), OPTIONS)


def written(text: str) -> str:
    return write_markdown(upper(read(text)), WritingOptions()).decode()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Head *it* ##\n\nTitle\n===\n", "# HEAD *IT* ##\n\nTITLE\n===\n"),
        ("a **b** _c_ ~~d~~ ***e***\n", "A **B** _C_ ~~D~~ ***E***\n"),
        ("a\nb, *c\nd* e.\n", "A B, *C D* E.\n"),
        ("a\\\nb  \nc\n", "A\\\nB  \nC\n"),
        ("> a\n> b\\\n> c\n\n> d\nlazy\n", "> A B\\\n> C\n\n> D LAZY\n"),
        ("- a\n  more\n\n  b\n- [ ] c\n1. d\n", "- A MORE\n\n  B\n- [ ] C\n1. D\n"),
        ('see [a *b*](http://x.y/a_(b) "t")!\n', 'SEE [A *B*](http://x.y/a_(b) "t")!\n'),
        (
            "[a][r] [b][] [r] [no]\n\n[r]: http://x 'T'\n[b]: <y>\n",
            "[A][r] [B][b] [R][r] \\[NO\\]\n\n[r]: http://x 'T'\n[b]: <y>\n",
        ),
        ("![a dog](d.png) and [![x](y)](z)\n", "![A DOG](d.png) AND [![X](y)](z)\n"),
        ("run `a  b` or ``c`d`` now\n", "RUN `a  b` OR ``c`d`` NOW\n"),
        ("at <http://x.y> or http://a.b/c_d, a@b.cd\n", "AT <http://x.y> OR http://a.b/c_d, a@b.cd\n"),
        ("press <kbd>x</kbd> <br/> a<!-- b -->\n", "PRESS <kbd>X</kbd><br/>A<!-- b -->\n"),
        ("a[^1] b.\n\n[^1]: The note.\n", "A[^1] B.\n\n[^1]: THE NOTE.\n"),
        ("a \\* b &amp; c &copy;\n", "A \\* B & C ©\n".replace("\\* B", "* B")),
        ("| a | b \\| c |\n|---|:-:|\n| *x* | `d\\|e` f |\n", "| A | B \\| C |\n|---|:-:|\n| *X* | `d\\|e` F |\n"),
        ("---\ntitle: a\n---\n\nb\n", "---\ntitle: a\n---\n\nB\n"),
        ("```\na\n```\n\n    b\n\n<div>\nc\n</div>\n\nd\n", "```\na\n```\n\n    b\n\n<div>\nc\n</div>\n\nD\n"),
        ("a {{ b }} {% c %}\n", "A {{ b }} {% c %}\n"),
        ("a\r\n\r\n- b\r\n- c\r\n", "A\r\n\r\n- B\r\n- C\r\n"),
        ("\ufeff# a\n", "\ufeff# A\n"),
        ("12\n\n***\n\n-\n", "12\n\n***\n\n-\n"),
        ("a *word `b` ![c](d)*\n", "A *WORD `b` ![C](d)*\n"),
        ("a *b *b**\n", "*_A B B_*\n"),
        ("Text *Anna *Anna**\n", "*_TEXT ANNA ANNA_*\n"),
        ("|x y<br>z w|b|\n|-|-|\n|$a|b_1$|\n", "|X Y<br>Z W|B|\n|-|-|\n|$A|B_1$|\n"),
        ("First\n<br>\nline\n", "FIRST<br>LINE\n"),
        ("!!! note\n    This\n    is it.\n\n    Two.\n\nNo\n", "!!! note\n    THIS IS IT.\n\n    TWO.\n\nNO\n"),
        ('??? tip "The *way*"\n    body\n', '??? tip "THE *WAY*"\n    BODY\n'),
        (
            '=== "Tab"\n\n    !!! a\n        x\n\n            c\n',
            '=== "TAB"\n\n    !!! a\n        X\n\n            c\n',
        ),
        ("Term\n:   One\n    goes on.\n\nTwo\n\n: Three\n", "TERM\n:   ONE GOES ON.\n\nTWO\n\n: THREE\n"),
        ("so $a*b$ and $$x_1*y$$ \\(z^2\\) is\n", "SO $a*b$ AND $$x_1*y$$ \\(z^2\\) IS\n"),
        ("> a\n> $$\n> x*y*z\n> $$\n> b\n", "> A\n> $$\n> x*y*z\n> $$\n> B\n"),
        ("\\begin{align}\na &= b\n\\end{align}\n\nok\n", "\\begin{align}\na &= b\n\\end{align}\n\nOK\n"),
        ("it costs $5 or $6, or US$\n", "IT COSTS $5 OR $6, OR US$\n"),
        (":::note\nText\n:::\n", ":::note\nTEXT\n:::\n"),
        ("a\n{: .b }\n\n[TOC]\n\n*[H]: Hyper\n", "A\n{: .b }\n\n[TOC]\n\n*[H]: Hyper\n"),
        ("see [[wiki link]] and [a](b$c_d$) `$x*y$`\n", "SEE [[wiki link]] AND [A](b$c_d$) `$x*y$`\n"),
        ("```\n!!! note\n    $a*b$\n: x\n```\n", "```\n!!! note\n    $a*b$\n: x\n```\n"),
    ],
)
def test_only_text_is_replaced(text: str, expected: str) -> None:
    assert written(text) == expected


def test_a_block_that_cannot_be_followed_stays_and_is_reported(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress.REPORTER, "enabled", True)
    text = "Before\n\n- a\tb\n\n-\tc\n\td\\\n\te\n\nAfter\n"
    monkeypatch.setattr("docaps.corpus.formats.markdown_files.HARD_BREAK", re.compile("(?!)"))
    assert written(text).startswith("BEFORE\n")
    assert "\td\\\n\te\n\nAFTER\n" in written(text)
    assert "a.md:5: left untranslated: a block whose markup is not where" in capsys.readouterr().err


def test_a_file_with_more_signs_than_the_parser_can_take_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docaps.corpus.formats.markdown_files.MOST_SIGNS", 9)
    assert read("*a* " * 4).sentences
    with pytest.raises(CorpusError, match="more than 9 signs of markup and line ends: split the file"):
        read("*a* " * 5)


def test_a_link_whose_text_names_its_target_still_has_it_in_other_words() -> None:
    document = read("See [the guide] and ![logo][].\n\n[the guide]: g.md\n[logo]: l.png\n")
    result = write_markdown(OutputDocument(document, ("Siehe Anleitung und Zeichen.",)), WritingOptions()).decode()
    inline = PARSER.parse(result)[1]
    targets = [child.attrs.get("href") or child.attrs.get("src") for child in inline.children or () if child.attrs]
    assert sorted(map(str, targets)) == ["g.md", "l.png"]


@pytest.mark.parametrize(
    "text", ["# a", "- a", "1. a", "> a", "a *b* c", "_a_", "[a](b)", "`a`", "<b>", "&amp;", "~~a~~", "![x](y)", "+ a"]
)
def test_a_translation_that_looks_like_markup_is_text(text: str) -> None:
    document = read("word *here* now\n")
    result = write_markdown(OutputDocument(document, (text,)), WritingOptions()).decode()
    tokens = PARSER.parse(result)
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    plain = "".join(child.content for child in tokens[1].children or () if child.type == "text")
    assert plain == text


WORDS = st.sampled_from(
    ["Anna", "bought.", "It was", "a_b", "2 * 3", "(x)", "é 😀", "12", "https://a.b/c", "!", "&amp;"]
)
INLINES = st.recursive(
    st.one_of(WORDS, st.sampled_from(["`a *b*`", "<http://x.y>", "<br>", "![dog](d.png)", "[^1]", "\\*", "~~gone~~"])),
    lambda inner: st.builds(
        lambda form, parts: form.format(" ".join(parts)),
        st.sampled_from(["*{}*", "**{}**", '[{}](http://x "t")', "<b>{}</b>", "word {}"]),
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=5,
)
LINES = st.lists(INLINES, min_size=1, max_size=3).map(" ".join)
BLOCKS = st.one_of(
    LINES.map(lambda line: f"Text {line}"),
    LINES.map(lambda line: f"## Head {line}"),
    st.lists(LINES, min_size=1, max_size=3).map(lambda lines: "\n".join(f"- item {line}" for line in lines)),
    st.lists(LINES, min_size=1, max_size=2).map(lambda lines: "\n".join(f"> quote {line}" for line in lines)),
    st.sampled_from(
        ["```py\nx = 1\n```", "    code", "---", "<div>\nraw\n</div>", "| a | b |\n|---|---|\n| *c* | `d` |"]
    ),
)
KEPT = ("code_inline", "html_inline", "link_open", "link_close", "image", "fence", "code_block", "html_block", "hr")


def structure(text: str) -> tuple[list[tuple[str, str]], Counter[str]]:
    """Return the blocks of a text, and what is in them besides text."""
    blocks: list[tuple[str, str]] = []
    inner = Counter[str]()
    for token in PARSER.parse(text):
        blocks.append((token.type, token.markup + (token.content if token.type in KEPT else "")))
        for child in token.children or ():
            if child.type not in ("text", "softbreak"):
                kept = child.content if child.type in ("code_inline", "html_inline") else ""
                markup = child.markup.replace("_", "*")  # either is emphasis
                inner[f"{child.type} {markup} {sorted(child.attrs.items())} {kept}".replace("alt", "")] += 1
    return blocks, inner


EMPHASIS = ("em", "st", "s_")
"""Emphasis without a word in it cannot be written."""


@settings(max_examples=40)
@given(st.data(), st.lists(BLOCKS, min_size=1, max_size=3).map("\n\n".join))
def test_generated_files_keep_their_structure(data: st.DataObject, text: str) -> None:
    document = read(text)
    same = write_markdown(OutputDocument(document), WritingOptions()).decode()
    assert structure(same) == structure(text)
    assert read(same).sentences == document.sentences
    item = data.draw(translations(document))
    result = write_markdown(item, WritingOptions()).decode()
    (blocks, inner), (expected_blocks, expected) = structure(result), structure(text)
    assert {one: count for one, count in inner.items() if one[:2] not in EMPHASIS} == {
        one: count for one, count in expected.items() if one[:2] not in EMPHASIS
    }
    if not all(item.text):
        return
    assert blocks == expected_blocks
    words = re.sub(r"[\W_]", "", "".join(item.text))
    assert words == re.sub(r"[\W_]", "", "".join(read(result).sentences))


@settings(deadline=None)
@given(st.text(st.sampled_from("ab *_`[]()<>!#->|\\\n1.~&;:/"), max_size=50))
def test_any_text_is_read_and_written(text: str) -> None:
    document = read(text)
    same = write_markdown(OutputDocument(document), WritingOptions()).decode()
    assert Counter(re.findall("[ab1]", same)) == Counter(re.findall("[ab1]", text))


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"a\ncaf\xe9", "a.md:2: not UTF-8: convert it to UTF-8 first"), (b"a\n\n\0", "a.md:3: holds a NUL byte")],
)
def test_bad_files_are_refused(content: bytes, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read_markdown(content, OPTIONS)


@pytest.mark.parametrize("piece", ["*a ", "[a](", "![", "`", "> ", "<a ", "- a\n", "a\n\n"])
def test_odd_files_take_no_longer_than_others(piece: str) -> None:
    assert grows_evenly(lambda size: written(piece * size), 100)


def test_a_file_is_known_by_its_name_only() -> None:
    assert is_markdown(b"# Title", "readme.md")
    assert not is_markdown(b"# Title", "readme.txt")
    assert not is_markdown(b"# Title", "")
    assert not is_markdown(b"a\0b", "readme.md")
