"""The training objective: likelihood of the translation and agreement of source and target capsules (Eq. 11).

Reference: Yang et al. (2019). Dimensions: B batch, T target length, V vocabulary.
Departure from the paper: Eq. 11 is maximised, this loss is minimised, so its sign is turned; it is averaged per token.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from docaps.corpus.text.vocabulary import PAD
from docaps.model.fast.cross_entropy import linear_cross_entropy
from docaps.model.interface import Prediction


@dataclass(frozen=True, slots=True)
class Loss:
    """The number to minimise and its parts, each averaged per target token."""

    total: Float[Tensor, ""]
    cross_entropy: Float[Tensor, ""]
    matched: Float[Tensor, ""] | None = None
    mismatched: Float[Tensor, ""] | None = None


def compute_loss(
    prediction: Prediction, target: Int[Tensor, "B T"], *, label_smoothing: float, regulariser_weight: float
) -> Loss:
    """Weigh how unlikely the translation was against how well the capsules agree."""
    cross_entropy = _cross_entropy(prediction, target, label_smoothing)
    if prediction.correlations is None:
        return Loss(cross_entropy, cross_entropy)
    correlations = prediction.correlations
    matched = average_by_tokens(correlations.matched, target)
    mismatched = None if correlations.mismatched is None else average_by_tokens(correlations.mismatched, target)
    return Loss(cross_entropy - regulariser_weight * matched, cross_entropy, matched, mismatched)


def _cross_entropy(prediction: Prediction, target: Int[Tensor, "B T"], smoothing: float) -> Float[Tensor, ""]:
    """Average over real target tokens, never in half precision."""
    real = (target != PAD).flatten().nonzero().squeeze(1)  # (P)
    states, words = prediction.states.flatten(0, 1).index_select(0, real), target.flatten()[real]
    if prediction.output is not None:
        return linear_cross_entropy(states, prediction.output, words, smoothing=smoothing)
    exact = states.to(torch.promote_types(states.dtype, torch.float32))  # (P, V)
    return F.cross_entropy(exact, words, label_smoothing=smoothing)


def average_by_tokens(correlation: Float[Tensor, " B"], target: Int[Tensor, "B T"]) -> Float[Tensor, ""]:
    """Average over sentences, each weighted by its target tokens: Eq. 11 adds the PCC once for every token."""
    tokens = (target != PAD).sum(dim=1).to(correlation.dtype)  # (B)
    return (correlation * tokens / tokens.sum()).sum()
