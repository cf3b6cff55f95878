"""The vocabulary: subwords and their ids."""

from collections import Counter
from collections.abc import Iterable, Sequence

PAD, BOS, EOS, UNK = 0, 1, 2, 3
SPECIALS = ("<pad>", "<s>", "</s>", "<unk>")


class Vocabulary:
    """A two-way table between pieces and ids; the four special symbols come first."""

    def __init__(self, pieces: Sequence[str]) -> None:
        self.pieces = tuple(pieces)
        self._ids = {piece: number for number, piece in enumerate(self.pieces)}
        if self.pieces[: len(SPECIALS)] != SPECIALS:
            raise ValueError(f"a vocabulary begins with {SPECIALS}, found {self.pieces[: len(SPECIALS)]}")
        if len(self._ids) < len(self.pieces) or not all(isinstance(piece, str) for piece in self.pieces):
            raise ValueError("a vocabulary is a list of strings, each of them once")

    @classmethod
    def from_counts(cls, counts: Counter[str]) -> "Vocabulary":
        """Number pieces by frequency, ties by spelling."""
        ordered = sorted(counts, key=lambda piece: (-counts[piece], piece))
        return cls([*SPECIALS, *(piece for piece in ordered if piece not in SPECIALS)])

    def __len__(self) -> int:
        return len(self.pieces)

    def ids(self, pieces: Iterable[str]) -> list[int]:
        """Return the ids of pieces; an unknown piece gets the id of `<unk>`."""
        return [self._ids.get(piece, UNK) for piece in pieces]

    def text(self, ids: Iterable[int]) -> list[str]:
        """Return the pieces of ids, without padding and sentence symbols."""
        return [self.pieces[number] for number in ids if number not in (PAD, BOS, EOS)]
