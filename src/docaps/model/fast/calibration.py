"""Calibration for int8: record the largest inputs of a model's linear maps while it translates some text.

int8 then rounds by these ranges instead of computing the largest number of each row every time.

Dimensions: R rows, D size, N outputs, V vocabulary.
"""

from collections.abc import Iterator
from pathlib import Path
from threading import Lock

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from docaps.errors import CheckpointError
from docaps.model.checkpoint import read_tensors, write_tensors
from docaps.model.fast.packing import Form, Ranges, replace_maps
from docaps.model.interface import TranslationModel
from docaps.model.layers import split_output

WEIGHTS = "weights"
LARGEST_RANGES = 2**26  # bytes


class Observed(nn.Module):
    """A linear map that records the largest absolute input of each column; threads may share it."""

    weight: Tensor
    bias: Tensor
    largest: Tensor

    def __init__(self, weight: Float[Tensor, "N D"], bias: Float[Tensor, " N"] | None) -> None:
        super().__init__()
        self.register_buffer("weight", weight)
        self.register_buffer("bias", bias)
        self.register_buffer("largest", weight.new_zeros(weight.shape[1]))
        self._lock = Lock()

    def forward(self, values: Float[Tensor, "*any D"]) -> Float[Tensor, "*any N"]:
        """Record the inputs and multiply in float32."""
        self.record(values)
        return F.linear(values, self.weight, self.bias)

    def record(self, values: Float[Tensor, "*any D"]) -> None:
        """Record the largest absolute values."""
        found = values.abs().flatten(0, -2).amax(dim=0)
        with self._lock:
            self.largest = torch.maximum(self.largest, found)


class ObservedOutput(Observed):
    """An output layer that records its inputs."""

    def forward(self, states: Float[Tensor, "R D"]) -> tuple[Iterator[Tensor], None]:  # type: ignore[override]
        """Record the inputs and score all words, chunk by chunk."""
        self.record(states)
        return (F.linear(states, *part) for part in split_output(self.weight, self.bias)), None


class Observation(Form):
    """The form of maps that record their inputs."""

    def linear(self, name: str, weight: Tensor, bias: Tensor) -> Observed:  # noqa: ARG002
        """Record the inputs of a map."""
        return Observed(weight, bias)

    def output(self, name: str, weight: Tensor, bias: Tensor | None) -> ObservedOutput:  # noqa: ARG002
        """Record the inputs of the output layer."""
        return ObservedOutput(weight, bias)


def observe(model: TranslationModel) -> TranslationModel:
    """Return a model that translates in float32 and records the ranges of its maps' inputs."""
    return replace_maps(model, Observation())


def ranges_of(observed: TranslationModel) -> Ranges:
    """Return the ranges recorded by a model; a map that was never used has none."""
    return {
        name.replace(".packed", ""): module.largest.clone()
        for name, module in observed.named_modules()
        if isinstance(module, Observed) and bool(module.largest.any())
    }


def write_ranges(path: Path, ranges: Ranges, *, weights: str) -> None:
    """Store ranges with the digest of the weights they belong to."""
    write_tensors(path, ranges, {WEIGHTS: weights})


def read_ranges(path: Path, *, weights: str) -> Ranges:
    """Return the ranges stored for these weights; none if they belong to others."""
    try:
        if path.stat().st_size > LARGEST_RANGES:
            raise CheckpointError("too large", path=path)
        ranges, notes = read_tensors(path)
    except CheckpointError:
        message = "not the ranges that were written: `docaps precision` makes them anew"
        raise CheckpointError(message, path=path) from None
    return ranges if notes.get(WEIGHTS) == weights else {}
