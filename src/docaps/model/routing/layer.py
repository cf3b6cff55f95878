"""The routing layer: weights, precision, and recomputation for batches with very many words.

Beyond `MANY_WORDS` rows are routed in small groups, and each group is routed again in the backward pass. So the memory
of routing hardly grows with capsules and iterations, at the cost of about one more forward pass.
Dimensions: B batch, N words, M capsules, D capsule size.
"""

import math
from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from docaps.model.routing.algorithm import Routing, RoutingOptions, route

MANY_WORDS = 32_768
"""A batch with more words than this, padding included, is routed in groups."""
GROUP_WORDS = 4_096


class CapsuleRouting(nn.Module):
    """Routing with its weights: one matrix per output capsule, shared by all words."""

    def __init__(self, *, size: int, capsules: int, options: RoutingOptions, spread: float | None = None) -> None:
        super().__init__()
        self.size, self.capsules, self.options = size, capsules, options
        self.weight = nn.Parameter(torch.randn(capsules, size, size) * (spread or 1 / math.sqrt(size)))

    def forward(
        self,
        words: Float[Tensor, "B N D"],
        word_mask: Bool[Tensor, "B N"],
        query: Float[Tensor, "B D"] | None = None,
        trace: bool = False,
    ) -> Routing:
        """Route words; always in float32, even under autocast."""
        with torch.autocast(words.device.type, enabled=False):
            query = None if query is None else query.to(self.weight.dtype)
            words = words.to(self.weight.dtype)
            if is_large(words) and not trace:
                return Routing(route_in_groups(words, word_mask, self.weight, options=self.options, query=query))
            return route(words, word_mask, self.weight, options=self.options, query=query, trace=trace)


def is_large(words: Float[Tensor, "B N D"]) -> bool:
    """Return whether routing these words at once would need much memory for its gradient."""
    return torch.is_grad_enabled() and words.shape[0] * words.shape[1] > MANY_WORDS


def route_in_groups(
    words: Float[Tensor, "B N D"],
    word_mask: Bool[Tensor, "B N"],
    weight: Float[Tensor, "M D D"],
    *,
    options: RoutingOptions,
    query: Float[Tensor, "B D"] | None = None,
) -> Float[Tensor, "B M D"]:
    """Return the capsules of `route`, computed group by group."""
    return _Recomputed.apply(words, word_mask, weight, query, options)  # type: ignore[no-any-return, no-untyped-call]


class _Recomputed(torch.autograd.Function):
    """Route group by group without keeping anything; route each group again for its gradient."""

    @staticmethod
    def forward(
        ctx: Any, words: Tensor, word_mask: Tensor, weight: Tensor, query: Tensor | None, options: RoutingOptions
    ) -> Tensor:
        ctx.save_for_backward(words, word_mask, weight, query)
        ctx.options = options
        capsules = []
        for rows in _groups(words):
            part = None if query is None else query[rows]
            capsules.append(route(words[rows], word_mask[rows], weight, options=options, query=part).capsules)
        return torch.cat(capsules)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, Tensor, Tensor | None, None]:
        words, word_mask, weight, query = ctx.saved_tensors
        leaf = weight.detach().requires_grad_()
        of_words, of_weight = torch.empty_like(words), torch.zeros_like(weight)
        of_query = None if query is None else torch.empty_like(query)
        for rows in _groups(words):
            part = words[rows].detach().requires_grad_()
            asked = None if query is None else query[rows].detach().requires_grad_()
            with torch.enable_grad():
                found = route(part, word_mask[rows], leaf, options=ctx.options, query=asked, weight_gradient=of_weight)
            torch.autograd.backward(found.capsules, gradient[rows])
            of_words[rows] = 0 if part.grad is None else part.grad
            if asked is not None and of_query is not None:
                of_query[rows] = 0 if asked.grad is None else asked.grad
        return of_words, None, of_weight, of_query, None


def _groups(words: Float[Tensor, "B N D"]) -> Iterator[slice]:
    """Cut the batch into groups of rows with few words each."""
    step = max(1, GROUP_WORDS // max(1, words.shape[1]))
    return (slice(first, first + step) for first in range(0, len(words), step))
