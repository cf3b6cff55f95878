"""The interface of a translation model: all that training, search and scoring use of it.

Dimensions: B batch, S source length, T target length, K history sentences, N words of the longest history sentence,
D model size, V vocabulary, R rows, W hypotheses. Rows of token ids end with PAD; a `*_mask` is True at real tokens.

A model of any class may be trained, searched and scored if it keeps this contract, which `tests/invariants` checks:

- Padding, the other rows of a batch, and target words after a position change nothing at that position.
- A row whose history is empty is translated as by the same model without context.
- `forward` on given target words, `decode_step`, word by word, and `score_candidates` score alike.
"""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from docaps.batches.batch import Batch
from docaps.batches.candidates import Candidates
from docaps.batches.sampling import Sampling
from docaps.batches.windows import View
from docaps.corpus.text.vocabulary import PAD
from docaps.model.context.sublayer import ContextMemory
from docaps.model.fast.cross_entropy import word_log_probabilities
from docaps.model.hypotheses import Hypotheses, NextWords, best_words
from docaps.model.regulariser import Correlations


@runtime_checkable
class DecoderState(Protocol):
    """What a decoder keeps between two steps."""

    def select(self, rows: Int[Tensor, " R"]) -> "DecoderState":
        """Return the given rows of the batch, in the given order; rows may repeat."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """Encoded source sentences, and the context that went into them."""

    states: Float[Tensor, "B S D"]
    mask: Bool[Tensor, "B S"]
    context: ContextMemory | None = None
    target_context: DecoderState | None = None
    """What else the decoder attends to, such as earlier translations."""


@dataclass(frozen=True, slots=True)
class Trace:
    """Statistics of what a model does with the history, for `docaps diagnose`.

    Dimensions: A entries of an axis (iterations, layers, distances), X observations (words, sentences).
    """

    name: str
    title: str
    labels: tuple[str, ...]
    """The names of the entries of the axis."""
    values: Float[Tensor, "A X"]
    """NaN where there was nothing to observe."""
    low: float
    high: float
    """The range of (nearly) all values."""


@dataclass(frozen=True, slots=True)
class DiscountedWords:
    """Words of earlier translations that count in the loss as well, with a weight."""

    states: Float[Tensor, "P D"]
    words: Int[Tensor, " P"]
    weight: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """Scores of the next word at every target position; with a regulariser, its correlations."""

    states: Float[Tensor, "B T D"]
    """The last decoder states, in the number format of products; without `output`, the logits themselves."""
    correlations: Correlations | None = None
    output: Float[Tensor, "V D"] | None = None
    """The output layer's weight. All logits together are large, so callers compute only the part they need."""
    earlier: DiscountedWords | None = None
    """In training, if earlier translations are predicted as well."""
    bias: Float[Tensor, " V"] | None = None
    """The output layer's bias, if it has one."""

    @property
    def logits(self) -> Float[Tensor, "B T V"]:
        """The scores of all words at all positions, computed on access."""
        if self.output is None:
            return self.states
        bias = None if self.bias is None else self.bias.to(self.states.dtype)
        return F.linear(self.states, self.output.to(self.states.dtype), bias)

    @torch.no_grad()
    def log_probabilities(self, words: Int[Tensor, "B T"]) -> Float[Tensor, "B T"]:
        """Return the log-probability of the given word at each position, without holding all logits."""
        if self.output is None:
            return torch.log_softmax(self.states.float(), dim=-1).gather(-1, words.unsqueeze(-1)).squeeze(-1)
        states = self.states.flatten(0, 1)
        return word_log_probabilities(states, self.output, words.flatten(), bias=self.bias).view(words.shape)


