"""Capsules of the history: earlier sentences clustered, with the current one in mind (Eqs. 5-6, Alg. 1) or without.

Reference: Yang et al. (2019). Dimensions: B batch, S source length, K history sentences, N words of a history
sentence, M capsules, C capsules in all, D model size, E capsule size, R routing iterations.

Unless positions are asked for, each history sentence is a bag of words: apart from its distance, no order enters.
"""

import math
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from docaps.model.context.memory import ContextMemory
from docaps.model.layers import Positions
from docaps.model.routing.algorithm import Routing
from docaps.model.routing.layer import CapsuleRouting


class Query(nn.Module):
    """The current sentence as one vector: a linear map of the sum, or mean, of its words (Eq. 5)."""

    def __init__(self, *, size: int, capsule_size: int, pooling: Literal["sum", "mean"]) -> None:
        super().__init__()
        self.linear = initialised(nn.Linear(size, capsule_size))  # g
        self.pooling = pooling

    def forward(self, words: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"]) -> Float[Tensor, "B E"]:
        """Pool the words, padding left out."""
        real = mask.to(words.dtype)  # (B, S)
        pooled = torch.bmm(real.unsqueeze(1), words).squeeze(1)  # (B, D)
        if self.pooling == "mean":
            pooled = pooled / real.sum(dim=1, keepdim=True).clamp_min(1)
        return self.linear(pooled)  # type: ignore[no-any-return]


class HistoryWords(nn.Module):
    """Words of the history as input capsules: a linear map of each word and its sentence's distance (Eq. 6)."""

    def __init__(self, *, size: int, capsule_size: int, history: int, positions: bool) -> None:
        super().__init__()
        self.linear = initialised(nn.Linear(size + history, capsule_size))  # f
        nn.init.zeros_(self.linear.weight[:, size:])  # the distance
        self.positions = Positions(size=size) if positions else None
        self.size, self.history = size, history
        self.mapped = False
        """Whether words come with the map applied already, in a model that is packed."""

    def map(self, words: Float[Tensor, "*any D"]) -> Float[Tensor, "*any E"]:
        """Apply the part of the map that reads the word."""
        return F.linear(words, self.linear.weight[:, : self.size])

    def forward(self, words: Float[Tensor, "B K N _"]) -> Float[Tensor, "B K N E"]:
        """Transform each word; distances are those of the places 1 to K."""
        count, length = words.shape[1:3]
        if count > self.history:
            raise ValueError(f"{count} history sentences, but distances only up to {self.history}")
        if self.positions is not None:
            # The encoder adds positions to embeddings scaled by the root of their size; these are not scaled.
            places = self.positions(length) / math.sqrt(self.size)
            words = words + (self.map(places) if self.mapped else places)
        # A one-hot distance picks a column of the weight, so it need not be joined to every word.
        offsets = self.linear.weight[:, self.size :].T[:count] + self.linear.bias  # (K, E)
        return (words if self.mapped else self.map(words)) + offsets.unsqueeze(1)


def initialised(linear: nn.Linear) -> nn.Linear:
    """Start a map with what tells words apart: what all words share would add up over a sentence and drown it."""
    nn.init.xavier_uniform_(linear.weight)
    nn.init.zeros_(linear.bias)
    return linear


class HistoryCapsules(nn.Module):
    """Cluster the words of the history into M capsules per sentence, or M in all (`joint`); with a query: the QCN."""

    def __init__(
        self,
        *,
        words: HistoryWords,
        query: Query | None,
        routing: CapsuleRouting,
        scope: Literal["sentence", "joint"] = "sentence",
        normalise: bool = False,
    ) -> None:
        super().__init__()
        self.words = words
        self.query = query
        self.routing = routing
        self.norm = nn.LayerNorm(routing.size) if normalise else nn.Identity()
        self.scope = scope

    def forward(
        self,
        words: Float[Tensor, "B K N D"],
        word_mask: Bool[Tensor, "B K N"],
        sentence: Float[Tensor, "B S D"],
        sentence_mask: Bool[Tensor, "B S"],
        trace: bool = False,
    ) -> ContextMemory:
        """Return the capsules of each row's history; `words` and `sentence` are embeddings, not scaled."""
        batch, count, length, _ = words.shape
        groups, together = (count, 1) if self.scope == "sentence" else (1, count)  # sentences routed as one
        rows = batch * groups
        mask = word_mask.reshape(rows, together * length)
        query = None if self.query is None else self.query(sentence, sentence_mask)  # (B, E)
        routing = self.routing(
            self.words(words).reshape(rows, together * length, self.routing.size),
            mask,
            None if query is None else query.repeat_interleave(groups, dim=0),
            trace,
        )
        vectors = self.norm(routing.capsules).reshape(
            batch, groups * self.routing.capsules, self.routing.size
        )  # (B, C, E)
        visible = mask.any(dim=-1).reshape(batch, groups).repeat_interleave(self.routing.capsules, dim=1)  # (B, C)
        if not trace:
            return ContextMemory(vectors, visible)
        capsules = routing.capsules.reshape(batch, groups, self.routing.capsules, self.routing.size)
        return ContextMemory(vectors, visible, *_by_sentence(routing, batch, groups, count), capsules)


def _by_sentence(routing: Routing, batch: int, groups: int, count: int) -> tuple[Tensor | None, Tensor | None]:
    """Lay out what the routing did by history sentence, whether these were routed alone or together."""

    def lay_out(values: Float[Tensor, "R BG M GN"] | None) -> Float[Tensor, "R B K M N"] | None:
        if values is None:
            return None
        rounds, _, capsules, words = values.shape
        together = count // groups
        split = values.reshape(rounds, batch, groups, capsules, together, words // together)
        return split.transpose(3, 4).reshape(rounds, batch, count, capsules, words // together)

    return lay_out(routing.coupling), lay_out(routing.correlation)
