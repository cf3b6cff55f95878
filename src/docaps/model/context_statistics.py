"""Statistics of a context network and of the layers that attend to it, for `docaps diagnose`.

Dimensions: B batch, L length of a source or translation, K history sentences, N words of a history sentence, M
capsules, G groups of capsules (one for each history sentence, or one for all), E capsule size, R routing iterations, A
entries of an axis.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple, cast

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from docaps.batches.batch import Batch
from docaps.corpus.text.vocabulary import PAD
from docaps.model.context.sublayer import ContextMemory, ContextUse
from docaps.model.interface import Trace

COSINE, OVERLAP, ENTROPY = "capsule_cosine", "capsule_overlap", "coupling_entropy"
"""Names of the statistics that training logs, too."""
LOUDEST = 2.0
"""The upper end of the histogram of `context_share`; values beyond twice the state's length are rare."""


class LayerUse(NamedTuple):
    """What a layer of encoder or decoder does with the context, and which of its positions are words."""

    layer: str
    words: Bool[Tensor, "B L"]
    use: ContextUse


def trace_context(context: ContextMemory, uses: Sequence[LayerUse], batch: Batch) -> tuple[Trace, ...]:
    """Return all statistics that apply to this network."""
    found: list[Trace] = []
    words = batch.history_mask if context.tokens is None else context.tokens != PAD
    if context.coupling is not None:  # its entropy over the capsules, for each word
        most = math.log(max(context.coupling.shape[3], 2))
        entropy = torch.special.entr(context.coupling).sum(dim=3) / most  # (R, B, K, N)
        found.append(_by_iteration(ENTROPY, "entropy of c (1: equal shares)", entropy, words, 0.0))
    if context.correlation is not None:
        title = "correlation of words and query (PCC)"
        found.append(_by_iteration("pcc", title, context.correlation, words.unsqueeze(2), -1.0))
    if context.capsules is not None:
        found.append(trace_lengths(context))
        found += trace_cosines(context)
        found += trace_attention(uses, context)
    return (*found, *trace_shares(uses, context))


def trace_lengths(context: ContextMemory) -> Trace:
    """Return the lengths of capsules, which are below 1."""
    capsules = cast(Tensor, context.capsules)
    lengths = torch.linalg.vector_norm(capsules, dim=-1)  # (B, G, M)
    values = lengths.masked_fill(~context.mask.view_as(lengths), torch.nan).transpose(0, 1).flatten(1)
    return Trace("capsule_length", "length of capsules", _names(context), values, 0.0, 1.0)


def trace_cosines(context: ContextMemory) -> Sequence[Trace]:
    """Return the mean cosines between the capsules of a group and between their weights of its words, pair by pair.

    Capsules are one if they are the same vector; they hold the same if they weigh words alike, whatever their maps
    make of it. Nothing if there is one capsule only.
    """
    capsules, weights = cast(Tensor, context.capsules), cast(Tensor, context.weights)
    batch, groups, count, _ = capsules.shape
    if count == 1:
        return ()
    there = context.mask.view(batch, groups, count).any(dim=-1)
    weights = weights * (cast(Tensor, context.tokens) != PAD).unsqueeze(2)  # (B, K, M, N)
    members = [weights[:, numbers].transpose(1, 2).flatten(2) for _, numbers in _groups(context)]  # (B, M, words)
    found = []
    for name, title, cosines in (
        (COSINE, "cosine between capsules (1: all the same)", mean_cosine(capsules)),
        (OVERLAP, "cosine between their weights of words (1: all hold the same)", _stacked(map(mean_cosine, members))),
    ):
        found.append(Trace(name, title, _names(context), cosines.masked_fill(~there, torch.nan).T, -1.0, 1.0))
    return found


def mean_cosine(vectors: Float[Tensor, "*any M D"]) -> Float[Tensor, "*any"]:
    """Return the mean cosine of all pairs of M vectors; a zero vector is at right angles to all."""
    units, count = F.normalize(vectors, dim=-1), vectors.shape[-2]
    pairs = units.sum(dim=-2).square().sum(dim=-1) - units.square().sum(dim=(-2, -1))  # twice the cosines
    return pairs / (count * (count - 1))


def _stacked(columns: Iterable[Float[Tensor, " B"]]) -> Float[Tensor, "B G"]:
    return torch.stack(list(columns), dim=1)


def trace_attention(uses: Sequence[LayerUse], context: ContextMemory) -> Sequence[Trace]:
    """Return each layer's attention to each history sentence; nothing if all sentences are routed together."""
    if context.capsules is None or context.capsules.shape[1] == 1 or not uses:
        return ()
    batch, groups, capsules, _ = context.capsules.shape
    there = context.mask.view(batch, groups, capsules).any(dim=-1)  # (B, G)
    rows, labels = [], []
    for layer, words, use in uses:
        mass = use.weights.unflatten(-1, (groups, capsules)).sum(dim=-1)  # (B, L, G)
        rows.append(_mean_over_words(mass, words).masked_fill(~there, torch.nan).T)  # (G, B)
        labels += [f"{layer}, {name}" for name in _names(context)]
    return [Trace("attention", "attention on a history sentence", tuple(labels), torch.cat(rows), 0.0, 1.0)]


def trace_shares(uses: Sequence[LayerUse], context: ContextMemory) -> Sequence[Trace]:
    """Return the context's share in each layer: the length of what it adds, divided by that of the state."""
    if not uses:
        return ()
    silent = ~context.mask.any(dim=-1)  # (B,)
    rows = [_mean_over_words(use.share.unsqueeze(-1), words).squeeze(-1) for _, words, use in uses]
    values = torch.stack(rows).masked_fill(silent, torch.nan)  # (A, B)
    labels = tuple(layer for layer, _, _ in uses)
    return [Trace("context_share", "what context adds, against the state", labels, values, 0.0, LOUDEST)]


def _by_iteration(
    name: str, title: str, values: Float[Tensor, "R B K *any"], words: Bool[Tensor, "B K *#any"], low: float
) -> Trace:
    """Return the values of real words, NaN elsewhere, in each routing iteration."""
    labels = tuple(f"iteration {number}" for number in range(len(values)))
    return Trace(name, title, labels, values.masked_fill(~words, torch.nan).flatten(1), low, 1.0)


def _mean_over_words(values: Float[Tensor, "B L A"], words: Bool[Tensor, "B L"]) -> Float[Tensor, "B A"]:
    real = words.unsqueeze(-1).to(values.dtype)
    return (values * real).sum(dim=1) / real.sum(dim=1).clamp_min(1)


def _names(context: ContextMemory) -> tuple[str, ...]:
    return tuple(name for name, _ in _groups(context))


def _groups(context: ContextMemory) -> Sequence[tuple[str, list[int]]]:
    """Name the groups of capsules, with the numbers of their sentences: each alone, or all of one side together."""
    count = cast(Tensor, context.capsules).shape[1]
    if count == len(context.sentences) > 1:
        marks = {"source": "", "target": ", translation"}
        names = [f"distance {distance}{marks[side]}" for distance, side in context.sentences]
        return [(name, [number]) for number, name in enumerate(names)]
    titles, numbered = {"source": "all history", "target": "all translations"}, list(enumerate(context.sentences))
    sides = dict.fromkeys(sentence.side for sentence in context.sentences)
    return [(titles[side], [number for number, one in numbered if one.side == side]) for side in sides]
