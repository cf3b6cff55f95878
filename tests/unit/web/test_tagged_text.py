"""Tags come back whatever the translation is, and only text changes."""

import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.counting import count_lines

from docaps.web.tagged_text import TagHandling, find_tags, read_tagged

XML, HTML = TagHandling("xml"), TagHandling("html")
TAGS = ["<b>", "</b>", "<p>", "</p>", "<x/>", "<br>", "<br/>", "</i>", "<i>", "<ul><li>", "</li>", "</ul>", "<p"]
WORDS = ["It rained. ", "She ran", ", ", "&amp;", "&lt;", " ", "\n", "a < b", "?", "<!-- no -->", "<![CDATA[x<y]]>"]
OBJECTS = ["<script>if (a < b) c()</script>", "<span translate='no'>Anna</span>"]
PIECES = st.sampled_from([*TAGS, *WORDS, *OBJECTS])


def tags_of(text: str) -> Counter[str]:
    return Counter(tag.text for tag in find_tags(text))


@settings(max_examples=150, deadline=None)
@given(text=st.lists(PIECES, max_size=14).map("".join), tags=st.sampled_from([XML, HTML]), split=st.booleans())
def test_tags_are_equal_as_multisets(text: str, tags: TagHandling, split: bool) -> None:
    found = read_tagged(text, "en", tags, split=split)
    for words in (
        found.sentences,
        ["Es <regnete> gestern & heute."] * len(found.sentences),
        [""] * len(found.sentences),
    ):
        assert tags_of(found.join(words)) == tags_of(text)


@pytest.mark.parametrize(
    ("tags", "text", "sentences", "shouted"),
    [
        (XML, "<a><p>One <b>two</b>.</p><p>It &lt; x</p></a>", ("One two.", "It < x"), None),
        (XML, "Press <b>OK</b> <i>now</i>.", ("Press OK now.",), None),
        (XML, "<b>One</b> <i>two</i>", ("One", "two"), None),
        (TagHandling("xml", outline=False), "<b>One</b> <i>two</i>", ("One two",), None),
        (TagHandling("xml", inline=frozenset("bi")), "<b>One</b> <i>two</i>", ("One two",), None),
        (TagHandling("xml", splitting=frozenset("s")), "One<s/>two <b>it</b>", ("One", "two it"), None),
        (
            TagHandling("xml", ignored=frozenset("k")),
            "Run <k>a <k>b</k></k> now",
            ("Run now",),
            "RUN <k>a <k>b</k></k> NOW",
        ),
        (
            HTML,
            "<p>One. <b>Two</b></p><meta charset=latin-1>ä",
            ("One.", "Two", "ä"),
            "<p>ONE. <b>TWO</b></p><meta charset=latin-1>Ä",
        ),
        (HTML, "a&nbsp;b <script>c()</script>", ("a b",), None),
    ],
)
def test_what_separates_sentences(
    tags: TagHandling, text: str, sentences: tuple[str, ...], shouted: str | None
) -> None:
    found = read_tagged(text, "en", tags)
    assert found.sentences == sentences
    wanted = shouted or re.sub(r"(?:^|>)[^<]*", lambda match: match[0].upper(), text)
    if tags is not HTML or shouted:
        assert found.join([one.upper() for one in sentences]) == wanted.replace("&LT;", "&lt;")


def test_a_passage_can_stay_one_sentence() -> None:
    found = read_tagged("<a><p> One. <b>Two</b>\n three. </p><p>Four.</p></a>", "en", XML, split=False)
    assert found.sentences == ("One. Two three.", "Four.")
    assert found.join(["One. Two drei", "C"]) == "<a><p> One. <b>Two</b> drei </p><p>C</p></a>"


IGNORING = TagHandling("xml", ignored=frozenset("x"))


@pytest.mark.parametrize(
    "text",
    ["<x>a ", "<x>", "</b>", "<a b='", "<s/>a "],
)
def test_the_time_to_read_tags_grows_as_the_text_does(text: str) -> None:
    """Counted in lines that run: of four times the text, less than six times as many."""
    short, long = (count_lines(lambda size=size: read_tagged(text * size, "en", IGNORING)) for size in (50, 200))
    assert long < 6 * short


def test_many_open_elements_cost_no_more_when_others_end() -> None:
    short, long = (
        count_lines(lambda size=size: read_tagged("<a>" * size + "</b>" * size, "en", XML)) for size in (50, 200)
    )
    assert long < 6 * short


def test_what_is_not_closed_is_text() -> None:
    found = read_tagged("<x>a <x>b</x> <!--c--> <!-- d <x/> <![CDATA[e", "en", IGNORING, split=False)
    assert found.sentences == ("a <!-- d <![CDATA[e",)
    assert found.join(found.sentences).replace("&lt;", "<") == "<x>a <x>b</x> <!--c--> <!-- d <x/> <![CDATA[e"
