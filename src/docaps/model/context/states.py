"""States of other sentences, and attention to them at the last layers of encoder and decoder.

Dimensions: B batch, S source length, T target length, L any length, K sentences in view, N words of such a sentence,
NT words of its translation, U distinct sentences, D model size.

The states of other sentences are those of the sentence model, without context. So a translation depends only on the
sentences in view and their translations.
"""

import copy
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from docaps.batches.batch import Batch
from docaps.corpus.text.vocabulary import BOS, EOS, PAD
from docaps.model.context.drafts import LONGEST, MOST_IN_TRAINING, Drafts, search_greedily
from docaps.model.context.remembered import RememberedStates
from docaps.model.context.sublayer import Context
from docaps.model.interface import DecoderState, Encoding
from docaps.model.layers import Backbone, WordVectors
from docaps.model.mixed_precision import without_autocast, without_autocast_cache
from docaps.model.regulariser import Regulariser
from docaps.model.transformer import Decoded, DecoderLayer, Transformer, TransformerState

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
        self._remembered = RememberedStates()

    def remembering(self) -> AbstractContextManager[None]:
        """Read each other sentence once while a block scores; the weights must not change meanwhile."""
        return self._remembered.kept()

    def _source_states(self, history: Int[Tensor, "B K N"]) -> tuple[Float[Tensor, "B K M D"], Bool[Tensor, "B K M"]]:
        """Return the encoder's states of source sentences, each distinct one encoded once."""
        sentences, index = distinct(with_end_tokens(history))
        with without_autocast_cache(), torch.set_grad_enabled(self.gradient and torch.is_grad_enabled()):
            states = self._read_alone(sentences)
        return states[index], (sentences != PAD)[index] & _worded(history)

    def _target_states(
        self, history: Int[Tensor, "B K N"], translations: Int[Tensor, "B K NT"]
    ) -> tuple[Float[Tensor, "B K M D"], Bool[Tensor, "B K M"]]:
        """Return the decoder's states of translations, each distinct pair decoded once."""
        sentences, written, index = distinct_pairs(history, translations)
        with without_autocast_cache(), torch.set_grad_enabled(self.gradient and torch.is_grad_enabled()):
            states, *_ = self._write_alone(sentences, written)
        return states[index], (written != PAD)[index] & _worded(translations)

    def _read_alone(self, sentences: Int[Tensor, "U M"]) -> Float[Tensor, "U M D"]:
        """Return the encoder's states of sentences without context, remembered ones if there are any."""
        (states,) = self._remembered.of(lambda words: (self._encode_alone(words).states,), sentences)
        return states

    def _write_alone(self, sentences: Int[Tensor, "U M"], written: Int[Tensor, "U NT"]) -> tuple[Tensor, ...]:
        """Return the decoder's states of translations without context, likewise, and what it attends with, if other."""
        return self._remembered.of(lambda *pair: self._of_decoded(self._decode_alone(*pair)), sentences, written)

    def _of_decoded(self, decoded: Decoded) -> tuple[Tensor, ...]:
        """Return what is kept of decoded translations; a hook for other systems."""
        return (decoded.states,)

    def _encode_alone(self, sentences: Int[Tensor, "U M"]) -> Encoding:
        """Encode sentences as the sentence model does."""
        return self._run_encoder(sentences != PAD, self._with_positions(self.embeddings.source(sentences)))

    def _decode_alone(self, sentences: Int[Tensor, "U M"], written: Int[Tensor, "U NT"]) -> Decoded:
        """Decode given translations of sentences without context."""
        state = cast(TransformerState, self.start(self._without_context(self._encode_alone(sentences))))
        return self._decode(self._with_positions(self.embeddings.target(written)), state)

    def _without_context(self, encoding: Encoding) -> Encoding:
        """Return what the decoder reads of sentences without context; a hook for other systems."""
        return encoding


class StateAttention(nn.Module):
    """An attention at the last layer to the states of other sentences."""

    @abstractmethod
    def project(
        self, words: Float[Tensor, "B K N D"], mask: Bool[Tensor, "B K N"], keys: Float[Tensor, "B K N D"] | None = None
    ) -> DecoderState:
        """Return keys and values of the states of other sentences; `keys` are compared with queries, if given."""

    @abstractmethod
    def forward(
        self, states: Float[Tensor, "B L D"], memory: DecoderState, queries: Float[Tensor, "B L D"] | None = None
    ) -> Float[Tensor, "B L D"]:
        """Mix each state with its context; rows without context are as `alone` returns them."""

    def alone(self, states: Float[Tensor, "B L D"]) -> Float[Tensor, "B L D"]:
        """Return the states of sentences without context: by default unchanged."""
        return states


Attentions = tuple[StateAttention | None, StateAttention | None]
"""Those of encoder and decoder, if they have one."""


