"""The paper's algorithms as plain loops over single numbers, to test the fast versions against.

References: Yang et al. (2019), and those named at the other systems. Nothing here is shared with the package.
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
    sharpness: Tensor | float = 1.0,
) -> tuple[Tensor, list[Tensor], list[Tensor]]:
    """Alg. 1 for one sentence: u (n, d), W (m, d, d), q (d); returns v (m, d), and c and PCC of each iteration.

    Without a query: plain dynamic routing (Sabour et al. 2017). The options leave p out of line 20 or 27. With the
    gradient `last`, alpha and all v before the last iteration are constants; with `detached-votes`, votes in line 27.
    Not in the paper: `sharpness` multiplies the agreement in line 27.
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
                agreement = sharpness * agreement
                alpha[i][j] = alpha[i][j] + (agreement.detach() if gradient == "last" else agreement)  # line 27
            if q is not None:
                queries[j] = (queries[j] + known) / 2  # line 29
                for i in range(n):
                    corr[i][j] = pcc(u[i], queries[j])  # line 31
    return torch.stack(v), couplings, correlations


def centred(batch: list[Tensor]) -> list[Tensor]:
    """Each pair's vectors (c, e) of one side, minus the mean over the pairs of the batch."""
    mean = sum(batch) / len(batch)
    return [vectors - mean for vectors in batch]


def mean_pcc(left: Tensor, right: Tensor) -> Tensor:
    """Eq. 7 for each of the vectors (c, e) of two sentences, averaged."""
    return sum(pcc(left[j], right[j]) for j in range(len(left))) / len(left)


def pair_correlations(left: list[Tensor], right: list[Tensor]) -> list[list[Tensor]]:
    """Eq. 7 for every source (row) with every target (column)."""
    return [[mean_pcc(one, other) for other in right] for one in left]


def mismatched(pairs: list[list[Tensor]], i: int) -> Tensor:
    """The mean over the other pairs k of pcc(source i, target k) and pcc(source k, target i)."""
    others = [k for k in range(len(pairs)) if k != i]
    return sum(pairs[i][k] + pairs[k][i] for k in others) / (2 * len(others))


def infonce(pairs: list[list[Tensor]], i: int, temperature: float) -> Tensor:
    """van den Oord et al. (2018), in both directions: log-probability of target i by source i, and the reverse."""
    by_source = sum(torch.exp(pairs[i][k] / temperature) for k in range(len(pairs)))
    by_target = sum(torch.exp(pairs[k][i] / temperature) for k in range(len(pairs)))
    return pairs[i][i] / temperature - (torch.log(by_source) + torch.log(by_target)) / 2


def retrieval(pairs: list[list[float]]) -> float:
    """The share of rows whose own column is the highest; one of n highest ones counts 1/n."""
    total = 0.0
    for i, row in enumerate(pairs):
        highest = [k for k, value in enumerate(row) if value == max(row)]
        total += 1 / len(highest) if i in highest else 0
    return total / len(pairs)


def log_probability(scores: Tensor, word: int) -> Tensor:
    """Softmax over the vocabulary, at one word."""
    return scores[word] - torch.log(sum(torch.exp(score) for score in scores))


def loss(logits: Tensor, target: list[list[int]], correlations: Tensor, weight: float) -> Tensor:
    """Eq. 11 with its sign reversed, per token: each token adds its log-probability and its sentence's PCC.

    Each sentence of `target` has only its real words.
    """
    total, tokens = torch.zeros((), dtype=logits.dtype), 0
    for j, sentence in enumerate(target):
        for i, word in enumerate(sentence):
            total = total + log_probability(logits[j, i], word) + weight * correlations[j]
            tokens += 1
    return -total / tokens


def discounted_loss(windows: list[list[tuple[Tensor, list[int]]]], discount: float) -> Tensor:
    """Every word of a window's last sentence weighs 1, one of the others the discount; per word of a last sentence."""
    total, tokens = torch.zeros((), dtype=torch.float64), 0
    for window in windows:
        for number, (logits, words) in enumerate(window):
            last = number == len(window) - 1
            tokens += len(words) if last else 0
            for scores, word in zip(logits, words, strict=True):
                total = total - (1.0 if last else discount) * log_probability(scores, word)
    return total / tokens


