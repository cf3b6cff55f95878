"""Output layer and cross-entropy in one, a chunk of positions at a time: all logits are never held at once.

With 30,000 words the logits are by far the largest tensor of a training step. Here each chunk is computed, turned into
its part of the loss and of the gradient, and overwritten by the next. Nothing is approximated.

Dimensions: P positions, D model size, V vocabulary.
"""

from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from docaps.model.hypotheses import Score

CHUNK_BYTES = 2**27
"""Size of the logits of one chunk, in the number format of the products."""
STRIP_BYTES = 2**22
"""Size of the log-probabilities of one strip of a chunk: small enough for the CPU's cache, and reused, because fresh
memory comes page by page, which took longer than the arithmetic."""


def word_log_probabilities(
    states: Float[Tensor, "P D"],
    weight: Float[Tensor, "V D"],
    words: Int[Tensor, " P"],
    *,
    bias: Float[Tensor, " V"] | None = None,
) -> Float[Tensor, " P"]:
    """Return the log-probability of the given word at each position; no gradient."""
    with torch.no_grad():
        layer = _OutputLayer(states, weight, bias)
        found = states.new_zeros(len(states), dtype=layer.exact)
        for part in layer.chunks:
            own = words[part].unsqueeze(1)
            for rows, log_probabilities in layer.normalise(layer.score(part)):
                found[part][rows] = log_probabilities.gather(1, own[rows]).squeeze(1)
        return found


ROWS = 256
"""Positions that a packed output layer scores at a time."""


def rescored_log_probabilities(
    states: Float[Tensor, "P D"],
    weight: Float[Tensor, "V D"],
    words: Int[Tensor, " P"],
    score: Score,
    *,
    bias: Float[Tensor, " V"] | None = None,
) -> Float[Tensor, " P"]:
    """Return the log-probability of the given word at each position, given a fast way to score all words; no gradient.

    The given word itself is scored exactly: errors of the many others cancel in the sum, its own would not.
    """
    with torch.no_grad():
        found = []
        for rows, own in zip(states.split(ROWS), words.split(ROWS), strict=True):
            exact = torch.linalg.vecdot(rows, weight[own])
            exact = exact if bias is None else exact + bias[own]
            found.append(exact - _log_sum(score(rows), own, exact))
        return torch.cat(found) if found else states.new_zeros(0)


def _log_sum(
    scored: tuple[Iterator[Tensor], Tensor | None], words: Int[Tensor, " P"], exact: Float[Tensor, " P"]
) -> Float[Tensor, " P"]:
    """Return the log of the sum of exponentials of all words' scores, which are overwritten; one of them is known."""
    (chunks, scale), sums, first = scored, [], 0
    for chunk in chunks:
        place = (words - first).clamp(0, chunk.shape[1] - 1).unsqueeze(1)
        scores = chunk if scale is None else chunk.mul_(scale)
        inside = (words == place.squeeze(1) + first).unsqueeze(1)
        one = torch.where(inside, exact.unsqueeze(1), scores.gather(1, place))
        scores.scatter_(1, place, one)
        sums.append(one - _normalised(scores, place))
        first += chunk.shape[1]
    return torch.cat(sums, dim=1).logsumexp(dim=1)


