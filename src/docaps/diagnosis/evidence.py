"""Evidence: is context used? By significance, by size, and by the comparison with another document's history.

A model may do better with a history than without one and yet read nothing in it: any history may serve it as noise that
it is used to. So context counts as used only where the true history is better than none *and* better than another
document's, in both significance tests, by more than a trifle. That one measure shows it is enough; the level is divided
by the number of measures.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from docaps.diagnosis.measures import (
    ACCURACY,
    NONE,
    PERPLEXITY,
    SHUFFLED,
    TRUE,
    Contest,
    Measure,
)

Reason = Literal["content", "ignored", "noise", "no_gain", "harmful", "untrained", "too_few_documents"]


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What a difference must reach to count."""

    level: float = 0.05
    perplexity: float = 0.001
    """The least share by which a history must lower perplexity."""
    accuracy: float = 0.01
    """The least share of items by which it must raise the right choices."""
    documents: int = 8
    """With fewer, even the same result in every document can be chance: 2 / 2^6 is above half the level."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that a verdict is based on."""

    measures: Sequence[Measure]
    contests: Sequence[Contest]
    history: int
    frequencies: float
    """The perplexity of word frequencies: a model above it has learnt nothing that could need a history."""
    thresholds: Thresholds = Thresholds()
    against: str = "the sentence model"

    def find(self, measure: str, condition: str, baseline: str) -> Contest | None:
        """Return a comparison, if it was made."""
        wanted = (measure, condition, baseline)
        return next((one for one in self.contests if (one.measure, one.condition, one.baseline) == wanted), None)

    @property
    def perplexity(self) -> Measure:
        """The measure that is always there."""
        return next(measure for measure in self.measures if measure.key == PERPLEXITY)

    @property
    def deciding(self) -> list[Measure]:
        """The measures that decide; BLEU is shown beside them, but sees too little of a model to decide."""
        return [measure for measure in self.measures if measure.key in (PERPLEXITY, ACCURACY)]

    @property
    def level(self) -> float:
        """The level of each measure's tests."""
        return self.thresholds.level / max(len(self.deciding), 1)

    def is_large(self, measure: str, gain: float) -> bool:
        """Say whether a gain is more than a trifle."""
        return gain >= (self.thresholds.perplexity if measure == PERPLEXITY else self.thresholds.accuracy)

    def is_better(self, measure: Measure, condition: str, baseline: str) -> bool:
        """Say whether one condition is better than another: surely, and by more than a trifle."""
        found = self._sure(measure, condition, baseline)
        return found is not None and self.is_large(measure.key, found.gain)

    def is_worse(self, measure: Measure, condition: str, baseline: str) -> bool:
        """Say whether one condition is worse than another: surely, and by more than a trifle."""
        found = self._sure(measure, condition, baseline)
        return found is not None and self.is_large(measure.key, -found.gain)

    def _sure(self, measure: Measure, condition: str, baseline: str) -> Contest | None:
        """Return a comparison that chance does not explain."""
        found = self.find(measure.key, condition, baseline)
        enough = measure.documents >= self.thresholds.documents
        return found if found is not None and enough and found.p < self.level else None

    def is_read(self, measure: Measure) -> bool:
        """Say whether the true history is better than none and than another's."""
        return all(self.is_better(measure, TRUE, other) for other in (NONE, SHUFFLED))

    def might_be_read(self, measure: Measure) -> bool:
        """Say whether only the number of documents keeps a measure from telling."""
        few = measure.documents < self.thresholds.documents
        return few and all(self.is_large(measure.key, measure.gain(TRUE, other)) for other in (NONE, SHUFFLED))


def find_reason(evidence: Evidence) -> Reason:
    """Find out what is to be said about the history."""
    measures = evidence.deciding
    reasons: dict[Reason, bool] = {
        "untrained": evidence.perplexity.score(TRUE) >= evidence.frequencies,
        "content": any(evidence.is_read(measure) for measure in measures),
        "too_few_documents": any(evidence.might_be_read(measure) for measure in measures),
        "noise": any(evidence.is_better(measure, TRUE, NONE) for measure in measures),
        "harmful": any(evidence.is_worse(measure, TRUE, NONE) for measure in measures),
        "no_gain": any(evidence.is_better(measure, TRUE, SHUFFLED) for measure in measures),
    }
    return next((reason for reason, holds in reasons.items() if holds), "ignored")