class TranslationModel(nn.Module, ABC):
    """A model that translates sentences, with or without context."""

    history: int
    """K, the number of earlier sentences in view; 0 for a sentence-level model."""
    future: int = 0
    """The number of later sentences in view."""
    translations: bool = False
    """Whether the model also reads the translations of these sentences: its own ones when it translates."""
    shuffled: bool = False
    """Whether the model is a control that gets the sentences of other documents instead."""
    reads_initial_weights: bool = False
    """Whether training also uses the weights that a stage starts from, so that it must start from some."""
    sampling: Sampling = "sentences"
    """What training batches consist of: sentences of similar length, or runs of consecutive sentences."""

    @property
    def view(self) -> View:
        """What the model reads of a document besides the sentence."""
        return View(self.history, self.future, self.translations, self.shuffled)

    def idles(self, batch: Batch) -> bool:
        """Return whether some weights get no gradient from this batch because it has no context."""
        nothing = self.history > 0 and not bool(batch.history_mask.any())
        return nothing or (self.translations and batch.target_history is None)

    def start_training(self) -> None:
        """Prepare for training; the weights are those that the training starts from."""

    @abstractmethod
    def encode(self, batch: Batch, trace: bool = False) -> Encoding:
        """Encode `batch.source` (B, S) with `batch.history` (B, K, N); `trace` keeps coupling and correlations."""

    def trace(self, batch: Batch) -> tuple[Trace, ...]:  # noqa: ARG002
        """Return statistics of what the model does with the histories of a batch; by default none."""
        return ()

    def correlate_pairs(self, batch: Batch) -> Float[Tensor, "B B"] | None:  # noqa: ARG002
        """Correlate each source of a batch with each translation, for validation; None without a regulariser."""
        return None

    def remembering(self) -> AbstractContextManager[None]:
        """Return a block in which the model may remember what it reads of other sentences; by default nothing."""
        return nullcontext()

    @abstractmethod
    def start(self, encoding: Encoding) -> DecoderState:
        """Return the state of a decoder that has written nothing yet."""

    @abstractmethod
    def decode_step(self, tokens: Int[Tensor, " B"], state: DecoderState) -> tuple[Float[Tensor, "B V"], DecoderState]:
        """Append one word to each translation; return the logits of the next word and the new state."""

    def hypothesise(self, encoding: Encoding, width: int) -> Hypotheses:  # noqa: ARG002
        """Prepare beams of up to `width` hypotheses per sentence; each starts with one."""
        return CopiedHypotheses(self, encoding)

    @abstractmethod
    def forward(self, batch: Batch) -> Prediction:
        """Score `batch.target_output` (B, T) given `batch.target_input`, which is shifted right and begins with BOS."""

    def score_candidates(self, batch: Batch, candidates: Candidates) -> Float[Tensor, "R T"]:
        """Return the log-probability of each word of translations of the batch's sentences; 0 at padding.

        By default each translation is a row of its own; a model may read its sentence and history once for all of them.
        """
        apart = candidates.apart(batch)
        return self(apart).log_probabilities(apart.translations) * (apart.translations != PAD)  # type: ignore[no-any-return]


class CopiedHypotheses:
    """Hypotheses of any model, one decoder row each; a row's state is copied when another hypothesis continues it."""

    def __init__(self, model: TranslationModel, encoding: Encoding) -> None:
        self._model = model
        self._state = model.start(encoding)
        self._width = 1

    def extend(
        self, words: Int[Tensor, "B W"], count: int, normalise: bool = True, wanted: Int[Tensor, "R E"] | None = None
    ) -> NextWords:
        """Append a word to each hypothesis and score the next ones."""
        logits, self._state = self._model.decode_step(words.flatten(), self._state)
        return best_words([logits], count, normalise=normalise, wanted=wanted)

    def follow(self, parents: Int[Tensor, "B W"]) -> None:
        """Copy the rows of the parents."""
        first = torch.arange(len(parents), device=parents.device).unsqueeze(1) * self._width
        self._state = self._state.select((first + parents).flatten())
        self._width = parents.shape[1]

    def keep(self, rows: Int[Tensor, " R"]) -> None:
        """Copy the rows of the given sentences."""
        beam = torch.arange(self._width, device=rows.device)
        self._state = self._state.select((rows.unsqueeze(1) * self._width + beam).flatten())
