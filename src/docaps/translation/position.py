"""Where a sentence stands in a stream of documents, for messages."""

from dataclasses import dataclass, replace

from docaps.corpus.documents import Document


@dataclass(frozen=True, slots=True)
class Position:
    """How far a stream of documents was read: its documents, the sentences of the last one, and that one's name."""

    documents: int = 0
    sentences: int = 0
    name: str = ""

    def enter(self, document: Document) -> "Position":
        """Return the position at the first sentence of a document, or of a further part of one."""
        if document.continues:
            return self
        return Position(self.documents + 1, 0, f" ('{document.id}')" if document.id is not None else "")

    def after(self, sentences: int) -> "Position":
        """Return the position so many sentences later."""
        return replace(self, sentences=self.sentences + sentences)

    def __str__(self) -> str:
        return f"document {self.documents}{self.name}, sentence {self.sentences}"


BEGINNING = Position()
