"""Packing a model for translating: weights are brought once into the form in which they are multiplied fastest.

Only products with weights of attention, feed-forward networks and the output layer are made in the lower precision.
All else (word vectors, attention, sums, norms, routing, log-probabilities) stays in float32.

Reference for int8: each row of a weight, and each row of numbers that it meets, has a scale of its own, so that a
sentence's translation does not depend on its neighbours in the batch. Dimensions: R rows, D size, N outputs.
"""

import copy
from collections.abc import Callable, Iterator
from typing import Any, cast

import torch
from jaxtyping import Float, UInt8
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from docaps.errors import DocapsError
from docaps.model.embeddings import Embeddings
from docaps.model.hypotheses import PIECE
from docaps.model.interface import TranslationModel
from docaps.model.layers import Attention, FeedForward

LEVELS = 127
"""Numbers become integers from -127 to 127."""
SMALLEST = 1e-30
"""The least scale: a row of zeros must not be divided by 0."""
LEAST, HIGHEST_BIT = torch.tensor(SMALLEST), torch.tensor(LEVELS + 1, dtype=torch.uint8)
"""Tensors already: to make one of a number at each call takes as long as to work with it."""


class Int8Linear(nn.Module):
    """A linear map by products of 8-bit integers, which are exact; oneDNN adds them up in 32 bits."""

    packed: Tensor
    scales: Tensor
    zeros: Tensor
    bias: Tensor

    def __init__(self, weight: Float[Tensor, "N D"], bias: Float[Tensor, " N"] | None = None) -> None:
        super().__init__()
        levels = weight_levels()
        scales = weight.abs().amax(dim=1).clamp_min(SMALLEST) / levels  # (N)
        integers = (weight / scales.unsqueeze(1)).round().to(torch.int8)
        self.register_buffer("packed", _onednn().qlinear_prepack(integers, None))
        self.register_buffer("scales", scales)
        self.register_buffer("zeros", torch.zeros(len(weight), dtype=torch.int64))
        self.register_buffer("bias", None if bias is None else bias.clone())

    def forward(self, values: Float[Tensor, "*any D"]) -> Float[Tensor, "*any N"]:
        """Round each row to integers, multiply, and scale back."""
        integers, scale = quantise(values.flatten(0, -2))
        products = self.multiply(integers)
        products = torch.addcmul(self.bias, products, scale, out=products)
        return products.view(*values.shape[:-1], -1)

    def multiply(self, integers: UInt8[Tensor, "R D"]) -> Float[Tensor, "R N"]:
        """Multiply rows that are integers already; the result is still to be multiplied by their scales."""
        arguments = (integers, 1.0, LEVELS + 1, self.packed, self.scales, self.zeros, None, 1.0, 0)
        products: Tensor = _onednn().qlinear_pointwise(*arguments, torch.float32, "none", [], "")
        return products


def quantise(values: Float[Tensor, "R D"]) -> tuple[UInt8[Tensor, "R D"], Float[Tensor, "R 1"]]:
    """Round each row to integers from 1 to 255, where 128 stands for 0; return them and the rows' scales."""
    largest = values.abs().amax(dim=1, keepdim=True)
    scale = torch.add(LEAST, largest, alpha=1 / LEVELS)
    integers = values.div(scale).round_().to(torch.int8)
    # To flip the highest bit is to add 128; torch turns numbers into signed bytes much faster than into others.
    return integers.view(torch.uint8).bitwise_xor_(HIGHEST_BIT), scale


class Int8Output(nn.Module):
    """The output layer by products of 8-bit integers, a piece of the vocabulary at a time."""

    def __init__(self, weight: Float[Tensor, "V D"]) -> None:
        super().__init__()
        self.parts = nn.ModuleList(Int8Linear(part) for part in weight.split(PIECE))

    def forward(self, states: Float[Tensor, "R D"]) -> tuple[Iterator[Tensor], Float[Tensor, "R 1"]]:
        """Return the scores of all words, to be multiplied by a scale for each row."""
        integers, scale = quantise(states)
        return (cast(Int8Linear, part).multiply(integers) for part in self.parts), scale


