"""Beams of a Transformer: hypotheses of a sentence are so many positions that look at the same source.

What a hypothesis wrote is never moved. Every word written by any hypothesis of a sentence has its own place in one row
of keys and values, and a table says which places belong to which hypothesis: when one goes on from another, only its
line of the table is copied.

Dimensions: B sentences, W hypotheses of each, C places of words written, H heads, Dh size of a head.
"""

from collections.abc import Callable, Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor

from docaps.model.hypotheses import IMPOSSIBLE, NextWords, best_words_of
from docaps.model.interface import DecoderState
from docaps.model.layers import KeysAndValues

WIDEST = 16
"""Hypotheses that share a row. Each looks at all places of its row, so the work grows with the square of the beam."""
MARGIN = 8
"""A row has room for so many words more than its source has, for each hypothesis; more is made when it is needed."""


PLAIN, ACROSS, SIDE_BY_SIDE = (0, 1, 2, 3), (0, 1, 3, 2), (0, 2, 1, 3)
"""Orders in which (B, H, C, Dh) may lie in memory; each, applied twice, changes nothing."""


class Cache:
    """Keys and values of the words written so far: new ones are put behind them, into room that is there already.

    Several queries read keys fastest across, (B, H, Dh, C). A single one reads them as they are projected, with heads
    side by side, and then a new word is written in one piece.
    """

    def __init__(self, width: int, source: int = 0) -> None:
        self._width, self._source = width, source
        self._orders = (SIDE_BY_SIDE, SIDE_BY_SIDE) if width == 1 else (ACROSS, PLAIN)
        self._kept: list[Tensor] = []  # keys and values, (B, H, room, Dh)
        self._length = 0

    @property
    def keys(self) -> Float[Tensor, "B H C Dh"]:
        """What is looked for."""
        return self._kept[0][:, :, : self._length]

    @property
    def values(self) -> Float[Tensor, "B H C Dh"]:
        """What is found."""
        return self._kept[1][:, :, : self._length]

    def append(self, new: KeysAndValues) -> "Cache":
        """Add the words that all hypotheses write at a step."""
        start, end = self._length, self._length + new.keys.shape[2]
        if not self._kept or end > self._kept[0].shape[2]:
            self._make_room(end, new.keys)
        for kept, added in zip(self._kept, (new.keys, new.values), strict=True):
            kept[:, :, start:end] = added
        self._length = end
        return self

    def _make_room(self, length: int, like: Float[Tensor, "B H W Dh"]) -> None:
        """Make room for translations as long as the source, or double it."""
        batch, heads, _, size = like.shape
        shape = batch, heads, max(self._width * (self._source + MARGIN), 2 * length), size
        larger = [like.new_empty([shape[axis] for axis in order]).permute(order) for order in self._orders]
        for kept, place in zip(self._kept, larger, strict=False):
            place[:, :, : self._length] = kept[:, :, : self._length]
        self._kept = larger

    def select(self, rows: Int[Tensor, " R"]) -> "Cache":
        """Pick rows of the batch, in the given order."""
        picked = Cache(self._width, self._source)
        picked._length = self._length
        picked._kept = [kept[rows] for kept in self._kept]  # in the same order in memory
        return picked


class Ancestry:
    """Which places of its row each hypothesis may look at: 0 where it may, minus infinity where it may not."""

    def __init__(self, count: int, like: Tensor) -> None:
        self._hidden = like.new_zeros(count, 1, 0)
        self._shared = True  # until there are several hypotheses, all places belong to the only one

    def write(self, width: int) -> Float[Tensor, "B W C"] | None:
        """Give every hypothesis a new place of its own; None if there is nothing to hide."""
        own = torch.full((width, width), IMPOSSIBLE, dtype=self._hidden.dtype, device=self._hidden.device)
        own.fill_diagonal_(0)
        self._shared = self._shared and width == 1
        self._hidden = torch.cat((self._hidden, own.expand(len(self._hidden), width, width)), dim=2)
        return None if self._shared else self._hidden

    def follow(self, parents: Int[Tensor, "B W"]) -> None:
        """Let each hypothesis see what its parent saw."""
        self._hidden = self._hidden.gather(1, parents.unsqueeze(2).expand(-1, -1, self._hidden.shape[2]))

    def keep(self, rows: Int[Tensor, " R"]) -> None:
        """Forget all sentences but these."""
        self._hidden = self._hidden[rows]


Write = Callable[[Tensor, DecoderState, Tensor | None], tuple[Tensor, DecoderState]]
"""Takes the next words, what the decoder remembers, and which places are hidden; returns its last states."""
Score = Callable[[Tensor], tuple[Iterator[Tensor], Tensor | None]]
"""Takes last states and returns the scores of all words, piece by piece, and what rows are to be multiplied by."""


class SharedHypotheses:
    """Hypotheses that share their source and never move what they wrote."""

    def __init__(self, write: Write, score: Score, state: DecoderState, ancestry: Ancestry) -> None:
        self._write = write
        self._score = score
        self._state = state
        self._ancestry = ancestry

    def extend(self, words: Int[Tensor, "B W"], count: int, normalise: bool = True) -> NextWords:
        """Let each hypothesis look at its own words, all at the source."""
        hidden = self._ancestry.write(words.shape[1])
        states, self._state = self._write(words, self._state, hidden)
        return best_words_of(states.flatten(0, 1), self._score, count, normalise)

    def follow(self, parents: Int[Tensor, "B W"]) -> None:
        """Copy only who descends from whom."""
        self._ancestry.follow(parents)

    def keep(self, rows: Int[Tensor, " R"]) -> None:
        """Copy the rows of some sentences."""
        self._ancestry.keep(rows)
        self._state = self._state.select(rows)
