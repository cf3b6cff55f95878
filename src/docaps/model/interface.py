"""What search, scoring and training see of a model; nobody asks which class it is.

Dimensions: B batch, S source length, T target length, D model size, V vocabulary.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from docaps.batches.batch import Batch
from docaps.batches.sampling import Sampling
from docaps.model.context.memory import ContextMemory
from docaps.model.regulariser import Correlations


@dataclass(frozen=True, slots=True)
class Encoding:
    """Source sentences as the decoder sees them, and the context that went into them."""

    states: Float[Tensor, "B S D"]
    mask: Bool[Tensor, "B S"]
    context: ContextMemory | None = None


@runtime_checkable
class DecoderState(Protocol):
    """What a decoder remembers between two steps."""

    def select(self, rows: Int[Tensor, " R"]) -> "DecoderState":
        """Pick rows of the batch, in the given order; a row may come several times."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """Scores of the next word at every target position, and the regulariser's correlations where there is one."""

    logits: Float[Tensor, "B T V"]
    correlations: Correlations | None = None


class TranslationModel(nn.Module, ABC):
    """A model that translates sentences, with or without a view of the sentences before."""

    history: int
    """K, the number of earlier sentences the model looks at; 0 for a sentence-level model."""
    sampling: Sampling = "sentences"
    """What shares a batch in training: sentences of like length, or runs of consecutive sentences."""

    @abstractmethod
    def encode(self, batch: Batch, trace: bool = False) -> Encoding:
        """Read source sentences and their histories; `trace` keeps what the routing did."""

    @abstractmethod
    def start(self, encoding: Encoding) -> DecoderState:
        """Get ready to write translations."""

    @abstractmethod
    def decode_step(self, tokens: Int[Tensor, " B"], state: DecoderState) -> tuple[Float[Tensor, "B V"], DecoderState]:
        """Take the last word of each translation and score all words that may follow."""

    @abstractmethod
    def forward(self, batch: Batch) -> Prediction:
        """Score given translations, all positions at once."""
