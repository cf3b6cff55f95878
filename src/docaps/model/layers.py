"""The Transformer's parts: word embeddings, positions, attention, feed-forward, residual connections.

Dimensions: B batch, S source length, T target length, L any length, K history sentences, N words of a history sentence,
C keys, D model size, H heads, Dh size of a head, V vocabulary, R rows.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from docaps.batches.batch import Batch
from docaps.config.model_settings import Activation, PositionLayout, Tables
from docaps.model.fast.attention import Mask, Visible, attend
from docaps.model.fast.cross_entropy import rescored_log_probabilities, word_log_probabilities
from docaps.model.fast.dropout import Dropout
from docaps.model.hypotheses import CHUNK, Rows
from docaps.model.mixed_precision import to_autocast_dtype


@dataclass(frozen=True, slots=True)
class KeysAndValues(Rows):
    """Projected keys and values, split into heads."""

    keys: Float[Tensor, "B H C Dh"]
    values: Float[Tensor, "B H C Dh"]

    def laid_out(self) -> "KeysAndValues":
        """Return the same numbers in the memory layout that attention reads fastest."""
        return KeysAndValues(self.keys.transpose(2, 3).contiguous().transpose(2, 3), self.values.contiguous())

    def append(self, other: "KeysAndValues") -> "KeysAndValues":
        """Return these positions followed by later ones."""
        return KeysAndValues(torch.cat((self.keys, other.keys), dim=2), torch.cat((self.values, other.values), dim=2))


@runtime_checkable
class Memory(Protocol):
    """Anything with keys and values."""

    @property
    def keys(self) -> Float[Tensor, "B H C Dh"]:
        """Compared with queries."""

    @property
    def values(self) -> Float[Tensor, "B H C Dh"]:
        """Averaged by attention."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DropoutRates:
    """The dropout rates of a model's parts."""

    embeddings: float
    """Of the inputs of encoder and decoder: word vectors with positions."""
    sublayers: float
    """Of what a sub-layer returns."""
    attention: float
    """Of attention weights."""
    feed_forward: float
    """Inside feed-forward networks, after the activation."""

    @classmethod
    def everywhere(cls, rate: float) -> "DropoutRates":
        """Return one rate for all parts."""
        return cls(embeddings=rate, sublayers=rate, attention=rate, feed_forward=rate)


@dataclass(frozen=True, slots=True)
class Shape:
    """The dimensions, dropout rates and forms that all layers of a Transformer share."""

    size: int
    heads: int
    feed_forward: int
    dropout: DropoutRates
    norm: Literal["pre", "post"]
    activation: Activation = "relu"
    positions: PositionLayout = "vaswani"
    scaled: bool = True
    """Multiply word vectors by the root of the size."""
    epsilon: float = 1e-5
    """Layer norms add it to the variance."""

    @property
    def scale(self) -> float:
        """The factor of word vectors in front of the layers."""
        return math.sqrt(self.size) if self.scaled else 1.0

    def projection(self, *, bias: bool = True) -> nn.Linear:
        """Make a linear map of vectors."""
        return initialised(nn.Linear(self.size, self.size, bias=bias))

    def last_norm(self) -> nn.Module:
        """Make the norm after the last layer, which only `pre` needs."""
        return nn.LayerNorm(self.size, eps=self.epsilon) if self.norm == "pre" else nn.Identity()


def initialised(linear: nn.Linear) -> nn.Linear:
    """Start with Xavier weights and no bias: summed over a sentence, a bias would drown what distinguishes words."""
    nn.init.xavier_uniform_(linear.weight)
    if linear.bias is not None:
        nn.init.zeros_(linear.bias)
    return linear


