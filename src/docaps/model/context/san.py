"""Selective attention: few sentences of the whole document, and in them the words that matter.

Departure from the paper: the feed-forward network is a whole sub-layer, with a sum and a norm; a row without any other
sentence is left alone. Reference: Maruf et al. (2019). Dimensions: B batch, L length, K other sentences, N words of
such a sentence, H heads, Dh size of a head, D model size.
"""

import math
from dataclasses import dataclass
from typing import Literal, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from docaps.config import Weighting
from docaps.model.context.qcn import initialised
from docaps.model.context.states import Reader
from docaps.model.fast.dropout import Dropout
from docaps.model.interface import DecoderState
from docaps.model.layers import Gate
from docaps.model.shape import Shape
from docaps.model.sparsemax import weigh


@dataclass(frozen=True, slots=True)
class SanMemory:
    """The words of other sentences and the sentences as a whole, projected and split into heads."""

    keys: Float[Tensor, "B H K N Dh"]
    values: Float[Tensor, "B H K N Dh"]
    sentences: Float[Tensor, "B H K Dh"]
    mask: Bool[Tensor, "B K N"]

    def select(self, rows: Int[Tensor, " R"]) -> "SanMemory":
        """Pick rows of the batch, in the given order."""
        return SanMemory(self.keys[rows], self.values[rows], self.sentences[rows], self.mask[rows])


class SelectiveAttention(Reader):
    """Weigh sentences by their means and words within each sentence; or (`flat`) all words at once."""

    def __init__(
        self,
        *,
        shape: Shape,
        attention: Literal["hierarchical", "flat"],
        sentences: Weighting,
        words: Weighting,
    ) -> None:
        super().__init__()
        self.heads = shape.heads
        self.weightings = sentences, words
        self.word_query, self.word_key, self.value, self.output = (_projection(shape) for _ in range(4))
        hierarchical = attention == "hierarchical"
        self.sentence_query = _projection(shape) if hierarchical else None
        self.sentence_key = _projection(shape) if hierarchical else None
        self.feed_forward, self.feed_forward_residual = shape.forward_part(), shape.residual()
        self.dropout = Dropout(shape.dropout)
        self.gate = Gate(size=shape.size)

    def remember(self, words: Float[Tensor, "B K N D"], mask: Bool[Tensor, "B K N"]) -> DecoderState:
        """Project words and the means of their sentences."""
        real = mask.unsqueeze(-1).to(words.dtype)
        means = (words * real).sum(dim=2) / real.sum(dim=2).clamp_min(1)  # (B, K, D)
        sentences = means if self.sentence_key is None else self.sentence_key(means)
        keys, values = (self._split(layer(words)).movedim(-2, 1) for layer in (self.word_key, self.value))
        return SanMemory(keys, values, self._split(sentences).movedim(-2, 1), mask)

    def forward(self, states: Float[Tensor, "B L D"], memory: DecoderState) -> Float[Tensor, "B L D"]:
        """Mix each state with what it finds; a row with nothing to look at is left as it is."""
        memory = cast(SanMemory, memory)
        weights = self._weigh(states, memory).flatten(3)  # (B, H, L, K N)
        found = weights.to(memory.values.dtype) @ memory.values.flatten(2, 3)  # (B, H, L, Dh)
        context = self.dropout(self.output(found.transpose(1, 2).flatten(2)))
        mixed = self.gate(states, self.feed_forward_residual(context, self.feed_forward))
        return torch.where(memory.mask.flatten(1).any(dim=1)[:, None, None], mixed, states)

    def _weigh(self, states: Float[Tensor, "B L D"], memory: SanMemory) -> Float[Tensor, "B H L K N"]:
        """Say how much each state takes of each word."""
        by_sentence, by_word = self.weightings
        queries = self._split(self.word_query(states)).transpose(1, 2)  # (B, H, L, Dh)
        scale = math.sqrt(queries.shape[-1])
        scores = torch.einsum("bhld,bhknd->bhlkn", queries, memory.keys) / scale
        mask = memory.mask[:, None, None]  # (B, 1, 1, K, N)
        if self.sentence_query is None:
            return weigh(scores.flatten(3), mask.flatten(3), by_word).view(scores.shape)
        queries = self._split(self.sentence_query(states)).transpose(1, 2)
        overall = torch.einsum("bhld,bhkd->bhlk", queries, memory.sentences) / scale
        shares = weigh(overall, mask.any(dim=-1), by_sentence)  # (B, H, L, K)
        return shares.unsqueeze(-1) * weigh(scores, mask, by_word)

    def _split(self, vectors: Float[Tensor, "*any D"]) -> Float[Tensor, "*any H Dh"]:
        return vectors.unflatten(-1, (self.heads, -1))  # type: ignore[no-any-return]


def _projection(shape: Shape) -> nn.Linear:
    return initialised(nn.Linear(shape.size, shape.size))
