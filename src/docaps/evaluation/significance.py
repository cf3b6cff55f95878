"""Is a difference more than chance? Tests that draw whole documents: the sentences of one are not independent.

Paired bootstrap (Koehn 2004) and approximate randomisation (Riezler and Maxwell 2005), two-sided, as in sacreBLEU but
with documents in place of sentences. A draw is a row of weights over documents, so all draws are one matrix product.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.float64]
Scorer = Callable[[Table], Table]
BLOCK = 2_000
"""How many draws are made at once, to bound the memory."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Where a score lies in 95 % of the draws."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """A difference to the baseline, its interval, and how often chance alone gives as large a one."""

    difference: float
    interval: Interval
    p_bootstrap: float
    p_randomisation: float

    def as_dict(self) -> dict[str, float]:
        """Return it as plain JSON values, the ends of the interval beside the rest."""
        tests = {"p_bootstrap": self.p_bootstrap, "p_randomisation": self.p_randomisation}
        return {"difference": self.difference, **asdict(self.interval), **tests}


def interval_of(counts: Table, scorer: Scorer, *, draws: int, seed: int) -> Interval:
    """Return the 95 % confidence interval of a score by drawing documents."""
    return _interval(np.concatenate([scorer(weights @ counts) for weights in _resamples(len(counts), draws, seed)]))


def compare(baseline: Table, system: Table, scorer: Scorer, *, draws: int, seed: int) -> Comparison:
    """Compare a system with a baseline on the same documents."""
    difference = score_of(system, scorer) - score_of(baseline, scorer)
    drawn = np.concatenate(
        [scorer(weights @ system) - scorer(weights @ baseline) for weights in _resamples(len(system), draws, seed)]
    )
    shuffled = np.concatenate(
        [
            scorer(swap @ baseline + (1 - swap) @ system) - scorer((1 - swap) @ baseline + swap @ system)
            for swap in _swaps(len(system), draws, seed)
        ]
    )
    # Under the null hypothesis the draws lie around 0, not around the difference that was found.
    return Comparison(
        difference,
        _interval(drawn),
        p_value(drawn - drawn.mean(), difference),
        p_value(shuffled, difference),
    )


def p_value(draws: Table, difference: float) -> float:
    """Return the share of draws with as large a difference, counting the test set itself as one more draw.

    An equal one counts, up to rounding: with few documents many draws are equal, and chance made them too.
    """
    as_large = np.abs(draws) > abs(difference) - 1e-9
    return float((np.count_nonzero(as_large) + 1) / (len(draws) + 1))


def score_of(counts: Table, scorer: Scorer) -> float:
    """Score all documents together."""
    return float(scorer(counts.sum(axis=0, keepdims=True))[0])


def _interval(draws: Table) -> Interval:
    low, high = np.percentile(draws, [2.5, 97.5])
    return Interval(float(low), float(high))


def _blocks(draws: int) -> Iterator[int]:
    for start in range(0, draws, BLOCK):
        yield min(BLOCK, draws - start)


def _resamples(documents: int, draws: int, seed: int) -> Iterator[Table]:
    """Draw as many documents as there are, with replacement: how often each document is in each draw."""
    generator = np.random.default_rng(seed)
    for size in _blocks(draws):
        yield generator.multinomial(documents, np.full(documents, 1 / documents), size=size).astype(np.float64)


def _swaps(documents: int, draws: int, seed: int) -> Iterator[Table]:
    """Toss a coin for each document of each draw: 1 where the two systems change places."""
    generator = np.random.default_rng(seed)
    for size in _blocks(draws):
        yield generator.integers(2, size=(size, documents)).astype(np.float64)