class Attention(nn.Module):
    """Multi-head attention (Eqs. 9-10)."""

    def __init__(self, shape: Shape, *, memory_size: int | None = None, over_self: bool = False) -> None:
        super().__init__()
        self.heads = shape.heads
        self.over_self = over_self  # queries and keys come from the same states
        size, memory_size = shape.size, memory_size or shape.size
        self.query, self.key = nn.Linear(size, size), nn.Linear(memory_size, size)
        self.value, self.output = nn.Linear(memory_size, size), nn.Linear(size, size)
        for projection in self.projections():
            initialised(projection)
        self.dropout = Dropout(shape.dropout.attention)
        self.joint: nn.Module | None = None
        """Packed models only: one product for queries (of self-attention), keys and values."""

    def projections(self) -> tuple[nn.Linear, ...]:
        """Return the linear maps of queries, keys, values and outputs."""
        return self.query, self.key, self.value, self.output

    def project(self, memory: Float[Tensor, "B C E"]) -> KeysAndValues:
        """Return the keys and values of a memory."""
        if self.joint is None:
            return KeysAndValues(self._split(self.key(memory)), self._split(self.value(memory)))
        *_, keys, values = self.joint(memory).chunk(2 + self.over_self, dim=-1)
        return KeysAndValues(self._split(keys), self._split(values))

    def project_self(self, states: Float[Tensor, "B L D"]) -> tuple[Float[Tensor, "B H L Dh"], KeysAndValues]:
        """Return queries, keys and values for self-attention."""
        if self.joint is None:
            return self._split(self.query(states)), self.project(states)
        queries, keys, values = (self._split(part) for part in self.joint(states).chunk(3, dim=-1))
        return queries, KeysAndValues(keys, values)

    def forward(
        self, states: Float[Tensor, "B L D"], memory: Memory, mask: Mask | None = None, causal: bool = False
    ) -> Float[Tensor, "B L D"]:
        """Attend from every position to the memory; `mask` is True where it may look."""
        return self.attend(self._split(self.query(states)), memory, mask, causal)

    def attend(
        self, queries: Float[Tensor, "B H L Dh"], memory: Memory, mask: Mask | None = None, causal: bool = False
    ) -> Float[Tensor, "B L D"]:
        """Attend with projected queries."""
        attended = attend(queries, memory.keys, memory.values, mask, causal, self.dropout)  # (B, H, L, Dh)
        return self.output(attended.transpose(1, 2).flatten(2))  # type: ignore[no-any-return]

    def weights(self, states: Float[Tensor, "B L D"], memory: Memory, mask: Visible) -> Float[Tensor, "B H L C"]:
        """Return the attention weights of every position, for diagnosis."""
        queries = self._split(self.query(states))
        scores = queries @ memory.keys.transpose(-1, -2) / math.sqrt(queries.shape[-1])
        return torch.softmax(scores.masked_fill(~mask.unsqueeze(1), -torch.inf), dim=-1)

    def _split(self, projected: Float[Tensor, "B C D"]) -> Float[Tensor, "B H C Dh"]:
        return projected.view(*projected.shape[:2], self.heads, -1).transpose(1, 2)


ACTIVATIONS: Mapping[Activation, Callable[[Tensor], Tensor]] = {"relu": F.relu, "swish": F.silu, "gelu": F.gelu}


