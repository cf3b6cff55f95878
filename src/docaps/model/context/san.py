"""Selective attention: sparse attention to the sentences of the whole document and to their words.

Departure from the paper: rows without other sentences are unchanged. References: Maruf et al. (2019); Martins and
Astudillo (2016) for sparsemax. Dimensions: B batch, L length, K other sentences, N words of such a sentence, C scores,
H heads, Dh size of a head, D model size.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal, cast

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from docaps.config.model_settings import Weighting
from docaps.model.context.states import StateAttention
from docaps.model.fast.dropout import Dropout
from docaps.model.hypotheses import Rows
from docaps.model.interface import DecoderState
from docaps.model.layers import FeedForward, Gate, Residual, Shape
from docaps.model.mixed_precision import to_autocast_dtype

HIDDEN = -2.0
"""A score so far below the highest that sparsemax gives it no weight: only scores less than 1 below it get any."""


@dataclass(frozen=True, slots=True)
class SanMemory(Rows):
    """Keys and values of the words of other sentences, and keys of the sentences, split into heads."""

    keys: Float[Tensor, "B H K N Dh"]
    values: Float[Tensor, "B H K N Dh"]
    sentences: Float[Tensor, "B H K Dh"]
    mask: Bool[Tensor, "B K N"]


class SelectiveAttention(StateAttention):
    """Weight sentences by their means and words within each sentence; or (`flat`) all words at once."""

    def __init__(
        self,
        *,
        shape: Shape,
        attention: Literal["hierarchical", "flat"],
        sentences: Weighting,
        words: Weighting,
        bias: bool,
        residual: bool,
    ) -> None:
        super().__init__()
        self.heads = shape.heads
        self.weightings = sentences, words
        self.word_query, self.word_key, self.value, self.output = (shape.projection(bias=bias) for _ in range(4))
        hierarchical = attention == "hierarchical"
        self.sentence_query, self.sentence_key = (
            shape.projection(bias=bias) if hierarchical else None for _ in range(2)
        )
        self.feed_forward = FeedForward(shape)
        self.feed_forward_residual = Residual(shape) if residual else None
        self.norms = None if residual else nn.ModuleList(nn.LayerNorm(shape.size) for _ in range(2))
        self.dropout, self.weight_dropout = Dropout(shape.dropout.sublayers), Dropout(shape.dropout.attention)
        self.gate = Gate(size=shape.size)

    def project(
        self, words: Float[Tensor, "B K N D"], mask: Bool[Tensor, "B K N"], keys: Float[Tensor, "B K N D"] | None = None
    ) -> DecoderState:
        """Return keys and values of words, and keys of the means of their sentences."""
        compared, real = words if keys is None else keys, mask.unsqueeze(-1).to(words.dtype)
        means = (compared * real).sum(dim=2) / real.sum(dim=2).clamp_min(1)  # (B, K, D)
        sentences = means if self.sentence_key is None else self.sentence_key(means)
        parts = self.word_key(compared), self.value(words), sentences
        compared, values, sentences = (self._split(part).movedim(-2, 1) for part in parts)
        return SanMemory(compared, values, sentences, mask)

    def forward(
        self, states: Float[Tensor, "B L D"], memory: DecoderState, queries: Float[Tensor, "B L D"] | None = None
    ) -> Float[Tensor, "B L D"]:
        """Mix each state with its context; rows without context are unchanged."""
        memory = cast(SanMemory, memory)
        weights = self._weigh(states if queries is None else queries, memory).flatten(3)  # (B, H, L, K N)
        weights = self.weight_dropout(weights)
        found = weights.to(memory.values.dtype) @ memory.values.flatten(2, 3)  # (B, H, L, Dh)
        context = self.dropout(self.output(found.transpose(1, 2).flatten(2)))
        mixed = self.gate(states, self._transform(context))
        return torch.where(memory.mask.flatten(1).any(dim=1)[:, None, None], mixed, states)

    def _transform(self, context: Float[Tensor, "B L D"]) -> Float[Tensor, "B L D"]:
        """Run the feed-forward network: between two norms, or as a sub-layer."""
        if self.norms is None:
            return cast(Residual, self.feed_forward_residual)(context, self.feed_forward)  # type: ignore[no-any-return]
        before, after = self.norms
        inputs = to_autocast_dtype(before(context))
        return after(self.dropout(self.feed_forward(inputs)))  # type: ignore[no-any-return]

    def _weigh(self, states: Float[Tensor, "B L D"], memory: SanMemory) -> Float[Tensor, "B H L K N"]:
        """Return the attention weights of each state."""
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


def weigh(scores: Float[Tensor, "*any C"], mask: Bool[Tensor, "*#any C"], by: Weighting) -> Float[Tensor, "*any C"]:
    """Return attention weights of what the mask shows, computed in float32 or better; all are 0 if it shows nothing."""
    exact = scores.to(torch.promote_types(scores.dtype, torch.float32))
    # Scores relative to the highest visible one cannot overflow.
    lowest = torch.finfo(exact.dtype).min
    highest = exact.masked_fill(~mask, lowest).amax(dim=-1, keepdim=True).detach()
    shifted = exact - highest
    if by == "sparsemax":
        weights = sparsemax(shifted.masked_fill(~mask, HIDDEN))
    else:
        weights = torch.softmax(shifted.masked_fill(~mask, lowest), dim=-1)
    return (weights * mask).to(scores.dtype)


def sparsemax(scores: Float[Tensor, "*any C"]) -> Float[Tensor, "*any C"]:
    """Project scores onto the simplex: like softmax, weights that add up to 1, but low scores get exactly 0."""
    return _Sparsemax.apply(scores)  # type: ignore[no-any-return, no-untyped-call]


class _Sparsemax(torch.autograd.Function):
    """p = max(z - tau, 0); the gradient is g minus its mean over the support, and 0 outside of it."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor) -> Tensor:
        ordered = scores.sort(dim=-1, descending=True).values
        sums = ordered.cumsum(dim=-1)
        ranks = torch.arange(1, scores.shape[-1] + 1, dtype=scores.dtype, device=scores.device)
        # The size of the support; at least 1, as NaNs have none.
        count = (1 + ranks * ordered > sums).sum(dim=-1, keepdim=True).clamp_min(1)
        tau = (sums.gather(-1, count - 1) - 1) / count
        weights = (scores - tau).clamp_min(0)
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (weights,) = ctx.saved_tensors
        support = (weights > 0).to(gradient.dtype)
        mean = (gradient * support).sum(dim=-1, keepdim=True) / support.sum(dim=-1, keepdim=True)
        return support * (gradient - mean)  # type: ignore[no-any-return]
