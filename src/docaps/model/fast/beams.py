"""Beams of a Transformer: the hypotheses of a sentence share its source and one cache of keys and values.

Cached keys and values never move. Every word written by any hypothesis of a sentence has its own slot in one row, and a
mask says which slots belong to which hypothesis: a hypothesis that continues another copies only its line of the mask.

Dimensions: B sentences, W hypotheses of each, C slots of words written, H heads, Dh size of a head.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from docaps.model.hypotheses import IMPOSSIBLE, NextWords, Score, best_words_of
from docaps.model.interface import DecoderState
from docaps.model.layers import KeysAndValues

WIDEST = 16
"""The widest shared beam. Each hypothesis reads all slots of its row, so the work grows with the square of the beam."""
MARGIN = 8
"""Each hypothesis has room for this many words more than the source; the cache grows if that is not enough."""
PLAIN, ACROSS, SIDE_BY_SIDE = (0, 1, 2, 3), (0, 1, 3, 2), (0, 2, 1, 3)
"""Memory layouts of (B, H, C, Dh), as permutations; each is its own inverse."""


class Cache:
    """Keys and values of the words written so far, in preallocated memory.

    Several queries read keys fastest as (B, H, Dh, C). A single query reads them as projected, (B, C, H, Dh), and a new
    word is then one contiguous write.
    """

    def __init__(self, width: int, source: int = 0, begun: KeysAndValues | None = None) -> None:
        self._width, self._source = width, source
        self._orders = (SIDE_BY_SIDE, SIDE_BY_SIDE) if width == 1 else (ACROSS, PLAIN)
        self._kept: list[Tensor] = []  # keys and values, (B, H, room, Dh)
        self._length = 0
        if begun is not None:
            self.append(begun)

    @property
    def keys(self) -> Float[Tensor, "B H C Dh"]:
        """Keys of the words written."""
        return self._kept[0][:, :, : self._length]

    @property
    def values(self) -> Float[Tensor, "B H C Dh"]:
        """Values of the words written."""
        return self._kept[1][:, :, : self._length]

    def append(self, new: KeysAndValues) -> "Cache":
        """Append the words that all hypotheses write at one step."""
        start, end = self._length, self._length + new.keys.shape[2]
        if not self._kept or end > self._kept[0].shape[2]:
            self._make_room(end, new.keys)
        for kept, added in zip(self._kept, (new.keys, new.values), strict=True):
            kept[:, :, start:end] = added
        self._length = end
        return self

    def _make_room(self, length: int, like: Float[Tensor, "B H W Dh"]) -> None:
        """Allocate room for translations as long as the source, or double it."""
        batch, heads, _, size = like.shape
        shape = batch, heads, max(self._width * (self._source + MARGIN), 2 * length), size
        larger = [like.new_empty([shape[axis] for axis in order]).permute(order) for order in self._orders]
        for kept, new in zip(self._kept, larger, strict=False):
            new[:, :, : self._length] = kept[:, :, : self._length]
        self._kept = larger

    def select(self, rows: Int[Tensor, " R"]) -> "Cache":
        """Return the given rows of the batch, in the given order."""
        picked = Cache(self._width, self._source)
        picked._length = self._length
        picked._kept = [kept[rows] for kept in self._kept]  # in the same layout
        return picked


Write = Callable[[Tensor, DecoderState, Tensor | None], tuple[Tensor, DecoderState]]
"""Takes the next words, the decoder state and the mask of slots; returns the last states and the new state."""


class SharedHypotheses:
    """Hypotheses of a Transformer that share source and cache.

    The mask of slots is 0 where a hypothesis may look, minus infinity elsewhere; `hidden` is that of the slots that are
    taken already, as by earlier translations.
    """

    def __init__(
        self,
        write: Write,
        score: Score,
        state: DecoderState,
        source: Float[Tensor, "B S D"],
        hidden: Float[Tensor, "B 1 C"] | None = None,
    ) -> None:
        self._write, self._score, self._state = write, score, state
        self._hidden = source.new_zeros(len(source), 1, 0) if hidden is None else hidden  # (B, W, C)
        self._single = True  # a single hypothesis needs no mask of its own

    def extend(
        self, words: Int[Tensor, "B W"], count: int, normalise: bool = True, wanted: Int[Tensor, "R E"] | None = None
    ) -> NextWords:
        """Append a word to each hypothesis, in a slot of its own, and return the best next words."""
        width = words.shape[1]
        own = torch.full((width, width), IMPOSSIBLE, dtype=self._hidden.dtype, device=self._hidden.device)
        own.fill_diagonal_(0)
        self._single = self._single and width == 1
        self._hidden = torch.cat((self._hidden, own.expand(len(self._hidden), width, width)), dim=2)
        states, self._state = self._write(words, self._state, None if self._single else self._hidden)
        return best_words_of(states.flatten(0, 1), self._score, count, normalise, wanted)

    def follow(self, parents: Int[Tensor, "B W"]) -> None:
        """Copy the mask of each hypothesis from its parent."""
        self._hidden = self._hidden.gather(1, parents.unsqueeze(2).expand(-1, -1, self._hidden.shape[2]))

    def keep(self, rows: Int[Tensor, " R"]) -> None:
        """Drop all sentences but these."""
        self._hidden = self._hidden[rows]
        self._state = self._state.select(rows)
