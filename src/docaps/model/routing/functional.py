"""The paper's formulas as pure functions.

Reference: Yang et al. (2019). Dimensions: D capsule size.
"""

import torch
from jaxtyping import Float
from torch import Tensor


def squash(vectors: Float[Tensor, "*any D"]) -> Float[Tensor, "*any D"]:
    """Shorten each vector to below length 1, keeping its direction (Eq. 8)."""
    return vectors * squash_factor(torch.linalg.vector_norm(vectors, dim=-1, keepdim=True))


def squash_factor(norm: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    """Return what squashing multiplies a vector of this length by (Eq. 8).

    One norm cancels: no division by it, so the all-zero capsule of an empty history is safe, and exact.
    """
    return norm / (1 + norm.square())


def root(values: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    """Take square roots; at 0 the gradient is 0 instead of infinite."""
    positive = values > torch.finfo(values.dtype).tiny
    return torch.where(positive, torch.where(positive, values, 1).sqrt(), 0)


def inverse_deviation(variance: Float[Tensor, "*any"], mean: Float[Tensor, "*any"], size: int) -> Float[Tensor, "*any"]:
    """Return 1 / length of centred vectors of `size` numbers; 0 for a constant one, which correlates with nothing.

    A vector counts as constant if its numbers differ by rounding only: dividing by noise would make the gradient huge.
    So does one so short that the gradient, variance ** -1.5, could not be written down.
    """
    limits = torch.finfo(variance.dtype)
    varies = variance > (16 * limits.eps * mean).square() + limits.tiny ** (2 / 3)
    return torch.where(varies, (size * torch.where(varies, variance, 1)).rsqrt(), 0)


def standardised(vectors: Float[Tensor, "*any D"]) -> Float[Tensor, "*any D"]:
    """Centre each vector and bring it to length 1; a constant vector becomes zero."""
    mean = vectors.mean(dim=-1, keepdim=True)
    deviations = vectors - mean
    return deviations * inverse_deviation(deviations.square().mean(dim=-1, keepdim=True), mean, vectors.shape[-1])


def pearson(left: Float[Tensor, "*any D"], right: Float[Tensor, "*any D"]) -> Float[Tensor, "*any"]:
    """Correlate vectors with each other, entry by entry; 0 where one of them is constant (Eq. 7)."""
    return (standardised(left) * standardised(right)).sum(dim=-1)
