"""Concatenation: earlier sentences and the sentence, read as one; no new weights.

Reference: Tiedemann and Scherrer (2017). Dimensions: B batch, S source length, T target length, K history sentences,
N words of a history sentence, P words of a prefix, L words in all, D model size, V vocabulary.

The separator of sentences is the begin token, which no sentence contains. With 2-to-2 the earlier translation is a
prefix of the decoder's words, and search writes what follows the separator: one sentence for one sentence, always.

Departures from the paper: its 2-to-2 writes both sentences and drops the first; here the first is the translation made
before. In training each sentence's words count once, when the sentence is the last.
"""

from dataclasses import dataclass, replace
from typing import cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from docaps.batches.batch import Batch
from docaps.corpus.text.vocabulary import BOS, PAD
from docaps.model.hypotheses import Rows
from docaps.model.interface import DecoderState, Encoding, Prediction
from docaps.model.layers import Backbone
from docaps.model.transformer import Transformer, TransformerState

SEPARATOR = BOS


@dataclass(frozen=True, slots=True)
class Prefix(Rows):
    """Earlier translations, each after a separator, in front of the words that the decoder writes."""

    words: Int[Tensor, "B P"]

    @property
    def mask(self) -> Bool[Tensor, "B P"]:
        """True where there is a word."""
        return self.words != PAD

    @property
    def lengths(self) -> Int[Tensor, " B"]:
        """The number of words in each row's prefix."""
        return self.mask.sum(dim=1)


class ConcatTransformer(Transformer):
    """A Transformer that reads earlier sentences and the sentence as one; 2-to-2 also reads the earlier translation."""

    def __init__(self, backbone: Backbone, *, history: int, translations: bool) -> None:
        super().__init__(backbone)
        self.history = history
        self.translations = translations

    def idles(self, batch: Batch) -> bool:  # noqa: ARG002
        """Return False: no weights serve the context alone, so every batch reaches all of them."""
        return False

    def encode(self, batch: Batch, trace: bool = False) -> Encoding:
        """Encode each sentence with its history in front of it."""
        encoding = super().encode(join_sources(batch), trace)
        return replace(encoding, target_context=self._prefix(batch))

    def _prefix(self, batch: Batch) -> Prefix | None:
        """Return the earlier translations, if the model reads them and there are any."""
        if not self.translations or batch.target_history is None:
            return None
        return Prefix(without_gaps(oldest_first(batch.target_history, SEPARATOR, before=True)))

    def start(self, encoding: Encoding) -> DecoderState:
        """Run the decoder over the prefix; search goes on behind it, starting with the separator."""
        state = cast(TransformerState, super().start(encoding))
        if not isinstance(encoding.target_context, Prefix):
            return state
        inputs = self._with_positions(self.embeddings.target(encoding.target_context.words))
        return replace(state, layers=self._decode(inputs, state).layers)

    def _visible(self, state: TransformerState) -> Bool[Tensor, "B 1 L"] | None:
        """Mask the padding between a row's prefix and the words written behind it."""
        if not isinstance(state.target_context, Prefix):
            return None
        mask = state.target_context.mask
        return torch.cat((mask, mask.new_ones(len(mask), state.position + 1)), dim=1).unsqueeze(1)

    def _with_step_positions(self, words: Float[Tensor, "B W D"], state: TransformerState) -> Float[Tensor, "B W D"]:
        """Count positions from the start of the prefix."""
        if not isinstance(state.target_context, Prefix):
            return super()._with_step_positions(words, state)
        positions = state.target_context.lengths + state.position  # (B)
        table = self.positions(int(positions.max()) + 1)
        return torch.add(table[positions].unsqueeze(1), words, alpha=self.scale)

    def forward(self, batch: Batch) -> Prediction:
        """Score given translations, each behind its prefix."""
        prefix, joined = self._prefix(batch), join_sources(batch)
        if prefix is None or batch.target_input is None:
            return super().forward(joined)
        own = torch.arange(batch.target_input.shape[1], device=prefix.words.device)
        positions = prefix.lengths.unsqueeze(1) + own  # (B, T)
        padded = torch.nn.functional.pad(prefix.words, (0, len(own)), value=PAD)
        words = padded.scatter(1, positions, batch.target_input)
        prediction = super().forward(replace(joined, target_input=words, target_output=None))
        states = prediction.states
        return replace(prediction, states=states.gather(1, positions.unsqueeze(-1).expand(-1, -1, states.shape[-1])))


def join_sources(batch: Batch) -> Batch:
    """Return a batch whose sentences have their history in front."""
    history = oldest_first(batch.history, SEPARATOR, before=False)
    source = without_gaps(torch.cat((history, batch.source), dim=1))
    return replace(batch, source=source, history=batch.history[:, :0], target_history=None)


def oldest_first(history: Int[Tensor, "B K N"], separator: int, *, before: bool) -> Int[Tensor, "B L"]:
    """Concatenate history sentences with a separator before (or after) each that has words; padding remains."""
    worded = (history != PAD).any(dim=-1, keepdim=True)  # (B, K, 1)
    separators = torch.where(worded, separator, PAD)
    parts = (separators, history) if before else (history, separators)
    return torch.cat(parts, dim=-1).flip(1).flatten(1)


def without_gaps(words: Int[Tensor, "B L"]) -> Int[Tensor, "B M"]:
    """Move each row's words to its front and cut off columns of padding."""
    mask = words != PAD
    longest = int(mask.sum(dim=1).max()) if words.numel() else 0
    return words.gather(1, real_first(mask)[:, :longest])


def real_first(mask: Bool[Tensor, "B L"]) -> Int[Tensor, "B L"]:
    """Return the permutation that moves each row's real positions to its front, in their order."""
    return torch.sort(mask.logical_not().to(torch.uint8), dim=1, stable=True).indices
