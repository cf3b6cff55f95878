"""Linear maps as products of 8-bit integers, which are exact; oneDNN sums them in 32 bits.

Each row of a weight has its own scale. Inputs are rounded in one of two ways: each row by its largest number, or each
column by a range recorded beforehand (`calibration`). Either way batch neighbours do not change a translation.

Dimensions: R rows, D size, N outputs, I size between the two maps of a feed-forward network, V vocabulary.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import torch
from jaxtyping import Float, Num, UInt8
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from docaps.config.model_settings import Activation
from docaps.errors import DocapsError
from docaps.model.layers import split_output

ONEDNN: Any = torch.ops.onednn
LEVELS = 127
"""Numbers become integers from -127 to 127."""
POSITIVE_LEVELS = 255
"""Numbers that are never negative become integers from 0 to 255."""
ZERO = LEVELS + 1
"""Integers are stored unsigned: this one stands for 0."""
SMALLEST = 1e-30
"""The smallest scale: a row of zeros must not be divided by 0."""
LEAST, HIGHEST_BIT = torch.tensor(SMALLEST), torch.tensor(ZERO, dtype=torch.uint8)
"""As tensors: converting a number at each call takes as long as computing with it."""
INTEGERS_ONLY = 1.5 * 2.0**23 + ZERO
"""Near this number float32 has no fractions: adding it rounds, and then the lowest byte is the integer."""
ROUNDING = torch.tensor(INTEGERS_ONLY)
BALANCE = 0.5
"""The share of the columns' differences in range that moves from the inputs to the weight."""
CACHED_ROWS = 256
"""Rows per pass through a feed-forward network: what is between its maps should stay in the CPU's cache."""


class Int8Linear(nn.Module):
    """A linear map whose inputs are rounded: each row by its largest number or, with `steps`, each column by its own.

    With known steps, scale and bias are part of the product; `zero` is the integer that stands for 0 in its inputs.
    """

    packed: Tensor
    scales: Tensor
    zeros: Tensor
    bias: Tensor
    inverse_steps: Tensor

    def __init__(
        self,
        weight: Float[Tensor, "N D"],
        bias: Float[Tensor, " N"] | None = None,
        steps: Float[Tensor, " D"] | None = None,
        *,
        zero: int = ZERO,
    ) -> None:
        super().__init__()
        self.calibrated = steps is not None
        weight = weight if steps is None else weight * steps
        scales = weight.abs().amax(dim=1).clamp_min(SMALLEST) / weight_levels()  # (N)
        integers = (weight / scales.unsqueeze(1)).round().to(torch.int8)
        addend = None if bias is None else bias.clone()
        if self.calibrated and zero:  # subtract what the integer for 0 adds; oneDNN can, but is slower
            added = zero * scales * integers.sum(dim=1)
            addend = -added if bias is None else bias - added
        self.zero = zero
        self.register_buffer("packed", ONEDNN.qlinear_prepack(integers, None))
        self.register_buffer("scales", scales)
        self.register_buffer("zeros", torch.zeros(len(weight), dtype=torch.int64))
        self.register_buffer("bias", addend)
        self.register_buffer("inverse_steps", None if steps is None else 1 / steps)

    def forward(self, values: Float[Tensor, "*any D"]) -> Float[Tensor, "*any N"]:
        """Round to integers, multiply, and scale back."""
        integers, scale = self.quantise(values.flatten(0, -2))
        products = self.multiply(integers)
        return self.scale_back(products, scale).view(*values.shape[:-1], -1)

    def scale_back(self, products: Float[Tensor, "R N"], scale: Float[Tensor, "R 1"] | None) -> Float[Tensor, "R N"]:
        """Apply the factor of each row, if one is left, and add the bias then; in place."""
        return products if scale is None else torch.addcmul(self.bias, products, scale, out=products)

    def quantise(self, values: Float[Tensor, "R D"]) -> tuple[UInt8[Tensor, "R D"], Float[Tensor, "R 1"] | None]:
        """Round to integers; return them and the factor of each row that is left, if the steps are not known."""
        return (quantise_columns(values, self.inverse_steps), None) if self.calibrated else quantise(values)

    def multiply(
        self, integers: UInt8[Tensor, "R D"], activation: Activation | None = None, step: float = 1.0, zero: int = 0
    ) -> Num[Tensor, "R N"]:
        """Multiply rounded rows; with an activation, apply it and round the result to steps; `zero` stands for 0."""
        own_zero, bias = (0, self.bias) if self.calibrated else (ZERO, None)
        results = (torch.float32, "none") if activation is None else (torch.uint8, activation)
        algorithm = "none" if activation == "gelu" else ""  # exact, not by tanh
        arguments = integers, 1.0, own_zero, self.packed, self.scales, self.zeros, bias, step, zero
        return ONEDNN.qlinear_pointwise(*arguments, *results, [], algorithm)  # type: ignore[no-any-return]


def quantise(values: Float[Tensor, "R D"]) -> tuple[UInt8[Tensor, "R D"], Float[Tensor, "R 1"]]:
    """Round each row to integers from 1 to 255, where 128 stands for 0; return them and the rows' scales."""
    largest = values.abs().amax(dim=1, keepdim=True)
    scale = torch.add(LEAST, largest, alpha=1 / LEVELS)
    integers = values.div(scale).round_().to(torch.int8)
    # Flipping the highest bit adds 128; torch converts to signed bytes much faster than to unsigned ones.
    return integers.view(torch.uint8).bitwise_xor_(HIGHEST_BIT), scale


