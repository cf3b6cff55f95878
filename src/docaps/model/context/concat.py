"""Concatenation: earlier sentences and the sentence, read as one; no new weights, unless segments have vectors.

References: Tiedemann and Scherrer (2017); Lupo et al. (2022) for the discounted loss and shifted positions. Dimensions:
B batch, S source length, T target length, K history sentences, N words of a history sentence, P words of a prefix,
L words in all, D model size, V vocabulary.

The separator of sentences is the begin token, which no sentence contains. With 2-to-2 and n-to-n earlier translations
are a prefix of the decoder's words, and search writes what follows the last separator: one sentence for one sentence,
always.

Departures from the papers: they write all sentences of a window and drop all but the last; here the others are the
translations made before. Without a discount each sentence's words count once in training, when the sentence is the
last.
"""

from dataclasses import dataclass, replace
from typing import cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from docaps.batches.batch import Batch
from docaps.corpus.text.vocabulary import BOS, EOS, PAD
from docaps.model.hypotheses import Rows
from docaps.model.interface import DecoderState, DiscountedWords, Encoding, Prediction
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

    @property
    def sentences(self) -> Int[Tensor, " B"]:
        """The number of translations in each row's prefix."""
        return (self.words == SEPARATOR).sum(dim=1)


class ConcatTransformer(Transformer):
    """A Transformer that reads earlier sentences and the sentence as one, and earlier translations if it has them.

    `discount` is the weight of earlier translations in the loss, `shift` the number of positions skipped after each
    earlier sentence; with `segments`, the words of earlier sentences have a trained vector for its distance.
    """

    def __init__(
        self,
        backbone: Backbone,
        *,
        history: int,
        translations: bool,
        discount: float = 0.0,
        shift: int = 0,
        segments: bool = False,
    ) -> None:
        super().__init__(backbone)
        self.history, self.translations = history, translations
        self.discount, self.shift = discount, shift
        self.segments = nn.Embedding(history, backbone.shape.size) if segments else None
        if self.segments is not None:  # training starts at the model without them
            nn.init.zeros_(self.segments.weight)

    def idles(self, batch: Batch) -> bool:
        """Return whether the vectors of segments get no gradient; no other weights serve the context alone."""
        return self.segments is not None and super().idles(batch)

    def offsets(self, batch: Batch) -> tuple[Int[Tensor, " B"], Int[Tensor, " B"]]:
        """Return the lengths of the history and of the prefix, which are read first."""
        prefix = self._prefix(batch)
        history = join_sources(batch).source_mask.sum(dim=1) - batch.source_mask.sum(dim=1)
        return history, torch.zeros_like(history) if prefix is None else prefix.lengths

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
        words = encoding.target_context.words
        numbers = segments_after_separators(words)
        inputs = self._with_segments(self.embeddings.target(words), numbers, encoding.target_context.sentences)
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
        return self._place(words, torch.full((1, 1), state.position, device=words.device), state)

    def _place(
        self, words: Float[Tensor, "B L D"], positions: Int[Tensor, "#B #L"], state: TransformerState
    ) -> Float[Tensor, "B L D"]:
        """Count positions from the start of the prefix, and those skipped after each of its sentences."""
        prefix = state.target_context
        if isinstance(prefix, Prefix):
            positions = positions + (prefix.lengths + self.shift * prefix.sentences).unsqueeze(1)  # (B, L)
        return super()._place(words, positions, state)

    def forward(self, batch: Batch) -> Prediction:
        """Score given translations, each behind its prefix."""
        prefix, joined = self._prefix(batch), join_sources(batch)
        if prefix is None or batch.target_input is None:
            return super().forward(joined)
        own = torch.arange(batch.target_input.shape[1], device=prefix.words.device)
        positions = prefix.lengths.unsqueeze(1) + own  # (B, T)
        padded = F.pad(prefix.words, (0, len(own)), value=PAD)
        words = padded.scatter(1, positions, batch.target_input)
        prediction = super().forward(replace(joined, target_input=words, target_output=None))
        states = prediction.states
        own_states = states.gather(1, positions.unsqueeze(-1).expand(-1, -1, states.shape[-1]))
        return replace(prediction, states=own_states, earlier=self._discounted(states, prefix))

    def _discounted(self, states: Float[Tensor, "B L D"], prefix: Prefix) -> DiscountedWords | None:
        """Return the words of earlier translations for the loss, if they count in it; each ends like a translation."""
        if not self.training or not self.discount or not prefix.words.numel():
            return None
        following = F.pad(prefix.words[:, 1:], (0, 1), value=PAD)
        words = torch.where((following == PAD) | (following == SEPARATOR), EOS, following)  # (B, P)
        return DiscountedWords(states[:, : words.shape[1]][prefix.mask], words[prefix.mask], self.discount)

    def _source_inputs(self, embedded: Float[Tensor, "B S D"], words: Int[Tensor, "B S"]) -> Float[Tensor, "B S D"]:
        """Add positions and the vectors of segments; each earlier sentence ends with a separator."""
        separators = words == SEPARATOR
        return self._with_segments(embedded, separators.cumsum(dim=1) - separators.long(), separators.sum(dim=1))

    def _target_inputs(self, embedded: Float[Tensor, "B T D"], words: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        """Add positions and the vectors of segments; each translation begins with a separator."""
        numbers = segments_after_separators(words)
        return self._with_segments(embedded, numbers, numbers[:, -1])

    def _with_segments(
        self, embedded: Float[Tensor, "B L D"], numbers: Int[Tensor, "B L"], current: Int[Tensor, " B"]
    ) -> Float[Tensor, "B L D"]:
        """Scale word vectors and add positions and the vectors of segments.

        `numbers` are the words' sentences, the oldest first; `current` is that of the sentence to translate.
        """
        placed = self._with_positions(embedded)
        if self.shift:
            positions = torch.arange(embedded.shape[1], device=numbers.device) + self.shift * numbers  # (B, L)
            table = self.positions(int(positions.max()) + 1)
            placed = torch.add(table[positions], embedded, alpha=self.scale)
        if self.segments is None:
            return placed
        distances = (current.unsqueeze(1) - numbers).clamp(0, self.history)
        # The current sentence has no vector. The others are scaled like word vectors, so that they learn as fast.
        vectors = F.embedding(distances, F.pad(self.segments.weight, (0, 0, 1, 0)))
        return torch.add(placed, vectors.to(placed.dtype), alpha=self.scale)


def segments_after_separators(words: Int[Tensor, "B L"]) -> Int[Tensor, "B L"]:
    """Number the sentences of each row, the oldest one 0; each begins with a separator."""
    return ((words == SEPARATOR).cumsum(dim=1) - 1).clamp_min(0)


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