def segmented_inputs(sentences: list[list[Tensor]], shift: int, segments: list[Tensor] | None) -> list[Tensor]:
    """Scale, count positions with a jump after each sentence, add the vector of the distance to the last sentence."""
    inputs, position = [], 0
    for number, words in enumerate(sentences):
        distance = len(sentences) - 1 - number
        for word in words:
            size = len(word)
            angles = [position / 10_000 ** (2 * (i % (size // 2)) / size) for i in range(size)]
            waves = [math.sin(a) if i < size // 2 else math.cos(a) for i, a in enumerate(angles)]
            own = word + segments[distance - 1] if segments is not None and distance > 0 else word
            inputs.append(math.sqrt(size) * own + torch.tensor(waves, dtype=word.dtype))
            position += 1
        position += shift
    return inputs


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


def sparsemax(z: Tensor) -> Tensor:
    """As printed by Martins and Astudillo (2016): sort, count the support, subtract the threshold."""
    n = len(z)
    ordered = sorted(z, key=lambda value: value.item(), reverse=True)
    k = max(k for k in range(1, n + 1) if 1 + k * ordered[k - 1] > sum(ordered[:k]))
    tau = (sum(ordered[:k]) - 1) / k
    zero = torch.zeros((), dtype=z.dtype)
    return torch.stack([z[i] - tau if z[i] > tau else zero for i in range(n)])


def sparsemax_gradient(p: Tensor, g: Tensor) -> Tensor:
    """The gradient with respect to the scores: g minus its mean over the support, 0 elsewhere."""
    support = [i for i in range(len(p)) if p[i] > 0]
    mean = sum(g[i] for i in support) / len(support)
    return torch.stack([g[i] - mean if i in support else torch.zeros((), dtype=g.dtype) for i in range(len(p))])


Weights = dict[str, Tensor]


def linear(weights: Weights, name: str, x: Tensor) -> Tensor:
    """A named linear map of one vector; without a bias if there is none."""
    y = weights[f"{name}.weight"] @ x
    return y + weights[f"{name}.bias"] if f"{name}.bias" in weights else y


def heads_of(x: Tensor, heads: int) -> list[Tensor]:
    """Split a vector into the parts of its heads."""
    size = len(x) // heads
    return [x[h * size : (h + 1) * size] for h in range(heads)]


def multi_head(weights: Weights, name: str, heads: int, query: Tensor, memory: list[Tensor]) -> Tensor:
    """Eq. 9 for one query: attention to some vectors, head by head."""
    q = heads_of(linear(weights, f"{name}.query", query), heads)
    keys = [heads_of(linear(weights, f"{name}.key", vector), heads) for vector in memory]
    values = [heads_of(linear(weights, f"{name}.value", vector), heads) for vector in memory]
    found = []
    for h in range(heads):
        shares = softmax([q[h] @ key[h] / math.sqrt(len(q[h])) for key in keys])
        found.append(sum(share * value[h] for share, value in zip(shares, values, strict=True)))
    return linear(weights, f"{name}.output", torch.cat(found))


def mean_shares(weights: Weights, name: str, heads: int, query: Tensor, memory: list[Tensor]) -> list[float]:
    """The mean over heads of what multi-head attention gives each vector."""
    q = heads_of(linear(weights, f"{name}.query", query), heads)
    keys = [heads_of(linear(weights, f"{name}.key", vector), heads) for vector in memory]
    shares = [softmax([q[h] @ key[h] / math.sqrt(len(q[h])) for key in keys]) for h in range(heads)]
    return [sum(float(head[c]) for head in shares) / heads for c in range(len(memory))]


def attention_with_dropout(q: Tensor, k: Tensor, v: Tensor, visible: Tensor, kept: Tensor, rate: float) -> Tensor:
    """Eq. 10 for one head, query by query; a weight that is kept is divided by 1 - rate, the others are 0."""
    rows = []
    for place, query in enumerate(q):
        seen = [c for c in range(len(k)) if visible[place, c]]
        shares = softmax([query @ k[c] / math.sqrt(len(query)) for c in seen])
        rows.append(sum(share / (1 - rate) * v[c] * int(kept[place, c]) for share, c in zip(shares, seen, strict=True)))
    return torch.stack(rows)


def feed_forward(weights: Weights, name: str, x: Tensor, kept: Tensor | None = None, rate: float = 0.0) -> Tensor:
    """Two linear maps with a ReLU between them; inner numbers that are kept are divided by 1 - rate."""
    inner = linear(weights, f"{name}.inner", x)
    zero = torch.zeros((), dtype=x.dtype)
    kept = torch.ones(len(inner)) if kept is None else kept
    positive = [inner[i] / (1 - rate) if inner[i] > 0 and kept[i] else zero for i in range(len(inner))]
    return linear(weights, f"{name}.output", torch.stack(positive))


def gate(weights: Weights, name: str, h: Tensor, d: Tensor) -> Tensor:
    """lambda h + (1 - lambda) d, with lambda = sigmoid(W_h h + W_d d), and a bias if there is one."""
    scores = linear(weights, f"{name}.states", h) + linear(weights, f"{name}.found", d)
    share = torch.stack([1 / (1 + torch.exp(-score)) for score in scores])
    return torch.stack([share[i] * h[i] + (1 - share[i]) * d[i] for i in range(len(h))])


def layer_norm(weights: Weights, name: str, x: Tensor) -> Tensor:
    """Centre a vector, divide by its deviation, scale and shift."""
    mean = sum(x) / len(x)
    variance = sum((value - mean) ** 2 for value in x) / len(x)
    normal = torch.stack([(value - mean) / torch.sqrt(variance + 1e-5) for value in x])
    return weights[f"{name}.weight"] * normal + weights[f"{name}.bias"]


def forward_sublayer(weights: Weights, x: Tensor, norm: str) -> Tensor:
    """x + FFN(norm(x)), or norm(x + FFN(x))."""
    name = "feed_forward_residual.norm"
    if norm == "pre":
        return x + feed_forward(weights, "feed_forward", layer_norm(weights, name, x))
    return layer_norm(weights, name, x + feed_forward(weights, "feed_forward", x))


def gated_context(weights: Weights, name: str, heads: int, h: Tensor, context: list[Tensor]) -> Tensor:
    """Zhang et al. (2018), after a norm: MultiHead(h, C, C), and a gate in place of a sum."""
    found = multi_head(weights, f"{name}.attention", heads, layer_norm(weights, f"{name}.residual.norm", h), context)
    return gate(weights, f"{name}.residual.gate", h, found)


def hierarchical_attention(
    weights: Weights,
    heads: int,
    h: Tensor,
    sentences: list[list[Tensor]],
    *,
    norm: str,
    queries: str,
    query_gradient: bool,
    norm_summaries: bool,
    norm_output: bool,
) -> Tensor:
    """Miculicich et al. (2018) for one state: words of each sentence, then sentences, then the gate.

    Without sentences the state is only normalised, if a norm follows the gate.
    """
    mixed = h
    if sentences:
        asking = h if query_gradient else h.detach()
        f = layer_norm if queries == "norm" else linear
        q_w, q_s = f(weights, "word_query", asking), f(weights, "sentence_query", asking)
        s = [multi_head(weights, "words", heads, q_w, words) for words in sentences]
        if norm_summaries:
            s = [layer_norm(weights, "summary_norm", one) for one in s]
        d = forward_sublayer(weights, multi_head(weights, "sentences", heads, q_s, s), norm)
        mixed = gate(weights, "gate", h, d)
    return layer_norm(weights, "norm", mixed) if norm_output else mixed


def selective_attention(
    weights: Weights,
    heads: int,
    h: Tensor,
    sentences: list[list[Tensor]],
    by_sentence: str | None,
    by_word: str,
    norm: str,
    *,
    query: Tensor | None = None,
    keys: list[list[Tensor]] | None = None,
    residual: bool,
) -> Tensor:
    """Maruf et al. (2019) for one state; without `by_sentence`, over all words at once (flat).

    `query` and `keys` take the place of the state and of the words' states in comparisons.
    """
    if not sentences:
        return h
    weigh = {"sparsemax": sparsemax, "softmax": lambda z: torch.stack(softmax(list(z)))}
    asking, compared = h if query is None else query, sentences if keys is None else keys
    q_w = heads_of(linear(weights, "word_query", asking), heads)
    root = math.sqrt(len(q_w[0]))
    found = []
    for a in range(heads):
        scores = [[q_w[a] @ heads_of(linear(weights, "word_key", w), heads)[a] / root for w in s] for s in compared]
        values = [[heads_of(linear(weights, "value", w), heads)[a] for w in s] for s in sentences]
        if by_sentence is None:
            alpha = iter(weigh[by_word](torch.stack([score for row in scores for score in row])))
            found.append(sum(next(alpha) * value for row in values for value in row))
            continue
        means = [sum(s) / len(s) for s in compared]
        q_s = heads_of(linear(weights, "sentence_query", asking), heads)[a]
        sentence_keys = [heads_of(linear(weights, "sentence_key", mean), heads)[a] for mean in means]
        alpha_s = weigh[by_sentence](torch.stack([q_s @ key / root for key in sentence_keys]))
        alpha_w = [weigh[by_word](torch.stack(row)) for row in scores]
        found.append(
            sum(alpha_s[j] * alpha_w[j][i] * values[j][i] for j in range(len(sentences)) for i in range(len(values[j])))
        )
    c = linear(weights, "output", torch.cat(found))
    if residual:
        return gate(weights, "gate", h, forward_sublayer(weights, c, norm))
    inner = feed_forward(weights, "feed_forward", layer_norm(weights, "norms.0", c))
    return gate(weights, "gate", h, layer_norm(weights, "norms.1", inner))


def calibrated_linear(values: Tensor, weight: Tensor, bias: Tensor, largest: Tensor, levels: int) -> list[list[float]]:
    """A product of integers, number by number: a step for each column of the values, one for each row of the weight.

    127 levels are for numbers of both signs, 255 for numbers that are never negative.
    """
    columns, rows = range(weight.shape[1]), range(weight.shape[0])
    ratio = [math.sqrt(float(largest[c]) / max(abs(float(weight[r, c])) for r in rows)) for c in columns]
    common = max(float(largest[c]) / ratio[c] for c in columns) / levels
    steps = [common * ratio[c] for c in columns]
    found = []
    for value in values.tolist():
        integers = [min(levels, max(0 if levels == 255 else -levels, round(value[c] / steps[c]))) for c in columns]
        found.append([])
        for r in rows:
            weights = [float(weight[r, c]) * steps[c] for c in columns]
            step = max(map(abs, weights)) / 127
            total = sum(integers[c] * round(weights[c] / step) for c in columns)
            found[-1].append(total * step + float(bias[r]))
    return found
