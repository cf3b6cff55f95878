"""Scaled dot-product attention (Eq. 10), by torch's fused kernel or by plain products, whichever is faster.

Dimensions: B batch, H heads, L queries, C keys, Dh size of a head.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

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


def attend(queries: Queries, keys: Keys, values: Keys, mask: Mask | None = None, causal: bool = False) -> Queries:
    """Average values, weighted by the softmax of query-key products; `mask` is True where a query may look."""
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
    scores = torch.baddbmm(rows.new_empty(1, 1, 1), rows, across, beta=0, alpha=1 / math.sqrt(size))
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
    hidden = queries.new_zeros(1, 1, 1) if mask is None else as_addend(mask, queries)  # (B or 1, L or 1, C or 1)
    if causal:
        ahead = torch.ones(queries.shape[2], keys.shape[2], dtype=torch.bool, device=queries.device).triu(1)
        hidden = hidden + _hide(queries, ahead)
    batch, heads, length, size = queries.shape
    scores = torch.baddbmm(
        hidden.unsqueeze(1).expand(batch, heads, length, keys.shape[2]).flatten(0, 1),
        queries.flatten(0, 1),
        keys.flatten(0, 1).transpose(1, 2),
        alpha=1 / math.sqrt(size),
    )  # (B H, L, C)
    return torch.bmm(torch.softmax(scores, dim=-1), values.flatten(0, 1)).view(batch, heads, length, size)


def as_addend(mask: Mask, like: Float[Tensor, "*any"]) -> Float[Tensor, "B #L C"]:  # noqa: F821
    """Return the mask as an addend of scores."""
    return _hide(like, ~mask) if mask.dtype == torch.bool else mask


def _hide(like: Float[Tensor, "*any"], hidden: Bool[Tensor, "*places"]) -> Float[Tensor, "*places"]:
    """Return minus infinity where hidden, 0 elsewhere."""
    return torch.zeros_like(hidden, dtype=like.dtype).masked_fill_(hidden, -torch.inf)
