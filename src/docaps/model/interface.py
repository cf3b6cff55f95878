"""What search, scoring and training see of a model; nobody asks which class it is.

Dimensions: B batch, S source length, T target length, D model size, V vocabulary.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from docaps.batches.batch import Batch
from docaps.batches.sampling import Sampling
from docaps.batches.windows import View
from docaps.model.context.memory import ContextMemory
from docaps.model.fast.output import word_log_probabilities
from docaps.model.hypotheses import Hypotheses, NextWords, best_words
from docaps.model.regulariser import Correlations


@runtime_checkable
class DecoderState(Protocol):
    """What a decoder remembers between two steps."""

    def select(self, rows: Int[Tensor, " R"]) -> "DecoderState":
        """Pick rows of the batch, in the given order; a row may come several times."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """Source sentences as the decoder sees them, and the context that went into them."""

    states: Float[Tensor, "B S D"]
    mask: Bool[Tensor, "B S"]
    context: ContextMemory | None = None
    besides: DecoderState | None = None
    """What else the decoder will look at while it writes, such as earlier translations."""


@dataclass(frozen=True, slots=True)
class Trace:
    """Numbers that tell what a model did with the history: for each place of an axis, as many as were observed.

    Dimensions: A places of the axis (an iteration, a layer, a distance), X observations (words, sentences).
    """

    name: str
    title: str
    labels: tuple[str, ...]
    """What the places of the axis are called."""
    values: Float[Tensor, "A X"]
    """Not a number where there was nothing to observe."""
    low: float
    high: float
    """Between which numbers the values lie, or nearly all of them."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """What tells the next word at every target position, and the regulariser's correlations where there is one."""

    states: Float[Tensor, "B T D"]
    """The decoder's last states, in the number format of products; without an output weight the scores themselves."""
    correlations: Correlations | None = None
    output: Float[Tensor, "V D"] | None = None
    """The weight that makes scores of states. They are large: whoever needs a part of them makes that part."""

    @property
    def logits(self) -> Float[Tensor, "B T V"]:
        """The scores of all words at all positions, made when asked for."""
        return self.states if self.output is None else F.linear(self.states, self.output.to(self.states.dtype))

    @torch.no_grad()
    def log_probabilities(self, words: Int[Tensor, "B T"]) -> Float[Tensor, "B T"]:
        """Return the log-probability of the given word at each position, without holding the scores of all."""
        if self.output is None:
            return torch.log_softmax(self.states.float(), dim=-1).gather(-1, words.unsqueeze(-1)).squeeze(-1)
        return word_log_probabilities(self.states.flatten(0, 1), self.output, words.flatten()).view(words.shape)


class TranslationModel(nn.Module, ABC):
    """A model that translates sentences, with or without a view of the sentences before."""

    history: int
    """K, the number of earlier sentences the model looks at; 0 for a sentence-level model."""
    future: int = 0
    """The number of later sentences the model looks at."""
    translations: bool = False
    """Whether the model looks at the translations of these sentences too: at its own ones when it translates."""
    shuffled: bool = False
    """Whether the model is a control that is shown sentences of other documents in place of these."""
    sampling: Sampling = "sentences"
    """What shares a batch in training: sentences of like length, or runs of consecutive sentences."""

    @property
    def view(self) -> View:
        """What of a document the model looks at."""
        return View(self.history, self.future, self.translations, self.shuffled)

    def idles(self, batch: Batch) -> bool:
        """Say whether a batch leaves some weights without a gradient, because there is nothing to look at in it."""
        nothing = self.history > 0 and not bool(batch.history_mask.any())
        return nothing or (self.translations and batch.target_history is None)

    @abstractmethod
    def encode(self, batch: Batch, trace: bool = False) -> Encoding:
        """Read source sentences and their histories; `trace` keeps what the routing did."""

    def trace(self, batch: Batch) -> tuple[Trace, ...]:  # noqa: ARG002
        """Tell in numbers what was done with the histories of a batch; nothing if the model has nothing to tell."""
        return ()

    @abstractmethod
    def start(self, encoding: Encoding) -> DecoderState:
        """Get ready to write translations."""

    @abstractmethod
    def decode_step(self, tokens: Int[Tensor, " B"], state: DecoderState) -> tuple[Float[Tensor, "B V"], DecoderState]:
        """Take the last word of each translation and score all words that may follow."""

    def hypothesise(self, encoding: Encoding, width: int) -> Hypotheses:  # noqa: ARG002
        """Get ready to write up to `width` translations of each sentence side by side; each begins as one."""
        return CopiedHypotheses(self, encoding)

    @abstractmethod
    def forward(self, batch: Batch) -> Prediction:
        """Score given translations, all positions at once."""


class CopiedHypotheses:
    """Hypotheses of any model, each a row of its own: what a row remembers is copied when another goes on from it."""

    def __init__(self, model: TranslationModel, encoding: Encoding) -> None:
        self._model = model
        self._state = model.start(encoding)
        self._width = 1

    def extend(self, words: Int[Tensor, "B W"], count: int, normalise: bool = True) -> NextWords:
        """Score all words that may follow."""
        logits, self._state = self._model.decode_step(words.flatten(), self._state)
        return best_words([logits], count, normalise=normalise)

    def follow(self, parents: Int[Tensor, "B W"]) -> None:
        """Copy rows."""
        first = torch.arange(len(parents), device=parents.device).unsqueeze(1) * self._width
        self._state = self._state.select((first + parents).flatten())
        self._width = parents.shape[1]

    def keep(self, rows: Int[Tensor, " R"]) -> None:
        """Copy the rows of some sentences."""
        places = torch.arange(self._width, device=rows.device)
        self._state = self._state.select((rows.unsqueeze(1) * self._width + places).flatten())
