"""95 % confidence intervals: of scores, of shares of right answers, and of means over seeds.

Scores and shares are resampled by whole documents, because sentences of one document are not independent. Shares get
Wilson's interval where items are independent, and also where every document has the same share: each resample would
then be the same, and an interval of zero width would claim too much. Documents then count in place of items.
"""

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.float64]
"""Counts, one row per document."""
Scorer = Callable[[Table], Table]
"""From rows of summed counts to one score per row."""

LEVEL = 0.95
BLOCK = 2_000
"""Draws per matrix product, which bounds the memory."""
SHARE_DRAWS, SHARE_BLOCK = 2_000, 250
WILSON, WILSON_DOCUMENTS, BOOTSTRAP = "wilson", "wilson over documents", "bootstrap over documents"
_NORMAL = 1.959963984540054  # quantile of the normal distribution at 0.975
# Student's t, two-sided 95 %, for 1, 2, ... degrees of freedom; beyond the table the normal distribution is close.
_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)
_STUDENT_LIMIT = 1.960


@dataclass(frozen=True, slots=True)
class ShareInterval:
    """The 95 % confidence interval of a share, and the method that gave it."""

    low: float
    high: float
    method: str


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean and its 95 % confidence interval (None for a single value)."""

    mean: float
    low: float | None
    high: float | None


def score_interval(counts: Table, scorer: Scorer, *, draws: int, seed: int) -> dict[str, float]:
    """Return the bootstrap interval of a score over documents, as `low` and `high`."""
    return percentiles(np.concatenate([scorer(weights @ counts) for weights in resample(len(counts), draws, seed)]))


def percentiles(draws: Table) -> dict[str, float]:
    """Return the interval that holds the middle 95 % of the draws, as `low` and `high`."""
    low, high = np.percentile(draws, [2.5, 97.5]).tolist()
    return {"low": low, "high": high}


def resample(documents: int, draws: int, seed: int, *, block: int = BLOCK) -> Iterator[Table]:
    """Draw documents with replacement; yield blocks of rows with the count of each document in one draw."""
    generator = np.random.default_rng(seed)
    for start in range(0, draws, block):
        size = min(block, draws - start)
        yield generator.multinomial(documents, np.full(documents, 1 / documents), size=size).astype(np.float64)


def share_interval(right: Sequence[float], documents: Sequence[str | None], seed: int = 1) -> ShareInterval:
    """Return the interval of a share: by bootstrap where all documents are known and some have several items."""
    names = set(documents)
    if None in names or len(names) == len(right):
        return wilson(sum(right), len(right))
    return bootstrap_share(right, [str(name) for name in documents], seed)


def wilson(right: float, count: int, method: str = WILSON) -> ShareInterval:
    """Return Wilson's score interval (1927) of `right` out of `count`."""
    share, square = right / count, _NORMAL**2
    centre = (share + square / (2 * count)) / (1 + square / count)
    width = _NORMAL * math.sqrt(share * (1 - share) / count + square / (4 * count**2)) / (1 + square / count)
    return ShareInterval(max(0.0, centre - width), min(1.0, centre + width), method)


def bootstrap_share(right: Sequence[float], documents: Sequence[str], seed: int = 1) -> ShareInterval:
    """Return the bootstrap interval of a share over documents."""
    _, positions = np.unique(documents, return_inverse=True)
    sums, sizes = np.bincount(positions, weights=right), np.bincount(positions)
    if np.ptp(sums / sizes) < 1e-12:
        return wilson(len(sums) * sum(right) / len(right), len(sums), WILSON_DOCUMENTS)
    draws = resample(len(sums), SHARE_DRAWS, seed, block=SHARE_BLOCK)
    shares = np.concatenate([(weights @ sums) / (weights @ sizes) for weights in draws])
    low, high = np.quantile(shares, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return ShareInterval(float(low), float(high), BOOTSTRAP)


def mean_over_seeds(values: Sequence[float]) -> Mean:
    """Average one value per seed, with Student's interval: two seeds rightly give a wide one."""
    mean = statistics.fmean(values)
    if len(values) < 2:
        return Mean(mean, None, None)
    quantile = _STUDENT[len(values) - 2] if len(values) - 2 < len(_STUDENT) else _STUDENT_LIMIT
    width = quantile * statistics.stdev(values) / math.sqrt(len(values))
    return Mean(mean, mean - width, mean + width)
