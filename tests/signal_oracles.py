"""Training signals once more, as plain loops over lists."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from tests.oracles import log_probability

Words = Sequence[str]
STOPS = ",;:.!?"


def is_stop(piece: str) -> bool:
    return all(letter in STOPS for letter in piece)


def word_ends(pieces: Words) -> list[int]:
    """Numbers of BPE pieces after which a word ends."""
    return [number for number, piece in enumerate(pieces, start=1) if not piece.endswith("@@")]


def best_cut(pieces: Words, ideal: float, prefer_stops: bool) -> int:
    """Try every place to cut; a fifth of the sentence is what a punctuation mark is worth; 0: there is no place."""
    best, lowest = 0, float("inf")
    for cut in word_ends(pieces):
        if cut == len(pieces) or is_stop(pieces[cut]):
            continue
        cost = abs(cut - ideal)
        if prefer_stops and is_stop(pieces[cut - 1]):
            cost -= len(pieces) / 5
        if cost < lowest - 1e-9:
            best, lowest = cut, cost
    return best


def cut_pair(source: Words, target: Words) -> tuple[int, int]:
    """Pieces of each side's first half; (0, 0): the pair stays whole."""
    if len(word_ends(source)) < 7:
        return 0, 0
    here = best_cut(source, len(source) / 2, True)
    if not here:
        return 0, 0
    there = best_cut(target, here * len(target) / len(source), is_stop(source[here - 1]))
    return (here, there) if there else (0, 0)


def weighted_loss(
    logits: Tensor, target: list[list[int]], weights: list[list[float]], correlations: Tensor, weight: float
) -> Tensor:
    """Eq. 11 with its sign reversed, where each token counts as often as its weight says."""
    total, tokens = torch.zeros((), dtype=logits.dtype), 0.0
    for j, sentence in enumerate(target):
        for i, word in enumerate(sentence):
            value = log_probability(logits[j, i], word) + weight * correlations[j]
            total = total + weights[j][i] * value
            tokens += weights[j][i]
    return -total / tokens


def systematic(scores: list[float], count: int, start: float) -> list[int]:
    """How often each of some scored things is drawn: points at even distances on a line of their scores."""
    points = [(number + 1 - start) for number in range(count)]
    drawn, below = [0] * len(scores), 0.0
    for index, score in enumerate(scores):
        above = below + score / sum(scores) * count
        drawn[index] = sum(below < point <= above + (1e-9 if index == len(scores) - 1 else 0) for point in points)
        below = above
    return drawn


def hide(sentence: list[int], draw: Callable[[int], list[float]], share: float, unknown: int, end: int) -> list[int]:
    """Replace words by the unknown word where a number drawn for them is below the share."""
    numbers = draw(len(sentence))
    return [unknown if number < share and word != end else word for word, number in zip(sentence, numbers, strict=True)]
