"""Noise in place of capsules: a control that looks at vectors which know nothing about any sentence.

If it gains as much as the QCN, the gain comes from regularisation, not from context. Dimensions: B batch, S source
length, K history sentences, N words of a history sentence, M capsules, D model size, E capsule size.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from docaps.model.context.memory import ContextMemory

SEED = 1_234_567
"""The noise is the same in every model and run, whatever their seed, so it need not be stored with the weights."""


class FixedNoise(nn.Module):
    """As many vectors as the QCN has capsules for each sentence, drawn once; the history tells how many are shown."""

    memory: Tensor

    def __init__(self, *, size: int, history: int, capsules: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(SEED)
        drawn = torch.randn(history, capsules, size, generator=generator)
        self.register_buffer("memory", drawn, persistent=False)

    def forward(
        self,
        words: Float[Tensor, "B K N D"],
        word_mask: Bool[Tensor, "B K N"],
        sentence: Float[Tensor, "B S D"],  # noqa: ARG002
        sentence_mask: Bool[Tensor, "B S"],  # noqa: ARG002
        trace: bool = False,  # noqa: ARG002
    ) -> ContextMemory:
        """Return the same vectors for every row, those of missing history sentences masked."""
        shown = self.memory[: words.shape[1]]  # (K, M, E)
        vectors = shown.flatten(0, 1).expand(len(words), -1, -1)
        return ContextMemory(vectors, word_mask.any(dim=-1).repeat_interleave(shown.shape[1], dim=1))
