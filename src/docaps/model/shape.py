"""Shapes: the numbers that layers share, and what layers need to know of a context network."""

from dataclasses import dataclass
from typing import Literal

from torch import nn

from docaps.model.context.memory import ContextSublayer
from docaps.model.layers import Attention, FeedForward, Residual


@dataclass(frozen=True, slots=True)
class Shape:
    """The numbers that all layers of a Transformer share."""

    size: int
    heads: int
    feed_forward: int
    dropout: float
    norm: Literal["pre", "post"]

    def attention(self, memory_size: int | None = None) -> Attention:
        """Make an attention of this shape, to vectors of this size or another."""
        return Attention(size=self.size, heads=self.heads, memory_size=memory_size)

    def inward_attention(self) -> Attention:
        """Make an attention of this shape with which positions look at each other."""
        return Attention(size=self.size, heads=self.heads, inward=True)

    def residual(self, *, gate: bool = False) -> Residual:
        """Make the surroundings of a sub-layer of this shape."""
        return Residual(size=self.size, dropout=self.dropout, norm=self.norm, gate=gate)

    def forward_part(self) -> FeedForward:
        """Make a feed-forward network of this shape."""
        return FeedForward(size=self.size, inner=self.feed_forward)


@dataclass(frozen=True, slots=True)
class Context:
    """A network that reads the history, and what layers need to know to look at what it finds."""

    network: nn.Module
    history: int
    size: int
    gate: bool = False
    silent: bool = False
    """Whether layers find nothing in it to begin with."""
    decoder: bool = False
    """Whether the decoder's layers look at it as well as the encoder's."""
    shuffled: bool = False
    """Whether the history is that of another document."""

    def sublayer(self, shape: Shape) -> ContextSublayer:
        """Make the sub-layer with which one layer looks at the context."""
        attention = shape.attention(self.size)
        if self.silent:  # its bias is zero already
            nn.init.zeros_(attention.output.weight)
        return ContextSublayer(attention=attention, residual=shape.residual(gate=self.gate))
