"""Evidence for the use of context: measures per condition, their comparisons, and the reason for a verdict.

All numbers follow from counts per document under each condition, so every difference has a significance over documents.
CXMI (Fernandes et al. 2021) is how much better a model predicts a translation with its context than without:
log p(y|x,C) - log p(y|x), here in bits.

A model may do better with a history than without one and yet read nothing in it: any history may serve as noise that it
was trained with. So context counts as used only where the true history is better than none *and* better than another
document's, significantly and by more than a threshold. One measure that shows it is enough; the significance level is
divided by the number of measures.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from docaps.diagnosis.conditions import AGAINST, NONE, SHUFFLED, TRUE, history_steps
from docaps.evaluation.intervals import Scorer, Table
from docaps.evaluation.significance import compare, score_of

PERPLEXITY, BLEU, ACCURACY, BITS, EXCESS = "perplexity", "bleu", "accuracy", "bits", "excess"
Reason = Literal[
    "content",
    "ignored",
    "noise",
    "no_gain",
    "harmful",
    "untrained",
    "too_few_documents",
    "unspecific",
    "no_history",
]
Likelihoods = Mapping[str, Table]
"""For each history, the negative log-probability and the number of tokens of each document."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure of a model: a row of counts per document under each condition, and the score they make."""

    key: str
    counts: Mapping[str, Table]
    scorer: Scorer

    def score(self, condition: str) -> float:
        """Return the score under a condition."""
        return score_of(self.counts[condition], self.scorer)

    def gain(self, condition: str, baseline: str) -> float:
        """Return how much better one condition is than another; for perplexity, relative to the baseline's."""
        one, other = self.score(condition), self.score(baseline)
        return 1 - one / other if self.key == PERPLEXITY else one - other

    @property
    def documents(self) -> int:
        """The number of documents, which the tests resample."""
        return len(next(iter(self.counts.values())))


def list_measures(
    likelihoods: Mapping[str, Table], bleu: Mapping[str, Table], bleu_scorer: Scorer, right: Mapping[str, Table]
) -> list[Measure]:
    """Return the measures of counts under each condition: perplexity first, then BLEU and accuracy, where measured."""
    measures = Measure(BLEU, bleu, bleu_scorer), Measure(ACCURACY, right, share_of)
    return [Measure(PERPLEXITY, likelihoods, perplexity_of), *(measure for measure in measures if measure.counts)]


def perplexity_of(sums: Table) -> Table:
    """Compute perplexities from summed negative log-probabilities (natural logarithm) and tokens."""
    found: Table = np.exp(np.minimum(sums[:, 0] / sums[:, 1], 700.0))
    return found


def bits_of(sums: Table) -> Table:
    """Compute log-probabilities per token in bits: their differences are CXMI."""
    found: Table = -sums[:, 0] / sums[:, 1] / math.log(2)
    return found


def excess_of(sums: Table) -> Table:
    """Compute by how much the log-probability of some tokens, in bits, exceeds that of others, the last two columns."""
    # A draw of documents may hold no others; their sum is then 0 as well.
    return bits_of(sums) - bits_of(np.maximum(sums[:, 2:], (-np.inf, 1.0)))


def share_of(sums: Table) -> Table:
    """Compute shares of right answers."""
    return sums[:, 0] / sums[:, 1]


def count_right(right: Sequence[float], documents: Sequence[str | None]) -> Table:
    """Count right answers and answers per document; an item without a document counts as one of its own."""
    names = [f"document {name}" if name is not None else f"item {number}" for number, name in enumerate(documents)]
    _, rows = np.unique(names, return_inverse=True)
    counts = np.bincount(rows, weights=np.asarray(right, dtype=np.float64)), np.bincount(rows)
    return np.stack(counts, axis=1).astype(np.float64)


def unigram_perplexity(tokens: Counter[int]) -> float:
    """Return the perplexity of the token frequencies of the text itself."""
    counts = np.array(list(tokens.values()), dtype=np.float64)
    shares = counts / counts.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))


@dataclass(frozen=True, slots=True)
class ConditionComparison:
    """The gain of one condition over another, its interval, and the p-values of both tests."""

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


def compare_conditions(
    measure: Measure, condition: str, baseline: str, *, draws: int, seed: int
) -> ConditionComparison | None:
    """Compare two conditions; None where one of them was not measured or there is only one document."""
    if measure.documents < 2 or not {condition, baseline} <= measure.counts.keys():
        return None
    tables = measure.counts[baseline], measure.counts[condition]
    found = asdict(compare(*tables, measure.scorer, draws=draws, seed=seed))
    return ConditionComparison(measure.key, condition, baseline, measure.gain(condition, baseline), **found)


def compare_all(measures: Sequence[Measure], history: int, *, draws: int, seed: int) -> list[ConditionComparison]:
    """Compare true, shuffled and no history, the other model, and each history with the next shorter one."""
    pairs = [(TRUE, NONE), (TRUE, SHUFFLED), (SHUFFLED, NONE), (TRUE, AGAINST), (NONE, AGAINST)]
    pairs = list(dict.fromkeys([*pairs, *history_steps(history)]))
    found = [compare_conditions(measure, *pair, draws=draws, seed=seed) for measure in measures for pair in pairs]
    return [one for one in found if one is not None]


def gains_by_distance(found: Sequence[ConditionComparison], measure: str, history: int) -> list[dict[str, Any]]:
    """Return what each sentence of the history adds to the nearer ones."""
    known = {(one.condition, one.baseline): one for one in found if one.measure == measure}
    return [
        {"distance": distance, "gain": known[pair].gain, "p": known[pair].p}
        for distance, pair in enumerate(history_steps(history), start=1)
        if pair in known
    ]


