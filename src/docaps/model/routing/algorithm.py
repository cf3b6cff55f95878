"""Query-guided dynamic routing: words are clustered into a few capsules (Alg. 1, Eqs. 7-8).

Reference: Yang et al. (2019). Dimensions: B batch, N words, M capsules, D capsule size, R routing iterations.

The votes W_j u_i are never stored. Both of their uses are linear, so the matrices apply to weighted sums of words:
s_j = W_j (sum_i w_ij u_i), and the agreement of word i with capsule j is u_i . (W_j^T v_j). Squashed words are not
stored either: squashing multiplies each word by a number, which can multiply that word's weight and agreement instead
and does not change a correlation. The result is the same; memory falls from O(M N D) to O(N D).
"""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from docaps.model.fast.shared import Shared


def squash(vectors: Float[Tensor, "*any D"]) -> Float[Tensor, "*any D"]:
    """Shorten each vector to below length 1, keeping its direction (Eq. 8)."""
    return vectors * squash_factor(torch.linalg.vector_norm(vectors, dim=-1, keepdim=True))


def squash_factor(norm: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    """Return the factor by which squashing multiplies a vector of this length (Eq. 8).

    One norm cancels, so nothing is divided by it: the all-zero capsule of an empty history is safe, and exact.
    """
    return norm / (1 + norm.square())


def root(values: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    """Take square roots; at 0 the gradient is 0 instead of infinite."""
    positive = values > torch.finfo(values.dtype).tiny
    return torch.where(positive, torch.where(positive, values, 1).sqrt(), 0)


def inverse_deviation(variance: Float[Tensor, "*any"], mean: Float[Tensor, "*any"], size: int) -> Float[Tensor, "*any"]:
    """Return 1 / length of centred vectors of `size` numbers; 0 for a constant one, which correlates with nothing.

    A vector counts as constant if its numbers differ by rounding only: dividing by noise would make the gradient huge.
    So does a vector so short that its gradient, variance ** -1.5, would overflow.
    """
    limits = torch.finfo(variance.dtype)
    varies = variance > (16 * limits.eps * mean).square() + limits.tiny ** (2 / 3)
    return torch.where(varies, (size * torch.where(varies, variance, 1)).rsqrt(), 0)


def standardised(vectors: Float[Tensor, "*any D"]) -> Float[Tensor, "*any D"]:
    """Centre each vector and scale it to length 1; a constant vector becomes zero."""
    mean = vectors.mean(dim=-1, keepdim=True)
    deviations = vectors - mean
    return deviations * inverse_deviation(deviations.square().mean(dim=-1, keepdim=True), mean, vectors.shape[-1])


def pearson(left: Float[Tensor, "*any D"], right: Float[Tensor, "*any D"]) -> Float[Tensor, "*any"]:
    """Return Pearson's correlation of pairs of vectors; 0 where one of them is constant (Eq. 7)."""
    return (standardised(left) * standardised(right)).sum(dim=-1)


@dataclass(frozen=True, slots=True)
class Routing:
    """The capsules and, if traced, the coupling coefficients c and correlations of each iteration (Figs. 6-7)."""

    capsules: Float[Tensor, "B M D"]
    coupling: Float[Tensor, "R B M N"] | None = None
    correlation: Float[Tensor, "R B M N"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingOptions:
    """The number of iterations, and departures from Alg. 1, if any."""

    rounds: int
    squash_words: bool = True
    """Squash input capsules like output capsules."""
    guide_capsules: bool = True
    """Use p in line 20, the sum that makes a capsule."""
    guide_agreement: bool = True
    """Use p in line 27, the agreement."""
    gradient: Literal["all", "last", "detached-votes"] = "all"
    """all: through every iteration; last: results of earlier iterations are constants; detached-votes: the votes in
    line 27 are constants."""


def route(
    words: Float[Tensor, "B N D"],
    word_mask: Bool[Tensor, "B N"],
    weight: Float[Tensor, "M D D"],
    *,
    options: RoutingOptions,
    query: Float[Tensor, "B D"] | None = None,
    trace: bool = False,
    weight_gradient: Float[Tensor, "M D D"] | None = None,
    sharpness: Tensor | float = 1.0,
) -> Routing:
    """Route N words into M capsules, favouring words that correlate with the query, if there is one (Alg. 1).

    Without a query this is plain dynamic routing (Sabour et al. 2017). The gradient of `weight` is added to
    `weight_gradient` if given, else to `weight.grad`. Departure from the paper: `sharpness` multiplies the agreement,
    which squashed words and capsules keep below 1; 1 is the paper's.
    """
    algorithm = _Algorithm(words, word_mask, Shared(weight, weight_gradient), options, sharpness)
    state = algorithm.start(query)
    traced = []
    for iteration in range(options.rounds):
        is_last = iteration == options.rounds - 1
        if is_last and query is not None and options.gradient == "last":
            state = algorithm.reattach(state, query)
        with torch.set_grad_enabled(torch.is_grad_enabled() and (is_last or options.gradient != "last")):
            coupling, capsules = algorithm.form_capsules(state)
            if trace:
                traced.append((coupling, state.correlation))
            if not is_last:  # the updates of the last iteration would not be read
                state = algorithm.update(state, capsules)
    if not trace:
        return Routing(capsules)
    couplings, correlations = zip(*traced, strict=True)
    return Routing(capsules, torch.stack(couplings), None if query is None else torch.stack(correlations))


@dataclass(frozen=True, slots=True)
class _State:
    """What an iteration starts from: alpha, q, the correlations of words and q, and p, the tanh of these."""

    agreement: Float[Tensor, "B M N"]
    queries: Float[Tensor, "B M D"] | None = None
    correlation: Float[Tensor, "B M N"] | None = None
    guidance: Float[Tensor, "B M N"] | None = None


class _Algorithm:
    """The steps of Alg. 1 on one batch."""

    def __init__(
        self,
        words: Float[Tensor, "B N D"],
        word_mask: Bool[Tensor, "B N"],
        weight: Shared,
        options: RoutingOptions,
        sharpness: Tensor | float,
    ) -> None:
        self._words = _InputCapsules(words, word_mask, options)
        self._weight, self._options, self._sharpness = weight, options, sharpness
        self._is_plain = isinstance(sharpness, float) and sharpness == 1
        self._zeros = words.new_zeros(len(words), len(weight.matrices), words.shape[1])  # (B, M, N)

    def start(self, query: Float[Tensor, "B D"] | None) -> _State:
        """Initialise alpha with zeros and give every capsule the same query (lines 5-7)."""
        if query is None:
            return _State(self._zeros)
        capsules = self._zeros.shape[1]
        queries = query.unsqueeze(1)  # (B, 1, D)
        correlation = self._words.correlate(queries)  # (B, 1, N)
        guidance = torch.tanh(correlation)
        return _State(self._zeros, *(values.expand(-1, capsules, -1) for values in (queries, correlation, guidance)))

    def form_capsules(self, state: _State) -> tuple[Float[Tensor, "B M N"], Float[Tensor, "B M D"]]:
        """Return c, a softmax over the capsules for each word (line 16), and the capsules v (lines 20-21)."""
        coupling = torch.softmax(state.agreement, dim=1)
        guidance = state.guidance if self._options.guide_capsules else None
        sums = self._words.sum_weighted(coupling if guidance is None else coupling + guidance)
        votes = self._weight.compare_rows(sums.transpose(0, 1)).transpose(0, 1)  # W_j x_j, votes of all words (line 4)
        return coupling, squash(votes)

    def update(self, state: _State, capsules: Float[Tensor, "B M D"]) -> _State:
        """Update alpha with the old p, then q, then p (lines 27-31)."""
        directions = self._vote_back(capsules)
        if state.queries is None or state.guidance is None:
            return _State(state.agreement + self._words.agree(directions))
        queries = (state.queries + capsules) / 2
        products, correlation = self._words.agree_and_correlate(directions, queries)
        if self._options.guide_agreement:
            products = state.guidance * products
        return _State(state.agreement + products, queries, correlation, torch.tanh(correlation))

    def reattach(self, state: _State, query: Float[Tensor, "B D"]) -> _State:
        """Give the last iteration's p its gradient with respect to words and query; earlier capsules are constants."""
        if state.queries is None:
            return state
        own = query.unsqueeze(1) / 2 ** (self._options.rounds - 1)  # line 29 halves it in every iteration
        queries = own + (state.queries - own).detach()
        correlation = self._words.correlate(queries)
        return _State(state.agreement, queries, correlation, torch.tanh(correlation))

    def _vote_back(self, capsules: Float[Tensor, "B M D"]) -> Float[Tensor, "B M D"]:
        """Return W_j^T v_j; its product with u_i is the agreement of vote and capsule, W_j u_i . v_j (sharpened)."""
        turned = capsules.transpose(0, 1)  # (M, B, D)
        if self._options.gradient == "detached-votes":
            directions = torch.bmm(turned, self._weight.matrices.detach()).transpose(0, 1)
        else:
            directions = self._weight.combine_rows(turned).transpose(0, 1)
        return directions if self._is_plain else directions * self._sharpness


class _InputCapsules:
    """The words u_i: what routing computes from them once, and the products with them in every iteration."""

    def __init__(self, words: Float[Tensor, "B N D"], word_mask: Bool[Tensor, "B N"], options: RoutingOptions) -> None:
        self._words, self._detached = Shared(words), options.gradient == "detached-votes"
        variance, mean = self._words.moments()  # (B, N)
        size = words.shape[-1]
        factor = word_mask.to(words.dtype)
        if options.squash_words:
            factor = factor * squash_factor(root(size * (variance + mean.square())))
        self._factor = factor.unsqueeze(1)  # (B, 1, N)
        self._inverse_deviation = inverse_deviation(variance, mean, size).unsqueeze(1)  # (B, 1, N)

    def sum_weighted(self, weights: Float[Tensor, "B M N"]) -> Float[Tensor, "B M D"]:
        """Return the weighted sums of words; the mask multiplies the weights, so padding adds nothing."""
        return self._words.combine_rows(weights * self._factor)

    def agree(self, directions: Float[Tensor, "B M D"]) -> Float[Tensor, "B M N"]:
        """Return u_i . direction_j."""
        if self._detached:
            return torch.bmm(directions, self._words.matrices.detach().transpose(1, 2)) * self._factor.detach()
        return self._words.compare_rows(directions) * self._factor

    def correlate(self, queries: Float[Tensor, "B m D"]) -> Float[Tensor, "B m N"]:
        """Return the correlation of u_i and q_j (Eq. 7); u_i needs no centring, because q_j is centred."""
        return self._words.compare_rows(standardised(queries)) * self._inverse_deviation

    def agree_and_correlate(
        self, directions: Float[Tensor, "B M D"], queries: Float[Tensor, "B M D"]
    ) -> tuple[Float[Tensor, "B M N"], Float[Tensor, "B M N"]]:
        """Do both, with one product where the gradient allows it."""
        if self._detached:
            return self.agree(directions), self.correlate(queries)
        both = self._words.compare_rows(torch.cat((directions, standardised(queries)), dim=1))  # (B, 2 M, N)
        products, correlations = both.chunk(2, dim=1)
        return products * self._factor, correlations * self._inverse_deviation
