"""Hierarchical attention: to the words of each earlier sentence, then to the results for each sentence.

Departure from the paper: rows without any history have no context; where the gate is followed by a norm, their states
pass through the norm alone. Reference: Miculicich et al. (2018). Dimensions: B batch, L length, K history sentences,
N words of a history sentence, D model size.
"""

from dataclasses import dataclass, replace
from typing import Literal, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from docaps.model.context.states import StateAttention
from docaps.model.fast.dropout import Dropout
from docaps.model.interface import DecoderState
from docaps.model.layers import Attention, FeedForward, Gate, KeysAndValues, Residual, Shape


@dataclass(frozen=True, slots=True)
class HanMemory:
    """Keys and values of earlier sentences, (B K) rows of words each, and their mask."""

    words: KeysAndValues
    mask: Bool[Tensor, "B K N"]

    def select(self, rows: Int[Tensor, " R"]) -> "HanMemory":
        """Return the given rows of the batch, in the given order."""
        count = self.mask.shape[1]
        sentences = rows.unsqueeze(1) * count + torch.arange(count, device=rows.device)  # (R, K)
        return HanMemory(self.words.select(sentences.flatten()), self.mask[rows])


class HierarchicalAttention(StateAttention):
    """Two attentions, over words and over sentences, and a gate between their result and the state."""

    def __init__(
        self,
        *,
        shape: Shape,
        queries: Literal["norm", "linear"],
        query_gradient: bool,
        norm_summaries: bool,
        feed_forward_norm: Literal["pre", "model"],
        gate_bias: bool,
        norm_output: bool,
    ) -> None:
        super().__init__()
        linear, size = queries == "linear", shape.size
        self.word_query, self.sentence_query = (  # f_w, f_s
            shape.projection() if linear else nn.LayerNorm(size) for _ in range(2)
        )
        self.query_gradient = query_gradient
        self.words, self.sentences = Attention(shape), Attention(shape)
        self.summary_norm = nn.LayerNorm(size) if norm_summaries else nn.Identity()
        normed = shape if feed_forward_norm == "model" else replace(shape, norm="pre")
        self.feed_forward, self.feed_forward_residual = FeedForward(shape), Residual(normed)
        self.dropout = Dropout(shape.dropout.sublayers)
        self.gate = Gate(size=size, bias=gate_bias)
        self.norm = nn.LayerNorm(size) if norm_output else nn.Identity()

    def project(
        self,
        words: Float[Tensor, "B K N D"],
        mask: Bool[Tensor, "B K N"],
        keys: Float[Tensor, "B K N D"] | None = None,  # noqa: ARG002
    ) -> DecoderState:
        """Return the keys and values of each sentence's words; both are made of the same states."""
        return HanMemory(self.words.project(words.flatten(0, 1)), mask)

    def alone(self, states: Float[Tensor, "B L D"]) -> Float[Tensor, "B L D"]:
        """Normalise the states, if those with a context are."""
        return self.norm(states)  # type: ignore[no-any-return]

    def forward(
        self, states: Float[Tensor, "B L D"], memory: DecoderState, queries: Float[Tensor, "B L D"] | None = None
    ) -> Float[Tensor, "B L D"]:
        """Mix each state with its context; rows without context are only normalised."""
        memory = cast(HanMemory, memory)
        present = memory.mask.any(dim=-1)  # (B, K)
        asking = states if queries is None else queries
        asking = asking if self.query_gradient else asking.detach()
        found = self.dropout(self._attend_to_sentences(asking, self._attend_to_words(asking, memory, present), present))
        mixed = self.gate(states, self.feed_forward_residual(found, self.feed_forward))
        return self.norm(torch.where(present.any(dim=-1)[:, None, None], mixed, states))  # type: ignore[no-any-return]

    def _attend_to_words(
        self, states: Float[Tensor, "B L D"], memory: HanMemory, present: Bool[Tensor, "B K"]
    ) -> Float[Tensor, "B L K D"]:
        """Return, for each state, a summary of each sentence."""
        batch, count = present.shape
        queries = self.word_query(states).repeat_interleave(count, dim=0)  # (B K, L, D)
        # A missing sentence has no words: its summary, of padding, is masked in the next step.
        visible = (memory.mask | ~present.unsqueeze(-1)).flatten(0, 1).unsqueeze(1)  # (B K, 1, N)
        found = self.words(queries, memory.words, visible)
        return found.view(batch, count, *found.shape[1:]).transpose(1, 2)  # type: ignore[no-any-return]

    def _attend_to_sentences(
        self, states: Float[Tensor, "B L D"], summaries: Float[Tensor, "B L K D"], present: Bool[Tensor, "B K"]
    ) -> Float[Tensor, "B L D"]:
        """Attend from each state to its summaries of the sentences."""
        queries = self.sentence_query(states).flatten(0, 1).unsqueeze(1)  # (B L, 1, D)
        visible = present | ~present.any(dim=-1, keepdim=True)
        visible = visible.repeat_interleave(states.shape[1], dim=0).unsqueeze(1)  # (B L, 1, K)
        memory = self.sentences.project(self.summary_norm(summaries).flatten(0, 1))
        return self.sentences(queries, memory, visible).view(states.shape)  # type: ignore[no-any-return]