@dataclass(frozen=True, slots=True)
class MemoryOptions:
    """Which states of other sentences are attended to, and how they are computed."""

    gradient: bool = False
    """Let gradients into them."""
    distances: bool = False
    """Add the vector of a sentence's distance to them."""
    hidden: tuple[int, ...] = ()
    """Tokens whose states are not attended to."""
    hidden_outputs: bool = False
    """At the decoder, hide states by the token that they predict instead of the one they read."""
    initial: bool = False
    """In training, compute them with the weights that the training starts from, without dropout."""
    attended: bool = False
    """At the decoder, queries and keys are what its last feed-forward network reads instead of its last states."""
    drafts: bool = False
    """At the decoder, attend to greedy translations made without context instead of given ones."""


class OtherWords(NamedTuple):
    """States of the words of other sentences, which of them are shown, and what is compared with queries, if other."""

    states: Float[Tensor, "B K M D"]
    mask: Bool[Tensor, "B K M"]
    keys: Float[Tensor, "B K M D"] | None = None


class StatesTransformer(SentenceStates):
    """A Transformer whose last layers attend to the states of the other sentences in view."""

    sampling = "documents"

    def __init__(
        self, backbone: Backbone, attentions: Attentions, *, history: int, future: int, options: MemoryOptions
    ) -> None:
        super().__init__(backbone, gradient=options.gradient)
        self.encoder_context, self.decoder_context = attentions
        self.options, self.reads_initial_weights = options, options.initial
        self.history, self.future = history, future
        self.translations = self.decoder_context is not None and not options.drafts
        self.distances = nn.Embedding(FARTHEST, backbone.shape.size) if options.distances else None
        if self.distances is not None:  # at first the order of sentences is unknown
            nn.init.zeros_(self.distances.weight)
        self._drafts = Drafts()
        self._initial: tuple[StatesTransformer, ...] = ()
        """The model that training started from; in a tuple, so that its weights are not among this model's."""
        self._drafter: tuple[StatesTransformer, ...] = ()
        """The same in double precision, for drafts."""

    def start_training(self) -> None:
        """Keep copies of the initial weights, if other sentences are to be read with them."""
        self._initial, self._drafter = (), ()
        if not self.options.initial:
            return
        reader = copy.deepcopy(self).eval().requires_grad_(False)
        if self.options.drafts:
            # In lower precision, the words of a draft would depend on which sentences are drafted with it. A resumed
            # training drafts each sentence again, with others, and must find the same words.
            drafter = copy.deepcopy(reader).double()
            drafter._drafts = Drafts(MOST_IN_TRAINING)
            self._drafter = (drafter,)
        self._initial = (reader,)

    def train(self, mode: bool = True) -> "StatesTransformer":
        """Switch between training and evaluation; the drafts of one are not those of the other."""
        self._drafts.clear()
        return super().train(mode)

    def _encode(
        self, batch: Batch, vectors: WordVectors, inputs: Float[Tensor, "B S D"], trace: bool = False
    ) -> Encoding:
        """Encode the sentences, then attend to the others."""
        encoding = super()._encode(batch, vectors, inputs, trace)
        if self.encoder_context is not None and bool(batch.history_mask.any()):
            memory = self.encoder_context.project(*self._with_distances(self._source_words(batch.history)))
            encoding = replace(encoding, states=self.encoder_context(encoding.states, memory))
        else:
            encoding = self._without_context(encoding)
        translations = self._draft(batch.history) if self.options.drafts else batch.target_history
        if self.decoder_context is not None and translations is not None:
            words = self._with_distances(self._target_words(batch.history, translations))
            encoding = replace(encoding, target_context=self.decoder_context.project(*words))
        return encoding

    def _finish(self, decoded: Decoded, state: TransformerState) -> Float[Tensor, "B T D"]:
        """Attend from the decoder's last states to those of other translations."""
        if self.decoder_context is None:
            return decoded.states
        if state.target_context is None:
            return self.decoder_context.alone(decoded.states)
        return self.decoder_context(decoded.states, state.target_context, self._keys(decoded))  # type: ignore[no-any-return]

    def _keys(self, decoded: Decoded) -> Float[Tensor, "B T D"] | None:
        """Return what queries and keys are made of, if not of the last states."""
        if not self.options.attended:
            return None
        return cast(DecoderLayer, self.decoder[-1]).feed_forward_residual.inputs(decoded.attended)

    def _without_context(self, encoding: Encoding) -> Encoding:
        """Return what the decoder reads of sentences without context."""
        if self.encoder_context is None:
            return encoding
        return replace(encoding, states=self.encoder_context.alone(encoding.states))

    def _with_distances(self, words: OtherWords) -> OtherWords:
        """Add the vector of its distance to each sentence's states, if the model has such vectors."""
        if self.distances is None:
            return words
        distances = torch.arange(words.mask.shape[1], device=words.mask.device).clamp_max(FARTHEST - 1)
        vectors = self.scale * self.distances(distances)  # scaled like word vectors, so that they learn as fast
        added = vectors.unsqueeze(1).to(words.states.dtype)
        return OtherWords(words.states + added, words.mask, None if words.keys is None else words.keys + added)

    def _reader(self) -> "StatesTransformer":
        """Return the model that reads other sentences: this one or, in training, the one that it started from."""
        return self._kept_or_self(self._initial)

    def _kept_or_self(self, kept: "tuple[StatesTransformer, ...]") -> "StatesTransformer":
        if not self.training or not kept:
            return self
        return kept[0].to(self.embeddings.source.weight.device)

    def _source_words(self, history: Int[Tensor, "B K N"]) -> OtherWords:
        """Return the encoder's states of source sentences, each distinct one encoded once."""
        sentences, index = distinct(with_end_tokens(history))
        with without_autocast_cache(), torch.set_grad_enabled(self.gradient and torch.is_grad_enabled()):
            states = self._reader()._read_alone(sentences)
        return OtherWords(states[index], self._shown(sentences)[index] & _worded(history))

    def _target_words(self, history: Int[Tensor, "B K N"], translations: Int[Tensor, "B K NT"]) -> OtherWords:
        """Return the decoder's states of translations, each distinct pair decoded once."""
        sentences, written, index = distinct_pairs(history, translations)
        with without_autocast_cache(), torch.set_grad_enabled(self.gradient and torch.is_grad_enabled()):
            states, *keys = self._reader()._write_alone(sentences, written)
        shown = self._shown(with_end_tokens(translations) if self.options.hidden_outputs else written[index])
        return OtherWords(states[index], shown & _worded(translations), keys[0][index] if keys else None)

    def _of_decoded(self, decoded: Decoded) -> tuple[Tensor, ...]:
        """Return the last states and, if others are attended with, these."""
        keys = self._keys(decoded)
        return (decoded.states,) if keys is None else (decoded.states, keys)

    def _shown(self, words: Int[Tensor, "*any M"]) -> Bool[Tensor, "*any M"]:
        """Return which words may be attended to."""
        hidden = torch.tensor(self.options.hidden, dtype=words.dtype, device=words.device)
        return (words != PAD) & ~torch.isin(words, hidden)

    def _draft(self, history: Int[Tensor, "B K N"]) -> Int[Tensor, "B K NT"] | None:
        """Translate other sentences without context; sentences without words have no translation."""
        if not bool((history != PAD).any()):
            return None
        drafter, (sentences, index) = self._kept_or_self(self._drafter), distinct(with_end_tokens(history))
        with torch.no_grad(), without_autocast_cache() if drafter is self else without_autocast(), _evaluated(drafter):
            drafts = drafter._drafts.of(sentences, drafter._weight_versions(), drafter._translate_alone)
        return drafts[index].masked_fill(~_worded(history), PAD)

    def _weight_versions(self) -> tuple[int, ...]:
        """Return numbers that change whenever a weight does."""
        return tuple(weight._version for weight in self.parameters() if not weight.is_inference())

    def _translate_alone(self, sentences: Int[Tensor, "U M"]) -> Int[Tensor, "U NT"]:
        """Translate sentences greedily, without context."""
        hypotheses = self.hypothesise(self._without_context(self._encode_alone(sentences)), 1)
        return search_greedily(hypotheses, LONGEST * (sentences != PAD).sum(dim=1))


