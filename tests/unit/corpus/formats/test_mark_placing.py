"""Each mark of a sentence is in its translation, once, in the same pairs, and beside the words it belonged to."""

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.corpus.formats.marked_texts import WORDS, alignments, holders, marks_of
from tests.unit.corpus.formats.rewriting import grows_evenly

from docaps.corpus.documents import InlineMark
from docaps.corpus.formats import Alignment
from docaps.corpus.formats.mark_placing import MOST_MARKS, best_stretch, place_marks, split_at_marks


def placed(marked: str, translation: str, alignment: Alignment | None = None) -> str:
    """Place the marks of a text in which `<1>`, `</1>` are a pair and `<2/>` is single."""
    text, marks = "", list[InlineMark]()
    for number, part in enumerate(marked.replace(">", "<").split("<")):
        if number % 2 == 0:
            text += part
        else:
            kind = "close" if part[0] == "/" else "single" if part[-1] == "/" else "open"
            marks.append(InlineMark(len(text), f"<{part}>", kind, int(part.strip("/"))))  # type: ignore[arg-type]
    pieces = split_at_marks(translation, place_marks(text, marks, translation, alignment))
    return "".join(piece if isinstance(piece, str) else piece.text for piece in pieces)


def words(source: str, translation: str, *pairs: tuple[int, int]) -> Alignment:
    """Align the n-th word of a text with the m-th of its translation."""

    def span(text: str, number: int) -> tuple[int, int]:
        parts = text.split(" ")
        start = sum(len(part) + 1 for part in parts[:number])
        return start, start + len(parts[number])

    return [(span(source, one), span(translation, other)) for one, other in pairs]


TEXT, OTHER = "I have seen the red house .", "Ich habe das rote Haus gesehen ."
ALIGNED = words(TEXT, OTHER, (0, 0), (1, 1), (2, 5), (3, 2), (4, 3), (5, 4), (6, 6))


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("I have seen the <1>red</1> house .", "Ich habe das <1>rote</1> Haus gesehen ."),
        ("I have <1>seen</1> the <2>red house</2> .", "Ich habe das <2>rote Haus</2> <1>gesehen</1> ."),
        ("I have seen <1>the <2>red</2> house</1> .", "Ich habe <1>das <2>rote</2> Haus</1> gesehen ."),
        ("<1>I have seen the red house .</1>", "<1>Ich habe das rote Haus gesehen .</1>"),
        ("I have seen the red house<1/> .", "Ich habe das rote Haus<1/> gesehen ."),
        ("<1/>I have <2/>seen the red house .<3/>", "<1/>Ich habe das rote Haus <2/>gesehen .<3/>"),
        ("I have</1> seen the <2>red house .", "Ich habe</1> das <2>rote Haus gesehen ."),
    ],
)
def test_marks_follow_their_words(marked: str, expected: str) -> None:
    assert placed(marked, OTHER, ALIGNED) == expected


@pytest.mark.parametrize(
    ("marked", "order", "expected"),
    [("a<2/> <1>b c</1>", (0, 1, 2), "<2/><1>v w x y z</1>"), ("<1>b c</1> a<2/>", (2, 0, 1), "<1>v w x y z</1><2/>")],
)
def test_a_single_mark_does_not_get_into_a_pair(marked: str, order: tuple[int, int, int], expected: str) -> None:
    a, b, c = order
    alignment = words("a b c", "v w x y z", (b, 0), (b, 1), (a, 2), (c, 3), (c, 4))
    assert placed(marked, "v w x y z", alignment) == expected


@pytest.mark.parametrize(
    ("marked", "translation", "expected"),
    [
        ("Give <1>Anna</1> a coat.", "Einen Mantel für Anna.", "Einen Mantel für <1>Anna</1>."),
        ("Give her a <1>coat</1> now.", "Gib ihr einen Mantel.", "<1>Gib ihr einen Mantel.</1>"),
        ("The <1>one</1> and the <2>two</2>.", "Das Eins und die Zwei.", "Das <1>Eins</1> und die <2>Zwei</2>."),
        ("A <1>b</1><2/>", "", "<1></1><2/>"),
        ("", "Etwas.", "Etwas."),
    ],
)
def test_without_alignment_marks_go_around_same_words_or_around_all(
    marked: str, translation: str, expected: str
) -> None:
    assert placed(marked, translation) == expected


@given(st.data())
def test_marks_stay_what_they_are(data: st.DataObject) -> None:
    source, translation = data.draw(WORDS), data.draw(WORDS)
    marks = data.draw(marks_of(source))
    found = place_marks(source, marks, translation, data.draw(alignments(source, translation)))
    assert holders(found) == holders(marks)
    positions = [mark.position for mark in found]
    assert positions == sorted(positions)
    assert all(0 <= position <= len(translation) for position in positions)
    assert sorted((mark.text, mark.kind, mark.pair) for mark in found) == sorted(
        (mark.text, mark.kind, mark.pair) for mark in marks
    )


@given(st.data())
def test_a_pair_with_words_keeps_a_word_where_there_are_enough(data: st.DataObject) -> None:
    source, translation = data.draw(WORDS.filter(bool)), data.draw(WORDS.filter(bool))
    mark = InlineMark(0, "<1>", "open", 1), InlineMark(len(source), "</1>", "close", 1)
    found = place_marks(source, mark, translation, data.draw(alignments(source, translation)))
    assert [one.position for one in found] == [0, len(translation)]


def test_marks_that_cross_are_kept() -> None:
    assert sorted(placed("<1>a <2>b</1> c</2>", "x y z")) == sorted("<1><2></1></2>x y z")


@pytest.mark.parametrize("kind", ["nested", "side by side"])
def test_very_many_marks_are_placed_in_order_and_cost_no_more_each(kind: str) -> None:
    def place(count: int) -> None:
        pairs = [(InlineMark(0, "<b>", "open", n), InlineMark(1, "</b>", "close", n)) for n in range(count)]
        marks = [one for one, _ in pairs] + [one for _, one in pairs[::-1]] if kind == "nested" else [*chain(*pairs)]
        found = place_marks("a b", marks, "x y", None)
        assert [mark.text for mark in found] == [mark.text for mark in marks]

    assert grows_evenly(place, MOST_MARKS)


def test_the_best_stretch_has_the_largest_sum() -> None:
    assert best_stretch([1, -1, 1, -0.01, 1, -1]) == (2, 5)
    assert best_stretch([-1, -0.01]) is None
