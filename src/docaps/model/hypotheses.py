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

from docaps.corpus.text.vocabulary import BOS, EOS, PAD

GROUP = 32
"""Words are looked through in groups of so many: the best words are among the groups with the best maxima."""
PIECE = 32_768
"""Words whose scores are held at a time: mostly all of them, as every piece costs a selection of its own."""
ROWS = 256
"""Rows whose scores are held at a time."""
FEW_ROWS = 16
SKIMMED = 2**17
"""Scores that are looked through at a time: few enough for a cache."""
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
    """Find the best of all words; their scores come piece by piece, and are changed.

    `scale` is what the scores of each row are still to be multiplied by; it is above 0, so it does not change an order.
    """
    candidates, sums, offset, ending = [], [], 0, None
    for scores in _joined(pieces):
        piece = scores.float() if scores.dtype.itemsize == 2 else scores
        if ending is None:
            ending, never = piece[:, EOS].clone(), piece[:, NEVER_WRITTEN]
            piece[:, NEVER_WRITTEN] = IMPOSSIBLE
            sums.append(never if scale is None else never * scale)  # they have their share of the probability
        maxima, total = _skim(piece, scale) if normalise else (_group_maxima(piece), None)
        values, words = _candidates(piece, maxima, count, offset)
        candidates.append((values, words))
        offset += piece.shape[1]
        if total is not None:
            sums.append(_logarithms(total, piece, values.amax(dim=1, keepdim=True), scale))
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
    if len(first) > FEW_ROWS:
        yield first
        yield from rest
        return
    parts = [first, *rest]
    yield first if len(parts) == 1 else torch.cat(parts, dim=1)


def _candidates(
    scores: Float[Tensor, "R P"], maxima: Float[Tensor, "R G"], count: int, offset: int
) -> tuple[Float[Tensor, "R some"], Int[Tensor, "R some"]]:
    """Return the scores and numbers of some words of a piece, the best among them, whose first word has this number.

    They are the members of the groups with the best maxima: many maxima at once are quicker than a selection.
    """
    (rows, columns), groups = scores.shape, maxima.shape[1]
    if groups < 4 * count:
        values, places = scores.topk(min(count, columns), dim=1)
        return values, places + offset
    best_groups = maxima.topk(count, dim=1, sorted=False).indices.unsqueeze(2)  # (R, C, 1)
    places = (best_groups + _first_members(groups, scores.device)).flatten(1)  # (R, C x GROUP)
    if columns > groups * GROUP:
        left = torch.arange(groups * GROUP, columns, device=scores.device)  # too few for a group
        places = torch.cat((places, left.expand(rows, -1)), dim=1)
    return scores.gather(1, places), places.add_(offset)


def _group_maxima(scores: Float[Tensor, "R P"]) -> Float[Tensor, "R G"]:
    """Return the highest score of each group; group g has the columns g, g + groups, g + 2 x groups, ..."""
    groups = scores.shape[1] // GROUP
    return scores[:, : groups * GROUP].view(len(scores), GROUP, groups).amax(dim=1)


@cache
def _first_members(groups: int, device: torch.device) -> Int[Tensor, " G"]:
    """Return where the members of the first group stand."""
    return torch.arange(GROUP, device=device) * groups


def _skim(
    scores: Float[Tensor, "R P"], scale: Float[Tensor, "R 1"] | None, shift: Float[Tensor, "R 1"] | None = None
) -> tuple[Float[Tensor, "R G"], Float[Tensor, "R 1"]]:
    """Return the maxima of groups, and the sum of all exponentials, of some rows at a time, which stay in a cache.

    Before that, each row is multiplied by its scale, and what it should be shifted by is taken away.
    """
    rows, columns = scores.shape
    strip = max(1, SKIMMED // columns) if scores.device.type == "cpu" else max(1, rows)
    maxima, sums, work = [], [], torch.empty_like(scores[:strip])
    for start in range(0, max(1, rows), strip):
        own = slice(start, start + strip)
        part = scores[own]
        place = work[: len(part)]
        maxima.append(_group_maxima(part))
        if scale is not None:
            part = torch.mul(part, scale[own], out=place)
        if shift is not None:
            part = torch.sub(part, shift[own], out=place)
        sums.append(torch.exp(part, out=place).sum(dim=1, keepdim=True))
    return torch.cat(maxima), torch.cat(sums)


def _logarithms(
    sums: Float[Tensor, "R 1"],
    scores: Float[Tensor, "R P"],
    highest: Float[Tensor, "R 1"],
    scale: Float[Tensor, "R 1"] | None,
) -> Float[Tensor, "R 1"]:
    """Return the logarithms of sums of exponentials; scores that are too high or too low for these are shifted."""
    if scale is not None:
        highest = highest * scale
    high = highest.abs() > HARMLESS
    if not bool(high.any()):
        return sums.log_()
    # By nothing in the other rows: what is found in a row does not depend on its neighbours.
    shift = torch.where(high, highest, torch.zeros_like(highest))
    return _skim(scores, scale, shift)[1].log_().add_(shift)
