"""The routing layer: weights, precision, and recomputation for batches with very many words.

Beyond `MANY_WORDS` rows are routed in small groups, and each group is routed again in the backward pass. So the memory
of routing hardly grows with capsules and iterations, at the cost of about one more forward pass.
Dimensions: B batch, N words, M capsules, D capsule size.
"""

import math
from collections.abc import Iterator
from typing import Any, Literal, cast

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from docaps.model.routing.algorithm import Routing, RoutingOptions, route

MANY_WORDS = 32_768
"""A batch with more words than this, padding included, is routed in groups."""
GROUP_WORDS = 4_096


NEAR = 0.1
"""How far matrices that start near others are from them: the standard deviation, as a share of random ones'."""
SHARPEST = 1e6
"""The largest factor of the agreement that can be learned."""
Start = Literal["random", "identity", "parts"]
"""How the matrices start; identity: near the identity; parts: each near that of its own part of the numbers."""


class CapsuleRouting(nn.Module):
    """Routing with its weights: one matrix per output capsule, shared by all words.

    `sharpness` multiplies the agreement (line 27); None: it is learned, from 1.
    """

    def __init__(
        self,
        *,
        size: int,
        capsules: int,
        options: RoutingOptions,
        spread: float | None = None,
        start: Start = "random",
        sharpness: float | None = 1.0,
    ) -> None:
        super().__init__()
        self.size, self.capsules, self.options = size, capsules, options
        self.weight = nn.Parameter(start_matrices(start, capsules, size, spread))
        self.fixed_sharpness = sharpness
        self.log_sharpness = nn.Parameter(torch.zeros(1)) if sharpness is None else None

    @property
    def sharpness(self) -> Tensor | float:
        """The factor of the agreement; learned, it can grow by magnitudes and stays positive."""
        if self.log_sharpness is None:
            return cast(float, self.fixed_sharpness)
        return torch.exp((math.sqrt(self.size) * self.log_sharpness).clamp_max(math.log(SHARPEST)))

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
            given: Any = {"options": self.options, "query": query, "sharpness": self.sharpness}
            if is_large(words) and not trace:
                return Routing(route_in_groups(words, word_mask, self.weight, **given))
            return route(words, word_mask, self.weight, **given, trace=trace)


def start_matrices(start: Start, capsules: int, size: int, spread: float | None = None) -> Float[Tensor, "M D D"]:
    """Draw the first vote matrices; `spread` is their standard deviation, or that of their distance to others."""
    if torch.get_default_device().type == "meta":  # see builders.sketch_model
        return torch.empty(capsules, size, size)
    drawn = torch.randn(capsules, size, size)
    if start == "random":
        return drawn * (spread or 1 / math.sqrt(size))
    near = torch.eye(size).repeat(capsules, 1, 1)
    if start == "parts":
        part = torch.arange(size) * capsules // size  # of each number
        near = near * (part == torch.arange(capsules).unsqueeze(1)).unsqueeze(2)
    return near + drawn * (spread or NEAR / math.sqrt(size))


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
    sharpness: Tensor | float = 1.0,
) -> Float[Tensor, "B M D"]:
    """Return the capsules of `route`, computed group by group."""
    return _Recomputed.apply(words, word_mask, weight, query, options, sharpness)  # type: ignore[no-any-return, no-untyped-call]


class _Recomputed(torch.autograd.Function):
    """Route group by group without keeping anything; route each group again for its gradient."""

    @staticmethod
    def forward(
        ctx: Any,
        words: Tensor,
        word_mask: Tensor,
        weight: Tensor,
        query: Tensor | None,
        options: RoutingOptions,
        sharpness: Tensor | float,
    ) -> Tensor:
        learned = sharpness if isinstance(sharpness, Tensor) else None
        ctx.save_for_backward(words, word_mask, weight, query, learned)
        ctx.options, ctx.sharpness = options, None if learned is not None else sharpness
        capsules = []
        for rows in _groups(words):
            part = None if query is None else query[rows]
            found = route(words[rows], word_mask[rows], weight, options=options, query=part, sharpness=sharpness)
            capsules.append(found.capsules)
        return torch.cat(capsules)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        words, word_mask, weight, query, learned = ctx.saved_tensors
        leaf = weight.detach().requires_grad_()
        factor = ctx.sharpness if learned is None else learned.detach().requires_grad_()
        of_words, of_weight = torch.empty_like(words), torch.zeros_like(weight)
        of_query = None if query is None else torch.empty_like(query)
        given: Any = {"options": ctx.options, "weight_gradient": of_weight, "sharpness": factor}
        for rows in _groups(words):
            part = words[rows].detach().requires_grad_()
            asked = None if query is None else query[rows].detach().requires_grad_()
            with torch.enable_grad():
                found = route(part, word_mask[rows], leaf, query=asked, **given)
            torch.autograd.backward(found.capsules, gradient[rows])
            of_words[rows] = 0 if part.grad is None else part.grad
            if asked is not None and of_query is not None:
                of_query[rows] = 0 if asked.grad is None else asked.grad
        return of_words, None, of_weight, of_query, None, None if learned is None else factor.grad


def _groups(words: Float[Tensor, "B N D"]) -> Iterator[slice]:
    """Cut the batch into groups of rows with few words each."""
    step = max(1, GROUP_WORDS // max(1, words.shape[1]))
    return (slice(first, first + step) for first in range(0, len(words), step))