def cxmi(measure: Measure, values: Sequence[float], *, draws: int, seed: int) -> dict[str, Any]:
    """Return the CXMI of the text in bits per token, and its distribution over the sentences with a history."""
    per_token = Measure("cxmi", measure.counts, bits_of)
    found = compare_conditions(per_token, TRUE, NONE, draws=draws, seed=seed)
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


def compare_likelihoods(
    own: Mapping[int, Likelihoods], baseline: Mapping[int, Likelihoods], *, draws: int, seed: int
) -> dict[str, dict[str, Any]]:
    """Return the perplexity with each history, the true one tested against the baseline's, others against it."""
    # Runs are given by seed and pooled; against the baseline, over the seeds that both have.
    counts, shared = _pool(own, sorted(own)), sorted(own.keys() & baseline.keys())
    pairs = {history: (counts[TRUE], table) for history, table in counts.items() if history != TRUE}
    if shared:
        pairs[TRUE] = _pool(baseline, shared)[TRUE], _pool(own, shared)[TRUE]
    tested = {
        history: asdict(compare(base, table, perplexity_of, draws=draws, seed=seed))
        for history, (base, table) in pairs.items()
        if len(table) > 1
    }
    return {
        history: {"perplexity": score_of(table, perplexity_of), "against": tested.get(history)}
        for history, table in counts.items()
    }


def _pool(runs: Mapping[int, Likelihoods], seeds: Sequence[int]) -> dict[str, Table]:
    """Add up the counts of each document over seeds."""
    return {history: np.sum([runs[seed][history] for seed in seeds], axis=0) for history in runs[seeds[0]]}


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What a difference must reach to count."""

    level: float = 0.05
    perplexity: float = 0.001
    """The least share by which a history must lower perplexity."""
    accuracy: float = 0.01
    """The least increase in the share of right choices."""
    bits: float = 0.015
    """The least CXMI, and least excess, per token that a phenomenon decides: 1 % of the perplexity of these tokens."""
    documents: int = 8
    """With fewer, even the same result in every document can be chance: 2 / 2^6 is above half the level."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that a verdict is based on."""

    measures: Sequence[Measure]
    comparisons: Sequence[ConditionComparison]
    history: int
    unigram_perplexity: float
    """A model above it has learnt nothing that could need a history."""
    thresholds: Thresholds = Thresholds()

    def find(self, measure: str, condition: str, baseline: str) -> ConditionComparison | None:
        """Return a comparison, if it was made."""
        wanted = (measure, condition, baseline)
        return next((one for one in self.comparisons if (one.measure, one.condition, one.baseline) == wanted), None)

    def scores(self, condition: str) -> dict[str, Any]:
        """Return all scores under a condition; None where a score was not measured."""
        scores = {measure.key: measure.score(condition) for measure in self.measures if condition in measure.counts}
        return {"condition": condition, **{key: scores.get(key) for key in (PERPLEXITY, BLEU, ACCURACY)}}

    @property
    def perplexity(self) -> Measure:
        """The measure that is always there."""
        return next(measure for measure in self.measures if measure.key == PERPLEXITY)

    @property
    def deciding(self) -> list[Measure]:
        """The measures that decide; BLEU is reported only, it is too insensitive to decide."""
        return [measure for measure in self.measures if measure.key not in (BLEU, EXCESS)]

    @property
    def is_untrained(self) -> bool:
        """Say whether the model has learnt too little to need a history."""
        return any(
            measure.key == PERPLEXITY and measure.score(TRUE) >= self.unigram_perplexity for measure in self.measures
        )

    @property
    def level(self) -> float:
        """The significance level of each measure's tests."""
        return self.thresholds.level / max(len(self.deciding), 1)

    def is_large(self, measure: str, gain: float) -> bool:
        """Say whether a gain reaches the threshold."""
        thresholds = self.thresholds
        least = {PERPLEXITY: thresholds.perplexity, BITS: thresholds.bits, EXCESS: thresholds.bits}
        return gain >= least.get(measure, thresholds.accuracy)

    def is_better(self, measure: Measure, condition: str, baseline: str, sign: Literal[1, -1] = 1) -> bool:
        """Say whether one condition is significantly better (worse for sign -1) than another, by the threshold."""
        found = self.find(measure.key, condition, baseline)
        if found is None or measure.documents < self.thresholds.documents or found.p >= self.level:
            return False
        return self.is_large(measure.key, sign * found.gain)

    def shows_use(self, measure: Measure) -> bool:
        """Say whether the true history is better than none and than another's."""
        return all(self.is_better(measure, TRUE, other) for other in (NONE, SHUFFLED))

    def lacks_documents(self, measure: Measure) -> bool:
        """Say whether only the number of documents keeps a measure from showing use."""
        few = measure.documents < self.thresholds.documents
        return few and all(self.is_large(measure.key, measure.gain(TRUE, other)) for other in (NONE, SHUFFLED))


def find_reason(evidence: Evidence) -> Reason:
    """Find the reason for the verdict: the first that holds."""
    measures = evidence.deciding
    reasons: dict[Reason, bool] = {
        "untrained": evidence.is_untrained,
        "content": any(evidence.shows_use(measure) for measure in measures),
        "too_few_documents": any(evidence.lacks_documents(measure) for measure in measures),
        "noise": any(evidence.is_better(measure, TRUE, NONE) for measure in measures),
        "harmful": any(evidence.is_better(measure, TRUE, NONE, -1) for measure in measures),
        "no_gain": any(evidence.is_better(measure, TRUE, SHUFFLED) for measure in measures),
    }
    return next((reason for reason, holds in reasons.items() if holds), "ignored")
