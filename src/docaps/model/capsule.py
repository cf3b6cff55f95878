"""Capsule routing: words share themselves out among a few capsules (Alg. 1).

Reference: Yang et al. (2019). Dimensions: B batch, N words, M capsules, D capsule size, R routing iterations.

Votes W_j u_i are never stored. Both of their uses are linear, so they go through the weighted sum of words instead:
s_j = W_j (sum_i w_ij u_i), and the agreement of word i with capsule j is u_i . (W_j^T v_j). The result is the same;
memory falls from O(M N D) to O(N D).
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from docaps.model.functional import centred, inverse_norm, squash, standardised


@dataclass(frozen=True, slots=True)
class Routing:
    """The capsules, and, when asked for, each iteration's coupling coefficients c and correlations (Figs. 6-7)."""

    capsules: Float[Tensor, "B M D"]
    coupling: Float[Tensor, "R B M N"] | None = None
    correlation: Float[Tensor, "R B M N"] | None = None


def route(
    words: Float[Tensor, "B N D"],
    word_mask: Bool[Tensor, "B N"],
    weight: Float[Tensor, "M D D"],
    *,
    rounds: int,
    query: Float[Tensor, "B D"] | None = None,
    trace: bool = False,
) -> Routing:
    """Route N words into M capsules, favouring words that correlate with the query if there is one (Alg. 1).

    Without a query this is plain dynamic routing (Sabour et al. 2017).
    """
    batch, count, _ = words.shape
    capsules = weight.shape[0]
    real = word_mask.unsqueeze(1).to(words.dtype)  # (B, 1, N)
    agreement = words.new_zeros(batch, capsules, count)  # alpha, line 5
    queries, correlation, inverse_deviation = None, None, None
    if query is not None:
        queries = query.unsqueeze(1).expand(-1, capsules, -1)  # (B, M, D), line 6
        inverse_deviation = inverse_norm(centred(words)).transpose(1, 2)  # (B, 1, N)
        correlation = (standardised(queries) @ words.transpose(1, 2)) * inverse_deviation  # line 7
    couplings, correlations = [], []
    for iteration in range(rounds):
        coupling = torch.softmax(agreement, dim=1)  # over capsules, for each word, line 16
        guidance = None if correlation is None else torch.tanh(correlation)  # p
        # The mask multiplies c + p, so padding adds nothing to any capsule.
        share = (coupling if guidance is None else coupling + guidance) * real
        vectors = squash(apply_each(weight, share @ words))  # (B, M, D), lines 20-21
        if trace:
            couplings.append(coupling)
            correlations.append(coupling if correlation is None else correlation)
        if iteration == rounds - 1:
            break
        back = apply_each(weight.transpose(1, 2), vectors)  # W_j^T v_j
        if queries is None or guidance is None or inverse_deviation is None:
            agreement = agreement + back @ words.transpose(1, 2)
            continue
        queries = (queries + vectors) / 2  # line 29
        both = torch.cat((back, standardised(queries)), dim=1) @ words.transpose(1, 2)  # (B, 2 M, N)
        agreement = agreement + guidance * both[:, :capsules]  # with the old p, line 27
        correlation = both[:, capsules:] * inverse_deviation  # line 31
    if not trace:
        return Routing(vectors)
    return Routing(vectors, torch.stack(couplings), None if query is None else torch.stack(correlations))


def apply_each(weight: Float[Tensor, "M D E"], vectors: Float[Tensor, "B M E"]) -> Float[Tensor, "B M D"]:
    """Multiply the vector of each capsule by that capsule's own matrix."""
    return torch.bmm(vectors.transpose(0, 1), weight.transpose(1, 2)).transpose(0, 1)


class CapsuleRouting(nn.Module):
    """Routing with weights of its own: one matrix for each output capsule, shared by all words."""

    def __init__(self, *, size: int, capsules: int, rounds: int) -> None:
        super().__init__()
        self.rounds = rounds
        self.weight = nn.Parameter(torch.randn(capsules, size, size) / math.sqrt(size))

    def forward(
        self,
        words: Float[Tensor, "B N D"],
        word_mask: Bool[Tensor, "B N"],
        query: Float[Tensor, "B D"] | None = None,
        trace: bool = False,
    ) -> Routing:
        """Squash the words to input capsules and route them, in float32 whatever the surroundings."""
        with torch.autocast(words.device.type, enabled=False):
            inputs = squash(words.to(self.weight.dtype))
            asked = None if query is None else query.to(self.weight.dtype)
            return route(inputs, word_mask, self.weight, rounds=self.rounds, query=asked, trace=trace)
