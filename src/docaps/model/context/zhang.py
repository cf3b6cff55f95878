"""Context attention with gates: every layer attends to earlier sentences, which have an encoder of their own.

Reference: Zhang et al. (2018). Dimensions: B batch, S source length, K history sentences, N words of a history
sentence, L words of the history in all, D model size.

An end mark closes the context, so a row without any history attends to that mark. Without the mark, a departure from
the paper, such a row skips the sub-layers, and the sentence model translates it.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from docaps.model.context.concat import real_first
from docaps.model.context.sublayer import ContextMemory
from docaps.model.fast.dropout import Dropout
from docaps.model.layers import Positions, Shape
from docaps.model.transformer import EncoderLayer


class ContextEncoder(nn.Module):
    """Encoder layers over the words of all history sentences, concatenated, with positions."""

    def __init__(self, *, shape: Shape, layers: int, input_dropout: bool) -> None:
        super().__init__()
        self.positions = Positions(size=shape.size, layout=shape.positions)
        self.dropout = Dropout(shape.dropout.embeddings if input_dropout else 0.0)
        self.layers = nn.ModuleList(EncoderLayer(shape, None) for _ in range(layers))
        self.norm = shape.last_norm()
        self.scale = shape.scale

    def forward(self, words: Float[Tensor, "B K N D"], word_mask: Bool[Tensor, "B K N"], *_: object) -> ContextMemory:
        """Return a vector for each word of each row's history; `words` are embeddings, not scaled."""
        joined, mask = join_vectors(words, word_mask)
        states = self.dropout(torch.add(self.positions(joined.shape[1]), joined, alpha=self.scale))
        # Attention over nothing is NaN: a row without words attends to its padding, and the result is not used.
        visible = (mask | ~mask.any(dim=1, keepdim=True)).unsqueeze(1)  # (B, 1, L)
        for layer in self.layers:
            states = layer(states, visible, None)
        return ContextMemory(self.norm(states), mask)


def join_vectors(
    vectors: Float[Tensor, "B K N D"], mask: Bool[Tensor, "B K N"]
) -> tuple[Float[Tensor, "B L D"], Bool[Tensor, "B L"]]:
    """Concatenate the word vectors of history sentences, oldest first, without gaps."""
    flat, real = vectors.flip(1).flatten(1, 2), mask.flip(1).flatten(1)
    order = real_first(real)[:, : int(real.sum(dim=1).max())]
    return flat.gather(1, order.unsqueeze(-1).expand(-1, -1, flat.shape[-1])), real.gather(1, order)
