"""How sure is a share of right answers? Intervals that hold the true share in 95 % of the cases.

Wilson's interval where items are independent. Where the documents of the items are known, a bootstrap that draws whole
documents: items of one document are not independent. If all documents have the same share, every draw is the same and
an interval without width would say too much; then Wilson's interval with documents in place of items is given.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LEVEL = 0.95
_QUANTILE = 1.959963984540054  # of the normal distribution at 0.975
DRAWS, BLOCK = 2_000, 250
WILSON, DOCUMENTS, BOOTSTRAP = "wilson", "wilson over documents", "bootstrap over documents"


@dataclass(frozen=True, slots=True)
class Interval:
    """Where a share lies, and how that was found."""

    low: float
    high: float
    method: str


def interval_of(right: Sequence[float], documents: Sequence[str | None], seed: int = 1) -> Interval:
    """Return the interval of the share of right answers."""
    names = set(documents)
    if None in names or len(names) == len(right):
        return wilson(sum(right), len(right))
    return bootstrap(right, [str(name) for name in documents], seed)


def wilson(right: float, count: int, method: str = WILSON) -> Interval:
    """Return Wilson's score interval (1927) of `right` out of `count`."""
    share, square = right / count, _QUANTILE**2
    centre = (share + square / (2 * count)) / (1 + square / count)
    width = _QUANTILE * math.sqrt(share * (1 - share) / count + square / (4 * count**2)) / (1 + square / count)
    return Interval(max(0.0, centre - width), min(1.0, centre + width), method)


def bootstrap(right: Sequence[float], documents: Sequence[str], seed: int = 1) -> Interval:
    """Return the middle 95 % of the shares in sets of documents drawn with replacement."""
    _, places = np.unique(documents, return_inverse=True)
    sums, sizes = np.bincount(places, weights=right), np.bincount(places)
    if np.ptp(sums / sizes) < 1e-12:
        return wilson(len(sums) * sum(right) / len(right), len(sums), DOCUMENTS)
    rng, shares = np.random.default_rng(seed), []
    for _ in range(0, DRAWS, BLOCK):
        drawn = rng.multinomial(len(sums), np.full(len(sums), 1 / len(sums)), size=BLOCK)
        shares.append((drawn @ sums) / (drawn @ sizes))
    low, high = np.quantile(np.concatenate(shares), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(low), float(high), BOOTSTRAP)
