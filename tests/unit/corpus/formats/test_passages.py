"""Passages become sentences with marks, and the same passages again; every other byte of a file stays."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.corpus.formats.marked_texts import holders, marks_of

from docaps.corpus.documents import Document, InlineMark
from docaps.corpus.formats import OutputDocument, ReadingOptions
from docaps.corpus.formats import passages as passages_module
from docaps.corpus.formats.passages import (
    Passage,
    PassageBuilder,
    fill,
    join_passages,
    replace_passages,
    replace_spans,
    written_passages,
)
from docaps.errors import CorpusError

OPTIONS = ReadingOptions(Path("page"))
SPACES = st.text(st.sampled_from(" \n\t"), max_size=2)
TEXTS = st.lists(
    st.one_of(st.sampled_from(["One.", "two", "Three is here.", "Dr. Berg"]), SPACES), min_size=1, max_size=7
).map(" ".join)


def join(*passages: Passage) -> Document:
    return join_passages(passages, OPTIONS, "page")


def written(document: Document) -> list[str]:
    return [fill(pieces, str) for _, pieces in written_passages(OutputDocument(document))]


@given(st.data())
def test_a_passage_is_written_as_it_was_but_for_white_space(data: st.DataObject) -> None:
    text = data.draw(TEXTS)
    marks = data.draw(marks_of(text, whole=True))
    document = join(Passage(text, tuple(marks)))
    if not any(map(str.isalpha, text)):
        assert document.sentences == ()
        return
    ((_, pieces),) = written_passages(OutputDocument(document))
    found = [piece for piece in pieces if isinstance(piece, InlineMark)]
    assert [mark.text.strip() for mark in found] == [mark.text for mark in marks]
    assert list(holders(found).values()) == list(holders(marks).values())
    assert "".join(fill(pieces, str).split()) == "".join(fill(passages_module.split_at_marks(text, marks), str).split())
    assert all(sentence == " ".join(sentence.split()) for sentence in document.sentences)


@pytest.mark.parametrize(
    "raw",
    [
        "One is <b>here</b>. Two is <i/> there.",
        "<b>One. Two.</b> Three.",
        "One.<n/> Two.",
        "<i/> One <i/>",
        " One ",
        "One <i/> <i/> two",
    ],
)
def test_space_around_marks_is_kept(raw: str) -> None:
    builder = PassageBuilder()
    for number, part in enumerate(raw.replace(">", "<").split("<")):
        if number % 2 == 0:
            builder.add_text(part)
        elif part == "b":
            builder.add_start("b", "<b>", 7)
        elif part == "/b":
            builder.add_end("b", "</b>", 8)
        else:
            builder.add_mark(f"<{part}>")
    assert written(join(builder.passage(0, 0))) == [raw]


def test_a_mark_that_separates_words_is_space_for_the_sentence_only() -> None:
    builder = PassageBuilder()
    builder.add_text("Anna Berg")
    builder.add_space("<br>")
    builder.add_text("Oslo")
    document = join(builder.passage(0, 0))
    assert document.sentences == ("Anna Berg Oslo",)
    assert written(document) == ["Anna Berg<br>Oslo"]


def test_the_marks_of_a_passage_go_with_their_sentences() -> None:
    marks = (InlineMark(0, "<b>", "open", 1), InlineMark(4, "[1]"), InlineMark(9, "</b>", "close", 1))
    document = join(Passage("One. Two. Three.", marks))
    assert document.sentences == ("One.", "Two.", "Three.")
    assert [[(mark.position, mark.text) for mark in own] for own in document.marks] == [
        [(0, "<b>"), (4, "[1]")],
        [(4, "</b>")],
        [],
    ]
    assert document.paragraphs == (3,)


def test_too_many_sentences_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passages_module, "MOST_SENTENCES", 2)
    join(Passage("One."), Passage("Two."))
    with pytest.raises(CorpusError, match="page:3: more than 2 sentences: split the file"):
        join(Passage("One."), Passage("Two."), Passage("Three.", line=3))


@given(
    st.binary(max_size=20),
    st.lists(
        st.tuples(st.integers(0, 20), st.integers(0, 3), st.binary(max_size=3)),
        max_size=3,
        unique_by=lambda change: change[0],
    ),
)
def test_spans_are_replaced_and_nothing_else(content: bytes, drawn: list[tuple[int, int, bytes]]) -> None:
    done, changes, expected = 0, [], b""
    for start, size, new in sorted(drawn):
        if done <= start <= start + size <= len(content):
            changes.append((start, start + size, new))
            expected += content[done:start] + new
            done = start + size
    assert replace_spans(content, changes[::-1]) == expected + content[done:]


@pytest.mark.parametrize("change", [(0, 3, b""), (2, 9, b""), (3, 2, b"")])
def test_spans_that_overlap_are_a_mistake(change: tuple[int, int, bytes]) -> None:
    with pytest.raises(ValueError, match="overlaps"):
        replace_spans(b"abcd", [(1, 2, b"x"), change])


def test_a_passage_within_a_mark_of_another_is_replaced_too() -> None:
    content = b"<p>See <img alt='a dog'> there</p>"
    inner = Passage("a dog", (), 17, 22)
    outer = Passage("See  there", (InlineMark(4, "<img alt='a dog'>", "single", 8),), 3, 30)
    document = join(inner, outer)
    item = OutputDocument(document, tuple(sentence.upper() for sentence in document.sentences))
    assert replace_passages(content, item, lambda _, pieces: fill(pieces, str)) == b"<p>SEE <img alt='A DOG'> THERE</p>"
