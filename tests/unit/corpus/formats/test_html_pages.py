"""HTML: text between tags is translated, all else stays byte for byte."""

import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.corpus.formats.marked_texts import translations
from tests.unit.corpus.formats.office_files import upper
from tests.unit.corpus.formats.rewriting import grows_evenly

from docaps.corpus.documents import Document
from docaps.corpus.formats import OutputDocument, ReadingOptions, WritingOptions
from docaps.corpus.formats.html_pages import is_html, read_html, write_html
from docaps.errors import CorpusError

OPTIONS = ReadingOptions(Path("a.html"))


def read(page: str | bytes) -> Document:
    return read_html(page if isinstance(page, bytes) else page.encode(), OPTIONS)


def written(page: str | bytes) -> str:
    return write_html(upper(read(page)), WritingOptions()).decode()


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<p>a <b>b</b> c</p>", "<p>A <b>B</b> C</p>"),
        ("<p>One. <i>Two. Three</i>.</p>", "<p>ONE. <i>TWO. THREE</i>.</p>"),
        ("<ul>\n <li>one\n <li>two\n</ul>", "<ul>\n <li>ONE\n <li>TWO\n</ul>"),
        ("a<br>b<br/>c", "A<br>B<br/>C"),
        ("<p>a &lt; b &amp; c&nbsp;d &eacute;</p>", "<p>A &lt; B &amp; C D É</p>"),
        ("a < b > c", "A &lt; B &gt; C"),
        ("<p title='say \"a\"'>x</p>", "<p title='SAY &quot;A&quot;'>X</p>"),
        ("<p>see <img alt=dog src=a> <a href='b' title=\"c\">d</a></p>",) * 2,
        ("<p>use <code>if x</code> now</p>", "<p>USE <code>if x</code> NOW</p>"),
        (
            "<script>if (a<b) '</p>'</script><style>p>a{}</style>x",
            "<script>if (a<b) '</p>'</script><style>p>a{}</style>X",
        ),
        ("<pre>a <b>b</b></pre><textarea>a<p></textarea>", "<pre>a <b>b</b></pre><textarea>a<p></textarea>"),
        (
            "<p>by <span translate=no>x <span>y</span></span> z</p>",
            "<p>BY <span translate=no>x <span>y</span></span> Z</p>",
        ),
        ("<div translate='no'><p>a</p></div><p>b</p>", "<div translate='no'><p>a</p></div><p>B</p>"),
        ("<p><b>a <i>b</b> c</i></p>", "<p><b>A <i>B</b> C</i></p>"),
        ("<p>a<!-- b --> c</p><!-- <p>d</p> -->", "<p>A<!-- b --> C</p><!-- <p>d</p> -->"),
        ("<input placeholder='name' value='a'>", "<input placeholder='NAME' value='a'>"),
        (
            "<meta name=description content='a'><meta name=x content='b'>",
            "<meta name=description content='A'><meta name=x content='b'>",
        ),
        ("<p a=\"x>y\" b='>' c=it's>t</p>", "<p a=\"x>y\" b='>' c=it's>T</p>"),
        ("<p>a <b>b", "<p>A <b>B"),
        ("<code>a", "<code>A"),
    ],
)
def test_only_text_is_replaced(page: str, expected: str) -> None:
    if "alt=dog" in page:
        expected = '<p>SEE <img alt="DOG" src=a> <a href=\'b\' title="C">D</a></p>'
    assert written(page) == expected


def test_titles_come_before_the_text_around_them() -> None:
    page = "<html><title>A &amp; B</title><p>See <img alt='a dog'> there. And <a title='more'>here</a>.</p>"
    assert read(page).sentences == ("A & B", "a dog", "more", "See there.", "And here.")


@pytest.mark.parametrize(("code", "expected"), [("en", "de"), ("EN-us", "de"), ("fr", "fr"), ("", "")])
def test_the_language_of_the_page_becomes_that_of_the_translation(code: str, expected: str) -> None:
    assert written(f'<html lang="{code}"><p lang="en">x').startswith(f'<html lang="{expected}"><p lang="en">')


TEXTS = st.sampled_from(
    ["Anna bought a coat.", "It was", " ", "warm\n", "&amp;", "&lt;", "ß 😀", "12", "\u00a0", "a < b"]
)
INLINE = st.sampled_from(["b", "i", "a", "span", "em"])
TREES = st.recursive(
    st.one_of(TEXTS, st.sampled_from(["<br>", "<img src=x>", "<!-- <b> -->", "<code>x <b>y</b></code>", "<hr>"])),
    lambda inner: st.builds(
        lambda name, parts: f"<{name} class='x'>{''.join(parts)}</{name}>",
        st.one_of(INLINE, st.sampled_from(["p", "div", "h1", "li"])),
        st.lists(inner, max_size=4),
    ),
    max_leaves=12,
)


