"""The output layer and its loss, some positions at a time: the scores of all words at all positions are never held.

With 30,000 words the scores are the largest tensor of a training step by far. Here each piece of them is made, turned
into its part of the loss and of the gradient, and overwritten by the next. Nothing is approximated.

Dimensions: P positions, D model size, V vocabulary.
"""

from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

PIECE_BYTES = 2**27
"""How large the scores of one piece may be, in the number format of the products."""
STRIP_BYTES = 2**22
"""How large the log-probabilities of one strip of a piece may be: small enough for a cache, and for memory that is used
again. Fresh memory comes page by page, which took longer than the arithmetic."""


def word_log_probabilities(
    states: Float[Tensor, "P D"], weight: Float[Tensor, "V D"], words: Int[Tensor, " P"]
) -> Float[Tensor, " P"]:
    """Return the log-probability of the given word at each position; no gradient."""
    with torch.no_grad():
        layer = _OutputLayer(states, weight)
        found = states.new_zeros(len(states), dtype=layer.exact)
        for part in layer.pieces:
            own = words[part].unsqueeze(1)
            for rows, log_probabilities in layer.normalise(layer.score(part)):
                found[part][rows] = log_probabilities.gather(1, own[rows]).squeeze(1)
        return found


def linear_cross_entropy(
    states: Float[Tensor, "P D"], weight: Float[Tensor, "V D"], words: Int[Tensor, " P"], *, smoothing: float
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy, with label smoothing, of words scored by an output layer without bias.

    Products are made in the number format of the states, sums in float32 or better. The gradient is made on the way
    forward, when the scores are at hand, unless nobody needs it.
    """
    wanted = torch.is_grad_enabled(), states.requires_grad, weight.requires_grad
    gradients = wanted[0] and wanted[1], wanted[0] and wanted[2]
    with torch.autocast(states.device.type, enabled=False):  # what should be cast is cast already
        loss: Tensor = _LinearCrossEntropy.apply(states, weight, words, smoothing, gradients)  # type: ignore[no-untyped-call]
    return loss


class _OutputLayer:
    """The scores of all words, piece by piece, each in the place of the one before."""

    def __init__(self, states: Float[Tensor, "P D"], weight: Float[Tensor, "V D"]) -> None:
        self.states, self.weight = states, weight.to(states.dtype)
        self.exact = torch.promote_types(states.dtype, torch.float32)
        size = min(len(states), max(1, PIECE_BYTES // (len(weight) * states.element_size())))
        self.pieces = [slice(start, start + size) for start in range(0, len(states), max(1, size))]
        self._scores = states.new_empty(size, len(weight))
        strip = max(1, STRIP_BYTES // (len(weight) * self.exact.itemsize))
        self._strip = states.new_empty(strip, len(weight), dtype=self.exact)

    def score(self, part: slice) -> Float[Tensor, "piece V"]:
        """Return the scores of a piece; they are overwritten by those of the next."""
        states = self.states[part]
        return torch.mm(states, self.weight.T, out=self._scores[: len(states)])

    def normalise(self, scores: Float[Tensor, "piece V"]) -> Iterator[tuple[slice, Float[Tensor, "strip V"]]]:
        """Yield the log-probabilities of a piece, strip by strip, each in the place of the one before."""
        for start in range(0, len(scores), len(self._strip)):
            rows = slice(start, start + len(self._strip))
            place = self._strip[: len(scores[rows])]
            yield rows, torch.log_softmax(scores[rows], dim=-1, dtype=self.exact, out=place)


class _LinearCrossEntropy(torch.autograd.Function):
    """Smoothing takes a share of a word's weight and spreads it over all words.

    So at each position the loss is -log p(word) + smoothing x (the word's score - the mean score), and the mean score
    is the product of the state and the mean row of the weight: no sum over the scores is needed for it, neither here
    nor in the gradient.
    """

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, weight: Tensor, words: Tensor, smoothing: float, wanted: tuple[bool, bool]
    ) -> Tensor:
        layer, share = _OutputLayer(states, weight), 1 / max(1, len(states))
        sum_of_states = states.sum(dim=0, dtype=layer.exact)  # (D)
        mean_row = layer.weight.mean(dim=0, dtype=layer.exact)  # (D)
        total = -smoothing * (sum_of_states @ mean_row)
        of_states = torch.empty_like(states) if wanted[0] else None
        of_all_words = -smoothing * share / len(weight) * sum_of_states.to(weight.dtype)
        of_weight = of_all_words.expand_as(weight).contiguous() if wanted[1] else None
        for part in layer.pieces:
            scores = layer.score(part)
            for rows, log_probabilities in layer.normalise(scores):
                own = words[part][rows].unsqueeze(1)
                score = scores[rows].gather(1, own)
                total += (smoothing * score - log_probabilities.gather(1, own)).sum(dtype=layer.exact)
                if any(wanted):  # the slope of each score takes its place
                    slopes = log_probabilities.exp_()
                    scores[rows] = slopes.scatter_add_(1, own, slopes.new_full(own.shape, smoothing - 1))
            if of_states is not None:
                of_states[part] = (scores @ layer.weight - smoothing * mean_row) * share
            if of_weight is not None:
                _add_product(of_weight, scores.T, states[part] * share)
        ctx.gradients = of_states, of_weight
        return total / len(states)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        if ctx.gradients is None:
            raise RuntimeError("the output layer's gradient is made once: it cannot be asked for again")
        gradients, ctx.gradients = ctx.gradients, None  # ours alone, so it may be overwritten
        of_states, of_weight = (None if one is None else one.mul_(gradient) for one in gradients)
        return of_states, of_weight, None, None, None


def _add_product(total: Float[Tensor, "V D"], left: Float[Tensor, "V P"], right: Float[Tensor, "P D"]) -> None:
    """Add a product to what may be of higher precision."""
    if total.dtype == left.dtype:
        total.addmm_(left, right)
    else:
        total += left @ right
