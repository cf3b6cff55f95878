"""A Transformer whose capsules read more than the paper's: states, translations, the sentence itself.

Dimensions: B batch, S source length, K history sentences, N words of a history sentence, NT words of its translation,
L words of the longest sentence that is read, D model size, E capsule size.

States are those of the sentence model, without context, so a translation depends only on the sentences in view.
With `current`, a row without history has capsules of its own sentence: it is no longer translated as by the sentence
model, but by its source sentence alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from docaps.batches.batch import Batch
from docaps.corpus.text.vocabulary import BOS, EOS, PAD
from docaps.model.context.qcn import HistoryCapsules
from docaps.model.context.states import SentenceStates, with_end_tokens
from docaps.model.context.sublayer import Context, ContextMemory, Side
from docaps.model.layers import Backbone, WordVectors
from docaps.model.regulariser import Regulariser


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What capsules read."""

    states: bool = False
    """States of encoder (source) and decoder (translations) instead of embeddings."""
    gradient: bool = False
    """Let gradients into these states."""
    current: bool = False
    """Route the sentence itself, too, as a sentence at distance 0."""


class SideCapsules(nn.Module):
    """The capsule networks of the sides that are read: each has maps and matrices of its own."""

    def __init__(self, *, source: HistoryCapsules | None, target: HistoryCapsules | None) -> None:
        super().__init__()
        self.source, self.target = source, target


class CapsuleTransformer(SentenceStates):
    """A Transformer that attends to the capsules of earlier source sentences, of their translations, or of both."""

    def __init__(
        self, backbone: Backbone, *, context: Context, reading: Reading, regulariser: Regulariser | None = None
    ) -> None:
        super().__init__(backbone, gradient=reading.gradient, context=context, regulariser=regulariser)
        self.reading = reading
        self.translations = self._sides.target is not None
        if reading.states:
            self.sampling = "documents"  # neighbours share the sentences whose states are computed
        self.tables: dict[Side, Tensor] = {}
        """Packed models only: the map of each word of the vocabulary, for each side."""

    @property
    def _sides(self) -> SideCapsules:
        return cast(SideCapsules, self.context)

    def map_words(self) -> None:
        """Map each word of the vocabulary once, if embeddings are read; for packed models."""
        for side, network in self._networks():
            if not self.reading.states:
                self.tables[side] = network.words.map(self._embeddings_of(side).weight)
                network.words.mapped = True

    def _networks(self) -> Iterator[tuple[Side, HistoryCapsules]]:
        sides: tuple[tuple[Side, HistoryCapsules | None], ...] = (
            ("source", self._sides.source),
            ("target", self._sides.target),
        )
        return ((side, network) for side, network in sides if network is not None)

    def _look_up(self, batch: Batch) -> WordVectors:
        """Look up the words of a batch and, if capsules read their embeddings, of the source sentences they read."""
        sentences = None if self.reading.states or self._sides.source is None else self._sentences(batch, "source")
        if sentences is None or not _has_words(sentences):
            return self.embeddings.look_up(batch, history=False)
        return self.embeddings.look_up(
            replace(batch, history=sentences, target_history=None), history=True, table=self.tables.get("source")
        )

    def _read_history(self, batch: Batch, vectors: WordVectors, trace: bool) -> ContextMemory | None:
        """Route what is read of each side, unless the whole batch has nothing to read."""
        found = []
        for side, network in self._networks():
            sentences = self._sentences(batch, side)
            if sentences is None or not _has_words(sentences):
                continue
            words, mask = self._read(batch, vectors, side, sentences)
            memory: ContextMemory = network(words, mask, vectors.source, batch.source_mask, trace)
            if trace:
                first = 0 if self.reading.current and side == "source" else 1
                memory = memory.described(self._tokens(side, sentences).masked_fill(~mask, PAD), side, first)
            found.append(memory)
        return join_memories(found) if found else None

    def _sentences(self, batch: Batch, side: Side) -> Int[Tensor, "B K L"] | None:
        """Return the words of the sentences that are read of one side, nearest first; None if there are none."""
        if side == "target":
            return batch.target_history
        return with_current(batch) if self.reading.current else batch.history

    def _read(
        self, batch: Batch, vectors: WordVectors, side: Side, sentences: Int[Tensor, "B K L"]
    ) -> tuple[Float[Tensor, "B K N _"], Bool[Tensor, "B K N"]]:
        """Return the vectors to route, and which of them are real."""
        if self.reading.states:
            return self._source_states(sentences) if side == "source" else self._target_states(batch.history, sentences)
        if side == "source" and vectors.history is not None:
            return vectors.history, sentences != PAD
        table = self.tables.get(side)
        return F.embedding(sentences, self._embeddings_of(side).weight if table is None else table), sentences != PAD

    def _tokens(self, side: Side, sentences: Int[Tensor, "B K L"]) -> Int[Tensor, "B K N"]:
        """Return the token of each vector that is routed: states have one more, for the end or begin mark."""
        if not self.reading.states:
            return sentences
        return with_end_tokens(sentences) if side == "source" else F.pad(sentences, (1, 0), value=BOS)

    def _embeddings_of(self, side: Side) -> nn.Embedding:
        return self.embeddings.source if side == "source" else self.embeddings.target


def _has_words(sentences: Int[Tensor, "B K L"]) -> bool:
    return bool((sentences != PAD).any())


def with_current(batch: Batch) -> Int[Tensor, "B J L"]:
    """Return the sentence itself, without its end mark, before its history."""
    own = batch.source.masked_fill(batch.source == EOS, PAD).unsqueeze(1)  # (B, 1, S)
    length = max(own.shape[-1], batch.history.shape[-1])
    return torch.cat([F.pad(one, (0, length - one.shape[-1]), value=PAD) for one in (own, batch.history)], dim=1)


def join_memories(memories: list[ContextMemory]) -> ContextMemory:
    """Return one memory of the vectors of several; traces are padded to the longest sentence."""
    if len(memories) == 1:
        return memories[0]
    joined = ContextMemory(
        torch.cat([memory.vectors for memory in memories], dim=1),
        torch.cat([memory.mask for memory in memories], dim=1),
    )
    if memories[0].tokens is None:
        return joined
    return replace(
        joined,
        coupling=_joined([memory.coupling for memory in memories], 2),
        correlation=_joined([memory.correlation for memory in memories], 2),
        capsules=_joined([memory.capsules for memory in memories], 1, padded=False),
        weights=_joined([memory.weights for memory in memories], 1),
        tokens=_joined([memory.tokens for memory in memories], 1),
        sentences=tuple(sentence for memory in memories for sentence in memory.sentences),
    )


def _joined(parts: list[Tensor | None], dimension: int, *, padded: bool = True) -> Tensor | None:
    """Concatenate the traces of several memories, if they have them; the last dimension is padded with PAD, 0."""
    known = [part for part in parts if part is not None]
    if not known:
        return None
    longest = max(part.shape[-1] for part in known)
    return torch.cat([F.pad(part, (0, longest - part.shape[-1])) if padded else part for part in known], dim=dimension)
