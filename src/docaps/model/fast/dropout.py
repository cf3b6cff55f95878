"""Fast dropout for CPUs: one random byte per number.

Departure from torch: on CPUs the rate is rounded to 256ths (0.1 becomes 26/256), and kept numbers are scaled by the
rounded rate. A training step draws millions of numbers; torch's own dropout spends 32 or more random bits on each, on a
single core. `docaps.training.learner` seeds torch's generator for each batch (`_seed_dropout`).
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

LEVELS = 256


class Dropout(nn.Module):
    """In training, set numbers to 0 at random and scale the others up; random bytes come from torch's generator."""

    def __init__(self, p: float) -> None:
        super().__init__()
        if not 0 <= p < 1:
            raise ValueError(f"dropout must be at least 0 and less than 1, not {p}")
        self.p = p
        self.threshold = min(LEVELS - 1, max(1, round(p * LEVELS)))
        """A byte below it drops a number; a rate above 0 never rounds to 0, nor a rate below 1 to 1."""
        self.scale = LEVELS / (LEVELS - self.threshold)

    def forward(self, values: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
        """Drop some of the values."""
        if not self._acts():
            return values
        if values.device.type != "cpu":  # accelerators draw fast, in the same kernel
            return F.dropout(values, self.p)
        return values * self._draw(values) * self.scale

    def add(self, states: Float[Tensor, "*any"], values: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
        """Drop some of the values and add the rest to the states; in inference mode, in place."""
        if not self._acts() and torch.is_inference_mode_enabled() and values.dtype == states.dtype:
            return values + states if values is states else values.add_(states)
        if not self._acts() or values.device.type != "cpu":
            return states + self.forward(values)
        return torch.add(states, values * self._draw(values), alpha=self.scale)

    def _acts(self) -> bool:
        return self.training and self.p > 0

    def _draw(self, values: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
        """Return a random mask: 1 keeps a number, 0 drops it."""
        words = torch.empty(-(-values.numel() // 8), dtype=torch.int64, device=values.device)
        words.random_(-(2**63), None)  # all 64 bits; without bounds the highest one would always be 0
        drawn = words.view(torch.uint8)[: values.numel()].view(values.shape)
        return (drawn >= self.threshold).to(values.dtype)