class HalfLinear(nn.Module):
    """A linear map in bfloat16 (or float16); on CPUs the weight is kept in the blocks that oneDNN reads."""

    bias: Tensor | None

    def __init__(
        self, weight: Float[Tensor, "N D"], bias: Float[Tensor, " N"] | None = None, dtype: torch.dtype = torch.bfloat16
    ) -> None:
        super().__init__()
        self.dtype = dtype
        self.blocked = weight.device.type == "cpu" and dtype == torch.bfloat16 and _has_blocks()
        cast_weight = weight.to(dtype)
        kept = torch.ops.mkldnn._reorder_linear_weight(cast_weight) if self.blocked else cast_weight
        self.weight = kept  # no buffer: such a weight cannot be moved
        self.register_buffer("bias", None if bias is None else bias.to(dtype))

    def forward(self, values: Float[Tensor, "*any D"]) -> Float[Tensor, "*any N"]:
        """Multiply in half precision; the result is float32."""
        inputs = values.to(self.dtype)
        if self.blocked:
            multiply: Callable[..., Tensor] = torch.ops.mkldnn._linear_pointwise
            return multiply(inputs, self.weight, self.bias, "none", [], "").float()
        return F.linear(inputs, self.weight, self.bias).float()


class HalfOutput(nn.Module):
    """The output layer in half precision, a piece of the vocabulary at a time."""

    def __init__(self, weight: Float[Tensor, "V D"], dtype: torch.dtype) -> None:
        super().__init__()
        self.parts = nn.ModuleList(HalfLinear(part, None, dtype) for part in weight.split(PIECE))

    def forward(self, states: Float[Tensor, "R D"]) -> tuple[Iterator[Tensor], None]:
        """Return the scores of all words."""
        return (part(states) for part in self.parts), None


def pack(model: TranslationModel, dtype: torch.dtype) -> TranslationModel:
    """Return a model that multiplies in int8 or half precision; what stays as it is, both models share."""
    if dtype == torch.float32:
        return model
    if dtype == torch.int8:
        check_int8()
    with torch.no_grad():
        shared = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
        packed = copy.deepcopy(model, shared)
        make = Int8Linear if dtype == torch.int8 else lambda weight, bias: HalfLinear(weight, bias, dtype)
        for module in list(packed.modules()):
            if isinstance(module, Attention):
                _pack_attention(module, make)
            elif isinstance(module, FeedForward):
                module.inner, module.output = (_pack_linear([part], make) for part in (module.inner, module.output))
            elif isinstance(module, Embeddings):
                weight = module.output.weight
                module.packed = Int8Output(weight) if dtype == torch.int8 else HalfOutput(weight, dtype)
    return packed


Make = Callable[[Tensor, Tensor], nn.Module]


def _pack_attention(attention: Any, make: Make) -> None:
    """Make one product of those that read the same states."""
    looked_at = [attention.key, attention.value]
    attention.joint = _pack_linear([attention.query, *looked_at] if attention.inward else looked_at, make)
    attention.query = nn.Identity() if attention.inward else _pack_linear([attention.query], make)
    attention.key, attention.value = nn.Identity(), nn.Identity()
    attention.output = _pack_linear([attention.output], make)


def _pack_linear(parts: list[Any], make: Make) -> Any:
    return make(torch.cat([part.weight for part in parts]), torch.cat([part.bias for part in parts]))


def check_int8() -> None:
    """Refuse int8 where it cannot be multiplied."""
    if not (torch.backends.mkldnn.is_available() and hasattr(_onednn(), "qlinear_prepack")):
        raise DocapsError("int8 needs a torch with oneDNN (x86 CPUs): use --precision float32 here")


def weight_levels() -> int:
    """Return the largest integer of a weight: without VNNI, sums of two products must fit into 16 bits."""
    has_vnni = getattr(torch.cpu, "_is_vnni_supported", lambda: False)
    return LEVELS if has_vnni() else LEVELS // 2


def _has_blocks() -> bool:
    return torch.backends.mkldnn.is_available() and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def _onednn() -> Any:
    return torch.ops.onednn
