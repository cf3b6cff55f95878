"""Running text is cut into sentences, and only its sentences change."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docaps.web.text_translation import Split, split_running_text

PIECES = st.sampled_from(
    ["It rained. ", "Dr. Weber came.", "\n", "  ", "\t", "What?", " ... ", "\u00a0", "„Ja.“ ", "\r\n", "x"]
)


@settings(max_examples=200, deadline=None)
@given(text=st.lists(PIECES, max_size=12).map("".join), split=st.sampled_from(["0", "1", "nonewlines"]))
def test_a_text_is_its_sentences_and_the_space_around_them(text: str, split: Split) -> None:
    found = split_running_text(text, "en", split)
    assert found.join(found.sentences).split() == text.split()
    assert all(one == " ".join(one.split()) != "" for one in found.sentences)
    assert not "".join(found.gaps).strip()
    marked = found.join(["#"] * len(found.sentences))
    assert marked.count("#") == len(found.sentences)
    if split == "1":  # line ends are never within a sentence
        assert found.join(found.sentences).count("\n") == text.count("\n")


@pytest.mark.parametrize(
    ("split", "sentences", "joined"),
    [
        ("1", ("One.", "Two", "lines.", "Three."), "A  B\nC D\n\n"),
        ("nonewlines", ("One.", "Two lines.", "Three."), "A  B C\n\n"),
        ("0", ("One. Two lines. Three.",), "A\n\n"),
    ],
)
def test_where_a_text_is_cut(split: Split, sentences: tuple[str, ...], joined: str) -> None:
    found = split_running_text("One.  Two\nlines. Three.\n\n", "en", split)
    assert found.sentences == sentences
    assert found.join("ABCD"[: len(sentences)]) == joined
