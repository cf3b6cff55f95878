"""Is context used? What a model makes of the true history, of another document's, of none, and of the nearest ones.

All numbers follow from counts of documents under each condition, so every difference has a significance over documents.
CXMI (Fernandes et al. 2021) is how much better a model predicts a translation with its context than without:
log p(y|x,C) - log p(y|x), here in bits.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from docaps.evaluation.significance import Comparison, Scorer, Table, compare

TRUE, SHUFFLED, NONE, AGAINST = "true", "shuffled", "none", "against"
PERPLEXITY, BLEU, ACCURACY = "perplexity", "bleu", "accuracy"


def nearest(count: int) -> str:
    """Name the condition in which only the nearest sentences of the history are seen."""
    return f"nearest {count}"


def conditions(history: int) -> list[str]:
    """List all conditions for a model that looks at `history` sentences."""
    return [TRUE, SHUFFLED, NONE, *(nearest(count) for count in range(1, history))]


@dataclass(frozen=True, slots=True)
class Measure:
    """One way to look at a model: a row of counts for each document under each condition, and what they make."""

    key: str
    counts: Mapping[str, Table]
    scorer: Scorer
    lower_is_better: bool = False

    def score(self, condition: str) -> float:
        """Return the score under a condition."""
        return float(self.scorer(self.counts[condition].sum(axis=0, keepdims=True))[0])

    def gain(self, condition: str, baseline: str) -> float:
        """Return how much better one condition is than another: a perplexity as a share of the baseline's."""
        one, other = self.score(condition), self.score(baseline)
        return 1 - one / other if self.lower_is_better else one - other

    @property
    def documents(self) -> int:
        """How many units a test can draw."""
        return len(next(iter(self.counts.values())))

    def compare(self, condition: str, baseline: str, *, draws: int, seed: int) -> Comparison:
        """Test the difference between two conditions on the same documents."""
        return compare(self.counts[baseline], self.counts[condition], self.scorer, draws=draws, seed=seed)


def perplexity_of(sums: Table) -> Table:
    """Compute perplexities from summed negative log-probabilities (natural logarithm) and tokens."""
    found: Table = np.exp(np.minimum(sums[:, 0] / sums[:, 1], 700.0))
    return found


def share_of(sums: Table) -> Table:
    """Compute shares of right answers."""
    return sums[:, 0] / sums[:, 1]


def count_right(right: Sequence[bool], documents: Sequence[str | None]) -> Table:
    """Count right answers and answers for each document; an answer whose document is not known is its own."""
    names = [f"document {name}" if name is not None else f"item {place}" for place, name in enumerate(documents)]
    _, places = np.unique(names, return_inverse=True)
    counts = np.bincount(places, weights=np.asarray(right, dtype=np.float64)), np.bincount(places)
    return np.stack(counts, axis=1).astype(np.float64)


def frequency_perplexity(tokens: Counter[int]) -> float:
    """Return the perplexity of a model that knows nothing but how often each token stands in this very text."""
    counts = np.array(list(tokens.values()), dtype=np.float64)
    shares = counts / counts.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))


@dataclass(frozen=True, slots=True)
class Contest:
    """Two conditions against each other: by how much the first is better, and how easily chance would do as much."""

    measure: str
    condition: str
    baseline: str
    gain: float
    difference: float
    low: float
    high: float
    p_bootstrap: float
    p_randomisation: float

    @property
    def p(self) -> float:
        """The larger of the two p-values: both tests must agree."""
        return max(self.p_bootstrap, self.p_randomisation)


def contest(measure: Measure, condition: str, baseline: str, *, draws: int, seed: int) -> Contest | None:
    """Compare two conditions; None where one of them was not measured or there is only one document."""
    if measure.documents < 2 or not {condition, baseline} <= measure.counts.keys():
        return None
    found = measure.compare(condition, baseline, draws=draws, seed=seed)
    return Contest(measure.key, condition, baseline, measure.gain(condition, baseline), **found.as_dict())


def contests(measures: Sequence[Measure], history: int, *, draws: int, seed: int) -> list[Contest]:
    """Compare all that is worth comparing: with none, with another's history, with the other model, step by step."""
    pairs = [(TRUE, NONE), (TRUE, SHUFFLED), (SHUFFLED, NONE), (TRUE, AGAINST), (NONE, AGAINST), *steps(history)]
    found = [contest(measure, *pair, draws=draws, seed=seed) for measure in measures for pair in dict.fromkeys(pairs)]
    return [one for one in found if one is not None]


def steps(history: int) -> list[tuple[str, str]]:
    """Pair each history with the one that is a sentence shorter, from the nearest sentence to the whole history."""
    chain = [NONE, *(nearest(count) for count in range(1, history)), TRUE]
    return list(zip(chain[1:], chain[:-1], strict=True))


def by_distance(found: Sequence[Contest], measure: str, history: int) -> list[dict[str, Any]]:
    """Return what each sentence of the history adds to those nearer than it."""
    known = {(one.condition, one.baseline): one for one in found if one.measure == measure}
    pairs = enumerate(steps(history), start=1)
    return [
        {"distance": distance, "gain": known[pair].gain, "p": known[pair].p}
        for distance, pair in pairs
        if pair in known
    ]


def cxmi(measure: Measure, values: Sequence[float], *, draws: int, seed: int) -> dict[str, Any]:
    """Return the CXMI of the text in bits per token, and how it is spread over the sentences that have a history."""

    def bits(sums: Table) -> Table:
        return -sums[:, 0] / sums[:, 1] / math.log(2)

    per_token = Measure("cxmi", measure.counts, bits)
    found = contest(per_token, TRUE, NONE, draws=draws, seed=seed)
    sentences = np.asarray(values, dtype=np.float64)
    quantiles = np.quantile(sentences, (0.05, 0.25, 0.5, 0.75, 0.95)).tolist() if len(sentences) else None
    return {
        "unit": "bits",
        "per_token": per_token.gain(TRUE, NONE),
        "low": found and found.low,
        "high": found and found.high,
        "per_sentence": float(sentences.mean()) if len(sentences) else None,
        "sentences_with_history": len(sentences),
        "share_above_0": float((sentences > 0).mean()) if len(sentences) else None,
        "quantiles": quantiles and dict(zip(("5 %", "25 %", "50 %", "75 %", "95 %"), quantiles, strict=True)),
    }


def as_rows(found: Sequence[Contest]) -> list[dict[str, Any]]:
    """Return comparisons as plain JSON values."""
    return [asdict(one) for one in found]
