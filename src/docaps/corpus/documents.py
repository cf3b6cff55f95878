"""Documents: sentences in order, on one side or on two."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Document:
    """The sentences of one text, in order."""

    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ParallelDocument:
    """A text and its translation, sentence by sentence."""

    source: tuple[str, ...]
    target: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.source) != len(self.target):
            raise ValueError(f"{len(self.source)} source sentences, but {len(self.target)} target sentences")


def count_sentences(documents: Sequence[Document | ParallelDocument]) -> int:
    """Count the sentences of some documents (pairs count once)."""
    return sum(len(item.sentences if isinstance(item, Document) else item.source) for item in documents)


def all_sentences(documents: Sequence[Document]) -> Iterator[str]:
    """Go through the sentences of all documents."""
    for document in documents:
        yield from document.sentences
