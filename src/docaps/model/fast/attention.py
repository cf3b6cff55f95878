"""Scaled dot-product attention (Eq. 10), by torch's fused kernel or by plain products, whichever is faster.

Attention whose weights are dropped is a function with a backward pass of its own: torch's kernels draw 32 bits for each
weight, on one core, and hold several copies of them. Here the backward pass keeps the weights and one byte for each.

Dimensions: B batch, H heads, L queries, C keys, Dh size of a head, R rows (B x H).
"""

import math
from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F  # noqa: N812

from docaps.model.fast.dropout import Dropout, draw_bytes

Queries = Float[Tensor, "B H L Dh"]
Keys = Float[Tensor, "B H C Dh"]
"""The shape of keys, and of values."""
Visible = Bool[Tensor, "B #L C"]
"""True where a query may look."""
Mask = Visible | Float[Tensor, "B #L C"]
"""The same, or an addend of scores, 0 there and minus infinity elsewhere."""
PLAIN_KEYS = 512
"""Plain products hold all L x C weights; with more keys than this the fused kernel, which does not, is used."""
FEW_KEYS = 16
"""Fewer keys than this do not fill a vector register."""
GROUP_WEIGHTS = 2**24
"""With more than `PLAIN_KEYS` keys, rows of the batch attend in groups of about this many weights."""


def attend(
    queries: Queries,
    keys: Keys,
    values: Keys,
    mask: Mask | None = None,
    causal: bool = False,
    dropout: Dropout | None = None,
) -> Queries:
    """Average values, weighted by the softmax of query-key products; `mask` is True where a query may look."""
    if dropout is not None and dropout.acts:
        return attend_with_dropout(queries, keys, values, mask, causal, dropout)
    if not causal and _prefers_products(queries, keys):
        return attend_by_products(queries, keys, values, mask)
    if _prefers_plain(queries, keys):
        return attend_plainly(queries, keys, values, mask, causal)
    visible = None if mask is None else mask.unsqueeze(1)
    return F.scaled_dot_product_attention(queries, keys, values, attn_mask=visible, is_causal=causal)


def _prefers_plain(queries: Queries, keys: Keys) -> bool:
    """Return whether the fused kernel's backward pass would be slow: on CPUs in half precision it is, by far."""
    trained = torch.is_grad_enabled() and queries.requires_grad
    half = queries.device.type == "cpu" and queries.dtype.itemsize == 2
    return trained and half and keys.shape[2] <= PLAIN_KEYS


def _prefers_products(queries: Queries, keys: Keys) -> bool:
    """Return whether this is a small product without gradients: the fused kernel is slow for several short rows."""
    small = 1 < queries.shape[2] <= PLAIN_KEYS and keys.shape[2] <= PLAIN_KEYS
    return small and torch.is_inference_mode_enabled() and queries.device.type == "cpu" and queries.dtype.itemsize > 2


def attend_by_products(queries: Queries, keys: Keys, values: Keys, mask: Mask | None = None) -> Queries:
    """Attend by products, without gradients; keys are read fastest if laid out in memory as (B, H, Dh, C)."""
    batch, heads, length, size = queries.shape
    across = keys.transpose(2, 3).reshape(batch * heads, size, keys.shape[2])
    rows = queries.reshape(batch * heads, length, size)
    scores = _multiply(rows, across, 1 / math.sqrt(size))
    if mask is not None:
        scores.view(batch, heads, length, -1).add_(as_addend(mask, queries).unsqueeze(1))
    found = torch.bmm(_softmax_in_place(scores), values.reshape(batch * heads, -1, size))
    return found.view(batch, heads, length, size)


def _softmax_in_place(scores: Float[Tensor, "*any C"]) -> Float[Tensor, "*any C"]:
    """Return the softmax; for few keys torch's own takes five times as long."""
    if scores.shape[-1] >= FEW_KEYS:
        return torch.softmax(scores, dim=-1)
    scores.sub_(scores.amax(dim=-1, keepdim=True)).exp_()
    return scores.div_(scores.sum(dim=-1, keepdim=True))


def attend_plainly(queries: Queries, keys: Keys, values: Keys, mask: Mask | None, causal: bool) -> Queries:
    """Attend by two batched products and a softmax, with gradients."""
    hidden = _addend(queries, keys, mask, causal)
    batch, heads, length, size = queries.shape
    scores = torch.baddbmm(
        hidden.unsqueeze(1).expand(batch, heads, length, keys.shape[2]).flatten(0, 1),
        queries.flatten(0, 1),
        keys.flatten(0, 1).transpose(1, 2),
        alpha=1 / math.sqrt(size),
    )  # (B H, L, C)
    return torch.bmm(torch.softmax(scores, dim=-1), values.flatten(0, 1)).view(batch, heads, length, size)


def attend_with_dropout(
    queries: Queries, keys: Keys, values: Keys, mask: Mask | None, causal: bool, dropout: Dropout
) -> Queries:
    """Attend with weights of which some are dropped."""
    if queries.device.type != "cpu":
        hidden = None if mask is None and not causal else _addend(queries, keys, mask, causal).unsqueeze(1)
        return F.scaled_dot_product_attention(queries, keys, values, attn_mask=hidden, dropout_p=dropout.p)
    kind = _DroppedAttention if keys.shape[2] <= PLAIN_KEYS else _GroupedAttention
    return kind.apply(queries, keys, values, _addend(queries, keys, mask, causal), dropout)  # type: ignore[no-any-return, no-untyped-call]


