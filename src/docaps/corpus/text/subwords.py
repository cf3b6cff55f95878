"""Subwords: byte-pair encoding learnt on both languages together, as subword-nmt does it.

Two models share one small interface, `SubwordModel`: the merges of this module for tokenised words, and
`sentencepieces.SentencePieces` for raw text, whose words are whatever stands between blanks.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from math import inf
from pathlib import Path
from typing import Protocol

from docaps.corpus.text.memo import Memo
from docaps.corpus.text.merges import END_OF_WORD, Pair, learn_merges
from docaps.files import write_text_atomically

SEPARATOR = "@@"
HEADER = "#version: 0.2"


class SubwordModel(Protocol):
    """Cut words into pieces of a limited vocabulary, and put them together again."""

    def split(self, words: Sequence[str]) -> list[str]:
        """Cut the words of a sentence into pieces."""

    def join(self, pieces: Sequence[str]) -> list[str]:
        """Put pieces together to words."""

    def save(self, path: Path) -> None:
        """Write the model to a file, from which the class method `load` reads it."""


def learn_codes(words: Counter[str], *, merges: int, minimum_frequency: int) -> str:
    """Learn the merge operations from the frequencies of words: the text of a codes file of subword-nmt."""
    return format_codes(learn_merges(words, merges=merges, minimum_frequency=minimum_frequency))


def format_codes(merges: Iterable[Pair]) -> str:
    """Write merge operations as the text of a codes file of subword-nmt."""
    return "".join([f"{HEADER}\n", *(f"{first} {second}\n" for first, second in merges)])


class Subwords:
    """Cut words into subwords and put them together again.

    All pieces of a word but the last end in `@@`, as subword-nmt writes them. A word that itself ends in `@@` would be
    taken for a beginning: its last `@` is made a piece of its own (`x@@` is `x@@@ @`), which joins to the same word.
    """

    def __init__(self, codes: str) -> None:
        header, *lines = codes.rstrip("\n").split("\n")
        if header != HEADER or any(len(line.split(" ")) != 2 for line in lines):
            raise ValueError(f"BPE codes are the line {HEADER!r} and then two pieces a line")
        self.codes = codes
        self._ranks: dict[Pair, int] = {}
        for rank, line in enumerate(lines):
            first, second = line.split(" ")
            self._ranks.setdefault((first, second), rank)
        self._known = Memo(self._cut)

    def __reduce__(self) -> tuple[type["Subwords"], tuple[str]]:
        return Subwords, (self.codes,)

    def split(self, words: Sequence[str]) -> list[str]:
        """Cut words into pieces; all pieces of a word but the last end in `@@`."""
        return [*chain.from_iterable(map(self._known.__getitem__, words))]

    def split_many(self, sentences: Iterable[Sequence[str]]) -> list[list[str]]:
        """Cut the words of many sentences into pieces."""
        return [self.split(words) for words in sentences]

    @staticmethod
    def join(pieces: Sequence[str]) -> list[str]:
        """Put pieces together to words; a last word without an end is a word as well."""
        words, beginning = [], ""
        for piece in pieces:
            if piece.endswith(SEPARATOR):
                beginning += piece.removesuffix(SEPARATOR)
            else:
                words.append(beginning + piece)
                beginning = ""
        return [*words, beginning] if beginning else words

    def save(self, path: Path) -> None:
        """Write the codes as subword-nmt does."""
        write_text_atomically(path, self.codes)

    @classmethod
    def load(cls, path: Path) -> "Subwords":
        """Read codes that `save` or subword-nmt wrote."""
        return cls(path.read_text(encoding="utf-8"))

    def _cut(self, word: str) -> tuple[str, ...]:
        """Cut one word and mark its pieces."""
        if not word:
            return ()
        pieces = merge([*word[:-1], word[-1] + END_OF_WORD], self._ranks)
        pieces[-1] = pieces[-1].removesuffix(END_OF_WORD)
        if pieces[-1].endswith(SEPARATOR):
            pieces[-1:] = [pieces[-1][:-1], "@"]
        return (*[piece + SEPARATOR for piece in pieces[:-1]], pieces[-1])


def merge(pieces: list[str], ranks: dict[Pair, int]) -> list[str]:
    """Join pairs of pieces, those learnt first before others, until no pair of the list is left."""
    found = [ranks.get(pair, inf) for pair in pairwise(pieces)]
    while found and (best := min(found)) < inf:
        while best in found:  # all occurrences of a pair, from left to right, before any other pair
            place = found.index(best)
            joined = pieces[place] + pieces[place + 1]
            pieces[place : place + 2] = (joined,)
            del found[place]
            if place:
                found[place - 1] = ranks.get((pieces[place - 1], joined), inf)
            if place < len(found):
                found[place] = ranks.get((joined, pieces[place + 1]), inf)
    return pieces
