"""Exact test of paired answers (McNemar 1947), and its power: how large a gain would have been found.

Only discordant items tell two conditions apart: gained ones, which only the first answers right, and lost ones, which
only the second does. If both are equally good, the number of gained ones is binomial with probability 1/2.
"""

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from docaps.evaluation.intervals import LEVEL, Table

POWER = 0.8
"""The probability with which a gain is to be found."""
NEGLIGIBLE = 1e-12
"""Numbers of discordant items with a smaller probability are left out."""
PRECISION = 5e-4


def mcnemar(gained: int, lost: int) -> float:
    """Return the exact two-sided p-value of so many gained and lost items."""
    tail = float(binomial_tails(gained + lost, 0.5)[max(gained, lost)])
    return min(1.0, 2 * tail)


def binomial(count: int, share: float) -> Table:
    """Return the probabilities of 0, 1, ..., `count` successes."""
    if share in (0.0, 1.0):
        certain = np.zeros(count + 1)
        certain[count if share else 0] = 1.0
        return certain
    successes, factorials = np.arange(count + 1, dtype=np.float64), log_factorials(count)
    chosen = factorials[-1] - factorials - factorials[::-1]
    found: Table = np.exp(chosen + successes * math.log(share) + successes[::-1] * math.log1p(-share))
    return found


@lru_cache(maxsize=4096)
def log_factorials(count: int) -> Table:
    """Return the logarithms of 0!, 1!, ..., `count`!."""
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, count + 1, dtype=np.float64)))])


def binomial_tails(count: int, share: float) -> Table:
    """Return the probabilities of at least 0, 1, ..., `count` and `count` + 1 successes."""
    return np.concatenate([np.cumsum(binomial(count, share)[::-1])[::-1], [0.0]])


def least_gained(discordant: int, level: float, excess: float = 0.0) -> int:
    """Return how many discordant items must be gained to be significant; one more than there are if none are enough.

    `excess` is how many more must be gained than lost in any case.
    """
    significant = 2 * binomial_tails(discordant, 0.5) < level
    return max(int(np.argmax(significant)), math.ceil((discordant + excess) / 2 - 1e-9))


def power_of_mcnemar(items: int, discordance: float, gain: float, level: float, least: float = 0.0) -> float:
    """Return the probability that a gain is found: significant at a level, and at least `least`.

    The items are independent; `discordance` is the share of them that only one condition answers right. Both it and
    the gain are those of the population that the items are drawn from.
    """
    chances = binomial(items, discordance)
    share = (1 + gain / discordance) / 2
    likely = np.flatnonzero(chances > NEGLIGIBLE).tolist()
    found = 0.0
    for discordant in likely:
        needed = least_gained(discordant, level, least * items)
        found += chances[discordant] * binomial(discordant, share)[needed:].sum()
    return float(found)


def smallest_gain(
    items: int, discordance: float, level: float, *, least: float = 0.0, power: float = POWER
) -> float | None:
    """Return the smallest gain in right answers that is found with a given power; None if items are too few for any.

    As many items are discordant as stated, or as a gain makes so: it cannot be larger than their share.
    """

    def is_found(gain: float) -> bool:
        return power_of_mcnemar(items, max(discordance, gain), gain, level, least) >= power

    if not is_found(1.0):
        return None
    low, high = 0.0, 1.0
    while high - low > PRECISION:
        middle = (low + high) / 2
        low, high = (low, middle) if is_found(middle) else (middle, high)
    return high


def smallest_difference(low: float, high: float, level: float, *, least: float = 0.0, power: float = POWER) -> float:
    """Return the smallest difference that is found with a given power: significant, and at least `least`.

    Estimates of it are taken as normally distributed, as they are over many documents; `low` and `high` are the 95 %
    interval of one.
    """
    quantile = NormalDist().inv_cdf
    error = (high - low) / (2 * quantile((1 + LEVEL) / 2))
    return max(error * quantile(1 - level / 2), least) + error * quantile(power)
