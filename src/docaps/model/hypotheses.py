"""Hypotheses: how a model goes on writing several translations of each sentence, and which words may come next.

Dimensions: B sentences, W hypotheses of each, R = B x W rows, C words asked for, P words of a piece of all.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from docaps.corpus.vocabulary import BOS, EOS, PAD

GROUP = 32
"""Words are looked through in groups of so many: the best words are among the groups with the best maxima."""
PIECE = 8192
"""Words whose scores are held at a time."""
FEW_ROWS = 16
NEVER_WRITTEN = [PAD, BOS]
IMPOSSIBLE = float("-inf")


@dataclass(frozen=True, slots=True)
class NextWords:
    """The most probable words after each hypothesis, and how probable its end is; never padding or a begin mark."""

    log_probabilities: Float[Tensor, "R C"]
    words: Int[Tensor, "R C"]
    ending: Float[Tensor, " R"]


@runtime_checkable
class Hypotheses(Protocol):
    """What a decoder remembers of all hypotheses of a batch; every sentence has the same number of them, W."""

    def extend(self, words: Int[Tensor, "B W"], count: int) -> NextWords:
        """Add a word to each hypothesis and return the `count` best words after it, row by row."""

    def follow(self, parents: Int[Tensor, "B W"]) -> None:
        """Let each hypothesis go on from one of the same sentence: itself or another."""

    def keep(self, rows: Int[Tensor, " R"]) -> None:
        """Forget all sentences but these."""


def best_words(pieces: Iterable[Tensor], count: int, scale: Float[Tensor, "R 1"] | None = None) -> NextWords:
    """Find the best of all words without ever holding the scores of all, which come piece by piece and are used up.

    `scale` is what the scores of each row are still to be multiplied by; it is above 0, so it does not change an order.
    """
    tops, sums, offset, ending = [], [], 0, None
    for scores in _joined(pieces):
        piece = scores.float() if scores.dtype.itemsize == 2 else scores
        if ending is None:
            ending, kept = piece[:, EOS].clone(), piece[:, NEVER_WRITTEN]
            piece[:, NEVER_WRITTEN] = IMPOSSIBLE
            values, words = _best_of(piece, count)
            piece[:, NEVER_WRITTEN] = kept  # never written, but they have their share of the probability
            highest = torch.maximum(values[:, :1], kept.amax(dim=1, keepdim=True))
        else:
            values, words = _best_of(piece, count)
            highest = values[:, :1]
        tops.append((values, words + offset))
        offset += piece.shape[1]
        sums.append(_log_sum_of_exponentials(piece, highest, scale))
    assert ending is not None
    values, words = (torch.cat(parts, dim=1) for parts in zip(*tops, strict=True))
    if len(tops) > 1:
        values, order = values.topk(min(count, values.shape[1]), dim=1)
        words = words.gather(1, order)
    if scale is not None:
        values, ending = values * scale, ending * scale.squeeze(1)
    total = torch.cat(sums, dim=1).logsumexp(dim=1) if len(sums) > 1 else sums[0].squeeze(1)  # (R)
    return NextWords(values - total.unsqueeze(1), words, ending - total)


def _joined(pieces: Iterable[Tensor]) -> Iterator[Tensor]:
    """Make one piece of all if there are few rows: each piece costs some calls."""
    rest = iter(pieces)
    first = next(rest)
    if len(first) <= FEW_ROWS:
        yield torch.cat((first, *rest), dim=1)
        return
    yield first
    yield from rest


def _best_of(scores: Float[Tensor, "R P"], count: int) -> tuple[Float[Tensor, "R C"], Int[Tensor, "R C"]]:
    """Find the best words, and where they stand; a maximum of many columns at once is quicker than a selection."""
    rows, columns = scores.shape
    groups = columns // GROUP
    if groups < 4 * count:
        return scores.topk(min(count, columns), dim=1)
    # Group g has the columns g, g + groups, g + 2 x groups, ...
    grouped = scores[:, : groups * GROUP].view(rows, GROUP, groups)
    best_groups = grouped.amax(dim=1).topk(count, dim=1).indices  # (R, C)
    members = grouped.gather(2, best_groups.unsqueeze(1).expand(-1, GROUP, -1)).flatten(1)  # (R, GROUP x C)
    left = scores[:, groups * GROUP :]  # too few for a group
    values, places = torch.cat((members, left), dim=1).topk(count, dim=1)
    in_group = places.div(count, rounding_mode="floor") * groups + best_groups.gather(1, places % count)
    beyond = places - GROUP * count  # 0 or more for those in no group
    return values, torch.where(beyond < 0, in_group, groups * GROUP + beyond)


def _log_sum_of_exponentials(
    scores: Float[Tensor, "R P"], highest: Float[Tensor, "R 1"], scale: Float[Tensor, "R 1"] | None
) -> Float[Tensor, "R 1"]:
    """Add up what the scores stand for; they are overwritten."""
    if scale is None:
        scores.sub_(highest)
    else:
        highest = highest * scale
        torch.addcmul(-highest, scores, scale, out=scores)
    return scores.exp_().sum(dim=1, keepdim=True).log_().add_(highest)
