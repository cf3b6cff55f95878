"""Fast dropout for CPUs: one random byte per number.

Departure from torch: on CPUs the rate is rounded to 256ths (0.1 becomes 26/256), and kept numbers are scaled by the
rounded rate. A training step draws millions of numbers; torch's own dropout spends 32 or more random bits on each, on a
single core. `docaps.training.learner` seeds torch's generator for each batch (`_seed_dropout`).

Bytes are compared as numbers of the values' format, by the kernel of ReLU's gradient: a mask of booleans takes five
times as long to make and to apply. The backward pass keeps the bytes, or needs no mask at all (`Dropout.relu`).
"""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float, UInt8
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F  # noqa: N812

LEVELS = 256
Bytes = UInt8[Tensor, "*any"]


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

    @property
    def acts(self) -> bool:
        """Whether anything is dropped now."""
        return self.training and self.p > 0

    def forward(self, values: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
        """Drop some of the values."""
        if not self.acts:
            return values
        if values.device.type != "cpu":  # accelerators draw fast, in the same kernel
            return F.dropout(values, self.p)
        return self._drop(values) * self.scale

    def add(self, states: Float[Tensor, "*any"], values: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
        """Drop some of the values and add the rest to the states; in inference mode, in place."""
        if not self.acts and torch.is_inference_mode_enabled() and values.dtype == states.dtype:
            return values + states if values is states else values.add_(states)
        if not self.acts or values.device.type != "cpu":
            return states + self.forward(values)
        return torch.add(states, self._drop(values), alpha=self.scale)

    def relu(self, values: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
        """Set negative values to 0, then drop some of the others; without gradients, in place if nothing is dropped."""
        if not self.acts:
            return F.relu(values, inplace=not torch.is_grad_enabled())
        if values.device.type != "cpu":
            return F.dropout(F.relu(values), self.p)
        return _DroppedRelu.apply(values, draw_bytes(values), self)  # type: ignore[no-any-return, no-untyped-call]

    def keep(self, values: Float[Tensor, "*any"], drawn: Bytes) -> Float[Tensor, "*any"]:
        """Return the values whose byte is not below the threshold, 0 elsewhere: not scaled, without gradient."""
        numbers = drawn.to(values.dtype)  # exact in every format
        # The gradient of a threshold: `values` where `numbers` exceed it, in one vectorised pass.
        select: Callable[..., Tensor] = torch.ops.aten.threshold_backward.grad_input
        return select(values, numbers, self.threshold - 1, grad_input=numbers)

    def _drop(self, values: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
        """Drop some of the values and do not scale the others."""
        return _Dropped.apply(values, draw_bytes(values), self)  # type: ignore[no-any-return, no-untyped-call]


def draw_bytes(like: Float[Tensor, "*any"]) -> Bytes:
    """Draw a random byte for each number."""
    words = torch.empty(-(-like.numel() // 8), dtype=torch.int64, device=like.device)
    words.random_(-(2**63), None)  # all 64 bits; without bounds the highest one would always be 0
    return words.view(torch.uint8)[: like.numel()].view(like.shape)


class _Dropped(torch.autograd.Function):
    """Values that were kept; gradients pass where they were."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, drawn: Tensor, dropout: Dropout) -> Tensor:
        ctx.save_for_backward(drawn)
        ctx.dropout = dropout
        return dropout.keep(values, drawn)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return ctx.dropout.keep(gradient, *ctx.saved_tensors), None, None


class _DroppedRelu(torch.autograd.Function):
    """Positive values that were kept, scaled; where the result is positive, gradients pass."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, drawn: Tensor, dropout: Dropout) -> Tensor:
        found = dropout.keep(values, drawn).relu_().mul_(dropout.scale)
        ctx.save_for_backward(found)
        ctx.scale = dropout.scale
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (found,) = ctx.saved_tensors
        return torch.ops.aten.threshold_backward(gradient, found, 0).mul_(ctx.scale), None, None
