"""Sentences with inline marks, translations of them, and what a translation must keep of the marks."""

import re
from collections.abc import Sequence

from hypothesis import strategies as st
from tests.unit.corpus.formats.rewriting import rules

from docaps.corpus.documents import Document, InlineMark
from docaps.corpus.formats import Alignment, OutputDocument

WORDS = st.lists(st.sampled_from(["the", "red", "house", ".", ",", "日本", "Anna", "12", "(x)"]), max_size=8).map(
    " ".join
)


@st.composite
def marks_of(draw: st.DrawFn, text: str, *, whole: bool = False) -> list[InlineMark]:
    """Draw marks of a text; pairs may begin before it or end after it unless they are `whole`."""
    marks: list[InlineMark] = []
    opened: list[int] = []
    positions = draw(st.lists(st.integers(0, len(text)), max_size=7).map(sorted))
    for number, position in enumerate(positions, start=1):
        kind = draw(st.sampled_from(["open", "close", "single"]))
        if kind == "open":
            opened.append(number)
        if kind == "close" and (opened or whole):
            if opened:
                pair = opened.pop()
                marks.append(InlineMark(position, f"</{pair}>", "close", pair))
            continue
        marks.append(InlineMark(position, f"<{kind} {number}>", kind, number))  # type: ignore[arg-type]
    if whole:
        marks += [InlineMark(len(text), f"</{pair}>", "close", pair) for pair in reversed(opened)]
    return marks


@st.composite
def alignments(draw: st.DrawFn, source: str, translation: str) -> Alignment | None:
    """Draw any pairs of words, or no alignment."""
    ours, theirs = ([match.span() for match in re.finditer(r"\S+", text)] for text in (source, translation))
    if not ours or not theirs or draw(st.booleans()):
        return draw(st.sampled_from([None, ()]))
    return draw(st.lists(st.tuples(st.sampled_from(ours), st.sampled_from(theirs)), max_size=8))


@st.composite
def translations(draw: st.DrawFn, document: Document) -> OutputDocument:
    """Draw a translation by a rule, such as one that loses words, and alignments of its sentences."""
    rule = draw(rules)
    texts = tuple(map(rule, document.sentences))
    pairs = zip(document.sentences, texts, strict=True)
    return OutputDocument(document, texts, tuple(draw(alignments(*pair)) for pair in pairs))


def holders(marks: Sequence[InlineMark]) -> dict[str, tuple[int, ...]]:
    """Return for each mark the pairs that it stands in; fails if pairs cross each other."""
    opening = {mark.pair for mark in marks if mark.kind == "open"}
    inside = [mark.pair for mark in marks if mark.kind == "close" and mark.pair not in opening][::-1]
    found: dict[str, tuple[int, ...]] = {}
    for mark in marks:
        if mark.kind == "close":
            assert inside[-1:] == [mark.pair], marks
            inside.pop()
        found[mark.text] = tuple(inside)
        if mark.kind == "open":
            inside.append(mark.pair)
    assert len(found) == len(marks), "a mark is there twice"
    return found
