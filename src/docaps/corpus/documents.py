"""Documents: sentences in order, on one side or on two."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Literal

__all__ = ["Document", "InlineMark", "ParallelDocument", "TextLayout", "all_sentences", "count_sentences"]


def __dir__() -> list[str]:
    """List the public API only."""
    return __all__


@dataclass(frozen=True, slots=True)
class TextLayout:
    """How a document is laid out in its file: the text around its sentences, so that it can be written back.

    `between` is one text for all gaps, or one for each. `details` is for what only one format has. A long document may
    be read in parts: `continues` says that the sentences continue the document before them.
    """

    format: str
    line: int = 1
    before: str = ""
    between: str | tuple[str, ...] = "\n"
    after: str = "\n"
    sentence_ids: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    continues: bool = False

    def fill(self, sentences: Sequence[str]) -> str:
        """Return the text with sentences in the gaps of the layout."""
        if isinstance(self.between, str):
            return self.before + self.between.join(sentences) + self.after
        gaps = (*self.between, self.after)
        return self.before + "".join(chain.from_iterable(zip(sentences, gaps, strict=True)))


MarkKind = Literal["open", "close", "single"]


@dataclass(frozen=True, slots=True)
class InlineMark:
    """Something in a sentence that is not translated: a tag, a placeholder, a line break.

    It stands before the character at `position`. `text` is what the file has there, and is written back unchanged. An
    opening mark and its closing one have the same `pair` number; a pair may begin in one sentence and end in another.
    One that `is_space`, such as a line break, also separates words: the sentence has a space there, which is not
    written beside it.
    """

    position: int
    text: str
    kind: MarkKind = "single"
    pair: int = 0
    is_space: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """The sentences of one text, in order; optionally its id, and the number of sentences of each paragraph.

    `marks` are those of each sentence, in order, or nothing at all. The sentences numbered in `context_only` are not
    translated, only read as context. Two documents that differ in their layout only are equal.
    """

    sentences: tuple[str, ...]
    id: str | None = None
    paragraphs: tuple[int, ...] = ()
    layout: TextLayout | None = field(default=None, compare=False, repr=False)
    marks: tuple[tuple[InlineMark, ...], ...] = ()
    context_only: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        if self.marks and len(self.marks) != len(self.sentences):
            raise ValueError(f"{len(self.sentences)} sentences, but marks of {len(self.marks)}")
        if self.paragraphs and sum(self.paragraphs) != len(self.sentences):
            raise ValueError(f"{len(self.sentences)} sentences, but {sum(self.paragraphs)} in the paragraphs")

    @property
    def line(self) -> int:
        """The line on which the document begins in its file."""
        return self.layout.line if self.layout else 1

    @property
    def format(self) -> str:
        """The format the document was read in (`lines` if it was not read from a file)."""
        return self.layout.format if self.layout else "lines"

    @property
    def continues(self) -> bool:
        """Whether it is a further part of the document before it."""
        return self.layout is not None and self.layout.continues

    def layout_in(self, name: str) -> TextLayout | None:
        """Return the layout if the document was read in this format."""
        return self.layout if self.layout and self.layout.format == name else None


@dataclass(frozen=True, slots=True)
class ParallelDocument:
    """A text and its translation, sentence by sentence; id and paragraphs are those of the source."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    id: str | None = None
    paragraphs: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if len(self.source) != len(self.target):
            raise ValueError(f"{len(self.source)} source sentences, but {len(self.target)} target sentences")


def count_sentences(documents: Sequence[Document | ParallelDocument]) -> int:
    """Count the sentences of some documents (a pair counts once)."""
    return sum(len(item.sentences if isinstance(item, Document) else item.source) for item in documents)


def all_sentences(documents: Sequence[Document]) -> Iterator[str]:
    """Iterate over the sentences of all documents."""
    return chain.from_iterable(document.sentences for document in documents)