class FeedForward(nn.Module):
    """Two linear maps with a ReLU or another activation (and dropout) between them, applied to each position."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.inner = nn.Linear(shape.size, shape.feed_forward)
        self.output = nn.Linear(shape.feed_forward, shape.size)
        self.activation = shape.activation
        self.packed: nn.Module | None = None
        """Packed models only: both maps."""
        self.dropout = Dropout(shape.dropout.feed_forward)
        for projection in (self.inner, self.output):
            initialised(projection)

    def forward(self, states: Float[Tensor, "B L D"]) -> Float[Tensor, "B L D"]:
        """Transform each position."""
        if self.packed is not None:
            return self.packed(states)  # type: ignore[no-any-return]
        inner = self.inner(states)
        if self.activation == "relu":  # in one pass with dropout
            return self.output(self.dropout.relu(inner))  # type: ignore[no-any-return]
        return self.output(self.dropout(ACTIVATIONS[self.activation](inner)))  # type: ignore[no-any-return]


class Gate(nn.Module):
    """An elementwise gate between two vectors (Zhang et al. 2018); that of Miculicich et al. (2018) has a bias."""

    def __init__(self, *, size: int, bias: bool = False) -> None:
        super().__init__()
        self.states = nn.Linear(size, size, bias=False)
        self.found = nn.Linear(size, size, bias=bias)
        # Start with half of each: a random gate would discard much of what a trained sentence model computes.
        for weight in (*self.states.parameters(), *self.found.parameters()):
            nn.init.zeros_(weight)

    def forward(self, states: Float[Tensor, "B L D"], found: Float[Tensor, "B L D"]) -> Float[Tensor, "B L D"]:
        """Mix the states with what attention found."""
        share = torch.sigmoid(self.states(states) + self.found(found))
        return share * states + (1 - share) * found


class Residual(nn.Module):
    """Residual connection (or gate), dropout, and layer norm before (`pre`) or after (`post`) a sub-layer."""

    def __init__(self, shape: Shape, *, gate: bool = False) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(shape.size, eps=shape.epsilon)
        self.dropout = Dropout(shape.dropout.sublayers)
        self.gate = Gate(size=shape.size) if gate else None
        self.norm_first = shape.norm == "pre"

    def forward(self, states: Float[Tensor, "B L D"], sublayer: Callable[[Tensor], Tensor]) -> Float[Tensor, "B L D"]:
        """Run the sub-layer and add its output to the states."""
        found = sublayer(to_autocast_dtype(self.inputs(states)))
        merged = self.dropout.add(states, found) if self.gate is None else self.gate(states, self.dropout(found))
        return merged if self.norm_first else self.norm(merged)

    def inputs(self, states: Float[Tensor, "B L D"]) -> Float[Tensor, "B L D"]:
        """Return what the sub-layer reads of the states."""
        return self.norm(states) if self.norm_first else states


class Positions(nn.Module):
    """Sinusoidal positions; the table grows when a longer sentence comes."""

    table: Tensor

    def __init__(self, *, size: int, length: int = 256, layout: PositionLayout = "vaswani") -> None:
        super().__init__()
        self.size, self.layout = size, layout
        self.register_buffer("table", sinusoids(length, size, layout), persistent=False)

    def forward(self, length: int, first: int = 0) -> Float[Tensor, "L D"]:
        """Return the vectors of positions `first` to `first + length`."""
        if first + length > len(self.table):
            self.table = sinusoids(2 * (first + length), self.size, self.layout).to(self.table)
        return self.table[first : first + length]


def sinusoids(length: int, size: int, layout: PositionLayout = "vaswani") -> Float[Tensor, "L D"]:
    """Return a table of sines, then cosines, of falling frequency (Vaswani et al. 2017; Marian has other steps)."""
    if torch.get_default_device().type == "meta":  # see builders.sketch_model
        return torch.empty(length, size)
    # In float64: in float32 the error grows with the position, and at 500 it is 3e-5.
    positions = torch.arange(length, dtype=torch.float64).unsqueeze(1)
    steps = size if layout == "vaswani" else max(1, size - 2)
    angles = positions * torch.exp(torch.arange(0, size, 2, dtype=torch.float64) * (-math.log(10_000) / steps))
    return torch.cat((torch.sin(angles), torch.cos(angles)), dim=1).float()


@dataclass(frozen=True, slots=True)
class WordVectors:
    """The embeddings of a batch's words: not scaled, without positions."""

    source: Float[Tensor, "B S D"]
    history: Float[Tensor, "B K N _"] | None
    target: Float[Tensor, "B T D"] | None


