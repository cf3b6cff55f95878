"""The query-guided capsule network (Eqs. 5-6, Alg. 1), its plain counterpart without a query, and a control.

Reference: Yang et al. (2019). Dimensions: B batch, S source length, K history sentences, N words of a history
sentence, M capsules, C capsules in all, D model size, E capsule size, R routing iterations.

Without positions each history sentence is a bag of words at a distance.
"""

import math
from typing import Literal, cast

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from docaps.model.context.sublayer import ContextMemory
from docaps.model.layers import Positions, initialised
from docaps.model.routing.layer import CapsuleRouting, Start

NOISE_SEED = 1_234_567
"""The noise is the same in every model and run, whatever their seed, so it is not stored with the weights."""


class Query(nn.Module):
    """The query: a linear map of the sum, or mean, of the sentence's word vectors (Eq. 5)."""

    def __init__(self, *, size: int, capsule_size: int, pooling: Literal["sum", "mean"]) -> None:
        super().__init__()
        self.linear = initialised(nn.Linear(size, capsule_size))  # g
        self.pooling = pooling

    def forward(self, words: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"]) -> Float[Tensor, "B E"]:
        """Pool the real words and map the result."""
        real = mask.to(words.dtype)  # (B, S)
        pooled = torch.bmm(real.unsqueeze(1), words).squeeze(1)  # (B, D)
        if self.pooling == "mean":
            pooled = pooled / real.sum(dim=1, keepdim=True).clamp_min(1)
        return self.linear(pooled)  # type: ignore[no-any-return]


class HistoryWords(nn.Module):
    """Input capsules: a linear map of each history word and its sentence's distance (Eq. 6)."""

    def __init__(self, *, size: int, capsule_size: int, history: int, positions: bool, start: Start = "random") -> None:
        super().__init__()
        self.linear = initialised(nn.Linear(size + history, capsule_size))  # f
        if start == "identity":  # capsules then lie where the words do
            nn.init.eye_(self.linear.weight)
        nn.init.zeros_(self.linear.weight[:, size:])  # the distance
        self.positions = Positions(size=size) if positions else None
        self.size, self.history = size, history
        self.mapped = False
        """Packed models only: whether the input words are mapped already."""

    def map(self, words: Float[Tensor, "*any D"]) -> Float[Tensor, "*any E"]:
        """Apply the part of the map that reads the word vector."""
        return F.linear(words, self.linear.weight[:, : self.size])

    def forward(self, words: Float[Tensor, "B K N _"]) -> Float[Tensor, "B K N E"]:
        """Map each word; sentence k, counted from 1, has distance k."""
        count, length = words.shape[1:3]
        if count > self.history:
            raise ValueError(f"{count} history sentences, but distances only up to {self.history}")
        if self.positions is not None:
            # The encoder adds positions to embeddings scaled by the root of their size; these are not scaled.
            positions = self.positions(length) / math.sqrt(self.size)
            words = words + (self.map(positions) if self.mapped else positions)
        # A one-hot distance selects a column of the weight, so it need not be concatenated with every word.
        offsets = self.linear.weight[:, self.size :].T[:count] + self.linear.bias  # (K, E)
        return (words if self.mapped else self.map(words)) + offsets.unsqueeze(1)


class HistoryCapsules(nn.Module):
    """Route history words into M capsules per sentence, or M in all (`joint`); with a query this is the QCN.

    `distances` adds the vector of a sentence's distance to its capsules.
    """

    def __init__(
        self,
        *,
        words: HistoryWords,
        query: Query | None,
        routing: CapsuleRouting,
        joint: bool,
        normalise: bool,
        distances: bool = False,
    ) -> None:
        super().__init__()
        self.words, self.query, self.routing = words, query, routing
        self.norm = nn.LayerNorm(routing.size) if normalise else nn.Identity()
        self.joint = joint
        self.distances = nn.Embedding(words.history, routing.size) if distances else None
        if self.distances is not None:  # at first the order of sentences is unknown
            nn.init.zeros_(self.distances.weight)

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
        groups, together = (1, count) if self.joint else (count, 1)  # sentences routed as one
        rows = batch * groups
        mask = word_mask.reshape(rows, together * length)
        query = None if self.query is None else self.query(sentence, sentence_mask)  # (B, E)
        routing = self.routing(
            self.words(words).reshape(rows, together * length, self.routing.size),
            mask,
            None if query is None else query.repeat_interleave(groups, dim=0),
            trace,
        )
        shape = batch, groups, self.routing.capsules, self.routing.size
        vectors = self._with_distances(self.norm(routing.capsules).reshape(shape)).flatten(1, 2)  # (B, C, E)
        visible = mask.any(dim=-1).reshape(batch, groups).repeat_interleave(self.routing.capsules, dim=1)  # (B, C)
        if not trace:
            return ContextMemory(vectors, visible)
        coupling, correlation = (
            _by_sentence(one, batch, groups, count) for one in (routing.coupling, routing.correlation)
        )
        weights = cast(Tensor, coupling)[-1]
        if correlation is not None and self.routing.options.guide_capsules:
            weights = weights + torch.tanh(correlation[-1])
        return ContextMemory(vectors, visible, coupling, correlation, routing.capsules.reshape(shape), weights)

    def _with_distances(self, capsules: Float[Tensor, "B K M E"]) -> Float[Tensor, "B K M E"]:
        """Add the vector of its distance to each sentence's capsules, if the model has such vectors."""
        if self.distances is None:
            return capsules
        return capsules + self.distances.weight[: capsules.shape[1]].unsqueeze(1).to(capsules.dtype)


def _by_sentence(
    values: Float[Tensor, "R BG M GN"] | None, batch: int, groups: int, count: int
) -> Float[Tensor, "R B K M N"] | None:
    """Return coupling or correlation by history sentence, whether sentences were routed alone or together."""
    if values is None:
        return None
    rounds, _, capsules, words = values.shape
    length = words * groups // count
    split = values.reshape(rounds, batch, groups, capsules, count // groups, length)
    return split.transpose(3, 4).reshape(rounds, batch, count, capsules, length)


class FixedNoise(nn.Module):
    """Random vectors in place of capsules, drawn once: a control whose memory knows nothing about any sentence.

    If it gains as much as the QCN, the gain comes from regularisation, not from context. The history only decides how
    many vectors are visible.
    """

    memory: Tensor

    def __init__(self, *, size: int, history: int, capsules: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(NOISE_SEED)
        drawn = torch.empty(history, capsules, size).normal_(generator=generator)
        self.register_buffer("memory", drawn, persistent=False)

    def forward(self, words: Float[Tensor, "B K N D"], word_mask: Bool[Tensor, "B K N"], *_: object) -> ContextMemory:
        """Return the same vectors for every row, masked where a history sentence is missing."""
        shown = self.memory[: words.shape[1]]  # (K, M, E)
        vectors = shown.flatten(0, 1).expand(len(words), -1, -1)
        return ContextMemory(vectors, word_mask.any(dim=-1).repeat_interleave(shown.shape[1], dim=1))
