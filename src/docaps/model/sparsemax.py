"""Sparsemax: like softmax, weights that add up to 1, but the smaller scores get none at all.

Reference: Martins and Astudillo (2016), as used by Maruf et al. (2019).
"""

from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from docaps.config import Weighting

HIDDEN = -2.0
"""A score so far below the highest one that it never gets weight: what gets any is less than 1 below it."""


def weigh(
    scores: Float[Tensor, "*any C"],
    mask: Bool[Tensor, "*#any C"],
    how: Weighting,
) -> Float[Tensor, "*any C"]:
    """Turn scores into weights of what the mask shows, in float32 or better; all are 0 where it shows nothing."""
    exact = scores.to(torch.promote_types(scores.dtype, torch.float32))
    # Scores below the lowest that is shown would do; from the highest one down, none is beyond what can be written.
    lowest = torch.finfo(exact.dtype).min
    highest = exact.masked_fill(~mask, lowest).amax(dim=-1, keepdim=True).detach()
    shifted = exact - highest
    if how == "sparsemax":
        weights: Tensor = sparsemax(shifted.masked_fill(~mask, HIDDEN))
    else:
        weights = torch.softmax(shifted.masked_fill(~mask, lowest), dim=-1)
    return (weights * mask).to(scores.dtype)


def sparsemax(scores: Float[Tensor, "*any C"]) -> Float[Tensor, "*any C"]:
    """Return the nearest point to the scores among all weights that are at least 0 and add up to 1."""
    weights: Tensor = _Sparsemax.apply(scores)  # type: ignore[no-untyped-call]
    return weights


class _Sparsemax(torch.autograd.Function):
    """p = max(z - tau, 0); its gradient is g less the mean of g over the support, and 0 outside of it."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor) -> Tensor:
        ordered = scores.sort(dim=-1, descending=True).values
        sums = ordered.cumsum(dim=-1)
        ranks = torch.arange(1, scores.shape[-1] + 1, dtype=scores.dtype, device=scores.device)
        count = (
            (1 + ranks * ordered > sums).sum(dim=-1, keepdim=True).clamp_min(1)
        )  # how many get weight (of NaNs, none)
        tau = (sums.gather(-1, count - 1) - 1) / count
        weights = (scores - tau).clamp_min(0)
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (weights,) = ctx.saved_tensors
        support = (weights > 0).to(gradient.dtype)
        mean = (gradient * support).sum(dim=-1, keepdim=True) / support.sum(dim=-1, keepdim=True)
        return support * (gradient - mean)  # type: ignore[no-any-return]
