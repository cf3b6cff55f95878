"""Capsule routing: words share themselves out among a few capsules (Alg. 1).

Reference: Yang et al. (2019). Dimensions: B batch, N words, M capsules, D capsule size, R routing iterations.

Votes W_j u_i are never stored. Both of their uses are linear, so they go through the weighted sum of words instead:
s_j = W_j (sum_i w_ij u_i), and the agreement of word i with capsule j is u_i . (W_j^T v_j). Squashed words are not
stored either: squashing multiplies each word by a number, which can as well multiply that word's weight and agreement,
and which a correlation does not see. The result is the same; memory falls from O(M N D) to O(N D).
"""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from docaps.model.fast.shared import Shared
from docaps.model.routing.functional import inverse_deviation, root, squash, squash_factor, standardised

Gradient = Literal["all", "last", "detached-votes"]


@dataclass(frozen=True, slots=True)
class Routing:
    """The capsules, and, when asked for, each iteration's coupling coefficients c and correlations (Figs. 6-7)."""

    capsules: Float[Tensor, "B M D"]
    coupling: Float[Tensor, "R B M N"] | None = None
    correlation: Float[Tensor, "R B M N"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingOptions:
    """How often routing iterates, and where it departs from Alg. 1, if at all."""

    rounds: int
    squash_words: bool = True
    """Whether input capsules are squashed like output capsules."""
    guide_capsules: bool = True
    """Whether p stands in line 20, the sum that makes a capsule."""
    guide_agreement: bool = True
    """Whether p stands in line 27, the agreement."""
    gradient: Gradient = "all"
    """all: through every iteration; last: what earlier iterations found counts as given; detached-votes: the votes
    in line 27 count as given."""


def route(
    words: Float[Tensor, "B N D"],
    word_mask: Bool[Tensor, "B N"],
    weight: Float[Tensor, "M D D"],
    *,
    options: RoutingOptions,
    query: Float[Tensor, "B D"] | None = None,
    trace: bool = False,
    weight_gradient: Float[Tensor, "M D D"] | None = None,
) -> Routing:
    """Route N words into M capsules, favouring words that correlate with the query if there is one (Alg. 1).

    Without a query this is plain dynamic routing (Sabour et al. 2017). The gradient of `weight` is added to
    `weight_gradient` where that is given, and goes to `weight` itself otherwise.
    """
    algorithm = _Algorithm(words, word_mask, Shared(weight, weight_gradient), options)
    beliefs = algorithm.begin(query)
    couplings, correlations = [], []
    for iteration in range(options.rounds):
        is_last = iteration == options.rounds - 1
        if is_last and query is not None and options.gradient == "last":
            beliefs = algorithm.reattach(beliefs, query)
        with torch.set_grad_enabled(torch.is_grad_enabled() and (is_last or options.gradient != "last")):
            coupling, vectors = algorithm.share_out(beliefs)
            if trace:
                couplings.append(coupling)
                correlations.append(beliefs.correlation)
            if not is_last:  # what the last iteration would update, nobody reads
                beliefs = algorithm.revise(beliefs, vectors)
    if not trace:
        return Routing(vectors)
    known = [correlation for correlation in correlations if correlation is not None]
    return Routing(vectors, torch.stack(couplings), torch.stack(known) if known else None)


@dataclass(frozen=True, slots=True)
class _Beliefs:
    """What an iteration starts from: alpha, q, the correlations, and p, which is their tanh."""

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
    ) -> None:
        self._words = _InputCapsules(words, word_mask, squashed=options.squash_words)
        self._matrices = _Matrices(weight)
        self._options = options
        self._start = words.new_zeros(len(words), len(weight.matrices), words.shape[1])  # (B, M, N)

    def begin(self, query: Float[Tensor, "B D"] | None) -> _Beliefs:
        """Start without any preference, and with the same query for all capsules (lines 5-7)."""
        if query is None:
            return _Beliefs(self._start)
        capsules = self._start.shape[1]
        queries = query.unsqueeze(1)  # (B, 1, D)
        correlation = self._words.correlate(queries)  # (B, 1, N)
        guidance = torch.tanh(correlation)
        return _Beliefs(self._start, *(values.expand(-1, capsules, -1) for values in (queries, correlation, guidance)))

    def share_out(self, beliefs: _Beliefs) -> tuple[Float[Tensor, "B M N"], Float[Tensor, "B M D"]]:
        """Return c, over the capsules for each word (line 16), and the capsules v (lines 20-21)."""
        coupling = torch.softmax(beliefs.agreement, dim=1)
        shares = coupling
        if beliefs.guidance is not None and self._options.guide_capsules:
            shares = coupling + beliefs.guidance
        return coupling, squash(self._matrices.apply(self._words.gather(shares)))

    def revise(self, beliefs: _Beliefs, vectors: Float[Tensor, "B M D"]) -> _Beliefs:
        """Let words and queries move towards the capsules (lines 27-31); the agreement is weighed with the old p."""
        if beliefs.queries is None or beliefs.guidance is None:
            return _Beliefs(beliefs.agreement + self._agree(vectors))
        queries = (beliefs.queries + vectors) / 2
        products, correlation = self._agree_and_correlate(vectors, queries)
        if self._options.guide_agreement:
            products = beliefs.guidance * products
        return _Beliefs(beliefs.agreement + products, queries, correlation, torch.tanh(correlation))

    def _agree(self, vectors: Float[Tensor, "B M D"]) -> Float[Tensor, "B M N"]:
        """Return how well each word's vote fits each capsule, W_j u_i . v_j = u_i . W_j^T v_j."""
        detached = self._options.gradient == "detached-votes"
        return self._words.compare(self._matrices.apply_transposed(vectors, detached=detached), detached=detached)

    def _agree_and_correlate(
        self, vectors: Float[Tensor, "B M D"], queries: Float[Tensor, "B M D"]
    ) -> tuple[Float[Tensor, "B M N"], Float[Tensor, "B M N"]]:
        """Return agreement and correlation, from one product with the words where both see the same words."""
        if self._options.gradient == "detached-votes":
            return self._agree(vectors), self._words.correlate(queries)
        return self._words.compare_and_correlate(self._matrices.apply_transposed(vectors), queries)

    def reattach(self, beliefs: _Beliefs, query: Float[Tensor, "B D"]) -> _Beliefs:
        """Give the last iteration's p its gradient: it knows words and query, and takes earlier capsules as given."""
        if beliefs.queries is None:
            return beliefs
        own = query.unsqueeze(1) / 2 ** (self._options.rounds - 1)  # line 29 halves it in every iteration
        queries = own + (beliefs.queries - own).detach()
        correlation = self._words.correlate(queries)
        return _Beliefs(beliefs.agreement, queries, correlation, torch.tanh(correlation))


