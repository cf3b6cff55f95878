"""Joining: several sentences of a row as one, oldest first, without padding between them.

Dimensions: B batch, K history sentences, N words of a history sentence, L words in all, D model size.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from docaps.corpus.text.vocabulary import PAD


def close_up(mask: Bool[Tensor, "B L"]) -> Int[Tensor, "B L"]:
    """Return the order that brings each row's real places to its front and leaves them in their order."""
    return torch.sort(mask.logical_not().to(torch.uint8), dim=1, stable=True).indices


def oldest_first(history: Int[Tensor, "B K N"], mark: int, *, before: bool) -> Int[Tensor, "B L"]:
    """Lay history sentences one after the other, with a mark before (or after) each that has words; gaps remain."""
    worded = (history != PAD).any(dim=-1, keepdim=True)  # (B, K, 1)
    marks = torch.where(worded, mark, PAD)
    parts = (marks, history) if before else (history, marks)
    return torch.cat(parts, dim=-1).flip(1).flatten(1)


def without_gaps(words: Int[Tensor, "B L"]) -> Int[Tensor, "B M"]:
    """Move each row's words to its front and cut what is padding in all rows."""
    mask = words != PAD
    longest = int(mask.sum(dim=1).max()) if words.numel() else 0
    return words.gather(1, close_up(mask)[:, :longest])


def join_vectors(
    vectors: Float[Tensor, "B K N D"], mask: Bool[Tensor, "B K N"]
) -> tuple[Float[Tensor, "B L D"], Bool[Tensor, "B L"]]:
    """Lay the word vectors of history sentences one after the other, oldest first, without gaps."""
    flat, real = vectors.flip(1).flatten(1, 2), mask.flip(1).flatten(1)
    order = close_up(real)[:, : int(real.sum(dim=1).max())]
    return flat.gather(1, order.unsqueeze(-1).expand(-1, -1, flat.shape[-1])), real.gather(1, order)