def step_sizes(weight: Float[Tensor, "N D"], largest: Float[Tensor, " D"], levels: int) -> Float[Tensor, " D"]:
    """Return the size of one integer level for each column of the inputs of a weight.

    Columns of large inputs, or of small weights, get larger steps, and their weights grow as much (SmoothQuant: Xiao et
    al. 2023). The largest input of all is at the last level.
    """
    numbers = largest.clamp_min(1e-3 * float(largest.max())).clamp_min(SMALLEST)
    weights = weight.abs().amax(dim=0)
    weights = weights.clamp_min(1e-3 * float(weights.max())).clamp_min(SMALLEST)
    shape = numbers**BALANCE / weights ** (1 - BALANCE)
    return shape * (numbers / shape).max() / levels


def quantise_columns(values: Float[Tensor, "R D"], inverse_steps: Float[Tensor, " D"]) -> UInt8[Tensor, "R D"]:
    """Round to integers from 1 to 255, where 128 stands for 0; numbers out of range are clipped."""
    rounded = torch.addcmul(ROUNDING, values, inverse_steps).clamp_(INTEGERS_ONLY - LEVELS, INTEGERS_ONLY + LEVELS)
    return rounded.view(torch.int32).to(torch.int8).view(torch.uint8)


LOWEST: Mapping[Activation, float] = {"relu": 0.0, "swish": -0.2785, "gelu": -0.17}
"""The lowest value of each activation, rounded down."""
REAL: Mapping[Activation, Callable[[Tensor], Tensor]] = {"relu": F.relu_, "swish": F.silu, "gelu": F.gelu}


def steps_after(
    activation: Activation, weight: Float[Tensor, "N D"], largest: Float[Tensor, " D"]
) -> tuple[Float[Tensor, " D"], int]:
    """Return the size of one of 255 integer levels for each column of what an activation returns, and that of 0.

    Only a ReLU can be applied to numbers in steps of their own; after others all columns have the same steps.
    """
    if activation == "relu":
        return step_sizes(weight, largest, POSITIVE_LEVELS), 0
    lowest = -LOWEST[activation]
    step = float(largest.max().clamp_min(SMALLEST) + lowest) / (POSITIVE_LEVELS - 1)
    return torch.full_like(largest, step), math.ceil(lowest / step)


class Int8FeedForward(nn.Module):
    """Two linear maps with an activation between them, a few rows at a time.

    Numbers between calibrated maps stay integers.
    """

    def __init__(self, inner: Int8Linear, output: Int8Linear, activation: Activation = "relu") -> None:
        super().__init__()
        self.inner, self.output, self.activation = inner, output, activation
        self.step = 1.0
        if output.calibrated and activation == "relu":  # the inner map's results are in steps of the output map
            steps = 1 / output.inverse_steps
            inner.scales, inner.bias = inner.scales / steps, inner.bias / steps
        elif output.calibrated:
            self.step = 1 / float(output.inverse_steps[0])

    def forward(self, states: Float[Tensor, "*any D"]) -> Float[Tensor, "*any D"]:
        """Transform each position."""
        parts = [self._transform(part) for part in states.flatten(0, -2).split(CACHED_ROWS)]
        return (parts[0] if len(parts) == 1 else torch.cat(parts)).view(states.shape)

    def _transform(self, rows: Float[Tensor, "R D"]) -> Float[Tensor, "R D"]:
        if not self.output.calibrated:
            return self.output(REAL[self.activation](self.inner(rows)))  # type: ignore[no-any-return]
        form = self.activation, self.step, self.output.zero
        return self.output.multiply(self.inner.multiply(self.inner.quantise(rows)[0], *form))


class Int8Output(nn.Module):
    """The output layer, a chunk of the vocabulary at a time."""

    def __init__(
        self,
        weight: Float[Tensor, "V D"],
        chunk: int,
        steps: Float[Tensor, " D"] | None = None,
        bias: Float[Tensor, " V"] | None = None,
    ) -> None:
        super().__init__()
        self.parts = nn.ModuleList(Int8Linear(*part, steps) for part in split_output(weight, bias, chunk))
        self._biased = bias is not None

    def forward(self, states: Float[Tensor, "R D"]) -> tuple[Iterator[Tensor], Float[Tensor, "R 1"] | None]:
        """Return the scores of all words in chunks, and a factor for each row, if one is left."""
        parts = cast(list[Int8Linear], self.parts)
        integers, scale = parts[0].quantise(states)  # all parts have the same steps
        if self._biased:
            return (part.scale_back(part.multiply(integers), scale) for part in parts), None
        return (part.multiply(integers) for part in parts), scale


def check_int8() -> None:
    """Raise an error if torch cannot multiply int8 here."""
    if not (torch.backends.mkldnn.is_available() and hasattr(ONEDNN, "qlinear_prepack")):
        raise DocapsError("int8 needs a torch with oneDNN (x86 CPUs): use --precision float32 here")


def weight_levels() -> int:
    """Return the largest integer of a weight; without VNNI, sums of two products must fit into 16 bits."""
    has_vnni = getattr(torch.cpu, "_is_vnni_supported", lambda: False)
    return LEVELS if has_vnni() else LEVELS // 2
