"""Evidence by phenomenon: the gains of tokens that an earlier sentence decides, and paired answers to items.

The gain of a token is its pointwise conditional cross-mutual information (P-CXMI; Fernandes et al. 2023): its
log-probability with the true history, less that without or with another document's, in bits. An effect on few tokens
may be large on these and still be lost among all others, so each phenomenon is judged by its own tokens and items.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np

from docaps.diagnosis.conditions import AGAINST, NONE, SHUFFLED, TRUE
from docaps.diagnosis.evidence import (
    ACCURACY,
    BITS,
    EXCESS,
    ConditionComparison,
    Evidence,
    Measure,
    Thresholds,
    bits_of,
    compare_conditions,
    count_right,
    excess_of,
    share_of,
)
from docaps.evaluation.intervals import Table
from docaps.evaluation.mcnemar import mcnemar, smallest_difference, smallest_gain

BASELINES = (NONE, SHUFFLED)
DRAWS_PER_LEVEL = 10
"""At least so many draws are expected below the significance level: fewer could not reach it."""


@dataclass(slots=True)
class MarkedTokens:
    """Negative log-probability and number of the marked tokens of each document, and of the others beside them.

    By phenomenon and condition. The others are those of the same sentences.
    """

    sums: dict[str, dict[str, dict[int, list[float]]]] = field(default_factory=dict)
    sentences: dict[str, int] = field(default_factory=dict)

    def add(
        self,
        marked: Sequence[tuple[tuple[int, int], Mapping[str, Sequence[int]]]],
        scores: Mapping[str, Sequence[Sequence[float]]],
    ) -> None:
        """Add sentences, each with its place and its marked tokens, and their log-probabilities by condition."""
        for row, ((document, _), phenomena) in enumerate(marked):
            for name, tokens in phenomena.items():
                self.sentences[name] = self.sentences.get(name, 0) + 1
                for condition, values in scores.items():
                    sums = self.sums.setdefault(name, {}).setdefault(condition, {}).setdefault(document, [0.0] * 4)
                    marked_sum = sum(values[row][token] for token in tokens)
                    sums[0] -= marked_sum
                    sums[1] += len(tokens)
                    sums[2] -= sum(values[row]) - marked_sum
                    sums[3] += len(values[row]) - len(tokens)

    def measures(self, name: str) -> list[Measure]:
        """Return the gains of the tokens of a phenomenon, and by how much they exceed those of the other tokens.

        Documents without any are left out; where all tokens of the sentences are marked, nothing is exceeded.
        """
        if name not in self.sums:
            return []
        counts = {condition: np.array(list(found.values())) for condition, found in self.sums[name].items()}
        found = [Measure(BITS, counts, bits_of)]
        return [*found, Measure(EXCESS, counts, excess_of)] if counts[TRUE][:, 3].any() else found


@dataclass(frozen=True, slots=True)
class PairedAnswers:
    """Which items a model answers right, one row per draw of a condition, with their documents and phenomena."""

    right: Mapping[str, Table]
    documents: Sequence[str | None]
    phenomena: Sequence[str]

    def of(self, phenomenon: str) -> "PairedAnswers | None":
        """Return the answers to the items of one phenomenon; None if there are none."""
        chosen = [number for number, name in enumerate(self.phenomena) if name == phenomenon]
        if not chosen:
            return None
        right = {condition: rows[:, chosen] for condition, rows in self.right.items()}
        return PairedAnswers(right, [self.documents[number] for number in chosen], [phenomenon] * len(chosen))

    def measure(self) -> Measure:
        """Return the share of right answers as a measure; over several draws, their mean."""
        counts = {name: count_right(rows.mean(axis=0).tolist(), self.documents) for name, rows in self.right.items()}
        return Measure(ACCURACY, counts, share_of)

    def count_discordant(self, condition: str, baseline: str) -> tuple[int, int]:
        """Return how many items only the one and only the other answers right; of several draws, the first counts."""
        one, other = self.right[condition][0], self.right[baseline][0]
        return int((one > other).sum()), int((one < other).sum())


@dataclass(frozen=True, slots=True)
class PairedComparison(ConditionComparison):
    """A difference in right answers that the exact test over items and both tests over documents must find."""

    gained: int = 0
    lost: int = 0
    p_mcnemar: float = 1.0

    @property
    def p(self) -> float:
        """The largest p-value of the tests."""
        # If all gains are in one document, the bootstrap finds it without chance as well; randomisation does not.
        return max(self.p_bootstrap, self.p_randomisation, self.p_mcnemar)


@dataclass(frozen=True, slots=True)
class PhenomenonEvidence:
    """All that the verdict on a phenomenon is based on, by its tokens, its items, or both."""

    name: str
    evidence: Evidence
    sentences: int
    answers: PairedAnswers | None

    def measure(self, key: str) -> Measure | None:
        """Return the measure of tokens or of items, if there are any."""
        return next((one for one in self.evidence.measures if one.key == key), None)

    def comparisons(self, key: str) -> dict[str, ConditionComparison]:
        """Return the comparisons of the true history with others, by measure."""
        found = [one for one in self.evidence.comparisons if (one.measure, one.condition) == (key, TRUE)]
        return {one.baseline: one for one in found}

    @property
    def is_specific(self) -> bool:
        """Say whether the gains of the tokens exceed those of the other tokens of their sentences, if there are any."""
        excess = self.measure(EXCESS)
        return excess is None or self.evidence.shows_use(excess)

    def smallest_bits(self) -> float | None:
        """Return the smallest gain per token that is found with a probability of 0.8; None without an interval."""
        found = [one for key in (BITS, EXCESS) for one in self.comparisons(key).values()]
        if not found:
            return None
        widest = max(found, key=lambda one: one.high - one.low)
        least = self.evidence.thresholds.bits
        return smallest_difference(widest.low, widest.high, self.evidence.level, least=least)

    def smallest_gain(self) -> float | None:
        """Return the smallest gain in right answers that is found with a probability of 0.8, if any is."""
        if self.answers is None:
            return None
        items = len(self.answers.documents)
        known = [name for name in BASELINES if name in self.answers.right]
        discordance = max(sum(self.answers.count_discordant(TRUE, name)) for name in known) / items
        return smallest_gain(items, discordance, self.evidence.level, least=self.evidence.thresholds.accuracy)


def collect_phenomena(
    marked: MarkedTokens, answers: PairedAnswers | None, *, level: float, draws: int, seed: int
) -> list[PhenomenonEvidence]:
    """Return the evidence for each phenomenon; all measures of all phenomena share the significance level."""
    names = sorted({*marked.sums, *(answers.phenomena if answers else ())})
    found = {name: (marked.measures(name), answers.of(name) if answers else None) for name in names}
    tests = sum(bool(tokens) + (chosen is not None) for tokens, chosen in found.values())
    own = level / max(tests, 1)
    draws = max(draws, math.ceil(DRAWS_PER_LEVEL / own))
    return [
        _collect(name, tokens, chosen, marked.sentences.get(name, 0), own, {"draws": draws, "seed": seed})
        for name, (tokens, chosen) in found.items()
    ]


def _collect(
    name: str,
    tokens: Sequence[Measure],
    answers: PairedAnswers | None,
    sentences: int,
    level: float,
    tests: Mapping[str, int],
) -> PhenomenonEvidence:
    """Return the evidence for a phenomenon; `level` is that of each of its measures."""
    measures, comparisons = list(tokens), list[ConditionComparison | None]()
    for measure in tokens:
        comparisons += [compare_conditions(measure, one, other, **tests) for one, other in _pairs(measure.counts)]
    if answers is not None:
        measures.append(answers.measure())
        comparisons += [compare_answers(answers, one, other, **tests) for one, other in _pairs(answers.right)]
    known = [one for one in comparisons if one is not None]
    deciding = bool(tokens) + (answers is not None)
    thresholds = Thresholds(level=level * deciding)  # the evidence divides it by the number of deciding measures
    return PhenomenonEvidence(name, Evidence(measures, known, 0, math.inf, thresholds), sentences, answers)


def _pairs(conditions: Iterable[str]) -> list[tuple[str, str]]:
    """Return the pairs of conditions that are compared."""
    pairs = [(TRUE, NONE), (TRUE, SHUFFLED), (SHUFFLED, NONE), (TRUE, AGAINST)]
    return [pair for pair in pairs if {*pair} <= {*conditions}]


def compare_answers(
    answers: PairedAnswers, condition: str, baseline: str, *, draws: int, seed: int
) -> PairedComparison | None:
    """Compare right answers under two conditions; None where there is only one document."""
    found = compare_conditions(answers.measure(), condition, baseline, draws=draws, seed=seed)
    if found is None:
        return None
    gained, lost = answers.count_discordant(condition, baseline)
    return PairedComparison(**asdict(found), gained=gained, lost=lost, p_mcnemar=mcnemar(gained, lost))
