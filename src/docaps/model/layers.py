"""The Transformer's parts: positions, attention, feed-forward, residual connections.

Dimensions: B batch, S source length, T target length, L any length, C keys, D model size, H heads.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from docaps.model.fast.attention import Mask, attend
from docaps.model.fast.dropout import Dropout
from docaps.model.precision import for_products


@dataclass(frozen=True, slots=True)
class KeysAndValues:
    """What attention looks at, projected and split into heads."""

    keys: Float[Tensor, "B H C Dh"]
    values: Float[Tensor, "B H C Dh"]

    def select(self, rows: Int[Tensor, " R"]) -> "KeysAndValues":
        """Pick rows of the batch, in the given order."""
        return KeysAndValues(self.keys[rows], self.values[rows])

    def laid_out(self) -> "KeysAndValues":
        """Lay the numbers out in memory so that being looked at again and again is fast."""
        return KeysAndValues(self.keys.transpose(2, 3).contiguous().transpose(2, 3), self.values.contiguous())

    def append(self, other: "KeysAndValues") -> "KeysAndValues":
        """Add later positions."""
        return KeysAndValues(torch.cat((self.keys, other.keys), dim=2), torch.cat((self.values, other.values), dim=2))


@runtime_checkable
class Memory(Protocol):
    """Whatever has keys and values."""

    @property
    def keys(self) -> Float[Tensor, "B H C Dh"]:
        """What is looked for."""

    @property
    def values(self) -> Float[Tensor, "B H C Dh"]:
        """What is found."""


class Attention(nn.Module):
    """Multi-head attention (Eqs. 9-10)."""

    def __init__(self, *, size: int, heads: int, memory_size: int | None = None, inward: bool = False) -> None:
        super().__init__()
        self.heads = heads
        self.inward = inward  # whether it looks only at what it looks from
        self.query = nn.Linear(size, size)
        self.key = nn.Linear(memory_size or size, size)
        self.value = nn.Linear(memory_size or size, size)
        self.output = nn.Linear(size, size)
        for projection in (self.query, self.key, self.value, self.output):
            nn.init.xavier_uniform_(projection.weight)
            nn.init.zeros_(projection.bias)
        self.joint: nn.Module | None = None
        """Queries (if inward), keys and values by one product, in a model that is packed."""

    def project(self, memory: Float[Tensor, "B C E"]) -> KeysAndValues:
        """Prepare what is attended to."""
        if self.joint is None:
            return KeysAndValues(self._split(self.key(memory)), self._split(self.value(memory)))
        *_, keys, values = self.joint(memory).chunk(2 + self.inward, dim=-1)
        return KeysAndValues(self._split(keys), self._split(values))

    def project_inward(self, states: Float[Tensor, "B L D"]) -> tuple[Float[Tensor, "B H L Dh"], KeysAndValues]:
        """Prepare positions that look at each other: queries, and what is attended to."""
        if self.joint is None:
            return self._split(self.query(states)), self.project(states)
        queries, keys, values = (self._split(part) for part in self.joint(states).chunk(3, dim=-1))
        return queries, KeysAndValues(keys, values)

    def forward(
        self,
        states: Float[Tensor, "B L D"],
        memory: Memory,
        mask: Mask | None = None,
        causal: bool = False,
    ) -> Float[Tensor, "B L D"]:
        """Let every position gather what it needs from the memory; `mask` is True where it may look."""
        return self.gather(self._split(self.query(states)), memory, mask, causal)

    def gather(
        self, queries: Float[Tensor, "B H L Dh"], memory: Memory, mask: Mask | None = None, causal: bool = False
    ) -> Float[Tensor, "B L D"]:
        """Let queries that are there already gather what they need."""
        attended = attend(queries, memory.keys, memory.values, mask, causal)  # (B, H, L, Dh)
        return self.output(attended.transpose(1, 2).flatten(2))  # type: ignore[no-any-return]

    def weights(
        self,
        states: Float[Tensor, "B L D"],
        memory: KeysAndValues,
        mask: Bool[Tensor, "B #L C"],  # noqa: F821
    ) -> Float[Tensor, "B H L C"]:
        """Return how every position shares its attention out, for those who want to see it."""
        queries = self._split(self.query(states))
        scores = queries @ memory.keys.transpose(-1, -2) / math.sqrt(queries.shape[-1])
        return torch.softmax(scores.masked_fill(~mask.unsqueeze(1), -torch.inf), dim=-1)

    def _split(self, projected: Float[Tensor, "B C D"]) -> Float[Tensor, "B H C Dh"]:
        return projected.view(*projected.shape[:2], self.heads, -1).transpose(1, 2)


class FeedForward(nn.Module):
    """Two linear maps with a ReLU between them, at each position alone."""

    def __init__(self, *, size: int, inner: int) -> None:
        super().__init__()
        self.inner = nn.Linear(size, inner)
        self.output = nn.Linear(inner, size)
        self.packed: nn.Module | None = None
        """Both maps, in a model that is packed."""
        for projection in (self.inner, self.output):
            nn.init.xavier_uniform_(projection.weight)
            nn.init.zeros_(projection.bias)

    def forward(self, states: Float[Tensor, "B L D"]) -> Float[Tensor, "B L D"]:
        """Transform each position."""
        if self.packed is not None:
            return self.packed(states)  # type: ignore[no-any-return]
        inner = F.relu(self.inner(states), inplace=not torch.is_grad_enabled())
        return self.output(inner)  # type: ignore[no-any-return]


class Gate(nn.Module):
    """A weight between 0 and 1 for each number of two vectors (Zhang et al. 2018)."""

    def __init__(self, *, size: int) -> None:
        super().__init__()
        self.states = nn.Linear(size, size, bias=False)
        self.found = nn.Linear(size, size, bias=False)
        # Half of each to begin with: a random gate would shut out much of what a trained sentence model has found.
        for projection in (self.states, self.found):
            nn.init.zeros_(projection.weight)

    def forward(self, states: Float[Tensor, "B L D"], found: Float[Tensor, "B L D"]) -> Float[Tensor, "B L D"]:
        """Mix the states and what was found."""
        share = torch.sigmoid(self.states(states) + self.found(found))
        return share * states + (1 - share) * found


class Residual(nn.Module):
    """A sub-layer's surroundings: residual connection or gate, dropout, norm before (`pre`) or after it (`post`)."""

    def __init__(self, *, size: int, dropout: float, norm: Literal["pre", "post"], gate: bool = False) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(size)
        self.dropout = Dropout(dropout)
        self.gate = Gate(size=size) if gate else None
        self.norm_first = norm == "pre"

    def forward(self, states: Float[Tensor, "B L D"], sublayer: Callable[[Tensor], Tensor]) -> Float[Tensor, "B L D"]:
        """Run the sub-layer and add what it found to the states."""
        inputs = self.norm(states) if self.norm_first else states
        merged = self._merge(states, sublayer(for_products(inputs)))
        return merged if self.norm_first else self.norm(merged)

    def _merge(self, states: Float[Tensor, "B L D"], found: Float[Tensor, "B L D"]) -> Float[Tensor, "B L D"]:
        if self.gate is None:
            return self.dropout.add(states, found)
        return self.gate(states, self.dropout(found))  # type: ignore[no-any-return]


class Positions(nn.Module):
    """Sinusoidal positions, made once and lengthened when a longer sentence comes."""

    table: Tensor

    def __init__(self, *, size: int, length: int = 256) -> None:
        super().__init__()
        self.size = size
        self.register_buffer("table", sinusoids(length, size), persistent=False)

    def forward(self, length: int, first: int = 0) -> Float[Tensor, "L D"]:
        """Return the vectors of positions `first` to `first + length`."""
        if first + length > len(self.table):
            self.table = sinusoids(2 * (first + length), self.size).to(self.table)
        return self.table[first : first + length]


def sinusoids(length: int, size: int) -> Float[Tensor, "L D"]:
    """Return a table of sines and cosines of falling frequency (Vaswani et al. 2017)."""
    places = torch.arange(length, dtype=torch.float32).unsqueeze(1)
    frequencies = torch.exp(torch.arange(0, size, 2, dtype=torch.float32) * (-math.log(10_000) / size))
    return torch.cat((torch.sin(places * frequencies), torch.cos(places * frequencies)), dim=1)
