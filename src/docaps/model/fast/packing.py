"""Pack a model for translation: convert weights once to the form that multiplies fastest.

Only products with weights of attention, feed-forward networks and the output layer are in lower precision. All else
(word vectors, attention, sums, norms, routing, log-probabilities) stays in float32.

Dimensions: R rows, D size, N outputs, V vocabulary.
"""

import copy
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from docaps.config.model_settings import Activation
from docaps.model.context.capsule_transformer import CapsuleTransformer
from docaps.model.context.qcn import HistoryCapsules
from docaps.model.fast.int8 import (
    LEVELS,
    Int8FeedForward,
    Int8Linear,
    Int8Output,
    check_int8,
    step_sizes,
    steps_after,
)
from docaps.model.hypotheses import CHUNK
from docaps.model.interface import TranslationModel
from docaps.model.layers import Attention, Embeddings, FeedForward, split_output
from docaps.model.transformer import Transformer

Ranges = Mapping[str, Float[Tensor, " D"]]
"""The largest absolute input of each column, by the name of the packed map."""


class Form(ABC):
    """A way to multiply: makes the modules that replace linear maps."""

    @abstractmethod
    def linear(self, name: str, weight: Tensor, bias: Tensor) -> nn.Module:
        """Make a linear map."""

    def feed_forward(self, name: str, inner: nn.Linear, output: nn.Linear, activation: Activation) -> nn.Module:
        """Make two linear maps with an activation between them."""
        first, second = (self.linear(name, one.weight, one.bias) for one in (inner, output))
        return nn.Sequential(OrderedDict(inner=first, activation=_activation(activation), output=second))

    @abstractmethod
    def output(self, name: str, weight: Tensor, bias: Tensor | None) -> nn.Module:
        """Make an output layer, which returns scores in chunks, and a factor for each row, if one is left."""


def _activation(name: Activation) -> nn.Module:
    """Make the module of an activation."""
    kinds: dict[Activation, nn.Module] = {
        "relu": nn.ReLU(inplace=True),
        "swish": nn.SiLU(inplace=True),
        "gelu": nn.GELU(),
    }
    return kinds[name]


def pack(model: TranslationModel, dtype: torch.dtype, ranges: Ranges | None = None) -> TranslationModel:
    """Return a model that multiplies in int8 or half precision; it shares all other weights with the original.

    int8 rounds by the given ranges; a map without a range rounds each row by its largest number.
    """
    if dtype == torch.float32:
        return model
    packed = replace_maps(model, Int8(ranges or {}) if dtype == torch.int8 else Half(dtype))
    if isinstance(packed, Transformer) and isinstance(packed.context, HistoryCapsules):
        # Map each word of the vocabulary once, instead of each time it occurs in a history.
        with torch.no_grad():
            packed.history_table = packed.context.words.map(packed.embeddings.source.weight)
        packed.context.words.mapped = True
    elif isinstance(packed, CapsuleTransformer):
        with torch.no_grad():
            packed.map_words()
    return packed


def replace_maps(model: TranslationModel, form: Form) -> TranslationModel:
    """Return a model whose linear maps have another form."""
    with torch.no_grad():
        shared = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
        packed = copy.deepcopy(model, shared)
        for name, module in list(packed.named_modules()):
            if isinstance(module, Attention):
                _pack_attention(name, module, form)
            elif isinstance(module, FeedForward):
                module.packed = form.feed_forward(name, module.inner, module.output, module.activation)
                module.inner, module.output = (cast(nn.Linear, nn.Identity()) for _ in range(2))
            elif isinstance(module, Embeddings):
                module.packed = form.output(name, module.output.weight, module.bias)
    return packed


def _pack_attention(name: str, attention: Any, form: Form) -> None:
    """Join the maps that read the same states into one product."""

    def join(own: str, parts: list[Any]) -> nn.Module:
        weight, bias = (torch.cat([getattr(part, kind) for part in parts]) for kind in ("weight", "bias"))
        return form.linear(f"{name}.{own}", weight, bias)

    memory = [attention.key, attention.value]
    attention.joint = join("joint", [attention.query, *memory] if attention.over_self else memory)
    attention.query = nn.Identity() if attention.over_self else join("query", [attention.query])
    attention.key, attention.value = nn.Identity(), nn.Identity()
    attention.output = join("output", [attention.output])


