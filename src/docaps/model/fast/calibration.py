"""Calibration: a model translates some text, and the largest numbers that its maps read are remembered.

int8 then rounds by these ranges instead of looking for the largest number of each row each time.

Dimensions: R rows, D size, N outputs, V vocabulary.
"""

from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from threading import Lock

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from docaps.errors import CheckpointError
from docaps.model.checkpoint import read_tensors, write_tensors
from docaps.model.fast.packing import Ranges, replace_maps
from docaps.model.hypotheses import PIECE
from docaps.model.interface import TranslationModel

WEIGHTS = "weights"


class Observed(nn.Module):
    """A map that remembers the largest number it met in each column; threads may share it."""

    weight: Tensor
    bias: Tensor
    largest: Tensor

    def __init__(self, weight: Float[Tensor, "N D"], bias: Float[Tensor, " N"] | None) -> None:
        super().__init__()
        self.register_buffer("weight", weight)
        self.register_buffer("bias", bias)
        self.register_buffer("largest", weight.new_zeros(weight.shape[1]))
        self._lock = Lock()

    def look_at(self, values: Float[Tensor, "*any D"]) -> None:
        """Remember the largest numbers."""
        found = values.abs().flatten(0, -2).amax(dim=0)
        with self._lock:
            self.largest = torch.maximum(self.largest, found)


class ObservedLinear(Observed):
    """A linear map that is observed."""

    def forward(self, values: Float[Tensor, "*any D"]) -> Float[Tensor, "*any N"]:
        """Look, and multiply as in float32."""
        self.look_at(values)
        return F.linear(values, self.weight, self.bias)


class ObservedOutput(Observed):
    """An output layer that is observed."""

    def forward(self, states: Float[Tensor, "R D"]) -> tuple[Iterator[Tensor], None]:
        """Look, and score all words piece by piece."""
        self.look_at(states)
        return (F.linear(states, part) for part in self.weight.split(PIECE)), None


class Observation:
    """Maps that look at what they read, and multiply as before."""

    def linear(self, name: str, weight: Tensor, bias: Tensor) -> ObservedLinear:  # noqa: ARG002
        """Look at what a map reads."""
        return ObservedLinear(weight, bias)

    def feed_forward(self, name: str, inner: nn.Linear, output: nn.Linear) -> nn.Module:  # noqa: ARG002
        """Look at what both maps read."""
        first, second = (ObservedLinear(one.weight, one.bias) for one in (inner, output))
        return nn.Sequential(OrderedDict(inner=first, relu=nn.ReLU(), output=second))

    def output(self, name: str, weight: Tensor) -> ObservedOutput:  # noqa: ARG002
        """Look at what the output layer reads."""
        return ObservedOutput(weight, None)


def observe(model: TranslationModel) -> TranslationModel:
    """Return a model that translates in float32 and remembers the ranges of what its maps read."""
    return replace_maps(model, Observation())


def ranges_of(observed: TranslationModel) -> Ranges:
    """Return the ranges that a model has met; a map that was never used has none."""
    found = {
        name.replace(".packed", ""): module.largest
        for name, module in observed.named_modules()
        if isinstance(module, Observed)
    }
    return {name: largest.clone() for name, largest in found.items() if bool(largest.any())}


def write_ranges(path: Path, ranges: Ranges, *, weights: str) -> None:
    """Store ranges and the digest of the weights that they belong to."""
    write_tensors(path, ranges, {WEIGHTS: weights})


def read_ranges(path: Path, *, weights: str) -> Ranges:
    """Return the ranges stored for these very weights; none if they belong to others."""
    try:
        ranges, notes = read_tensors(path)
    except CheckpointError:
        raise CheckpointError(
            "not the ranges that were written: `docaps precision` makes them anew", path=path
        ) from None
    return ranges if notes.get(WEIGHTS) == weights else {}
