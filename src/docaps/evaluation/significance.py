"""Significance tests over documents: paired bootstrap and approximate randomisation.

Both are two-sided (Koehn 2004; Riezler and Maxwell 2005), as in sacreBLEU, but draw whole documents: sentences of one
document are not independent. A draw is a row of weights over documents, so all draws are one matrix product.
"""

from dataclasses import dataclass

import numpy as np

from docaps.evaluation.intervals import BLOCK, Scorer, Table, percentiles, resample


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference to the baseline with its interval and the p-values of both tests."""

    difference: float
    low: float
    high: float
    p_bootstrap: float
    p_randomisation: float


def compare(baseline: Table, system: Table, scorer: Scorer, *, draws: int, seed: int) -> Difference:
    """Compare a system with a baseline on the same documents."""
    difference = score_of(system, scorer) - score_of(baseline, scorer)
    drawn = np.concatenate(
        [scorer(weights @ system) - scorer(weights @ baseline) for weights in resample(len(system), draws, seed)]
    )
    shuffled, generator = [], np.random.default_rng(seed)
    for start in range(0, draws, BLOCK):  # toss a coin for each document of each draw: 1 swaps the two systems
        swap = generator.integers(2, size=(min(BLOCK, draws - start), len(system))).astype(np.float64)
        stay = 1 - swap
        shuffled.append(scorer(swap @ baseline + stay @ system) - scorer(stay @ baseline + swap @ system))
    # Under the null hypothesis the bootstrap draws are centred on 0, not on the observed difference.
    p_bootstrap = p_value(drawn - drawn.mean(), difference)
    p_randomisation = p_value(np.concatenate(shuffled), difference)
    return Difference(difference, **percentiles(drawn), p_bootstrap=p_bootstrap, p_randomisation=p_randomisation)


def p_value(draws: Table, difference: float) -> float:
    """Return the share of draws with at least as large a difference, the observed one counted as one more draw."""
    # Equal differences count, up to rounding: with few documents many draws tie.
    as_large = np.abs(draws) > abs(difference) - 1e-9
    return float((np.count_nonzero(as_large) + 1) / (len(draws) + 1))


def score_of(counts: Table, scorer: Scorer) -> float:
    """Score all documents together."""
    return float(scorer(counts.sum(axis=0, keepdims=True))[0])
