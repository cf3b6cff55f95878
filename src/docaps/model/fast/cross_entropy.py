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

CHUNK_BYTES = 2**27
"""Size of the logits of one chunk, in the number format of the products."""
STRIP_BYTES = 2**22
"""Size of the log-probabilities of one strip of a chunk: small enough for the CPU's cache, and reused, because fresh
memory comes page by page, which took longer than the arithmetic."""


def word_log_probabilities(
    states: Float[Tensor, "P D"], weight: Float[Tensor, "V D"], words: Int[Tensor, " P"]
) -> Float[Tensor, " P"]:
    """Return the log-probability of the given word at each position; no gradient."""
    with torch.no_grad():
        layer = _OutputLayer(states, weight)
        found = states.new_zeros(len(states), dtype=layer.exact)
        for part in layer.chunks:
            own = words[part].unsqueeze(1)
            for rows, log_probabilities in layer.normalise(layer.score(part)):
                found[part][rows] = log_probabilities.gather(1, own[rows]).squeeze(1)
        return found


def linear_cross_entropy(
    states: Float[Tensor, "P D"],
    weight: Float[Tensor, "V D"],
    words: Int[Tensor, " P"],
    *,
    smoothing: float,
    shares: Float[Tensor, " P"] | None = None,
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy, with label smoothing, of words scored by an output layer without bias.

    Instead of their mean, `shares` of the positions' losses can be added up. Products are in the number format of the
    states, sums in float32 or better. The gradient is computed in the forward pass, while the logits are at hand, if it
    is needed.
    """
    wanted = tuple(torch.is_grad_enabled() and values.requires_grad for values in (states, weight))
    with torch.autocast(states.device.type, enabled=False):  # inputs are cast already
        loss: Tensor = _LinearCrossEntropy.apply(states, weight, words, smoothing, wanted, shares)  # type: ignore[no-untyped-call]
    return loss


class _OutputLayer:
    """The logits of all words, chunk by chunk, in one reused buffer."""

    def __init__(self, states: Float[Tensor, "P D"], weight: Float[Tensor, "V D"]) -> None:
        self.states, self.weight = states, weight.to(states.dtype)
        self.exact = torch.promote_types(states.dtype, torch.float32)
        size = min(len(states), max(1, CHUNK_BYTES // (len(weight) * states.element_size())))
        self.chunks = [slice(start, start + size) for start in range(0, len(states), max(1, size))]
        self._scores = states.new_empty(size, len(weight))
        strip = max(1, STRIP_BYTES // (len(weight) * self.exact.itemsize))
        self._strip = states.new_empty(strip, len(weight), dtype=self.exact)

    def score(self, part: slice) -> Float[Tensor, "chunk V"]:
        """Return the logits of a chunk; the next call overwrites them."""
        states = self.states[part]
        return torch.mm(states, self.weight.T, out=self._scores[: len(states)])

    def normalise(self, scores: Float[Tensor, "chunk V"]) -> Iterator[tuple[slice, Float[Tensor, "strip V"]]]:
        """Yield the log-probabilities of a chunk, strip by strip, in one reused buffer."""
        for start in range(0, len(scores), len(self._strip)):
            rows = slice(start, start + len(self._strip))
            buffer = self._strip[: len(scores[rows])]
            yield rows, torch.log_softmax(scores[rows], dim=-1, dtype=self.exact, out=buffer)


class _LinearCrossEntropy(torch.autograd.Function):
    """Cross-entropy with label smoothing, which moves a share of a word's weight to all words.

    Positions count alike, or by their shares. At each of them the loss is -log p(word) + smoothing x (the word's score
    - the mean score), and the mean score is the product of the state and the mean row of the weight: neither loss nor
    gradient needs a sum over the scores.
    """

    @staticmethod
    def forward(
        ctx: Any,
        states: Tensor,
        weight: Tensor,
        words: Tensor,
        smoothing: float,
        wanted: tuple[bool, bool],
        shares: Tensor | None,
    ) -> Tensor:
        layer = _OutputLayer(states, weight)
        # The mean is divided at the end. Shares count before the sum: a column, one for each position.
        column = None if shares is None else shares.to(layer.exact).unsqueeze(1)  # (P, 1)
        share, divisor = (1 / max(1, len(states)), len(states)) if column is None else (1.0, 1)
        sum_of_states = (states if column is None else states * column).sum(dim=0, dtype=layer.exact)  # (D)
        mean_row = layer.weight.mean(dim=0, dtype=layer.exact)  # (D)
        total = -smoothing * (sum_of_states @ mean_row)
        of_states = torch.empty_like(states) if wanted[0] else None
        of_all_words = -smoothing * share / len(weight) * sum_of_states.to(weight.dtype)
        of_weight = of_all_words.expand_as(weight).contiguous() if wanted[1] else None
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
        ctx.gradients = of_states, of_weight
        return total / divisor

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        if ctx.gradients is None:
            raise RuntimeError("the output layer's gradient is computed once: it cannot be asked for again")
        gradients, ctx.gradients = ctx.gradients, None  # not shared, so they may be overwritten
        of_states, of_weight = (None if one is None else one.mul_(gradient) for one in gradients)
        return of_states, of_weight, None, None, None, None
