"""The regulariser: the correlation of source and target capsules (section 3.4, Eq. 11).

Reference: Yang et al. (2019). Dimensions: B batch, S source length, T target length, M capsules, D model size.
"""

from dataclasses import dataclass

from jaxtyping import Bool, Float
from torch import Tensor, nn

from docaps.model.routing.algorithm import RoutingOptions, pearson
from docaps.model.routing.layer import CapsuleRouting


@dataclass(frozen=True, slots=True)
class Correlations:
    """Correlations of source and target capsules: of true pairs, and of mismatched ones.

    If both are high, the capsules have become constant and the regulariser teaches nothing. A batch of one pair has
    no mismatched ones.
    """

    matched: Float[Tensor, " B"]
    mismatched: Float[Tensor, " B"] | None


class Regulariser(nn.Module):
    """Two plain capsule networks over the inputs of encoder and decoder; used in training only."""

    def __init__(
        self, *, size: int, capsules: int, options: RoutingOptions, flattened: bool = False, positions: bool = True
    ) -> None:
        super().__init__()
        self.source = CapsuleRouting(size=size, capsules=capsules, options=options)
        self.target = CapsuleRouting(size=size, capsules=capsules, options=options)
        self.flattened = flattened
        self.positions = positions
        """Whether the inputs include word positions, as those of encoder and decoder do."""

    def forward(
        self,
        source: Float[Tensor, "B S D"],
        source_mask: Bool[Tensor, "B S"],
        target: Float[Tensor, "B T D"],
        target_mask: Bool[Tensor, "B T"],
    ) -> Correlations:
        """Return the Pearson correlation of source and target capsules."""
        left = self.source(source, source_mask).capsules  # (B, M, D)
        right = self.target(target, target_mask).capsules
        matched = self._correlate(left, right)
        if len(left) == 1:
            return Correlations(matched, None)
        return Correlations(matched, self._correlate(left.detach(), right.detach().roll(1, 0)))

    def _correlate(self, left: Float[Tensor, "B M D"], right: Float[Tensor, "B M D"]) -> Float[Tensor, " B"]:
        """Average the correlations of single capsules, or correlate all capsules as one vector."""
        if self.flattened:
            return pearson(left.flatten(1), right.flatten(1))
        return pearson(left, right).mean(dim=-1)