class Tags(HTMLParser):
    """Collects all that is not text, with the tags around it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(f"<{tag} {attrs}>")

    def handle_endtag(self, tag: str) -> None:
        self.found.append(f"</{tag}>")

    def handle_comment(self, data: str) -> None:
        self.found.append(data)

    def handle_data(self, data: str) -> None:
        self.text += data


@settings(max_examples=40)
@given(st.data(), st.lists(TREES, max_size=4).map("".join))
def test_generated_pages_keep_their_structure(data: st.DataObject, page: str) -> None:
    document = read(page)
    same = write_html(OutputDocument(document), WritingOptions()).decode()
    assert Tags(same).found == Tags(page).found
    assert "".join(Tags(same).text.split()) == "".join(Tags(page).text.split())
    shown = [BeautifulSoup(one, "html.parser").get_text().split() for one in (same, page)]
    assert "".join(shown[0]) == "".join(shown[1])
    again = read(same)
    assert (again.sentences, again.paragraphs) == (document.sentences, document.paragraphs)
    item = data.draw(translations(document))
    other = write_html(item, WritingOptions()).decode()
    assert sorted(Tags(other).found) == sorted(Tags(page).found)
    parsed = [BeautifulSoup(one, "html.parser") for one in (other, page)]
    blocks, expected = ([tag.name for tag in one.find_all(["p", "div", "h1", "li", "hr"])] for one in parsed)
    assert blocks == expected
    assert "".join("".join(item.text).split()) in re.sub(r"\s", "", "".join(read(other).sentences))


@given(st.text(st.sampled_from("<>/!-='\" abp&;\n"), max_size=60))
def test_any_text_is_read_and_written(page: str) -> None:
    document = read(page)
    same = write_html(OutputDocument(document), WritingOptions()).decode()
    assert re.findall(r"[ab]", unescape(same)) == re.findall(r"[ab]", unescape(page))


@pytest.mark.parametrize(
    ("encoding", "declaration"),
    [
        ("latin-1", "<meta charset=iso-8859-1>"),
        ("cp1252", '<meta http-equiv="Content-Type" content="text/html; charset=windows-1252">'),
        ("utf-16", ""),
        ("utf-8-sig", ""),
        ("shift_jis", "<meta charset='shift_jis'>"),
    ],
)
def test_a_page_keeps_its_encoding(encoding: str, declaration: str) -> None:
    letter = "日" if encoding == "shift_jis" else "é"
    page = f"<html>{declaration}<p>caf{letter}</p><pre>{letter}</pre></html>".encode(encoding)
    document = read(page)
    assert document.sentences == (f"caf{letter}",)
    result = write_html(OutputDocument(document, ("ü 😀",)), WritingOptions()).decode(encoding)
    assert result.endswith(f"<pre>{letter}</pre></html>")
    assert BeautifulSoup(result, "html.parser").p.get_text() == "ü 😀"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("page", "message"),
    [
        (b"<p>a</p>\n<p>caf\xe9</p>", "a.html:2: not UTF-8, as the page says, or must be if it says nothing"),
        (b"<meta charset=klingon>x", "a.html: the page says it is in 'klingon', which is not known"),
        (b"<meta charset=ascii>\xff", "a.html:1: not ASCII"),
        (b"<p>a\0b</p>", r"a.html:1: a sentence holds the character U\+0000, which is no text"),
    ],
)
def test_bad_pages_are_refused(page: bytes, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read(page)


@pytest.mark.parametrize("piece", ["<a x='", "<code>", "<!--", "<b>", "</b>", '<p title="a"', "&", "<b>a</b>", "< a"])
def test_odd_pages_take_no_longer_than_others(piece: str) -> None:
    assert grows_evenly(lambda size: written(piece * size), 200)


def test_a_sentence_of_very_many_marks_takes_no_longer_than_others() -> None:
    assert grows_evenly(lambda size: written("<p>" + "<b>word</b> " * size), 510)


def test_elements_without_an_end_do_not_search_the_page_each() -> None:
    assert grows_evenly(lambda size: read("".join(f"<x{n} translate=no>" for n in range(size)).encode()), 400)


def test_end_tags_without_a_start_do_not_search_all_others() -> None:
    assert grows_evenly(lambda size: read(("<b>" * size + "a" + "</i>" * size).encode()), 400)


def test_a_paragraph_with_more_tags_than_any_text_has_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docaps.corpus.formats.passages.MOST_TAGS", 9)
    assert read(b"<p>a" + b"<b>b" * 9 + b"<p>" + b"<b>c" * 9).sentences
    with pytest.raises(CorpusError, match="more than 9 tags and other marks in one paragraph: split the file"):
        read(b"<p>a" + b"<b>b" * 10)


@pytest.mark.parametrize(
    ("start", "name", "expected"),
    [
        (b"<!DOCTYPE html>\n<html>", "", True),
        (b"\xef\xbb\xbf <!-- x --> <HTML lang=en>", "", True),
        ("<html>".encode("utf-16"), "", True),
        (b"<p>a fragment</p>", "a.html", True),
        (b"<p>a fragment</p>", "a.txt", False),
        (b"<dataset>", "", False),
        (b"PK\3\4\0\0", "a.html", False),
    ],
)
def test_a_page_is_known_by_its_content_or_name(start: bytes, name: str, expected: bool) -> None:
    assert is_html(start, name) == expected
