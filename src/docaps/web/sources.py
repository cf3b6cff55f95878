"""The document of a request: sentences as they came, or running text, split."""

from dataclasses import dataclass

from docaps.corpus.formats.text import split_paragraphs, split_sentences
from docaps.web.messages import Order


@dataclass(frozen=True, slots=True)
class Source:
    """A document as sentences; of a running text, how many of them each paragraph has."""

    sentences: tuple[str, ...]
    paragraphs: tuple[int, ...] | None = None


def read_source(order: Order, language: str) -> Source:
    """Get the sentences of a document."""
    if order.sentences is not None:
        return Source(tuple(order.sentences))
    assert order.text is not None
    paragraphs = [
        [" ".join(piece.split()) for piece in split_sentences(paragraph, language)]
        for block in _blocks(order.text)
        for paragraph in split_paragraphs(block)
    ]
    return Source(tuple(one for group in paragraphs for one in group), tuple(len(group) for group in paragraphs))


def _blocks(text: str) -> list[list[str]]:
    """Cut a text at its blank lines."""
    blocks: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.strip():
            blocks[-1].append(" ".join(line.split()))
        elif blocks[-1]:
            blocks.append([])
    return [block for block in blocks if block]
