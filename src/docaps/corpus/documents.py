"""Documents: sentences in order, on one side or on two."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Layout:
    """How a document stood in its file: what to write around its sentences so that they stand there again.

    `between` is one text for all gaps, or one for each. `details` is for what only one format has. A long document may
    be read in parts: `continues` says that the sentences go on with the document before them.
    """

    format: str
    line: int = 1
    before: str = ""
    between: str | tuple[str, ...] = "\n"
    after: str = "\n"
    sentence_ids: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    continues: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """The sentences of one text, in order; perhaps its name, and how many sentences each paragraph has.

    The layout is no part of what the document says: two documents are equal without it.
    """

    sentences: tuple[str, ...]
    id: str | None = None
    paragraphs: tuple[int, ...] = ()
    layout: Layout | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.paragraphs and sum(self.paragraphs) != len(self.sentences):
            raise ValueError(f"{len(self.sentences)} sentences, but {sum(self.paragraphs)} in the paragraphs")


@dataclass(frozen=True, slots=True)
class ParallelDocument:
    """A text and its translation, sentence by sentence; name and paragraphs are those of the source."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    id: str | None = None
    paragraphs: tuple[int, ...] = ()

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
