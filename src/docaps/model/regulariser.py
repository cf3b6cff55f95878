"""The regulariser: the correlation of source and target capsules (section 3.4, Eq. 11).

Reference: Yang et al. (2019); InfoNCE: van den Oord et al. (2018). Dimensions: B batch, S source length, T target
length, M capsules, D model size; a pair is compared by C vectors of size E: each capsule alone, or all as one.

As printed, Eq. 11 is highest when all capsules are the same constant. The options `centred` and `negatives` reward only
what tells pairs of the batch apart.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from docaps.model.routing.algorithm import RoutingOptions, standardised
from docaps.model.routing.layer import CapsuleRouting


@dataclass(frozen=True, slots=True)
class Correlations:
    """Correlations of source and target capsules: of true pairs, and of mismatched ones.

    If they are equal, the capsules do not tell pairs apart and the regulariser teaches nothing. A batch of one pair has
    no mismatched ones.
    """

    matched: Float[Tensor, " B"]
    mismatched: Float[Tensor, " B"] | None
    reward: Float[Tensor, " B"] | None = None
    """What the objective adds for each pair; None: `matched`, as printed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegulariserOptions:
    """What is routed, compared and rewarded; by default as in the paper."""

    flattened: bool = False
    """Correlate all capsules as one vector instead of one by one."""
    positions: bool = True
    """Route inputs with word positions, as encoder and decoder have them."""
    marks: bool = True
    """Route the marks that end the source and begin the target, too."""
    centred: bool = False
    """Subtract the mean over the batch from each side's capsules."""
    negatives: Literal["none", "batch", "infonce"] = "none"
    """What mismatched pairs of the batch count for: nothing, their mean PCC is subtracted, or InfoNCE."""
    temperature: float = 0.1
    """Divides the correlations in InfoNCE's softmax."""


AS_PRINTED = RegulariserOptions()


def centre(vectors: Float[Tensor, "B C E"]) -> Float[Tensor, "B C E"]:
    """Subtract the mean over the batch; a vector that differs from it by rounding only becomes zero."""
    mean = vectors.mean(dim=0, keepdim=True)  # (1, C, E)
    deviations = vectors - mean
    noise = (16 * torch.finfo(vectors.dtype).eps) ** 2 * mean.square().sum(dim=-1, keepdim=True)
    return torch.where(deviations.square().sum(dim=-1, keepdim=True) > noise, deviations, 0)


def mean_mismatched(pairs: Float[Tensor, "B B"]) -> Float[Tensor, " B"] | None:
    """Average the correlations of each source with other targets, and of its target with other sources."""
    others = len(pairs) - 1
    if not others:
        return None
    off_diagonal = pairs.masked_fill(torch.eye(len(pairs), dtype=torch.bool, device=pairs.device), 0)
    return (off_diagonal.sum(dim=0) + off_diagonal.sum(dim=1)) / (2 * others)


def infonce(pairs: Float[Tensor, "B B"], temperature: float) -> Float[Tensor, " B"]:
    """Return each pair's log-probability of finding target by source and source by target, averaged."""
    scores = pairs / temperature
    return (scores.log_softmax(dim=0).diagonal() + scores.log_softmax(dim=1).diagonal()) / 2


def retrieval(pairs: Float[Tensor, "B B"]) -> Float[Tensor, ""]:
    """Return the share of sources that correlate most with their own target; one of n equal ones counts 1/n."""
    best = pairs == pairs.amax(dim=1, keepdim=True)
    return (best.diagonal() / best.sum(dim=1)).mean()


class Regulariser(nn.Module):
    """Two plain capsule networks over the inputs of encoder and decoder; used in training and validation only."""

    def __init__(
        self,
        *,
        size: int,
        capsules: int,
        routing: RoutingOptions,
        options: RegulariserOptions = AS_PRINTED,
        spread: float | None = None,
    ) -> None:
        super().__init__()
        self.source, self.target = (
            CapsuleRouting(size=size, capsules=capsules, options=routing, spread=spread) for _ in range(2)
        )
        self.options = options

    def forward(
        self,
        source: Float[Tensor, "B S D"],
        source_mask: Bool[Tensor, "B S"],
        target: Float[Tensor, "B T D"],
        target_mask: Bool[Tensor, "B T"],
    ) -> Correlations:
        """Return the Pearson correlation of source and target capsules, and the reward for it."""
        # Sums of many products: not in half precision.
        with torch.autocast(source.device.type, enabled=False):
            left = self._vectors(self.source, source, source_mask)
            right = self._vectors(self.target, target, target_mask)
            matched = (left * right).sum(dim=-1).mean(dim=-1)  # (B)
            if self.options.negatives == "none":
                return Correlations(matched, mean_mismatched(_correlate_pairs(left.detach(), right.detach())))
            return self._contrast(matched, _correlate_pairs(left, right))

    def correlate_pairs(
        self,
        source: Float[Tensor, "B S D"],
        source_mask: Bool[Tensor, "B S"],
        target: Float[Tensor, "B T D"],
        target_mask: Bool[Tensor, "B T"],
    ) -> Float[Tensor, "B B"]:
        """Return the correlation of every source (row) with every target (column)."""
        with torch.autocast(source.device.type, enabled=False):
            return _correlate_pairs(
                self._vectors(self.source, source, source_mask), self._vectors(self.target, target, target_mask)
            )

    def _vectors(
        self, network: nn.Module, words: Float[Tensor, "B N D"], mask: Bool[Tensor, "B N"]
    ) -> Float[Tensor, "B C E"]:
        """Return one side's vectors, whose products are correlations (Eq. 7)."""
        capsules = network(words, mask).capsules  # (B, M, D)
        vectors = capsules.flatten(1).unsqueeze(1) if self.options.flattened else capsules
        return standardised(centre(vectors) if self.options.centred else vectors)

    def _contrast(self, matched: Float[Tensor, " B"], pairs: Float[Tensor, "B B"]) -> Correlations:
        """Reward pairs for correlating more than mismatched ones; a pair alone earns nothing."""
        mismatched = mean_mismatched(pairs)
        if self.options.negatives == "infonce":
            return Correlations(matched, mismatched, infonce(pairs, self.options.temperature))
        return Correlations(matched, mismatched, matched - (matched if mismatched is None else mismatched))


def _correlate_pairs(left: Float[Tensor, "B C E"], right: Float[Tensor, "B C E"]) -> Float[Tensor, "B B"]:
    """Average over the C vectors the products of every row of `left` with every row of `right`."""
    return left.flatten(1) @ right.flatten(1).T / left.shape[1]