class Int8(Form):
    """Products of 8-bit integers; maps with a range are calibrated."""

    def __init__(self, ranges: Ranges) -> None:
        check_int8()
        self._ranges = ranges

    def linear(self, name: str, weight: Tensor, bias: Tensor) -> Int8Linear:
        """Make a linear map."""
        return Int8Linear(weight, bias, self._steps(name, weight))

    def feed_forward(self, name: str, inner: nn.Linear, output: nn.Linear, activation: Activation) -> Int8FeedForward:
        """Make both maps; what is between them is hardly ever negative, so it gets all 256 levels."""
        steps, largest = self._steps(f"{name}.inner", inner.weight), self._ranges.get(f"{name}.output")
        if steps is None or largest is None:
            return Int8FeedForward(
                Int8Linear(inner.weight, inner.bias), Int8Linear(output.weight, output.bias), activation
            )
        between, zero = steps_after(activation, output.weight, largest)
        second = Int8Linear(output.weight, output.bias, between, zero=zero)
        return Int8FeedForward(Int8Linear(inner.weight, inner.bias, steps), second, activation)

    def output(self, name: str, weight: Tensor, bias: Tensor | None) -> Int8Output:
        """Make the output layer; all words share one range."""
        return Int8Output(weight, CHUNK, self._steps(name, weight), bias)

    def _steps(self, name: str, weight: Tensor) -> Tensor | None:
        largest = self._ranges.get(name)
        return None if largest is None else step_sizes(weight, largest, LEVELS)


class Half(Form):
    """Products in half precision."""

    def __init__(self, dtype: torch.dtype) -> None:
        self._dtype = dtype

    def linear(self, name: str, weight: Tensor, bias: Tensor) -> "HalfLinear":  # noqa: ARG002
        """Cast weight and bias."""
        return HalfLinear(weight, bias, self._dtype)

    def feed_forward(self, name: str, inner: nn.Linear, output: nn.Linear, activation: Activation) -> nn.Module:
        """Make both maps; if possible, what is between them stays in half precision."""
        if activation != "relu":
            return super().feed_forward(name, inner, output, activation)
        return HalfFeedForward(*(HalfLinear(one.weight, one.bias, self._dtype) for one in (inner, output)))

    def output(self, name: str, weight: Tensor, bias: Tensor | None) -> "HalfOutput":  # noqa: ARG002
        """Cast the output layer."""
        return HalfOutput(weight, bias, self._dtype)


class HalfLinear(nn.Module):
    """A linear map in bfloat16 (or float16); on CPUs the weight has the blocked layout of oneDNN."""

    bias: Tensor | None

    def __init__(
        self, weight: Float[Tensor, "N D"], bias: Float[Tensor, " N"] | None = None, dtype: torch.dtype = torch.bfloat16
    ) -> None:
        super().__init__()
        self.dtype = dtype
        has_blocks = torch.backends.mkldnn.is_available() and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
        self.blocked = weight.device.type == "cpu" and dtype == torch.bfloat16 and has_blocks
        plain = weight.to(dtype)
        # Not a buffer: a blocked weight cannot be moved.
        self.weight = torch.ops.mkldnn._reorder_linear_weight(plain) if self.blocked else plain
        self.register_buffer("bias", None if bias is None else bias.to(dtype))

    def forward(self, values: Float[Tensor, "*any D"]) -> Float[Tensor, "*any N"]:
        """Multiply in half precision; the result is float32."""
        return self.multiply(values.to(self.dtype)).float()

    def multiply(self, inputs: Float[Tensor, "*any D"], *, relu: bool = False) -> Float[Tensor, "*any N"]:
        """Multiply, and apply a ReLU if asked; inputs and result are in half precision."""
        if self.blocked:
            multiply: Callable[..., Tensor] = torch.ops.mkldnn._linear_pointwise
            return multiply(inputs, self.weight, self.bias, "relu" if relu else "none", [], "")
        products = F.linear(inputs, self.weight, self.bias)
        return products.relu_() if relu else products


class HalfFeedForward(nn.Module):
    """Two linear maps with a ReLU between them; only the result is float32 again."""

    def __init__(self, inner: HalfLinear, output: HalfLinear) -> None:
        super().__init__()
        self.inner, self.output = inner, output

    def forward(self, states: Float[Tensor, "*any D"]) -> Float[Tensor, "*any D"]:
        """Transform each position."""
        inner = self.inner.multiply(states.to(self.inner.dtype), relu=True)
        return self.output.multiply(inner).float()


class HalfOutput(nn.Module):
    """The output layer in half precision, a chunk of the vocabulary at a time."""

    def __init__(self, weight: Float[Tensor, "V D"], bias: Float[Tensor, " V"] | None, dtype: torch.dtype) -> None:
        super().__init__()
        self.parts = nn.ModuleList(HalfLinear(*part, dtype) for part in split_output(weight, bias))

    def forward(self, states: Float[Tensor, "R D"]) -> tuple[Iterator[Tensor], None]:
        """Return the scores of all words."""
        return (part(states) for part in self.parts), None
