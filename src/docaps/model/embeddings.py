"""Embeddings: the vectors of words on both sides, and the scores of words.

Dimensions: B batch, S source length, T target length, K history sentences, N words of a history sentence, D model size,
V vocabulary.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from docaps.batches.batch import Batch
from docaps.model.hypotheses import PIECE
from docaps.model.precision import for_products


@dataclass(frozen=True, slots=True)
class WordVectors:
    """The vectors of a batch's words, as the tables have them: not scaled, without positions."""

    source: Float[Tensor, "B S D"]
    history: Float[Tensor, "B K N _"] | None
    target: Float[Tensor, "B T D"] | None


class Embeddings(nn.Module):
    """Word vectors of source, target and output: one table for all, or three."""

    def __init__(self, *, vocabulary: int, size: int, shared: bool) -> None:
        super().__init__()
        self.source = _embedding(vocabulary, size)
        self.target = self.source if shared else _embedding(vocabulary, size)
        self.output = self.source if shared else _embedding(vocabulary, size)
        self.packed: nn.Module | None = None
        """The output layer of a model that is packed."""

    def look_up(self, batch: Batch, *, history: bool, table: Float[Tensor, "V E"] | None = None) -> WordVectors:
        """Look up a batch's words, those of one table at once: the gradient of a look-up is as large as its table.

        Those of the history may have a table of their own.
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
        return F.linear(states, self.output.weight)

    def score_pieces(self, states: Float[Tensor, "R D"]) -> tuple[Iterator[Tensor], Float[Tensor, "R 1"] | None]:
        """Score every word, some thousands at a time; and what each row is still to be multiplied by, if anything."""
        if self.packed is not None:
            return self.packed(states)  # type: ignore[no-any-return]
        states = for_products(states)
        return (F.linear(states, part.to(states.dtype)) for part in self.output.weight.split(PIECE)), None


def _embedding(vocabulary: int, size: int) -> nn.Embedding:
    """Make a table of word vectors of about unit length."""
    table = nn.Embedding(vocabulary, size)
    nn.init.normal_(table.weight, std=size**-0.5)
    return table
