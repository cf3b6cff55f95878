"""Linear maps by products of 8-bit integers, which are exact; oneDNN adds them up in 32 bits.

Each row of a weight has a scale of its own. What it meets is rounded in one of two ways: each row of numbers by its own
largest one, or each column by a range that was found beforehand (`calibration`). Either way a sentence's
translation does not depend on its neighbours in the batch.

Dimensions: R rows, D size, N outputs, I size between the two maps of a feed-forward network, V vocabulary.
"""

from collections.abc import Iterator
from typing import Any, cast

import torch
from jaxtyping import Float, UInt8
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from docaps.errors import DocapsError

LEVELS = 127
"""Numbers become integers from -127 to 127."""
POSITIVE_LEVELS = 255
"""What is never below 0 becomes integers from 0 to 255."""
ZERO = LEVELS + 1
"""Integers are kept without a sign: this one stands for 0."""
SMALLEST = 1e-30
"""The least scale: a row of zeros must not be divided by 0."""
LEAST, HIGHEST_BIT = torch.tensor(SMALLEST), torch.tensor(ZERO, dtype=torch.uint8)
"""Tensors already: to make one of a number at each call takes as long as to work with it."""
INTEGERS_ONLY = 1.5 * 2.0**23 + ZERO
"""Near this number float32 has no fractions: to add it is to round, and then the lowest byte is the integer."""
ROUNDING = torch.tensor(INTEGERS_ONLY)
BALANCE = 0.5
"""How much of the unlikeness of columns is taken from the numbers; the rest stays with the weight that they meet."""
CACHED_ROWS = 256
"""Rows that pass through a feed-forward network at a time: what is between its maps should stay in a cache."""


class Int8Linear(nn.Module):
    """A linear map of rows that are rounded each by its own largest number."""

    packed: Tensor
    scales: Tensor
    zeros: Tensor
    bias: Tensor

    def __init__(self, weight: Float[Tensor, "N D"], bias: Float[Tensor, " N"] | None = None) -> None:
        super().__init__()
        scales = weight.abs().amax(dim=1).clamp_min(SMALLEST) / weight_levels()  # (N)
        integers = (weight / scales.unsqueeze(1)).round().to(torch.int8)
        self.register_buffer("packed", _onednn().qlinear_prepack(integers, None))
        self.register_buffer("scales", scales)
        self.register_buffer("zeros", torch.zeros(len(weight), dtype=torch.int64))
        self.register_buffer("bias", self._shift(bias, scales * integers.sum(dim=1)))

    def _shift(self, bias: Tensor | None, sums: Float[Tensor, " N"]) -> Tensor | None:  # noqa: ARG002
        """Return what is added to the products; `sums` are those of the rows of the weight as it is rounded."""
        return None if bias is None else bias.clone()

    def forward(self, values: Float[Tensor, "*any D"]) -> Float[Tensor, "*any N"]:
        """Round each row to integers, multiply, and scale back."""
        integers, scale = quantise(values.flatten(0, -2))
        products = self.multiply(integers)
        products = torch.addcmul(self.bias, products, scale, out=products)
        return products.view(*values.shape[:-1], -1)

    def multiply(self, integers: UInt8[Tensor, "R D"]) -> Float[Tensor, "R N"]:
        """Multiply rows that are integers already; the result is still to be multiplied by their scales."""
        arguments = integers, 1.0, ZERO, self.packed, self.scales, self.zeros, None, 1.0, 0
        return _onednn().qlinear_pointwise(*arguments, torch.float32, "none", [], "")  # type: ignore[no-any-return]


def quantise(values: Float[Tensor, "R D"]) -> tuple[UInt8[Tensor, "R D"], Float[Tensor, "R 1"]]:
    """Round each row to integers from 1 to 255, where 128 stands for 0; return them and the rows' scales."""
    largest = values.abs().amax(dim=1, keepdim=True)
    scale = torch.add(LEAST, largest, alpha=1 / LEVELS)
    integers = values.div(scale).round_().to(torch.int8)
    # To flip the highest bit is to add 128; torch turns numbers into signed bytes much faster than into others.
    return integers.view(torch.uint8).bitwise_xor_(HIGHEST_BIT), scale


class CalibratedInt8Linear(Int8Linear):
    """A linear map of columns whose ranges are known: scale and bias are then part of the product."""

    inverse_steps: Tensor

    def __init__(
        self,
        weight: Float[Tensor, "N D"],
        bias: Float[Tensor, " N"] | None,
        steps: Float[Tensor, " D"],
        *,
        positive: bool = False,
    ) -> None:
        self._zero = 0 if positive else ZERO
        super().__init__(weight * steps, bias)
        self.register_buffer("inverse_steps", 1 / steps)

    def _shift(self, bias: Tensor | None, sums: Float[Tensor, " N"]) -> Tensor:
        """Take away beforehand what the integer that stands for 0 adds: oneDNN can, but takes longer."""
        return -self._zero * sums if bias is None else bias - self._zero * sums

    def forward(self, values: Float[Tensor, "*any D"]) -> Float[Tensor, "*any N"]:
        """Round to integers and multiply."""
        products = self.multiply(quantise_columns(values.flatten(0, -2), self.inverse_steps))
        return products.view(*values.shape[:-1], -1)

    def multiply(self, integers: UInt8[Tensor, "R D"]) -> Float[Tensor, "R N"]:
        """Multiply rows that are integers already."""
        return self._multiply(integers, torch.float32, "none")  # type: ignore[no-any-return]

    def multiply_positive(self, integers: UInt8[Tensor, "R D"]) -> UInt8[Tensor, "R N"]:
        """Do the same, set what is below 0 to 0, and round to integers again."""
        return self._multiply(integers, torch.uint8, "relu")  # type: ignore[no-any-return]

    def _multiply(self, integers: UInt8[Tensor, "R D"], dtype: torch.dtype, after: str) -> Any:
        arguments = integers, 1.0, 0, self.packed, self.scales, self.zeros, self.bias, 1.0, 0
        return _onednn().qlinear_pointwise(*arguments, dtype, after, [], "")

    def divide_outputs(self, steps: Float[Tensor, " N"]) -> None:
        """Count outputs in steps of these sizes."""
        self.scales, self.bias = self.scales / steps, self.bias / steps


