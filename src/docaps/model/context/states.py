"""States of other sentences: the last layers look at the last layers' states of the sentences in view.

Dimensions: B batch, S source length, T target length, L any length, K sentences in view, N words of such a sentence,
U distinct sentences, D model size.

The states of other sentences are those of the sentence model: they have not looked at any other sentence themselves,
so no translation depends on more than the sentences in view and their translations.
"""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from docaps.batches.batch import Batch
from docaps.corpus.text.vocabulary import BOS, EOS, PAD
from docaps.model.embeddings import Embeddings, WordVectors
from docaps.model.interface import DecoderState, Encoding
from docaps.model.precision import without_cast_weights
from docaps.model.shape import Shape
from docaps.model.transformer import Transformer, TransformerState

FARTHEST = 16
"""Distances that are told apart; sentences further away are all as far as this."""


class Reader(nn.Module):
    """Something at the last layer that looks at the states of other sentences and mixes what it finds with its own."""

    @abstractmethod
    def remember(self, words: Float[Tensor, "B K N D"], mask: Bool[Tensor, "B K N"]) -> DecoderState:
        """Get the states of other sentences ready to be looked at."""

    @abstractmethod
    def forward(self, states: Float[Tensor, "B L D"], memory: DecoderState) -> Float[Tensor, "B L D"]:
        """Mix each state with what it finds; a row with nothing to look at is left as it is."""


@dataclass(frozen=True, slots=True)
class Readers:
    """Who looks at the states of other sentences, whether gradients flow into these and they tell their distance."""

    encoder: Reader | None = None
    decoder: Reader | None = None
    gradient: bool = False
    distances: bool = False


class StatesTransformer(Transformer):
    """A Transformer whose last layers look at the states of the other sentences in view."""

    sampling = "documents"

    def __init__(
        self,
        *,
        shape: Shape,
        encoder_layers: int,
        decoder_layers: int,
        embeddings: Embeddings,
        readers: Readers,
        history: int,
        future: int = 0,
    ) -> None:
        super().__init__(
            shape=shape, encoder_layers=encoder_layers, decoder_layers=decoder_layers, embeddings=embeddings
        )
        self.history, self.future = history, future
        self.translations = readers.decoder is not None
        self.encoder_context, self.decoder_context = readers.encoder, readers.decoder
        self.gradient = readers.gradient
        self.distances = distance_vectors(shape.size) if readers.distances else None

    def _encode(
        self, batch: Batch, vectors: WordVectors, inputs: Float[Tensor, "B S D"], trace: bool = False
    ) -> Encoding:
        """Read the sentences, then let them look at the others."""
        encoding = super()._encode(batch, vectors, inputs, trace)
        if self.encoder_context is not None and bool(batch.history_mask.any()):
            memory = self.encoder_context.remember(*self._placed(*self._source_states(batch.history)))
            encoding = replace(encoding, states=self.encoder_context(encoding.states, memory))
        if self.decoder_context is not None and batch.target_history is not None:
            states = self._target_states(batch.history, batch.target_history)
            encoding = replace(encoding, besides=self.decoder_context.remember(*self._placed(*states)))
        return encoding

    def _finish(self, states: Float[Tensor, "B T D"], state: TransformerState) -> Float[Tensor, "B T D"]:
        """Let the decoder's last states look at those of other translations."""
        if self.decoder_context is None or state.besides is None:
            return states
        return self.decoder_context(states, state.besides)  # type: ignore[no-any-return]

    def _placed(
        self, words: Float[Tensor, "B K M D"], mask: Bool[Tensor, "B K M"]
    ) -> tuple[Float[Tensor, "B K M D"], Bool[Tensor, "B K M"]]:
        """Tell how far back each sentence is, if that is wanted: its words get the vector of this distance."""
        if self.distances is None:
            return words, mask
        places = torch.arange(words.shape[1], device=words.device).clamp_max(FARTHEST - 1)
        vectors = self.scale * self.distances(places)  # scaled like word vectors, so that they learn as fast
        return words + vectors.unsqueeze(1).to(words.dtype), mask

    def _source_states(self, history: Int[Tensor, "B K N"]) -> tuple[Float[Tensor, "B K M D"], Bool[Tensor, "B K M"]]:
        """Return the encoder's states of source sentences, each distinct one read once."""
        sentences, places = distinct(with_end_marks(history))
        with without_cast_weights(), torch.set_grad_enabled(self.gradient and torch.is_grad_enabled()):
            states = self._read_alone(sentences).states
        return states[places], (sentences != PAD)[places] & _worded(history)

    def _target_states(
        self, history: Int[Tensor, "B K N"], translations: Int[Tensor, "B K NT"]
    ) -> tuple[Float[Tensor, "B K M D"], Bool[Tensor, "B K M"]]:
        """Return the decoder's states of translations, each distinct pair read once."""
        begun = torch.nn.functional.pad(translations, (1, 0), value=BOS)
        source = with_end_marks(history)
        pairs, places = distinct(torch.cat((source, begun), dim=-1))
        sentences, written = pairs.split((source.shape[-1], begun.shape[-1]), dim=1)
        with without_cast_weights(), torch.set_grad_enabled(self.gradient and torch.is_grad_enabled()):
            state = cast(TransformerState, self.start(self._read_alone(sentences)))
            states, _ = self._decode(self._with_positions(self.embeddings.target(written)), state)
        return states[places], (written != PAD)[places] & _worded(translations)

    def _read_alone(self, sentences: Int[Tensor, "U M"]) -> Encoding:
        """Read sentences as the sentence model does."""
        alone = Batch(sentences, sentences.new_zeros(len(sentences), 0, 0))
        vectors = self._look_up(alone)
        return super()._encode(alone, vectors, self._with_positions(vectors.source))


def distance_vectors(size: int) -> nn.Embedding:
    """Make a vector for each distance; they begin as zeros, so that at first sentences are a set."""
    vectors = nn.Embedding(FARTHEST, size)
    nn.init.zeros_(vectors.weight)
    return vectors


def distinct(sentences: Int[Tensor, "B K M"]) -> tuple[Int[Tensor, "U M"], Int[Tensor, "B K"]]:
    """Return each distinct sentence once, and which of them stands at each place."""
    rows, places = torch.unique(sentences.flatten(0, 1), dim=0, return_inverse=True)
    return rows, places.view(sentences.shape[:2])


def with_end_marks(history: Int[Tensor, "B K N"]) -> Int[Tensor, "B K M"]:
    """Put an end mark behind the words of each sentence, as it has one when it is translated itself."""
    ends = (history != PAD).sum(dim=-1, keepdim=True)  # (B, K, 1)
    return torch.nn.functional.pad(history, (0, 1), value=PAD).scatter(-1, ends, EOS)


def _worded(sentences: Int[Tensor, "B K N"]) -> Bool[Tensor, "B K 1"]:
    """Say which sentences have any words."""
    return (sentences != PAD).any(dim=-1, keepdim=True)
