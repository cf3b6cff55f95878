"""Context memory: the vectors that an encoder may look at besides its own sentence, and the sub-layer that looks.

Dimensions: B batch, S source length, C context vectors, K history sentences, N words of a history sentence,
M capsules, D model size, E capsule size, R routing iterations.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from docaps.model.layers import Attention, KeysAndValues, Residual


@dataclass(frozen=True, slots=True)
class ContextMemory:
    """What the encoder may look at besides the sentence itself."""

    vectors: Float[Tensor, "B C E"]
    mask: Bool[Tensor, "B C"]  # True where a vector comes from a history sentence with words
    coupling: Float[Tensor, "R B K M N"] | None = None
    correlation: Float[Tensor, "R B K M N"] | None = None
    capsules: Float[Tensor, "B G M E"] | None = None
    """As routing leaves them, when traced: those of each history sentence (G is K), or of all together (G is 1)."""


@dataclass(frozen=True, slots=True)
class Look:
    """What one layer made of the context: where each position looked, and how much it found beside what it had."""

    weights: Float[Tensor, "B S C"]  # the mean over heads
    share: Float[Tensor, "B S"]  # the length of what was found, divided by the length of the state


class ContextSublayer(nn.Module):
    """Attention from the sentence to the context; a row without any history passes through untouched."""

    def __init__(self, *, attention: Attention, residual: Residual) -> None:
        super().__init__()
        self.attention = attention
        self.residual = residual

    def forward(self, states: Float[Tensor, "B S D"], context: ContextMemory) -> Float[Tensor, "B S D"]:
        """Add to each position what it finds in the context."""
        return self.attend(states, self.project(context), context.mask)

    def project(self, context: ContextMemory) -> KeysAndValues:
        """Get the context ready to be looked at, once for all words of a translation."""
        return self.attention.project(context.vectors)

    def attend(
        self, states: Float[Tensor, "B L D"], memory: KeysAndValues, mask: Bool[Tensor, "B C"]
    ) -> Float[Tensor, "B L D"]:
        """Add to each position what it finds in a projected context."""
        has_history, visible = _visible(mask)
        attended = self.residual(states, lambda inputs: self.attention(inputs, memory, visible))
        if torch.is_inference_mode_enabled() and bool(has_history.all()):
            return attended  # type: ignore[no-any-return]
        return torch.where(has_history, attended, states)

    def look(self, states: Float[Tensor, "B S D"], context: ContextMemory) -> Look:
        """Tell what this layer makes of the context."""
        memory, (_, visible) = self.project(context), _visible(context.mask)
        inputs = self.residual.norm(states) if self.residual.norm_first else states
        found = self.attention(inputs, memory, visible)
        lengths = [torch.linalg.vector_norm(vectors, dim=-1) for vectors in (found, states)]
        return Look(self.attention.weights(inputs, memory, visible).mean(dim=1), lengths[0] / lengths[1])


def _visible(mask: Bool[Tensor, "B C"]) -> tuple[Bool[Tensor, "B 1 1"], Bool[Tensor, "B 1 C"]]:
    """Say which rows have a history, and what each may look at.

    Attention over nothing is not a number, so a row without history looks at its zero capsules; nobody uses that.
    """
    has_history = mask.any(dim=-1)[:, None, None]
    return has_history, mask.unsqueeze(1) | ~has_history
