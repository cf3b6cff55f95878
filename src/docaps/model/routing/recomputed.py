"""Routing of very many words: rows in small groups, and what a group needs on the way back is computed there again.

So the memory of routing hardly grows with capsules and iterations; it costs about one more pass through routing.
Dimensions: B batch, N words, M capsules, D capsule size.
"""

from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from docaps.model.routing.algorithm import RoutingOptions, route

MANY_WORDS = 32_768
"""A batch with more words than this is routed in groups; padding counts."""
GROUP_WORDS = 4_096


def route_in_groups(
    words: Float[Tensor, "B N D"],
    word_mask: Bool[Tensor, "B N"],
    weight: Float[Tensor, "M D D"],
    *,
    options: RoutingOptions,
    query: Float[Tensor, "B D"] | None = None,
) -> Float[Tensor, "B M D"]:
    """Return the capsules that `route` finds."""
    capsules: Tensor = _Recomputed.apply(words, word_mask, weight, query, options)  # type: ignore[no-untyped-call]
    return capsules


def is_large(words: Float[Tensor, "B N D"]) -> bool:
    """Say whether routing these words at once would need much memory for its gradient."""
    return torch.is_grad_enabled() and words.shape[0] * words.shape[1] > MANY_WORDS


class _Recomputed(torch.autograd.Function):
    """Route group by group, keeping nothing; route each group again for its gradient."""

    @staticmethod
    def forward(
        ctx: Any, words: Tensor, word_mask: Tensor, weight: Tensor, query: Tensor | None, options: RoutingOptions
    ) -> Tensor:
        ctx.save_for_backward(words, word_mask, weight, query)
        ctx.options = options
        found = [
            route(words[rows], word_mask[rows], weight, options=options, query=_take(query, rows)).capsules
            for rows in _groups(words)
        ]
        return torch.cat(found)

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
                found = route(
                    part, word_mask[rows], leaf, options=ctx.options, query=asked, weight_gradient=of_weight
                ).capsules
            torch.autograd.backward(found, gradient[rows])
            of_words[rows] = 0 if part.grad is None else part.grad
            if asked is not None and of_query is not None:
                of_query[rows] = 0 if asked.grad is None else asked.grad
        return of_words, None, of_weight, of_query, None


def _groups(words: Float[Tensor, "B N D"]) -> Iterator[slice]:
    """Cut the batch into groups of rows with few words each."""
    step = max(1, GROUP_WORDS // max(1, words.shape[1]))
    return (slice(first, first + step) for first in range(0, len(words), step))


def _take(query: Float[Tensor, "B D"] | None, rows: slice) -> Float[Tensor, "R D"] | None:
    """Pick rows of the query, if there is one."""
    return None if query is None else query[rows]
