"""Hypotheses: how a model goes on writing several translations of each sentence, and which words may come next.

Dimensions: B sentences, W hypotheses of each, R = B x W rows, C words asked for, P words of a piece of all.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from docaps.corpus.vocabulary import BOS, EOS, PAD

GROUP = 32
"""Words are looked through in groups of so many: the best words are among the groups with the best maxima."""
PIECE = 32_768
"""Words whose scores are held at a time: mostly all of them, as every piece costs a selection of its own."""
ROWS = 256
"""Rows whose scores are held at a time."""
FEW_ROWS = 16
HARMLESS = 40.0
"""Exponentials of numbers up to this one, and of its opposite, are far from all limits of float32, and so are sums."""
NEVER_WRITTEN = [PAD, BOS]
IMPOSSIBLE = float("-inf")


@dataclass(frozen=True, slots=True)
class NextWords:
    """The most probable words after each hypothesis, and how probable its end is; never padding or a begin mark.

    If only the order of words counts, nobody need `normalise`: log-probabilities then lack a number that is the same
    for all words of a row, to find which takes an exponential of each of them.
    """

    log_probabilities: Float[Tensor, "R C"]
    words: Int[Tensor, "R C"]
    ending: Float[Tensor, " R"]


@runtime_checkable
class Hypotheses(Protocol):
    """What a decoder remembers of all hypotheses of a batch; every sentence has the same number of them, W."""

    def extend(self, words: Int[Tensor, "B W"], count: int, normalise: bool = True) -> NextWords:
        """Add a word to each hypothesis and return the `count` best words after it, row by row."""

    def follow(self, parents: Int[Tensor, "B W"]) -> None:
        """Let each hypothesis go on from one of the same sentence: itself or another."""

    def keep(self, rows: Int[Tensor, " R"]) -> None:
        """Forget all sentences but these."""


def best_words_of(
    states: Float[Tensor, "R D"],
    score: Callable[[Tensor], tuple[Iterator[Tensor], Tensor | None]],
    count: int,
    normalise: bool = True,
) -> NextWords:
    """Score all words after these states, some rows and some words at a time, and find the best."""
    parts = []
    for rows in states.split(ROWS):
        pieces, scale = score(rows)
        parts.append(best_words(pieces, count, scale, normalise))
    if len(parts) == 1:
        return parts[0]
    names = ("log_probabilities", "words", "ending")
    return NextWords(*(torch.cat([getattr(part, name) for part in parts]) for name in names))


def best_words(
    pieces: Iterable[Tensor], count: int, scale: Float[Tensor, "R 1"] | None = None, normalise: bool = True
) -> NextWords:
    """Find the best of all words without ever holding the scores of all, which come piece by piece and are used up.

    `scale` is what the scores of each row are still to be multiplied by; it is above 0, so it does not change an order.
    """
    candidates, sums, offset, ending = [], [], 0, None
    for scores in _joined(pieces):
        piece = scores.float() if scores.dtype.itemsize == 2 else scores
        if ending is None:
            ending, kept = piece[:, EOS].clone(), piece[:, NEVER_WRITTEN]
            piece[:, NEVER_WRITTEN] = IMPOSSIBLE
            values, words = _candidates(piece, count, offset)
            piece[:, NEVER_WRITTEN] = kept  # never written, but they have their share of the probability
            highest = torch.maximum(values.amax(dim=1, keepdim=True), kept.amax(dim=1, keepdim=True))
        else:
            values, words = _candidates(piece, count, offset)
            highest = values.amax(dim=1, keepdim=True)
        candidates.append((values, words))
        offset += piece.shape[1]
        if normalise:
            sums.append(_log_sum_of_exponentials(piece, highest, scale))
    assert ending is not None
    values, words = (torch.cat(parts, dim=1) for parts in zip(*candidates, strict=True))
    values, places = values.topk(min(count, values.shape[1]), dim=1)
    if scale is not None:
        values, ending = values * scale, ending * scale.squeeze(1)
    if normalise:
        total = torch.cat(sums, dim=1).logsumexp(dim=1)  # (R)
        values, ending = values - total.unsqueeze(1), ending - total
    return NextWords(values, words.gather(1, places), ending)


def _joined(pieces: Iterable[Tensor]) -> Iterator[Tensor]:
    """Make one piece of all if there are few rows: each piece costs some calls."""
    rest = iter(pieces)
    first = next(rest)
    if len(first) <= FEW_ROWS:
        yield torch.cat((first, *rest), dim=1)
        return
    yield first
    yield from rest


def _candidates(
    scores: Float[Tensor, "R P"], count: int, offset: int
) -> tuple[Float[Tensor, "R some"], Int[Tensor, "R some"]]:
    """Return the scores and numbers of some words of a piece, the best among them, whose first word has this number.

    They are the members of the groups with the best maxima: many maxima at once are quicker than a selection.
    """
    rows, columns = scores.shape
    groups = columns // GROUP
    if groups < 4 * count:
        values, places = scores.topk(min(count, columns), dim=1)
        return values, places + offset
    # Group g has the columns g, g + groups, g + 2 x groups, ...
    grouped = scores[:, : groups * GROUP].view(rows, GROUP, groups)
    best_groups = grouped.amax(dim=1).topk(count, dim=1, sorted=False).indices.unsqueeze(2)  # (R, C, 1)
    places = (best_groups + _first_members(groups, scores.device)).flatten(1)  # (R, C x GROUP)
    if columns > groups * GROUP:
        left = torch.arange(groups * GROUP, columns, device=scores.device)  # too few for a group
        places = torch.cat((places, left.expand(rows, -1)), dim=1)
    return scores.gather(1, places), places.add_(offset)


@cache
def _first_members(groups: int, device: torch.device) -> Int[Tensor, " G"]:
    """Return where the members of the first group stand."""
    return torch.arange(GROUP, device=device) * groups


def _log_sum_of_exponentials(
    scores: Float[Tensor, "R P"], highest: Float[Tensor, "R 1"], scale: Float[Tensor, "R 1"] | None
) -> Float[Tensor, "R 1"]:
    """Add up what the scores stand for; they are overwritten."""
    if scale is not None:  # a product, then a difference: for both at once torch has no fast way with one number a row
        scores.mul_(scale)
        highest = highest * scale
    high = highest.abs() > HARMLESS
    if not bool(high.any()):
        return scores.exp_().sum(dim=1, keepdim=True).log_()
    # By nothing in the other rows: what is found in a row does not depend on its neighbours.
    shift = torch.where(high, highest, torch.zeros_like(highest))
    return scores.sub_(shift).exp_().sum(dim=1, keepdim=True).log_().add_(shift)