def step_sizes(weight: Float[Tensor, "N D"], largest: Float[Tensor, " D"], levels: int) -> Float[Tensor, " D"]:
    """Return what one level stands for in each column of the numbers that meet a weight.

    Columns of large numbers get larger steps, and their weights grow as much; so do columns of small weights
    (SmoothQuant: Xiao et al. 2023). The largest number of all is at the last level.
    """
    numbers = largest.clamp_min(1e-3 * float(largest.max())).clamp_min(SMALLEST)
    weights = weight.abs().amax(dim=0)
    weights = weights.clamp_min(1e-3 * float(weights.max())).clamp_min(SMALLEST)
    shape = numbers**BALANCE / weights ** (1 - BALANCE)
    return shape * (numbers / shape).max() / levels


def quantise_columns(values: Float[Tensor, "R D"], inverse_steps: Float[Tensor, " D"]) -> UInt8[Tensor, "R D"]:
    """Round to integers from 1 to 255, where 128 stands for 0; what is out of range is cut off."""
    rounded = torch.addcmul(ROUNDING, values, inverse_steps).clamp_(INTEGERS_ONLY - LEVELS, INTEGERS_ONLY + LEVELS)
    return rounded.view(torch.int32).to(torch.int8).view(torch.uint8)


class Int8FeedForward(nn.Module):
    """Two linear maps with a ReLU between them, some rows at a time."""

    def __init__(self, inner: Int8Linear, output: Int8Linear) -> None:
        super().__init__()
        self.inner, self.output = inner, output

    def forward(self, states: Float[Tensor, "*any D"]) -> Float[Tensor, "*any D"]:
        """Transform each position."""
        parts = [self._transform(part) for part in states.flatten(0, -2).split(CACHED_ROWS)]
        return (parts[0] if len(parts) == 1 else torch.cat(parts)).view(states.shape)

    def _transform(self, rows: Float[Tensor, "R D"]) -> Float[Tensor, "R D"]:
        return self.output(F.relu(self.inner(rows), inplace=True))  # type: ignore[no-any-return]


class CalibratedInt8FeedForward(Int8FeedForward):
    """The same with known ranges: what is between the maps is never anything but integers."""

    inner: CalibratedInt8Linear
    output: CalibratedInt8Linear

    def __init__(self, inner: CalibratedInt8Linear, output: CalibratedInt8Linear) -> None:
        super().__init__(inner, output)
        inner.divide_outputs(1 / output.inverse_steps)

    def _transform(self, rows: Float[Tensor, "R D"]) -> Float[Tensor, "R D"]:
        integers = quantise_columns(rows, self.inner.inverse_steps)
        return self.output.multiply(self.inner.multiply_positive(integers))


class Int8Output(nn.Module):
    """The output layer, a piece of the vocabulary at a time."""

    inverse_steps: Tensor | None

    def __init__(self, weight: Float[Tensor, "V D"], piece: int, largest: Float[Tensor, " D"] | None = None) -> None:
        super().__init__()
        steps = None if largest is None else step_sizes(weight, largest, LEVELS)
        self.register_buffer("inverse_steps", None if steps is None else 1 / steps)
        self.parts = nn.ModuleList(
            Int8Linear(part) if steps is None else CalibratedInt8Linear(part, None, steps)
            for part in weight.split(piece)
        )

    def forward(self, states: Float[Tensor, "R D"]) -> tuple[Iterator[Tensor], Float[Tensor, "R 1"] | None]:
        """Return the scores of all words, and what each row is still to be multiplied by, if anything."""
        if self.inverse_steps is None:
            integers, scale = quantise(states)
        else:
            integers, scale = quantise_columns(states, self.inverse_steps), None
        return (cast(Int8Linear, part).multiply(integers) for part in self.parts), scale


def check_int8() -> None:
    """Refuse int8 where it cannot be multiplied."""
    if not (torch.backends.mkldnn.is_available() and hasattr(_onednn(), "qlinear_prepack")):
        raise DocapsError("int8 needs a torch with oneDNN (x86 CPUs): use --precision float32 here")


def weight_levels() -> int:
    """Return the largest integer of a weight: without VNNI, sums of two products must fit into 16 bits."""
    has_vnni = getattr(torch.cpu, "_is_vnni_supported", lambda: False)
    return LEVELS if has_vnni() else LEVELS // 2


def _onednn() -> Any:
    return torch.ops.onednn