def _normalised(scores: Float[Tensor, "P V"], place: Int[Tensor, "P 1"]) -> Float[Tensor, "P 1"]:
    """Return one log-probability of each position, computed for a few positions at a time, in the CPU's cache."""
    strip = max(1, STRIP_BYTES // (scores.shape[1] * scores.element_size()))
    parts = zip(scores.split(strip), place.split(strip), strict=True)
    return torch.cat([torch.log_softmax(part, dim=1).gather(1, own) for part, own in parts])


def linear_cross_entropy(
    states: Float[Tensor, "P D"],
    weight: Float[Tensor, "V D"],
    words: Int[Tensor, " P"],
    *,
    smoothing: float,
    shares: Float[Tensor, " P"] | None = None,
    bias: Float[Tensor, " V"] | None = None,
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy, with label smoothing, of words scored by an output layer.

    Instead of their mean, `shares` of the positions' losses can be added up. Products are in the number format of the
    states, sums in float32 or better. The gradient is computed in the forward pass, while the logits are at hand, if it
    is needed.
    """
    inputs = (states, weight, bias)
    wanted = tuple(torch.is_grad_enabled() and one is not None and one.requires_grad for one in inputs)
    with torch.autocast(states.device.type, enabled=False):  # inputs are cast already
        loss: Tensor = _LinearCrossEntropy.apply(*inputs, words, smoothing, wanted, shares)  # type: ignore[no-untyped-call]
    return loss


class _OutputLayer:
    """The logits of all words, chunk by chunk, in one reused buffer."""

    def __init__(
        self, states: Float[Tensor, "P D"], weight: Float[Tensor, "V D"], bias: Float[Tensor, " V"] | None
    ) -> None:
        self.states, self.weight = states, weight.to(states.dtype)
        self.bias = None if bias is None else bias.to(states.dtype)
        self.exact = torch.promote_types(states.dtype, torch.float32)
        size = min(len(states), max(1, CHUNK_BYTES // (len(weight) * states.element_size())))
        self.chunks = [slice(start, start + size) for start in range(0, len(states), max(1, size))]
        self._scores = states.new_empty(size, len(weight))
        strip = max(1, STRIP_BYTES // (len(weight) * self.exact.itemsize))
        self._strip = states.new_empty(strip, len(weight), dtype=self.exact)

    def score(self, part: slice) -> Float[Tensor, "chunk V"]:
        """Return the logits of a chunk; the next call overwrites them."""
        states = self.states[part]
        place = self._scores[: len(states)]
        if self.bias is not None:
            return torch.addmm(self.bias, states, self.weight.T, out=place)
        return torch.mm(states, self.weight.T, out=place)

    def normalise(self, scores: Float[Tensor, "chunk V"]) -> Iterator[tuple[slice, Float[Tensor, "strip V"]]]:
        """Yield the log-probabilities of a chunk, strip by strip, in one reused buffer."""
        for start in range(0, len(scores), len(self._strip)):
            rows = slice(start, start + len(self._strip))
            buffer = self._strip[: len(scores[rows])]
            yield rows, torch.log_softmax(scores[rows], dim=-1, dtype=self.exact, out=buffer)


def _initial_bias_gradient(
    bias: Float[Tensor, " V"], states: Float[Tensor, "P D"], column: Float[Tensor, "P 1"] | None, smoothing: float
) -> Float[Tensor, " V"]:
    """Return the part of the bias's gradient that label smoothing makes, the same for all words."""
    positions = len(states) if column is None else column.sum()
    return torch.zeros_like(bias) - smoothing / len(bias) * positions


class _LinearCrossEntropy(torch.autograd.Function):
    """Cross-entropy with label smoothing, which moves a share of a word's weight to all words.

    Positions count alike, or by their shares. At each of them the loss is -log p(word) + smoothing x (the word's score
    - the mean score), and the mean score is the product of the state and the mean row of the weight, plus the mean
    bias: neither loss nor gradient needs a sum over the scores.
    """

    @staticmethod
    def forward(
        ctx: Any,
        states: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        words: Tensor,
        smoothing: float,
        wanted: tuple[bool, bool, bool],
        shares: Tensor | None,
    ) -> Tensor:
        layer = _OutputLayer(states, weight, bias)
        # The mean is divided at the end. Shares count before the sum: a column, one for each position.
        column = None if shares is None else shares.to(layer.exact).unsqueeze(1)  # (P, 1)
        share, divisor = (1 / max(1, len(states)), len(states)) if column is None else (1.0, 1)
        sum_of_states = (states if column is None else states * column).sum(dim=0, dtype=layer.exact)  # (D)
        mean_row = layer.weight.mean(dim=0, dtype=layer.exact)  # (D)
        total = -smoothing * (sum_of_states @ mean_row)
        if bias is not None:
            total -= smoothing * bias.mean(dtype=layer.exact) * (len(states) if column is None else column.sum())
        of_states = torch.empty_like(states) if wanted[0] else None
        of_all_words = -smoothing * share / len(weight) * sum_of_states.to(weight.dtype)
        of_weight = of_all_words.expand_as(weight).contiguous() if wanted[1] else None
        of_bias = None
        if bias is not None and wanted[2]:
            of_bias = _initial_bias_gradient(bias, states, column, smoothing * share)
        for part in layer.chunks:
            scores = layer.score(part)
            for rows, log_probabilities in layer.normalise(scores):
                own = words[part][rows].unsqueeze(1)
                score = scores[rows].gather(1, own)
                loss = smoothing * score - log_probabilities.gather(1, own)
                total += (loss if column is None else loss * column[part][rows]).sum(dtype=layer.exact)
                if any(wanted):  # overwrite each score by its gradient
                    slopes = log_probabilities.exp_()
                    scores[rows] = slopes.scatter_add_(1, own, slopes.new_full(own.shape, smoothing - 1))
            own_share = share if column is None else column[part].to(scores.dtype)
            if of_states is not None:
                of_states[part] = (scores @ layer.weight - smoothing * mean_row) * own_share
            if of_weight is not None and of_weight.dtype == scores.dtype:
                of_weight.addmm_(scores.T, states[part] * own_share)
            elif of_weight is not None:  # in a higher precision
                of_weight += scores.T @ (states[part] * own_share)
            if of_bias is not None:
                of_bias += (scores * own_share).sum(dim=0, dtype=of_bias.dtype)
        ctx.gradients = of_states, of_weight, of_bias
        return total / divisor

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        if ctx.gradients is None:
            raise RuntimeError("the output layer's gradient is computed once: it cannot be asked for again")
        gradients, ctx.gradients = ctx.gradients, None  # not shared, so they may be overwritten
        return *(None if one is None else one.mul_(gradient) for one in gradients), None, None, None, None
