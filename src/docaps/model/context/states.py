"""States of other sentences, and attention to them at the last layers of encoder and decoder.

Dimensions: B batch, S source length, T target length, L any length, K sentences in view, N words of such a sentence,
U distinct sentences, D model size.

The states of other sentences are those of the sentence model, without context. So a translation depends only on the
sentences in view and their translations.
"""

from abc import abstractmethod
from dataclasses import replace
from typing import cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from docaps.batches.batch import Batch
from docaps.corpus.text.vocabulary import BOS, EOS, PAD
from docaps.model.context.sublayer import Context
from docaps.model.interface import DecoderState, Encoding
from docaps.model.layers import Backbone, WordVectors
from docaps.model.mixed_precision import without_autocast_cache
from docaps.model.regulariser import Regulariser
from docaps.model.transformer import Transformer, TransformerState

FARTHEST = 16
"""The largest distance; sentences further away count as being at this distance."""


class SentenceStates(Transformer):
    """Base of Transformers that read the states of other sentences; `gradient` lets gradients into these states."""

    def __init__(
        self,
        backbone: Backbone,
        *,
        gradient: bool,
        context: Context | None = None,
        regulariser: Regulariser | None = None,
    ) -> None:
        super().__init__(backbone, context=context, regulariser=regulariser)
        self.gradient = gradient

    def _source_states(self, history: Int[Tensor, "B K N"]) -> tuple[Float[Tensor, "B K M D"], Bool[Tensor, "B K M"]]:
        """Return the encoder's states of source sentences, each distinct one encoded once."""
        sentences, index = distinct(with_end_tokens(history))
        with without_autocast_cache(), torch.set_grad_enabled(self.gradient and torch.is_grad_enabled()):
            states = self._encode_alone(sentences).states
        return states[index], (sentences != PAD)[index] & _worded(history)

    def _target_states(
        self, history: Int[Tensor, "B K N"], translations: Int[Tensor, "B K NT"]
    ) -> tuple[Float[Tensor, "B K M D"], Bool[Tensor, "B K M"]]:
        """Return the decoder's states of translations, each distinct pair decoded once."""
        begun = torch.nn.functional.pad(translations, (1, 0), value=BOS)
        source = with_end_tokens(history)
        pairs, index = distinct(torch.cat((source, begun), dim=-1))
        sentences, written = pairs.split((source.shape[-1], begun.shape[-1]), dim=1)
        with without_autocast_cache(), torch.set_grad_enabled(self.gradient and torch.is_grad_enabled()):
            state = cast(TransformerState, self.start(self._encode_alone(sentences)))
            states, _ = self._decode(self._with_positions(self.embeddings.target(written)), state)
        return states[index], (written != PAD)[index] & _worded(translations)

    def _encode_alone(self, sentences: Int[Tensor, "U M"]) -> Encoding:
        """Encode sentences as the sentence model does."""
        return self._run_encoder(sentences != PAD, self._with_positions(self.embeddings.source(sentences)))


class StateAttention(nn.Module):
    """An attention at the last layer to the states of other sentences."""

    @abstractmethod
    def project(self, words: Float[Tensor, "B K N D"], mask: Bool[Tensor, "B K N"]) -> DecoderState:
        """Return keys and values of the states of other sentences."""

    @abstractmethod
    def forward(self, states: Float[Tensor, "B L D"], memory: DecoderState) -> Float[Tensor, "B L D"]:
        """Mix each state with its context; rows without context are unchanged."""


Attentions = tuple[StateAttention | None, StateAttention | None]
"""Those of encoder and decoder, if they have one."""


class StatesTransformer(SentenceStates):
    """A Transformer whose last layers attend to the states of the other sentences in view.

    `distances` adds the vector of a sentence's distance to its states.
    """

    sampling = "documents"

    def __init__(
        self, backbone: Backbone, attentions: Attentions, *, history: int, future: int, gradient: bool, distances: bool
    ) -> None:
        super().__init__(backbone, gradient=gradient)
        self.encoder_context, self.decoder_context = attentions
        self.history, self.future, self.translations = history, future, self.decoder_context is not None
        self.distances = nn.Embedding(FARTHEST, backbone.shape.size) if distances else None
        if self.distances is not None:  # at first the order of sentences is unknown
            nn.init.zeros_(self.distances.weight)

    def _encode(
        self, batch: Batch, vectors: WordVectors, inputs: Float[Tensor, "B S D"], trace: bool = False
    ) -> Encoding:
        """Encode the sentences, then attend to the others."""
        encoding = super()._encode(batch, vectors, inputs, trace)
        if self.encoder_context is not None and bool(batch.history_mask.any()):
            memory = self.encoder_context.project(*self._with_distances(*self._source_states(batch.history)))
            encoding = replace(encoding, states=self.encoder_context(encoding.states, memory))
        if self.decoder_context is not None and batch.target_history is not None:
            states = self._target_states(batch.history, batch.target_history)
            encoding = replace(encoding, target_context=self.decoder_context.project(*self._with_distances(*states)))
        return encoding

    def _finish(self, states: Float[Tensor, "B T D"], state: TransformerState) -> Float[Tensor, "B T D"]:
        """Attend from the decoder's last states to those of other translations."""
        if self.decoder_context is None or state.target_context is None:
            return states
        return self.decoder_context(states, state.target_context)  # type: ignore[no-any-return]

    def _with_distances(
        self, words: Float[Tensor, "B K M D"], mask: Bool[Tensor, "B K M"]
    ) -> tuple[Float[Tensor, "B K M D"], Bool[Tensor, "B K M"]]:
        """Add the vector of its distance to each sentence's states, if the model has such vectors."""
        if self.distances is None:
            return words, mask
        distances = torch.arange(words.shape[1], device=words.device).clamp_max(FARTHEST - 1)
        vectors = self.scale * self.distances(distances)  # scaled like word vectors, so that they learn as fast
        return words + vectors.unsqueeze(1).to(words.dtype), mask


def distinct(sentences: Int[Tensor, "B K M"]) -> tuple[Int[Tensor, "U M"], Int[Tensor, "B K"]]:
    """Return each distinct sentence once, and the index of the sentence in each row and column."""
    rows, index = torch.unique(sentences.flatten(0, 1), dim=0, return_inverse=True)
    return rows, index.view(sentences.shape[:2])


def with_end_tokens(history: Int[Tensor, "B K N"]) -> Int[Tensor, "B K M"]:
    """Append an end token to each sentence, as it has when it is translated itself."""
    ends = (history != PAD).sum(dim=-1, keepdim=True)  # (B, K, 1)
    return torch.nn.functional.pad(history, (0, 1), value=PAD).scatter(-1, ends, EOS)


def _worded(sentences: Int[Tensor, "B K N"]) -> Bool[Tensor, "B K 1"]:
    """Return which sentences have any words."""
    return (sentences != PAD).any(dim=-1, keepdim=True)
