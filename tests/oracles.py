"""The paper's algorithms once more, as plain loops over single numbers, to test the fast ones against.

Reference: Yang et al. (2019). Nothing here is shared with the package.
"""

import math

import torch
from torch import Tensor


def pcc(a: Tensor, b: Tensor) -> Tensor:
    """Eq. 7, written out."""
    n = len(a)
    mean_a, mean_b = sum(a) / n, sum(b) / n
    covariance = sum((a[i] - mean_a) * (b[i] - mean_b) for i in range(n))
    norm_a = sum((a[i] - mean_a) ** 2 for i in range(n)) ** 0.5
    norm_b = sum((b[i] - mean_b) ** 2 for i in range(n)) ** 0.5
    return covariance / (norm_a * norm_b)


def squash(t: Tensor) -> Tensor:
    """Eq. 8, as printed."""
    norm = sum(x**2 for x in t) ** 0.5
    return norm**2 / (1 + norm**2) * (t / norm)


def softmax(values: list[Tensor]) -> list[Tensor]:
    exponentials = [torch.exp(value) for value in values]
    return [value / sum(exponentials) for value in exponentials]


def route(
    u: Tensor,
    W: Tensor,
    q: Tensor | None,
    r: int,
    *,
    p_in_s: bool = True,
    p_in_alpha: bool = True,
    gradient: str = "all",
) -> tuple[Tensor, list[Tensor], list[Tensor]]:
    """Alg. 1 for one sentence: u (n, d), W (m, d, d), q (d); returns v (m, d), and c and PCC of each iteration.

    Without a query: plain dynamic routing (Sabour et al. 2017). The options leave p out of line 20 or 27. With the
    gradient `last`, alpha and all v before the last iteration are constants; with `detached-votes`, votes in line 27.
    """
    n, m = len(u), len(W)
    votes = [[W[j] @ u[i] for j in range(m)] for i in range(n)]  # line 4
    alpha = [[torch.zeros((), dtype=u.dtype) for _ in range(m)] for _ in range(n)]  # line 5
    queries = [q for _ in range(m)]  # line 6
    corr = [[pcc(u[i], queries[j]) if q is not None else None for j in range(m)] for i in range(n)]  # line 7
    couplings, correlations = [], []
    v: list[Tensor] = []
    for _ in range(r):
        c = [softmax(alpha[i]) for i in range(n)]  # line 16
        couplings.append(torch.stack([torch.stack([c[i][j] for i in range(n)]) for j in range(m)]))
        if q is not None:
            correlations.append(torch.stack([torch.stack([corr[i][j] for i in range(n)]) for j in range(m)]))
        p = [[torch.tanh(corr[i][j]) if q is not None else None for j in range(m)] for i in range(n)]
        s = []
        for j in range(m):
            weights = [c[i][j] + p[i][j] if q is not None and p_in_s else c[i][j] for i in range(n)]
            s.append(sum(weights[i] * votes[i][j] for i in range(n)))  # line 20
        v = [squash(s[j]) for j in range(m)]  # line 21
        for j in range(m):
            known = v[j].detach() if gradient == "last" else v[j]
            for i in range(n):
                vote = votes[i][j].detach() if gradient == "detached-votes" else votes[i][j]
                agreement = vote @ known
                if q is not None and p_in_alpha:
                    agreement = p[i][j] * agreement
                alpha[i][j] = alpha[i][j] + (agreement.detach() if gradient == "last" else agreement)  # line 27
            if q is not None:
                queries[j] = (queries[j] + known) / 2  # line 29
                for i in range(n):
                    corr[i][j] = pcc(u[i], queries[j])  # line 31
    return torch.stack(v), couplings, correlations


def log_probability(scores: Tensor, word: int) -> Tensor:
    """Softmax over the vocabulary, at one word."""
    return scores[word] - torch.log(sum(torch.exp(score) for score in scores))


def loss(logits: Tensor, target: list[list[int]], correlations: Tensor, weight: float) -> Tensor:
    """Eq. 11 with its sign turned, per token: each token adds its log-probability and its sentence's PCC.

    Each sentence of `target` has only its real words.
    """
    total, tokens = torch.zeros((), dtype=logits.dtype), 0
    for j, sentence in enumerate(target):
        for i, word in enumerate(sentence):
            total = total + log_probability(logits[j, i], word) + weight * correlations[j]
            tokens += 1
    return -total / tokens


def length_penalty(length: int, alpha: float) -> float:
    """GNMT's, as printed in Wu et al. (2016)."""
    return math.pow(5 + length, alpha) / math.pow(5 + 1, alpha)


def multi_bleu(hypotheses: list[list[str]], references: list[list[str]]) -> float:
    """BLEU of tokenised sentences as the script multi-bleu.perl defines it: no smoothing, one length for all."""
    matched, possible = [0] * 4, [0] * 4
    for ours, theirs in zip(hypotheses, references, strict=True):
        for n in range(1, 5):
            left = [tuple(theirs[k : k + n]) for k in range(len(theirs) - n + 1)]
            for k in range(len(ours) - n + 1):
                possible[n - 1] += 1
                if tuple(ours[k : k + n]) in left:
                    left.remove(tuple(ours[k : k + n]))
                    matched[n - 1] += 1
    if 0 in matched:
        return 0.0
    length, expected = sum(map(len, hypotheses)), sum(map(len, references))
    brevity = 1.0 if length >= expected else math.exp(1 - expected / length)
    return 100 * brevity * math.exp(sum(math.log(matched[n] / possible[n]) for n in range(4)) / 4)
