"""The vocabulary: subwords and their ids."""

from collections import Counter
from collections.abc import Iterable, Sequence

PAD, BOS, EOS, UNK = 0, 1, 2, 3
SPECIALS = ("<pad>", "<s>", "</s>", "<unk>")


class Vocabulary:
    """A two-way table between pieces and ids; the four special symbols come first, then marks, if there are any.

    Marks are entries for tags that training puts into sentences: no text has their ids.
    """

    def __init__(self, pieces: Sequence[str], marks: Sequence[str] = ()) -> None:
        self.pieces = tuple(pieces)
        self.marks = {mark: number for number, mark in enumerate(marks, start=len(SPECIALS))}
        self._ids = {piece: number for number, piece in enumerate(self.pieces)}
        if self.pieces[: len(SPECIALS)] != SPECIALS:
            raise ValueError(f"a vocabulary begins with {SPECIALS}, found {self.pieces[: len(SPECIALS)]}")
        if len(self._ids) < len(self.pieces) or not all(isinstance(piece, str) for piece in self.pieces):
            raise ValueError("a vocabulary is a list of strings, each of them once")
        expected = tuple(map(as_piece, marks))
        if (found := self.pieces[len(SPECIALS) : len(SPECIALS) + len(expected)]) != expected:
            raise ValueError(f"a vocabulary with marks goes on with {expected}, found {found}")
        for piece in expected:
            self._ids[piece] = UNK

    @classmethod
    def from_counts(cls, counts: Counter[str], marks: Sequence[str] = ()) -> "Vocabulary":
        """Number pieces by frequency, ties by spelling."""
        reserved = [*SPECIALS, *map(as_piece, marks)]
        ordered = sorted(counts, key=lambda piece: (-counts[piece], piece))
        return cls([*reserved, *(piece for piece in ordered if piece not in reserved)], marks)

    def __len__(self) -> int:
        return len(self.pieces)

    @property
    def text_pieces(self) -> tuple[str, ...]:
        """The pieces that text can be split into."""
        return self.pieces[len(SPECIALS) + len(self.marks) :]

    def ids(self, pieces: Iterable[str]) -> list[int]:
        """Return the ids of pieces; an unknown piece gets the id of `<unk>`."""
        return [self._ids.get(piece, UNK) for piece in pieces]

    def text(self, ids: Iterable[int]) -> list[str]:
        """Return the pieces of ids, without padding, sentence symbols and marks."""
        silent = {PAD, BOS, EOS, *self.marks.values()}
        return [self.pieces[number] for number in ids if number not in silent]


def as_piece(mark: str) -> str:
    """Return how a mark is written in a vocabulary."""
    return f"<{mark}>"
