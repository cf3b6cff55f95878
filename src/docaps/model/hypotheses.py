"""Hypotheses of a beam: what search asks of a decoder, and the choice of the best next words.

Dimensions: B sentences, W hypotheses of each, R = B x W rows, C best words, E words asked for by their ids, P words of
a chunk, G groups of words.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from docaps.corpus.text.vocabulary import BOS, EOS, PAD

GROUP = 32
"""Words per group: the best words are in the groups with the highest maxima."""
CHUNK = 32_768
"""Words scored at a time: mostly the whole vocabulary, as every chunk costs a selection."""
ROWS = 256
"""Rows scored at a time."""
FEW_ROWS = 16
CACHED_SCORES = 2**17
"""Scores processed at a time: few enough for the CPU's cache."""
SAFE_EXPONENT = 40.0
"""Exponentials of numbers from minus this to this, and their sums, neither overflow nor vanish in float32."""
NEVER_WRITTEN = [PAD, BOS]
IMPOSSIBLE = float("-inf")
Part = TypeVar("Part", bound="Rows")


@dataclass(frozen=True, slots=True)
class NextWords:
    """The most probable next words of each hypothesis, and the log-probability of its end; never PAD or BOS.

    Without normalisation log-probabilities lack the log of the sum of exponentials, the same number for all words of a
    row; the order of words is the same, and no exponentials are needed.
    """

    log_probabilities: Float[Tensor, "R C"]
    words: Int[Tensor, "R C"]
    ending: Float[Tensor, " R"]
    wanted: Float[Tensor, "R E"] | None = None
    """Of the words that were asked for by their ids; PAD is impossible."""


@runtime_checkable
class Hypotheses(Protocol):
    """The decoder states of all hypotheses of a batch; every sentence has the same number of them, W."""

    def extend(
        self, words: Int[Tensor, "B W"], count: int, normalise: bool = True, wanted: Int[Tensor, "R E"] | None = None
    ) -> NextWords:
        """Append a word to each hypothesis and return the `count` best next words of each row, and the wanted ones."""

    def follow(self, parents: Int[Tensor, "B W"]) -> None:
        """Replace each hypothesis by its parent, a hypothesis of the same sentence."""

    def keep(self, rows: Int[Tensor, " R"]) -> None:
        """Drop all sentences but these."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Base of decoder states: their tensors have a row for each hypothesis, other fields hold for all rows."""

    def select(self: Part, rows: Int[Tensor, " R"]) -> Part:
        """Return the given rows of the batch, in the given order; rows may repeat."""
        return replace(self, **{field.name: _select(getattr(self, field.name), rows) for field in fields(self)})


def _select(part: Any, rows: Int[Tensor, " R"]) -> Any:
    if isinstance(part, tuple):
        return tuple(_select(one, rows) for one in part)
    if isinstance(part, Tensor):
        return part[rows]
    return part.select(rows) if hasattr(part, "select") else part


Score = Callable[[Tensor], tuple[Iterator[Tensor], Tensor | None]]
"""Takes last states; returns the scores of all words in chunks, and a factor for each row, if one is left."""
Column = Float[Tensor, "R 1"]
"""A number for each row."""


def best_words_of(
    states: Float[Tensor, "R D"],
    score: Score,
    count: int,
    normalise: bool = True,
    wanted: Int[Tensor, "R E"] | None = None,
) -> NextWords:
    """Return the best next words for these states, scored a few rows and a chunk of words at a time."""
    parts = []
    for start, rows in zip(range(0, max(1, len(states)), ROWS), states.split(ROWS), strict=True):
        chunks, scale = score(rows)
        own = None if wanted is None else wanted[start : start + ROWS]
        parts.append(best_words(chunks, count, scale, normalise, own))
    if len(parts) == 1:
        return parts[0]
    names = [field.name for field in fields(NextWords) if wanted is not None or field.name != "wanted"]
    return NextWords(*(torch.cat([getattr(part, name) for part in parts]) for name in names))


