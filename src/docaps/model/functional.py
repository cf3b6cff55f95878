"""The paper's formulas as pure functions.

Reference: Yang et al. (2019). Dimensions: D capsule size.
"""

import torch
from jaxtyping import Float
from torch import Tensor


def squash(vectors: Float[Tensor, "*any D"]) -> Float[Tensor, "*any D"]:
    """Shorten each vector to below length 1, keeping its direction (Eq. 8)."""
    norm: Tensor = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)  # (*any, 1)
    # One norm cancels: no division by it, so the all-zero capsule of an empty history is safe, and exact.
    return vectors * (norm / (1 + norm.square()))


def centred(vectors: Float[Tensor, "*any D"]) -> Float[Tensor, "*any D"]:
    """Subtract from each vector the mean of its own entries."""
    return vectors - vectors.mean(dim=-1, keepdim=True)


def inverse_norm(vectors: Float[Tensor, "*any D"]) -> Float[Tensor, "*any 1"]:
    """Return 1 / length of each vector, and 0 for a vector of zeros."""
    norm = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    smallest = torch.finfo(vectors.dtype).tiny ** 0.5
    return torch.where(norm > smallest, 1 / norm.clamp_min(smallest), 0)


def standardised(vectors: Float[Tensor, "*any D"]) -> Float[Tensor, "*any D"]:
    """Centre each vector and bring it to length 1; a constant vector becomes zero."""
    deviations = centred(vectors)
    return deviations * inverse_norm(deviations)


def pearson(left: Float[Tensor, "*any D"], right: Float[Tensor, "*any D"]) -> Float[Tensor, "*any"]:
    """Correlate vectors with each other, entry by entry; 0 where one of them is constant (Eq. 7)."""
    return (standardised(left) * standardised(right)).sum(dim=-1)