class _DroppedAttention(torch.autograd.Function):
    """Attention with dropped weights, and its gradient."""

    @staticmethod
    def forward(
        ctx: Any, queries: Tensor, keys: Tensor, values: Tensor, hidden: Tensor, dropout: Dropout
    ) -> Float[Tensor, "B H L Dh"]:
        batch, heads, length, size = queries.shape
        rows = [part.flatten(0, 1) for part in (queries, keys, values)]  # (R, L, Dh) and (R, C, Dh)
        scores = _multiply(rows[0], rows[1].transpose(1, 2), 1 / math.sqrt(size))  # (R, L, C)
        # Written out for all queries: a mask of one row for each sentence is added more slowly.
        masks = hidden.expand(batch, length, keys.shape[2]).contiguous().unsqueeze(1)
        weights = torch.softmax(scores.view(batch, heads, length, -1).add_(masks), dim=-1).flatten(0, 1)
        drawn = draw_bytes(weights)
        ctx.save_for_backward(*rows, weights, drawn)
        ctx.heads, ctx.dropout = heads, dropout
        return _multiply(dropout.keep(weights, drawn), rows[2], dropout.scale).view(batch, heads, length, size)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        queries, keys, values, weights, drawn = ctx.saved_tensors
        dropout: Dropout = ctx.dropout
        gradient = gradient.flatten(0, 1)  # (R, L, Dh)
        of_values = _multiply(dropout.keep(weights, drawn).transpose(1, 2), gradient, dropout.scale)
        of_weights = dropout.keep(torch.bmm(gradient, values.transpose(1, 2)), drawn)  # (R, L, C), not scaled yet
        of_scores = torch._softmax_backward_data(of_weights, weights, -1, weights.dtype)
        scale = dropout.scale / math.sqrt(queries.shape[-1])
        of_queries = _multiply(of_scores, keys, scale)
        of_keys = _multiply(of_scores.transpose(1, 2), queries, scale)
        return *(one.unflatten(0, (-1, ctx.heads)) for one in (of_queries, of_keys, of_values)), None, None


class _GroupedAttention(torch.autograd.Function):
    """The same, a group of rows at a time; a group's weights are computed, and drawn, again for its gradient."""

    @staticmethod
    def forward(ctx: Any, queries: Tensor, keys: Tensor, values: Tensor, hidden: Tensor, dropout: Dropout) -> Tensor:
        parts = queries, keys, values, hidden.expand(len(queries), -1, -1)
        ctx.save_for_backward(*parts)
        ctx.dropout, ctx.generator = dropout, torch.get_rng_state()
        return torch.cat([_DroppedAttention.apply(*group, dropout) for group in _groups(*parts)])  # type: ignore[no-untyped-call]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        found = []
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            torch.set_rng_state(ctx.generator)
            for *group, hidden, slopes in _groups(*ctx.saved_tensors, gradient):
                inputs = [part.detach().requires_grad_() for part in group]
                attended = _DroppedAttention.apply(*inputs, hidden, ctx.dropout)  # type: ignore[no-untyped-call]
                found.append(torch.autograd.grad(attended, inputs, slopes))
        return *(torch.cat(parts) for parts in zip(*found, strict=True)), None, None


def _groups(queries: Queries, keys: Keys, *others: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Cut the batch into groups of rows with few weights each."""
    _, heads, length, _ = queries.shape
    rows = max(1, GROUP_WEIGHTS // (heads * length * keys.shape[2]))
    return zip(*(part.split(rows) for part in (queries, keys, *others)), strict=True)


def _multiply(left: Float[Tensor, "R X Y"], right: Float[Tensor, "R Y Z"], scale: float) -> Float[Tensor, "R X Z"]:
    """Return scaled products of matrices."""
    return torch.baddbmm(left.new_empty(1, 1, 1), left, right, beta=0, alpha=scale)


def _addend(queries: Queries, keys: Keys, mask: Mask | None, causal: bool) -> Float[Tensor, "#B #L #C"]:
    """Return what is added to scores: minus infinity where a query may not look, 0 elsewhere."""
    hidden = queries.new_zeros(1, 1, 1) if mask is None else as_addend(mask, queries)
    if not causal:
        return hidden
    ahead = torch.ones(queries.shape[2], keys.shape[2], dtype=torch.bool, device=queries.device).triu(1)
    return hidden + _hide(queries, ahead)


def as_addend(mask: Mask, like: Float[Tensor, "*any"]) -> Float[Tensor, "B #L C"]:  # noqa: F821
    """Return the mask as an addend of scores."""
    return _hide(like, ~mask) if mask.dtype == torch.bool else mask


def _hide(like: Float[Tensor, "*any"], hidden: Bool[Tensor, "*places"]) -> Float[Tensor, "*places"]:
    """Return minus infinity where hidden, 0 elsewhere."""
    return torch.zeros_like(hidden, dtype=like.dtype).masked_fill_(hidden, -torch.inf)
