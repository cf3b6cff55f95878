"""Beams of a Transformer: hypotheses of a sentence are so many positions that look at the same source.

What a hypothesis wrote is never moved. Every word written by any hypothesis of a sentence has its own place in one row
of keys and values, and a table says which places belong to which hypothesis: when one goes on from another, only its
line of the table is copied.

Dimensions: B sentences, W hypotheses of each, C places of words written, H heads, Dh size of a head.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from docaps.model.hypotheses import IMPOSSIBLE, NextWords
from docaps.model.interface import DecoderState
from docaps.model.layers import KeysAndValues

WIDEST = 16
"""Hypotheses that share a row. Each looks at all places of its row, so the work grows with the square of the beam."""
ROOM = 32
"""Places that a row has at the beginning."""


class Cache:
    """Keys and values of the words written so far: new ones are put behind them, into room that is there already."""

    def __init__(self) -> None:
        self._keys: Tensor | None = None  # (B, H, Dh, room): the order in which products with queries are fast
        self._values: Tensor | None = None  # (B, H, room, Dh)
        self._length = 0

    @property
    def keys(self) -> Float[Tensor, "B H C Dh"]:
        """What is looked for."""
        assert self._keys is not None
        return self._keys[:, :, :, : self._length].transpose(2, 3)

    @property
    def values(self) -> Float[Tensor, "B H C Dh"]:
        """What is found."""
        assert self._values is not None
        return self._values[:, :, : self._length]

    def append(self, new: KeysAndValues) -> "Cache":
        """Add the words that all hypotheses write at a step."""
        end = self._length + new.keys.shape[2]
        keys, values = self._with_room(end, new)
        keys[:, :, :, self._length : end] = new.keys.transpose(2, 3)
        values[:, :, self._length : end] = new.values
        self._length = end
        return self

    def _with_room(self, length: int, new: KeysAndValues) -> tuple[Tensor, Tensor]:
        """Double the room where it is too small."""
        if self._keys is None or self._values is None or length > self._keys.shape[3]:
            batch, heads, _, size = new.keys.shape
            room = max(ROOM, 2 * length)
            keys, values = new.keys.new_empty(batch, heads, size, room), new.values.new_empty(batch, heads, room, size)
            if self._length:
                keys[:, :, :, : self._length], values[:, :, : self._length] = self.keys.transpose(2, 3), self.values
            self._keys, self._values = keys, values
        return self._keys, self._values

    def select(self, rows: Int[Tensor, " R"]) -> "Cache":
        """Pick rows of the batch, in the given order."""
        picked = Cache()
        picked._length = self._length
        if self._keys is not None and self._values is not None:
            picked._keys, picked._values = self._keys[rows], self._values[rows]
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


Extend = Callable[[Tensor, int, DecoderState, Tensor | None], tuple[NextWords, DecoderState]]
"""Takes the next words, how many are to be found, what the decoder remembers, and which places are hidden."""


class SharedHypotheses:
    """Hypotheses that share their source and never move what they wrote."""

    def __init__(self, extend: Extend, state: DecoderState, ancestry: Ancestry) -> None:
        self._extend = extend
        self._state = state
        self._ancestry = ancestry

    def extend(self, words: Int[Tensor, "B W"], count: int) -> NextWords:
        """Let each hypothesis look at its own words, all at the source."""
        found, self._state = self._extend(words, count, self._state, self._ancestry.write(words.shape[1]))
        return found

    def follow(self, parents: Int[Tensor, "B W"]) -> None:
        """Copy only who descends from whom."""
        self._ancestry.follow(parents)

    def keep(self, rows: Int[Tensor, " R"]) -> None:
        """Copy the rows of some sentences."""
        self._ancestry.keep(rows)
        self._state = self._state.select(rows)
