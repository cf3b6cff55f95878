"""Context attention with gates: earlier sentences, read by an encoder of their own, seen by every layer.

Reference: Zhang et al. (2018). Dimensions: B batch, S source length, K history sentences, N words of a history
sentence, L words of the history in all, D model size.

Departure from the paper: a row without any history skips the sub-layers, so it is translated by the sentence model.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from docaps.model.context.joining import join_vectors
from docaps.model.context.memory import ContextMemory
from docaps.model.fast.dropout import Dropout
from docaps.model.layers import Positions
from docaps.model.shape import Shape
from docaps.model.transformer import EncoderLayer


class ContextEncoder(nn.Module):
    """Self-attention and feed-forward over the words of all history sentences, joined, with positions."""

    def __init__(self, *, shape: Shape, layers: int) -> None:
        super().__init__()
        self.positions = Positions(size=shape.size)
        self.dropout = Dropout(shape.dropout)
        self.layers = nn.ModuleList(EncoderLayer(shape, None) for _ in range(layers))
        self.norm = nn.LayerNorm(shape.size) if shape.norm == "pre" else nn.Identity()
        self.scale = math.sqrt(shape.size)

    def forward(
        self,
        words: Float[Tensor, "B K N D"],
        word_mask: Bool[Tensor, "B K N"],
        sentence: Float[Tensor, "B S D"],  # noqa: ARG002
        sentence_mask: Bool[Tensor, "B S"],  # noqa: ARG002
        trace: bool = False,  # noqa: ARG002
    ) -> ContextMemory:
        """Return a vector for each word of each row's history; `words` are embeddings, not scaled."""
        joined, mask = join_vectors(words, word_mask)
        states = self.dropout(torch.add(self.positions(joined.shape[1]), joined, alpha=self.scale))
        # A row without words would attend to nothing; nobody looks at what it finds.
        visible = (mask | ~mask.any(dim=1, keepdim=True)).unsqueeze(1)  # (B, 1, L)
        for layer in self.layers:
            states = layer(states, visible, None)
        return ContextMemory(self.norm(states), mask)
