"""Running text: an article as people write it, split into sentences; its paragraphs are written back as they were.

One file is one document. Paragraphs are lines, or hard-wrapped lines with a blank line after each paragraph.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice, pairwise

from docaps.corpus.documents import Document, TextLayout
from docaps.corpus.formats.format import OutputDocument, ReadingOptions, layout_writer
from docaps.corpus.formats.text_input import one_line

LONGEST_BLOCK = 1000  # lines without a blank line between them: a longer block is split here
LONGEST_PIECE = 3000
"""Characters that are split into sentences at once: more than a sentence has."""
SENTENCE_END = re.compile(r"[.!?:;…。！？][\"'”’“»«)\]]*$")
BEFORE_ORDINAL = "[Ii]m|[Aa]m|[Zz]um|[Vv]om|[Bb]eim|[Dd](?:er|ie|as|em|en|es)|[Ss]eit|[Bb]is|[Jj]ede[rnms]?"
GERMAN_ORDINAL = re.compile(rf"(?:^|\s)(?:{BEFORE_ORDINAL}) \d{{1,2}}\.\s*$")


def split_sentences(paragraph: str, language: str) -> list[str]:
    """Split a paragraph into sentences, each with the space after it."""
    sentences: list[str] = []
    for part in _segment(paragraph, language):
        if sentences and language == "de" and GERMAN_ORDINAL.search(sentences[-1]):
            sentences[-1] += part  # "Im 19. | Jahrhundert" is one sentence
        elif part.strip():
            sentences.append(part)
        elif sentences:
            sentences[-1] += part
    return sentences


def _segment(paragraph: str, language: str) -> Iterator[str]:
    """Yield the parts that the library finds, piece by piece: its time grows with the square of some texts.

    The last part of a piece may go on, so it is read again with the next one; a piece without an end goes on, too.
    """
    import sentencex

    start, before = 0, list[str]()
    while len(paragraph) - start > LONGEST_PIECE:
        piece = paragraph[start : start + LONGEST_PIECE]
        if ended := list(sentencex.segment(language, piece))[:-1]:
            yield "".join([*before, ended[0]])
            yield from ended[1:]
            before = []
        else:
            before.append(piece[: piece.rfind(" ") + 1] or piece)
        start += sum(map(len, ended or before[-1:]))
    first, *others = sentencex.segment(language, paragraph[start:]) or [""]
    yield "".join([*before, first])
    yield from others


def split_paragraphs(block: Sequence[str]) -> list[str]:
    """Return the paragraphs of lines without a blank line between them: one if hard-wrapped, else one a line."""
    return [" ".join(block)] if is_wrapped(block) else list(block)


def is_wrapped(block: Sequence[str]) -> bool:
    """Return whether lines are hard-wrapped: each is full, and a line break falls within a sentence.

    Two lines may be a title and a name below it; then the second has to begin with a small letter.
    """
    width = max(map(len, block))
    breaks = list(pairwise(block))
    full = all(len(line) + 1 + len(following.split(" ", 1)[0]) > width for line, following in breaks)
    return full and any(
        not SENTENCE_END.search(line) and (len(block) > 2 or following[0].islower()) for line, following in breaks
    )


def read_text(lines: Iterable[str], options: ReadingOptions) -> Iterator[Document]:
    """Yield one document of running text; a long one in parts of whole paragraphs."""
    sentences, gaps, counts = list[str](), list[str](), list[int]()
    found = False
    for gap, paragraph in _paragraphs(lines):
        parts = split_sentences(paragraph, options.language)
        gaps += [gap, *(" " if part[-1].isspace() else "" for part in parts[:-1])]  # some scripts have no spaces
        sentences += [one_line(part) for part in parts]
        counts.append(len(parts))
        if options.arrival.enough(len(sentences)):
            yield _part(sentences, gaps, counts, continues=found)
            sentences, gaps, counts, found = [], [], [], True
    if sentences:
        yield _part(sentences, gaps, counts, continues=found)
    elif not found:
        raise options.empty("running text")


def _part(sentences: list[str], gaps: list[str], counts: list[int], *, continues: bool) -> Document:
    """Return a document of paragraphs; the line end after the part before it has been written already."""
    before = gaps[0].removeprefix("\n") if continues else gaps[0]
    layout = TextLayout("text", 1, before, tuple(gaps[1:]), continues=continues)
    return Document(tuple(sentences), paragraphs=tuple(counts), layout=layout)


def _paragraphs(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the paragraphs, each after the line ends before it."""
    gap = ""
    for worded, block in groupby(map(one_line, lines), key=bool):
        if not worded:
            gap += "\n" * sum(1 for _ in block)
        while worded and (part := list(islice(block, LONGEST_BLOCK))):
            for paragraph in split_paragraphs(part):
                yield gap, paragraph
                gap = "\n"


def _make_layout(item: OutputDocument, number: int) -> TextLayout:
    """Return a layout for a document of another format: blank lines between paragraphs."""
    counts = item.document.paragraphs or (len(item.document.sentences),)
    gaps = [gap for count in counts for gap in ("\n\n", *(" ",) * (count - 1))]
    return TextLayout("text", before="\n" if number > 1 else "", between=tuple(gaps[1:]))


write_text = layout_writer("text", _make_layout)
"""Write running text with the paragraphs it had; a paragraph of another format becomes a line."""
