"""Hierarchical attention: to the words of each earlier sentence, then to what was found in each of them.

Departure from the paper: FFN is a whole sub-layer, with a sum and a norm; a row without any history is left alone.
Reference: Miculicich et al. (2018). Dimensions: B batch, L length, K history sentences, N words of a history sentence,
D model size.
"""

from dataclasses import dataclass
from typing import cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from docaps.model.context.qcn import initialised
from docaps.model.context.states import Reader
from docaps.model.fast.dropout import Dropout
from docaps.model.interface import DecoderState
from docaps.model.layers import Gate, KeysAndValues
from docaps.model.shape import Shape


@dataclass(frozen=True, slots=True)
class HanMemory:
    """The words of earlier sentences, projected; the sentences of all rows stand one after the other."""

    words: KeysAndValues
    mask: Bool[Tensor, "B K N"]

    def select(self, rows: Int[Tensor, " R"]) -> "HanMemory":
        """Pick rows of the batch, in the given order."""
        count = self.mask.shape[1]
        sentences = rows.unsqueeze(1) * count + torch.arange(count, device=rows.device)  # (R, K)
        return HanMemory(self.words.select(sentences.flatten()), self.mask[rows])


class HierarchicalAttention(Reader):
    """From a state: a query for words, one for sentences, and a gate between the state and what was found."""

    def __init__(self, *, shape: Shape) -> None:
        super().__init__()
        self.word_query = initialised(nn.Linear(shape.size, shape.size))  # f_w
        self.sentence_query = initialised(nn.Linear(shape.size, shape.size))  # f_s
        self.words, self.sentences = shape.attention(), shape.attention()
        self.feed_forward, self.feed_forward_residual = shape.forward_part(), shape.residual()
        self.dropout = Dropout(shape.dropout)
        self.gate = Gate(size=shape.size)

    def remember(self, words: Float[Tensor, "B K N D"], mask: Bool[Tensor, "B K N"]) -> DecoderState:
        """Project the words of each sentence."""
        return HanMemory(self.words.project(words.flatten(0, 1)), mask)

    def forward(self, states: Float[Tensor, "B L D"], memory: DecoderState) -> Float[Tensor, "B L D"]:
        """Mix each state with what it finds; a row with nothing to look at is left as it is."""
        memory = cast(HanMemory, memory)
        present = memory.mask.any(dim=-1)  # (B, K)
        found = self.dropout(self._look(states, self._summarise(states, memory, present), present))
        mixed = self.gate(states, self.feed_forward_residual(found, self.feed_forward))
        return torch.where(present.any(dim=-1)[:, None, None], mixed, states)

    def _summarise(
        self, states: Float[Tensor, "B L D"], memory: HanMemory, present: Bool[Tensor, "B K"]
    ) -> Float[Tensor, "B L K D"]:
        """Let each state gather what it needs from the words of each sentence."""
        batch, count = present.shape
        queries = self.word_query(states).repeat_interleave(count, dim=0)  # (B K, L, D)
        # A missing sentence has no word to look at; it is not looked at in the next step.
        visible = (memory.mask | ~present.unsqueeze(-1)).flatten(0, 1).unsqueeze(1)  # (B K, 1, N)
        found = self.words(queries, memory.words, visible)
        return found.view(batch, count, *found.shape[1:]).transpose(1, 2)  # type: ignore[no-any-return]

    def _look(
        self, states: Float[Tensor, "B L D"], summaries: Float[Tensor, "B L K D"], present: Bool[Tensor, "B K"]
    ) -> Float[Tensor, "B L D"]:
        """Let each state gather what it needs from what it found in the sentences."""
        queries = self.sentence_query(states).flatten(0, 1).unsqueeze(1)  # (B L, 1, D)
        visible = present | ~present.any(dim=-1, keepdim=True)
        visible = visible.repeat_interleave(states.shape[1], dim=0).unsqueeze(1)  # (B L, 1, K)
        memory = self.sentences.project(summaries.flatten(0, 1))
        return self.sentences(queries, memory, visible).view(states.shape)  # type: ignore[no-any-return]
