"""Where in its input a translation is, for warnings about single sentences."""

from collections.abc import Callable

from docaps.corpus.documents import Document
from docaps.translation.passages import Passage

TOLD = 5


class Place:
    """Count documents and sentences as they go by, and tell of those that are split, but not without end."""

    def __init__(self, longest: int, warn: Callable[[str], None]) -> None:
        self._longest = longest
        self._warn = warn
        self._document = self._sentence = self._found = 0
        self._name = ""

    def begin(self, document: Document) -> bool:
        """Take the next document, or part of one; say whether it begins one that comes after others."""
        new = document.layout is None or not document.layout.continues
        if new:
            self._document, self._sentence = self._document + 1, 0
            self._name = f" ('{document.id}')" if document.id is not None else ""
        return new and self._document > 1

    def look_at(self, passage: Passage) -> None:
        """Take the next sentence."""
        self._sentence += 1
        if len(passage.parts) > 1:
            self._found += 1
            if self._found <= TOLD:
                place = f"document {self._document}{self._name}, sentence {self._sentence}"
                what = f"more than {self._longest} tokens (decoding.longest_source): translated in"
                self._warn(f"{place}: {what} {len(passage.parts)} parts")

    def pass_over(self, sentences: int) -> None:
        """Take sentences that are not translated again."""
        self._sentence += sentences

    def finish(self) -> None:
        """Tell how many there were in all."""
        if self._found > TOLD:
            self._warn(f"{self._found} sentences were too long for one piece, and translated in parts")
