"""Translations to score, those of a sentence in one row: the words that all of them begin with come once.

A row has the shared words, then the rest of each translation, which sees the shared words and its own earlier ones.
Dimensions: B batch, R translations, T target length, L words of a row.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from docaps.batches.batch import Batch, pad
from docaps.batches.windows import Tokens
from docaps.corpus.text.vocabulary import BOS, PAD


@dataclass(frozen=True, slots=True)
class Candidates:
    """Candidate translations of the sentences of a batch: each word of a row is read once, and predicts one other."""

    words: Int[Tensor, "B L"]
    """What the decoder reads; every translation begins with BOS."""
    following: Int[Tensor, "B L"]
    """The word after each of them."""
    positions: Int[Tensor, "B L"]
    """The position of each word in its translation."""
    branches: Int[Tensor, "B L"]
    """The translation that a word is of, counted from 1 in each row; 0: all of them."""
    rows: Int[Tensor, " R"]
    """The sentence that each translation is of."""
    places: Int[Tensor, "R T"]
    """Where its row has each word of a translation, counted from 1; 0 at padding."""

    @property
    def mask(self) -> Bool[Tensor, "B L"]:
        """True where a word is real."""
        return self.following != PAD

    def to(self, device: torch.device) -> "Candidates":
        """Move all tensors to a device."""
        return Candidates(*(getattr(self, field.name).to(device) for field in fields(self)))

    def visible(self) -> Bool[Tensor, "B L L"] | None:
        """Return which words each word may look at; None: all before it, as no row has two translations."""
        if not bool(self.branches.any()):
            return None
        length = self.branches.shape[1]
        earlier = torch.ones(length, length, dtype=torch.bool, device=self.branches.device).tril()
        own = self.branches.unsqueeze(1) == self.branches.unsqueeze(2)  # (B, L, L)
        return earlier & (own | (self.branches == 0).unsqueeze(1))

    def visible_after(self, first: Bool[Tensor, "#B 1 _"] | None) -> Bool[Tensor, "B L _"] | None:
        """Return the same, behind what the decoder has read before: `first` is what a first word may look at."""
        own = self.visible()
        if first is None:
            return own
        length = self.words.shape[1]
        if own is None:
            own = first.new_ones(length, length).tril().expand(len(first), -1, -1)
        return torch.cat((first[..., :-1].expand(-1, length, -1), own), dim=2)

    def by_translation(self, values: Float[Tensor, "B L"]) -> Float[Tensor, "R T"]:
        """Return the values of each translation's words; 0 at padding."""
        return self._gather(values)

    def apart(self, batch: Batch) -> Batch:
        """Return a batch with a row for each translation, its sentence and history repeated."""
        written = batch.target_history
        return Batch(
            source=batch.source[self.rows],
            history=batch.history[self.rows],
            target_input=self._gather(self.words),
            target_output=self._gather(self.following),
            target_history=None if written is None else written[self.rows],
        )

    def _gather(self, values: Tensor) -> Tensor:
        return F.pad(values, (1, 0), value=PAD)[self.rows].gather(1, self.places)


def collate_candidates(translations: Sequence[Sequence[Tokens]]) -> Candidates:
    """Lay out the different translations of each sentence; each ends with an end mark."""
    rows = [_lay_out(own) for own in translations]
    words, following, positions, branches = (pad(column) for column in list(zip(*rows, strict=True))[:4])
    counts = torch.tensor([len(own) for own in translations])
    places = pad([places for row in rows for places in row.places])
    numbers = torch.arange(len(rows)).repeat_interleave(counts)
    return Candidates(words, following, positions, branches, numbers, places)


class _Row(NamedTuple):
    """The translations of one sentence."""

    words: NDArray[np.int32]
    following: NDArray[np.int32]
    positions: NDArray[np.int32]
    branches: NDArray[np.int32]
    places: list[NDArray[np.int32]]


def _lay_out(translations: Sequence[Tokens]) -> _Row:
    """Put the words that all translations begin with first, then the rest of each."""
    shared = count_shared(translations)
    following = [np.asarray(tokens, np.int32) for tokens in translations]
    words = [np.array((BOS, *tokens[:-1]), np.int32) for tokens in translations]
    positions = [np.arange(len(tokens), dtype=np.int32) for tokens in translations]
    sizes = [shared, *(len(tokens) - shared for tokens in translations)]
    rests = itertools.pairwise(np.cumsum(sizes))
    return _Row(
        words=_share(words, shared),
        following=_share(following, shared),
        positions=_share(positions, shared),
        branches=np.repeat(np.arange(len(sizes), dtype=np.int32), sizes),
        places=[1 + np.concatenate([positions[0][:shared], np.arange(*rest, dtype=np.int32)]) for rest in rests],
    )


def _share(parts: Sequence[NDArray[np.int32]], shared: int) -> NDArray[np.int32]:
    """Return the first numbers of all parts once, then the others of each."""
    return np.concatenate([parts[0][:shared], *(part[shared:] for part in parts)])


def count_shared(translations: Sequence[Tokens]) -> int:
    """Return how many words all translations begin with."""
    for place, words in enumerate(zip(*translations, strict=False)):
        if any(word != words[0] for word in words):
            return place
    return min(map(len, translations))


def count_words(translations: Sequence[Tokens]) -> int:
    """Return the number of words of a row with these translations."""
    return sum(map(len, translations)) - (len(translations) - 1) * count_shared(translations)
