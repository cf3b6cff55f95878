"""Attention from layers to a context: the memory, the sub-layer, and the plug for context networks.

Dimensions: B batch, S source length, C context vectors, K history sentences, N words of a history sentence,
M capsules, D model size, E size of context vectors, R routing iterations.
"""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from docaps.model.layers import Attention, KeysAndValues, Residual, Shape

Side = Literal["source", "target"]


@dataclass(frozen=True, slots=True)
class ContextMemory:
    """The vectors that layers attend to besides their own sentence."""

    vectors: Float[Tensor, "B C E"]
    mask: Bool[Tensor, "B C"]  # True where a vector comes from a history sentence with words
    coupling: Float[Tensor, "R B K M N"] | None = None
    correlation: Float[Tensor, "R B K M N"] | None = None
    capsules: Float[Tensor, "B G M E"] | None = None
    """If traced: the capsules of each history sentence (G is K), or of all together (G is 1), as routed."""
    weights: Float[Tensor, "B K M N"] | None = None
    """If traced: the weight of each word in each capsule's sum (Alg. 1, line 20), in the last iteration."""
    tokens: Int[Tensor, "B K N"] | None = None
    """If traced: the words that were routed,"""
    sentences: "tuple[RoutedSentence, ...]" = ()
    """and the sentences that they are from."""

    def described(self, tokens: Int[Tensor, "B K N"], side: Side = "source", first: int = 1) -> "ContextMemory":
        """Return this memory with the words that were routed; the nearest sentence has the distance `first`."""
        sentences = tuple(RoutedSentence(first + place, side) for place in range(tokens.shape[1]))
        return replace(self, tokens=tokens, sentences=sentences)


class RoutedSentence(NamedTuple):
    """A sentence whose words were routed: the one that is translated has distance 0."""

    distance: int
    side: Side


@dataclass(frozen=True, slots=True)
class ContextUse:
    """What one layer does with the context."""

    weights: Float[Tensor, "B S C"]  # attention, the mean over heads
    share: Float[Tensor, "B S"]  # the length of what attention returns, divided by the length of the state


class ContextSublayer(nn.Module):
    """Attention from the sentence to the context; rows without any history pass through unchanged."""

    def __init__(self, *, attention: Attention, residual: Residual) -> None:
        super().__init__()
        self.attention = attention
        self.residual = residual

    def forward(self, states: Float[Tensor, "B S D"], context: ContextMemory) -> Float[Tensor, "B S D"]:
        """Attend from each position to the context."""
        return self.attend(states, self.project(context), context.mask)

    @torch.no_grad()
    def copy(self, attention: Attention, residual: Residual) -> None:
        """Start with the maps and the norm of another attention, which may be trained."""
        self.residual.norm.load_state_dict(residual.norm.state_dict())
        for own, other in zip(self.attention.projections(), attention.projections(), strict=True):
            own.load_state_dict(other.state_dict())

    def project(self, context: ContextMemory) -> KeysAndValues:
        """Return the context's keys and values, which serve all words of a translation."""
        return self.attention.project(context.vectors)

    def attend(
        self, states: Float[Tensor, "B L D"], memory: KeysAndValues, mask: Bool[Tensor, "B C"]
    ) -> Float[Tensor, "B L D"]:
        """Attend from each position to a projected context."""
        has_history, visible = _visible(mask)
        attended = self.residual(states, lambda inputs: self.attention(inputs, memory, visible))
        if torch.is_inference_mode_enabled() and bool(has_history.all()):
            return attended  # type: ignore[no-any-return]
        return torch.where(has_history, attended, states)

    def measure(self, states: Float[Tensor, "B S D"], context: ContextMemory) -> ContextUse:
        """Return what this layer does with the context, for diagnosis."""
        memory, (_, visible) = self.project(context), _visible(context.mask)
        inputs = self.residual.inputs(states)
        found = self.attention(inputs, memory, visible)
        lengths = [torch.linalg.vector_norm(vectors, dim=-1) for vectors in (found, states)]
        return ContextUse(self.attention.weights(inputs, memory, visible).mean(dim=1), lengths[0] / lengths[1])


def _visible(mask: Bool[Tensor, "B C"]) -> tuple[Bool[Tensor, "B 1 1"], Bool[Tensor, "B 1 C"]]:
    """Return which rows have a history, and what each row may attend to.

    Attention over nothing is NaN, so a row without history attends to its masked vectors; the result is discarded.
    """
    has_history = mask.any(dim=-1)[:, None, None]
    return has_history, mask.unsqueeze(1) | ~has_history


@dataclass(frozen=True, slots=True)
class Context:
    """A context network for the stock Transformer, whose layers attend to the memory that it returns.

    `network(words, word_mask, sentence, sentence_mask, trace)` takes embeddings (not scaled, without positions) of the
    history, (B, K, N, D), nearest sentence first, and of the sentence, (B, S, D); it returns a `ContextMemory`.
    It is not called for a batch without any history, unless an end mark closes each history.
    """

    network: nn.Module
    history: int
    """K, the number of earlier sentences in view."""
    size: int
    """E, the size of the memory's vectors."""
    gate: bool = False
    """Mix sentence and context by a gate instead of adding them."""
    silent: bool = False
    """Start with output projections of zero, so that the context adds nothing at first."""
    encoder: bool = True
    """Let the encoder's layers attend to the context."""
    decoder: bool = False
    """Let the decoder's layers attend to it."""
    shuffled: bool = False
    """Take the history from another document."""
    end_mark: bool = False
    """Close the history with an end mark; rows without history then have a context, too."""
    dropout: bool = True
    """Drop out what the sub-layers return, as in other sub-layers."""

    def sublayer(self, shape: Shape) -> ContextSublayer:
        """Make the context sub-layer of one layer."""
        attention = Attention(shape, memory_size=self.size)
        if self.silent:  # its bias is zero already
            nn.init.zeros_(attention.output.weight)
        merging = shape if self.dropout else replace(shape, dropout=replace(shape.dropout, sublayers=0.0))
        return ContextSublayer(attention=attention, residual=Residual(merging, gate=self.gate))
