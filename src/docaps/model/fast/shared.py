"""Large matrices in many small products, with one product for their whole gradient.

Routing multiplies the same words, and the same weights, by small matrices in every iteration. Autograd would write a
gradient as large as the words for each of these products and add them up. Here each product only records its two small
factors, and one product of all of them gives the sum: the same numbers in less time and memory.
"""

from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable


@dataclass(slots=True)
class GradientParts:
    """The parts of the matrices' gradient, recorded during the backward pass."""

    products: list[tuple[Float[Tensor, "A few X"], Float[Tensor, "A few Y"]]] = field(default_factory=list)
    """Pairs whose product, the first transposed, is a part of the gradient."""
    lines: list[tuple[Float[Tensor, "A X"], Float[Tensor, "A X"]]] = field(default_factory=list)
    """Slope and offset of each row: slope x row + offset is a part of the gradient."""
    backward_pass: int | None = None
    """The id of the backward pass that recorded them."""
    total: Float[Tensor, "A X Y"] | None = None
    """The tensor to which the gradient is added, if given."""

    def begin(self) -> "GradientParts":
        """Drop records of another backward pass that never summed them, as one that stops at other inputs."""
        current = torch._C._current_graph_task_id()
        if current != self.backward_pass:
            self.products, self.lines, self.backward_pass = [], [], current
        return self

    def sum_up(self, matrices: Float[Tensor, "A X Y"], gradient: Float[Tensor, "A X Y"] | None) -> Tensor | None:
        """Return the whole gradient and clear the records."""
        self.begin()
        products, lines, self.products, self.lines = self.products, self.lines, [], []
        for slope, offset in lines:
            part = torch.addcmul(offset.unsqueeze(-1), matrices, slope.unsqueeze(-1))
            gradient = part if gradient is None else gradient + part
        if self.total is not None and gradient is not None:
            self.total.add_(gradient)
        if not products:
            return gradient if self.total is None else None
        firsts, seconds = (torch.cat(parts, dim=1) for parts in zip(*products, strict=True))
        factors = firsts.transpose(1, 2), seconds
        if self.total is not None:
            self.total.baddbmm_(*factors)
            return None
        if gradient is None:
            return torch.bmm(*factors)
        # Only a sum that was made here may be overwritten.
        return gradient.baddbmm_(*factors) if lines else torch.baddbmm(gradient, *factors)


class Shared:
    """A batch of A large matrices (X rows, Y columns) that small ones are multiplied with repeatedly."""

    def __init__(self, matrices: Float[Tensor, "A X Y"], total: Float[Tensor, "A X Y"] | None = None) -> None:
        self._parts = GradientParts(total=total)
        self.matrices: Float[Tensor, "A X Y"] = _Enter.apply(matrices, self._parts)  # type: ignore[no-untyped-call]

    def combine_rows(self, small: Float[Tensor, "A few X"]) -> Float[Tensor, "A few Y"]:
        """Return weighted sums of rows: small @ matrices."""
        return _Product.apply(small, self.matrices, False, self._parts)  # type: ignore[no-any-return, no-untyped-call]

    def compare_rows(self, small: Float[Tensor, "A few Y"]) -> Float[Tensor, "A few X"]:
        """Return inner products with all rows: small @ matrices^T."""
        return _Product.apply(small, self.matrices, True, self._parts)  # type: ignore[no-any-return, no-untyped-call]

    def moments(self) -> tuple[Float[Tensor, "A X"], Float[Tensor, "A X"]]:
        """Return the variance (divided by Y, not Y - 1) and the mean of each row."""
        return _Moments.apply(self.matrices, self._parts)  # type: ignore[no-any-return, no-untyped-call]


class _Enter(torch.autograd.Function):
    """The identity; its backward pass, which runs after all others, sums up the records."""

    @staticmethod
    def forward(ctx: Any, matrices: Tensor, parts: GradientParts) -> Tensor:
        ctx.save_for_backward(matrices)
        ctx.parts = parts
        ctx.set_materialize_grads(False)
        return matrices.view_as(matrices)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor | None) -> tuple[Tensor | None, None]:
        if torch.is_grad_enabled():  # as with create_graph=True: records carry no graph
            raise RuntimeError("routing has no second derivative")
        return ctx.parts.sum_up(*ctx.saved_tensors, gradient), None


class _Product(torch.autograd.Function):
    """small @ matrices, or small @ matrices^T."""

    @staticmethod
    def forward(ctx: Any, small: Tensor, matrices: Tensor, transposed: bool, parts: GradientParts) -> Tensor:
        ctx.save_for_backward(small, matrices)
        ctx.transposed, ctx.parts = transposed, parts
        return torch.bmm(small, matrices.transpose(1, 2) if transposed else matrices)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, None, None, None]:
        small, matrices = ctx.saved_tensors
        if ctx.needs_input_grad[1]:
            ctx.parts.begin().products.append((gradient, small) if ctx.transposed else (small, gradient))
        right = matrices if ctx.transposed else matrices.transpose(1, 2)
        return torch.bmm(gradient, right) if ctx.needs_input_grad[0] else None, None, None, None


class _Moments(torch.autograd.Function):
    """Variance and mean of each row; the backward pass keeps nothing as large as the matrices."""

    @staticmethod
    def forward(ctx: Any, matrices: Tensor, parts: GradientParts) -> tuple[Tensor, Tensor]:
        mean = matrices.mean(dim=-1)
        variance = (matrices - mean.unsqueeze(-1)).square_().mean(dim=-1)
        ctx.save_for_backward(mean)
        ctx.parts, ctx.size = parts, matrices.shape[-1]
        return variance, mean

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_variance: Tensor, of_mean: Tensor) -> tuple[None, None]:
        (mean,) = ctx.saved_tensors
        slope = 2 / ctx.size * of_variance  # the variance's derivative is 2 (x - mean) / size
        ctx.parts.begin().lines.append((slope, of_mean / ctx.size - slope * mean))
        return None, None