class _InputCapsules:
    """The words u_i: what routing computes from them once, and the products with them in every iteration."""

    def __init__(self, words: Float[Tensor, "B N D"], word_mask: Bool[Tensor, "B N"], *, squashed: bool) -> None:
        self._words = Shared(words)
        variance, mean = self._words.moments()  # (B, N)
        size = words.shape[-1]
        factor = word_mask.to(words.dtype)
        if squashed:
            factor = factor * squash_factor(root(size * (variance + mean.square())))
        self._factor = factor.unsqueeze(1)  # (B, 1, N)
        self._inverse_deviation = inverse_deviation(variance, mean, size).unsqueeze(1)  # (B, 1, N)

    def gather(self, shares: Float[Tensor, "B M N"]) -> Float[Tensor, "B M D"]:
        """Add up the words, each with its share; the mask multiplies the share, so padding adds nothing."""
        return self._words.combine_rows(shares * self._factor)

    def compare(self, directions: Float[Tensor, "B M D"], *, detached: bool = False) -> Float[Tensor, "B M N"]:
        """Return u_i . direction_j."""
        if detached:
            return torch.bmm(directions, self._words.matrices.detach().transpose(1, 2)) * self._factor.detach()
        return self._words.compare_rows(directions) * self._factor

    def correlate(self, queries: Float[Tensor, "B m D"]) -> Float[Tensor, "B m N"]:
        """Return the correlation of u_i and q_j (Eq. 7); u_i needs no centring, because q_j is centred."""
        return self._words.compare_rows(standardised(queries)) * self._inverse_deviation

    def compare_and_correlate(
        self, directions: Float[Tensor, "B M D"], queries: Float[Tensor, "B M D"]
    ) -> tuple[Float[Tensor, "B M N"], Float[Tensor, "B M N"]]:
        """Do both with one product."""
        both = self._words.compare_rows(torch.cat((directions, standardised(queries)), dim=1))  # (B, 2 M, N)
        products, correlations = both.chunk(2, dim=1)
        return products * self._factor, correlations * self._inverse_deviation


class _Matrices:
    """The matrices W_j, one for each capsule, applied to that capsule's vector."""

    def __init__(self, weight: Shared) -> None:
        self._weight = weight

    def apply(self, vectors: Float[Tensor, "B M D"]) -> Float[Tensor, "B M D"]:
        """Return W_j x_j."""
        return self._weight.compare_rows(vectors.transpose(0, 1)).transpose(0, 1)

    def apply_transposed(self, vectors: Float[Tensor, "B M D"], *, detached: bool = False) -> Float[Tensor, "B M D"]:
        """Return W_j^T x_j."""
        turned = vectors.transpose(0, 1)  # (M, B, D)
        if detached:
            return torch.bmm(turned, self._weight.matrices.detach()).transpose(0, 1)
        return self._weight.combine_rows(turned).transpose(0, 1)
