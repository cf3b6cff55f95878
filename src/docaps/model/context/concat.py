"""Concatenation: earlier sentences in front of the sentence, as if all were one; no new weights.

Reference: Tiedemann and Scherrer (2017). Dimensions: B batch, S source length, T target length, K history sentences,
N words of a history sentence, P words of a prefix, L words in all, D model size, V vocabulary.

The break between sentences is the mark that begins a translation, which no sentence contains. With 2-to-2, the earlier
translation stands in front of the decoder's words as a prefix, and the search writes what follows the break: one
sentence for one sentence, whatever the model does.

Departures from the paper: its 2-to-2 writes both sentences and drops the first; here the first one is the translation
that was made when it was its turn. In training, each sentence's words count once, when the sentence is the last.
"""

from dataclasses import dataclass, replace
from typing import cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from docaps.batches.batch import Batch
from docaps.corpus.text.vocabulary import BOS, PAD
from docaps.model.context.joining import oldest_first, without_gaps
from docaps.model.embeddings import Embeddings
from docaps.model.interface import DecoderState, Encoding, Prediction
from docaps.model.shape import Shape
from docaps.model.transformer import Transformer, TransformerState

BREAK = BOS


@dataclass(frozen=True, slots=True)
class Prefix:
    """What stands before the words that are written: earlier translations, each after a break."""

    words: Int[Tensor, "B P"]

    @property
    def mask(self) -> Bool[Tensor, "B P"]:
        """True where there is a word."""
        return self.words != PAD

    @property
    def lengths(self) -> Int[Tensor, " B"]:
        """How many words each row's prefix has."""
        return self.mask.sum(dim=1)

    def select(self, rows: Int[Tensor, " R"]) -> "Prefix":
        """Pick rows of the batch, in the given order."""
        return Prefix(self.words[rows])


class ConcatTransformer(Transformer):
    """A Transformer that reads earlier sentences and the sentence as one, and may write behind earlier translations."""

    def __init__(
        self,
        *,
        shape: Shape,
        encoder_layers: int,
        decoder_layers: int,
        embeddings: Embeddings,
        history: int,
        translations: bool,
    ) -> None:
        super().__init__(
            shape=shape, encoder_layers=encoder_layers, decoder_layers=decoder_layers, embeddings=embeddings
        )
        self.history = history
        self.translations = translations

    def idles(self, batch: Batch) -> bool:  # noqa: ARG002
        """Say that every batch reaches all weights: none of them is there for the context alone."""
        return False

    def encode(self, batch: Batch, trace: bool = False) -> Encoding:
        """Read each sentence with its history in front of it."""
        encoding = super().encode(join_sources(batch), trace)
        return replace(encoding, besides=self._prefix(batch))

    def _prefix(self, batch: Batch) -> Prefix | None:
        """Return what translations begin with, if there are earlier ones to look at."""
        if not self.translations or batch.target_history is None:
            return None
        return Prefix(without_gaps(oldest_first(batch.target_history, BREAK, before=True)))

    def start(self, encoding: Encoding) -> DecoderState:
        """Read the prefix; what search writes next, beginning with the break, stands behind it."""
        state = cast(TransformerState, super().start(encoding))
        if not isinstance(encoding.besides, Prefix):
            return state
        inputs = self._with_positions(self.embeddings.target(encoding.besides.words))
        return replace(state, layers=self._decode(inputs, state)[1])

    def _visible(self, state: TransformerState) -> Bool[Tensor, "B 1 L"] | None:
        """Hide the padding between a row's prefix and what is written behind it."""
        if not isinstance(state.besides, Prefix):
            return None
        mask = state.besides.mask
        return torch.cat((mask, mask.new_ones(len(mask), state.position + 1)), dim=1).unsqueeze(1)

    def _with_step_positions(self, words: Float[Tensor, "B W D"], state: TransformerState) -> Float[Tensor, "B W D"]:
        """Count positions from the beginning of the prefix."""
        if not isinstance(state.besides, Prefix):
            return super()._with_step_positions(words, state)
        places = state.besides.lengths + state.position  # (B)
        table = self.positions(int(places.max()) + 1)
        return torch.add(table[places].unsqueeze(1), words, alpha=self.scale)

    def forward(self, batch: Batch) -> Prediction:
        """Score given translations, each behind those before it."""
        prefix, joined = self._prefix(batch), join_sources(batch)
        if prefix is None or batch.target_input is None:
            return super().forward(joined)
        own = torch.arange(batch.target_input.shape[1], device=prefix.words.device)
        places = prefix.lengths.unsqueeze(1) + own  # (B, T)
        words = torch.nn.functional.pad(prefix.words, (0, len(own)), value=PAD).scatter(1, places, batch.target_input)
        prediction = super().forward(replace(joined, target_input=words, target_output=None))
        states = prediction.states
        return replace(prediction, states=states.gather(1, places.unsqueeze(-1).expand(-1, -1, states.shape[-1])))


def join_sources(batch: Batch) -> Batch:
    """Put each row's history in front of its sentence."""
    history = oldest_first(batch.history, BREAK, before=False)
    source = without_gaps(torch.cat((history, batch.source), dim=1))
    return replace(batch, source=source, history=batch.history[:, :0], target_history=None)