@contextmanager
def _evaluated(model: nn.Module) -> Iterator[None]:
    """Run the block without dropout."""
    training = model.training
    if training:
        model.eval()
    try:
        yield
    finally:
        if training:
            model.train()


def distinct(sentences: Int[Tensor, "B K M"]) -> tuple[Int[Tensor, "U M"], Int[Tensor, "B K"]]:
    """Return each distinct sentence once, and the index of the sentence in each row and column."""
    rows, index = torch.unique(sentences.flatten(0, 1), dim=0, return_inverse=True)
    return rows, index.view(sentences.shape[:2])


def distinct_pairs(
    history: Int[Tensor, "B K N"], translations: Int[Tensor, "B K NT"]
) -> tuple[Int[Tensor, "U M"], Int[Tensor, "U T"], Int[Tensor, "B K"]]:
    """Return each distinct pair of a sentence, with its end token, and its translation, with its begin token, once."""
    begun = torch.nn.functional.pad(translations, (1, 0), value=BOS)
    source = with_end_tokens(history)
    pairs, index = distinct(torch.cat((source, begun), dim=-1))
    sentences, written = pairs.split((source.shape[-1], begun.shape[-1]), dim=1)
    return sentences, written, index


def with_end_tokens(history: Int[Tensor, "B K N"]) -> Int[Tensor, "B K M"]:
    """Append an end token to each sentence, as it has when it is translated itself."""
    ends = (history != PAD).sum(dim=-1, keepdim=True)  # (B, K, 1)
    return torch.nn.functional.pad(history, (0, 1), value=PAD).scatter(-1, ends, EOS)


def _worded(sentences: Int[Tensor, "B K N"]) -> Bool[Tensor, "B K 1"]:
    """Return which sentences have any words."""
    return (sentences != PAD).any(dim=-1, keepdim=True)