class Embeddings(nn.Module):
    """Word embeddings of source and target, and the output layer: one shared table, two, or three."""

    def __init__(self, *, vocabulary: int, size: int, tables: Tables, bias: bool = False) -> None:
        super().__init__()
        self.source = _embedding(vocabulary, size)
        self.target = self.source if tables == "shared" else _embedding(vocabulary, size)
        self.output = _embedding(vocabulary, size) if tables == "separate" else self.target
        self.bias = nn.Parameter(torch.zeros(vocabulary)) if bias else None
        self.packed: nn.Module | None = None
        """Packed models only: the output layer."""

    def look_up(self, batch: Batch, *, history: bool, table: Float[Tensor, "V E"] | None = None) -> WordVectors:
        """Look up a batch's words, with one look-up per table: the gradient of a look-up is as large as its table.

        `table`, if given, holds the vectors of history words.
        """
        asked = {"source": batch.source}
        asked |= {"history": batch.history} if history and table is None else {}
        shared = self.target is self.source
        if batch.target_input is not None and shared:
            asked["target"] = batch.target_input
        vectors = self.source(torch.cat([words.flatten() for words in asked.values()]))
        parts = vectors.split([words.numel() for words in asked.values()])
        found = {name: part.view(*asked[name].shape, -1) for name, part in zip(asked, parts, strict=True)}
        if batch.target_input is not None and not shared:
            found["target"] = self.target(batch.target_input)
        if history and table is not None:
            found["history"] = F.embedding(batch.history, table)
        return WordVectors(found["source"], found.get("history"), found.get("target"))

    def logits(self, states: Float[Tensor, "*any D"]) -> Float[Tensor, "*any V"]:
        """Score every word of the vocabulary."""
        return F.linear(states, self.output.weight, self.bias)

    def log_probabilities(self, states: Float[Tensor, "P D"], words: Int[Tensor, " P"]) -> Float[Tensor, " P"]:
        """Return the log-probability of a given word for each state; no gradient."""
        if self.packed is None:
            return word_log_probabilities(to_autocast_dtype(states), self.output.weight, words, bias=self.bias)
        weight, bias = self.output.weight, self.bias
        return rescored_log_probabilities(states, weight, words, self.packed, bias=bias)

    def score_chunks(self, states: Float[Tensor, "R D"]) -> tuple[Iterator[Tensor], Float[Tensor, "R 1"] | None]:
        """Score every word, a chunk of the vocabulary at a time; also return a factor for each row, if one is left."""
        if self.packed is not None:
            return self.packed(states)  # type: ignore[no-any-return]
        states = to_autocast_dtype(states)
        parts = split_output(self.output.weight, self.bias)
        return (multiply_as(states, *part) for part in parts), None


def split_output(
    weight: Float[Tensor, "V D"], bias: Float[Tensor, " V"] | None, chunk: int = CHUNK
) -> Iterator[tuple[Float[Tensor, "P D"], Float[Tensor, " P"] | None]]:
    """Cut an output layer into chunks of the vocabulary."""
    parts = weight.split(chunk)
    return zip(parts, [None] * len(parts) if bias is None else bias.split(chunk), strict=True)


def multiply_as(
    states: Float[Tensor, "*any D"], weight: Float[Tensor, "V D"], bias: Float[Tensor, " V"] | None
) -> Float[Tensor, "*any V"]:
    """Return the scores of words in the number format of the states."""
    return F.linear(states, weight.to(states.dtype), None if bias is None else bias.to(states.dtype))


def _embedding(vocabulary: int, size: int) -> nn.Embedding:
    """Return a table of word vectors of about unit length."""
    table = nn.Embedding(vocabulary, size)
    nn.init.normal_(table.weight, std=size**-0.5)
    return table


@dataclass(frozen=True, slots=True)
class Backbone:
    """What every Transformer is made of: its shape, the number of layers, and word embeddings."""

    shape: Shape
    encoder_layers: int
    decoder_layers: int
    embeddings: Embeddings
