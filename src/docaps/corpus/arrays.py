"""Token arrays: the ids of many sentences, end to end: small in memory, and mapped from a file as they are.

Apart from `store`, so that the workers of a preparation import nothing of the file formats.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class TokenArray:
    """The token ids of all sentences, end to end, and the offset of each sentence (one more entry: the end)."""

    tokens: NDArray[np.int32]
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, sentence: int) -> NDArray[np.int32]:
        return self.tokens[self.starts[sentence] : self.starts[sentence + 1]]

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Number of tokens of each sentence."""
        return np.diff(self.starts)

    def first(self, count: int) -> "TokenArray":
        """Return a view of the first sentences."""
        starts = self.starts[: count + 1]
        return TokenArray(self.tokens[: starts[-1]], starts)

    def chunks(self, size: int) -> Iterator["TokenArray"]:
        """Iterate over views of so many sentences at a time."""
        for first in range(0, len(self), size):
            starts = self.starts[first : first + size + 1]
            yield TokenArray(self.tokens[starts[0] : starts[-1]], starts - starts[0])


def join_sentences(sentences: Sequence[Sequence[int]]) -> TokenArray:
    """Pack sentences into one array."""
    tokens = np.fromiter((token for sentence in sentences for token in sentence), dtype=np.int32)
    return TokenArray(tokens, starts_of([len(sentence) for sentence in sentences]))


def starts_of(lengths: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the offsets of parts with these lengths, and the end of the last part."""
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)))


def concatenate(parts: Sequence[TokenArray]) -> TokenArray:
    """Concatenate token arrays."""
    tokens = np.concatenate([np.zeros(0, np.int32), *(part.tokens for part in parts)])
    return TokenArray(tokens, starts_of(np.concatenate([np.zeros(0, np.int64), *(part.lengths for part in parts)])))


def expand(sentences: TokenArray, table: TokenArray, *, end: int) -> TokenArray:
    """Replace each number by a row of a table, and append an end symbol to each sentence.

    This turns a corpus of words into one of subwords at the speed of copying memory.
    """
    sizes = table.lengths[sentences.tokens]  # subwords of each word
    before = starts_of(sizes)  # subwords before each word, and in all
    lengths = np.diff(before[sentences.starts])  # subwords of each sentence
    starts = starts_of(lengths + 1)
    written = np.full(int(starts[-1]), end, dtype=np.int32)
    is_subword = np.ones(len(written), dtype=np.bool_)
    is_subword[starts[1:] - 1] = False
    # Index of each subword in the table: the offset of its word's row plus its position in the word.
    index = np.arange(before[-1]) + np.repeat(table.starts[:-1][sentences.tokens] - before[:-1], sizes)
    written[is_subword] = table.tokens[index]
    return TokenArray(written, starts)