def best_words(
    chunks: Iterable[Tensor],
    count: int,
    scale: Column | None = None,
    normalise: bool = True,
    wanted: Int[Tensor, "R E"] | None = None,
) -> NextWords:
    """Return the best next words, given the scores of all words in chunks, which are overwritten.

    `scale` is a positive factor by which each row's scores are still to be multiplied; it does not change their order.
    """
    candidates, sums, asked, offset, ending = [], [], [], 0, None
    for scores in _joined(chunks):
        chunk = scores.float() if scores.dtype.itemsize == 2 else scores
        if ending is None:
            ending, never = chunk[:, EOS].clone(), chunk[:, NEVER_WRITTEN]
            chunk[:, NEVER_WRITTEN] = IMPOSSIBLE
            sums.append(never if scale is None else never * scale)  # their probability counts in the sum
        if wanted is not None:
            asked.append(_scores_of(wanted, chunk, offset))
        maxima, total = _maxima_and_sums(chunk, scale) if normalise else (_group_maxima(chunk), None)
        values, words = _candidates(chunk, maxima, count, offset)
        candidates.append((values, words))
        offset += chunk.shape[1]
        if total is not None:
            sums.append(_log_sums(total, chunk, values.amax(dim=1, keepdim=True), scale))
    assert ending is not None
    values, words = (torch.cat(parts, dim=1) for parts in zip(*candidates, strict=True))
    values, best = values.topk(min(count, values.shape[1]), dim=1)
    found = [values, ending.unsqueeze(1), *([torch.stack(asked).amax(dim=0)] if asked else [])]
    if scale is not None:
        found = [part * scale for part in found]
    if normalise:
        total = torch.cat(sums, dim=1).logsumexp(dim=1, keepdim=True)  # (R, 1)
        found = [part - total for part in found]
    values, ends, *others = found
    return NextWords(values, words.gather(1, best), ends.squeeze(1), *others)


def _scores_of(wanted: Int[Tensor, "R E"], scores: Float[Tensor, "R P"], offset: int) -> Float[Tensor, "R E"]:
    """Return the scores of the wanted words that are in a chunk; others are impossible."""
    places = wanted - offset
    absent = (places < 0) | (places >= scores.shape[1])
    return scores.gather(1, places.clamp(0, scores.shape[1] - 1)).masked_fill(absent, IMPOSSIBLE)


def _joined(chunks: Iterable[Tensor]) -> Iterable[Tensor]:
    """Join all chunks if there are few rows: each chunk costs some calls."""
    rest = iter(chunks)
    first = next(rest)
    if len(first) > FEW_ROWS:
        return itertools.chain((first,), rest)
    parts = [first, *rest]
    return [first if len(parts) == 1 else torch.cat(parts, dim=1)]


def _candidates(
    scores: Float[Tensor, "R P"], maxima: Float[Tensor, "R G"], count: int, offset: int
) -> tuple[Float[Tensor, "R some"], Int[Tensor, "R some"]]:
    """Return scores and ids of some words of a chunk that include the best ones; `offset` is the id of its first word.

    They are the members of the groups with the highest maxima: maxima are faster than a selection over all words.
    """
    (rows, columns), groups = scores.shape, maxima.shape[1]
    if groups < 4 * count:
        values, ids = scores.topk(min(count, columns), dim=1)
        return values, ids + offset
    best_groups = maxima.topk(count, dim=1, sorted=False).indices.unsqueeze(2)  # (R, C, 1)
    ids = (best_groups + _first_members(groups, scores.device)).flatten(1)  # (R, C x GROUP)
    if columns > groups * GROUP:
        rest = torch.arange(groups * GROUP, columns, device=scores.device)  # too few for a group
        ids = torch.cat((ids, rest.expand(rows, -1)), dim=1)
    return scores.gather(1, ids), ids.add_(offset)


def _group_maxima(scores: Float[Tensor, "R P"]) -> Float[Tensor, "R G"]:
    """Return the highest score of each group; group g has the columns g, g + groups, g + 2 x groups, ..."""
    groups = scores.shape[1] // GROUP
    return scores[:, : groups * GROUP].view(len(scores), GROUP, groups).amax(dim=1)


@cache
def _first_members(groups: int, device: torch.device) -> Int[Tensor, " G"]:
    """Return the columns of the first group's members."""
    return torch.arange(GROUP, device=device) * groups


def _maxima_and_sums(
    scores: Float[Tensor, "R P"], scale: Column | None, shift: Column | None = None
) -> tuple[Float[Tensor, "R G"], Column]:
    """Return the group maxima of each row, and the sum of exponentials of scale x score - shift.

    A few rows are processed at a time, so that they stay in the CPU's cache.
    """
    rows, columns = scores.shape
    strip = max(1, CACHED_SCORES // columns) if scores.device.type == "cpu" else max(1, rows)
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


def _log_sums(sums: Column, scores: Float[Tensor, "R P"], highest: Column, scale: Column | None) -> Column:
    """Return the log of the sums; rows whose scores would overflow or vanish are computed again, shifted."""
    if scale is not None:
        highest = highest * scale
    high = highest.abs() > SAFE_EXPONENT
    if not bool(high.any()):
        return sums.log_()
    # Other rows are shifted by 0, so that a row's result does not depend on its neighbours.
    shift = torch.where(high, highest, torch.zeros_like(highest))
    return _maxima_and_sums(scores, scale, shift)[1].log_().add_(shift)
