"""What a diagnosis computes, once more as plain loops: gains of tokens, the exact test of paired answers, its power."""

import math
from collections.abc import Sequence
from itertools import product

import torch

from docaps.batches.batch import collate
from docaps.batches.windows import Window
from docaps.translation.trained_model import TrainedModel


def token_bits(trained: TrainedModel, window: Window, place: int) -> float:
    """Return the log-probability of one token in bits, from the logits of this sentence alone."""
    assert window.target is not None
    batch = collate([window], trained.model.view)
    with torch.inference_mode():
        logits = [float(value) for value in trained.model(batch).logits[0, place]]
    largest = max(logits)
    total = sum(math.exp(value - largest) for value in logits)
    return math.log2(math.exp(logits[int(window.target[place])] - largest) / total)


def mcnemar(gained: int, lost: int) -> float:
    """Toss a coin for each discordant item, in every possible way; count the tosses at least as uneven."""
    tosses = list(product((0, 1), repeat=gained + lost))
    uneven = [toss for toss in tosses if abs(2 * sum(toss) - len(toss)) >= abs(gained - lost)]
    return len(uneven) / len(tosses)


def power_of_mcnemar(items: int, discordance: float, gain: float, level: float, least: float) -> float:
    """Add up the probabilities of all numbers of gained and lost items for which the gain is found."""
    wins, losses, found = (discordance + gain) / 2, (discordance - gain) / 2, 0.0
    for gained in range(items + 1):
        for lost in range(items + 1 - gained):
            if (gained - lost) / items >= least - 1e-12 and gained > lost and exact_p(gained, lost) < level:
                ways = math.comb(items, gained) * math.comb(items - gained, lost)
                found += ways * wins**gained * losses**lost * (1 - discordance) ** (items - gained - lost)
    return found


def exact_p(gained: int, lost: int) -> float:
    """Return the two-sided p-value of McNemar's test in whole numbers."""
    count = gained + lost
    tail = sum(math.comb(count, number) for number in range(max(gained, lost), count + 1))
    return min(1.0, 2 * tail / 2**count)


def weighted_fall(gains: Sequence[float], tokens: int) -> float:
    """Return by how much perplexity over all tokens falls if some gain so many bits each."""
    return 1 - math.exp(-sum(gain * math.log(2) for gain in gains) / tokens)
