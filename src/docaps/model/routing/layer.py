"""Capsule routing as a part of a model: weights, precision, and the way that suits the number of words.

Dimensions: B batch, N words, M capsules, D capsule size.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from docaps.model.routing.algorithm import Routing, RoutingOptions, route
from docaps.model.routing.recomputed import is_large, route_in_groups


class CapsuleRouting(nn.Module):
    """Routing with weights of its own: one matrix for each output capsule, shared by all words."""

    def __init__(self, *, size: int, capsules: int, options: RoutingOptions, spread: float | None = None) -> None:
        super().__init__()
        self.size = size
        self.capsules = capsules
        self.options = options
        self.weight = nn.Parameter(torch.randn(capsules, size, size) * (spread or 1 / math.sqrt(size)))

    def forward(
        self,
        words: Float[Tensor, "B N D"],
        word_mask: Bool[Tensor, "B N"],
        query: Float[Tensor, "B D"] | None = None,
        trace: bool = False,
    ) -> Routing:
        """Route words, in float32 whatever the surroundings."""
        with torch.autocast(words.device.type, enabled=False):
            asked = None if query is None else query.to(self.weight.dtype)
            words = words.to(self.weight.dtype)
            if is_large(words) and not trace:
                return Routing(route_in_groups(words, word_mask, self.weight, options=self.options, query=asked))
            return route(words, word_mask, self.weight, options=self.options, query=asked, trace=trace)
