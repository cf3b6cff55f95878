"""Plain products and torch's fused kernel are the same attention, forwards and backwards."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from docaps.model.fast import attention
from docaps.model.fast.attention import FEW_KEYS, _softmax_in_place, attend, attend_by_products, attend_plainly

MASK = torch.tensor([[[True, True, True, True, True]], [[True, False, True, False, False]]])


def sample(length: int, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    shapes = (2, 3, length, 4), (2, 3, 5, 4), (2, 3, 5, 4)
    return [torch.randn(shape, generator=generator).to(dtype).requires_grad_() for shape in shapes]


@pytest.mark.parametrize("length", [5, 2])
@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("causal", [True, False])
def test_plain_products_equal_the_fused_kernel(length: int, masked: bool, causal: bool) -> None:
    parts = sample(length)
    visible = MASK.unsqueeze(1) if masked else torch.ones(1, 1, 1, 5, dtype=torch.bool)
    if causal:
        visible = visible & torch.ones(length, 5, dtype=torch.bool).tril()
    expected = F.scaled_dot_product_attention(*parts, attn_mask=visible)
    found = attend_plainly(*parts, MASK if masked else None, causal)
    torch.testing.assert_close(found, expected)
    weights = torch.randn(found.shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    fast, slow = (torch.autograd.grad((one * weights).sum(), parts) for one in (found, expected))
    for one, other in zip(fast, slow, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize(("length", "by_products"), [(1, False), (2, True), (5, True), (6, False)])
@torch.inference_mode()
def test_short_rows_attend_by_products_in_inference(
    masked: bool, length: int, by_products: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    monkeypatch.setattr(attention, "PLAIN_KEYS", 5)
    monkeypatch.setattr(
        attention, "attend_by_products", lambda *parts: calls.append(parts) or attend_by_products(*parts)
    )
    queries, keys, values = (part.detach() for part in sample(length))
    mask = MASK if masked else None
    expected = attend_plainly(queries, keys, values, mask, False)
    for order in ((0, 1, 2, 3), (0, 1, 3, 2), (0, 2, 1, 3)):  # memory layouts
        parts = [part.permute(order).contiguous().permute(order) for part in (keys, values)]
        torch.testing.assert_close(attend(queries, *parts, mask), expected)
    assert bool(calls) == by_products


@pytest.mark.parametrize(
    ("dtype", "trained", "keys", "plain"),
    [
        (torch.bfloat16, True, 5, True),
        (torch.bfloat16, False, 5, False),
        (torch.float32, True, 5, False),
        (torch.bfloat16, True, 4, False),
    ],
)
def test_plain_products_are_for_short_sentences_trained_in_half_precision(
    dtype: torch.dtype, trained: bool, keys: int, plain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    monkeypatch.setattr(attention, "PLAIN_KEYS", keys)
    monkeypatch.setattr(attention, "attend_plainly", lambda *parts: calls.append(parts) or attend_plainly(*parts))
    parts = sample(5, dtype)
    with torch.set_grad_enabled(trained):
        found = attend(*parts, MASK)
    assert bool(calls) == plain
    expected = F.scaled_dot_product_attention(*sample(5), attn_mask=MASK.unsqueeze(1))
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=0.03)


@pytest.mark.parametrize("keys", [1, 3, FEW_KEYS - 1, FEW_KEYS])
@torch.inference_mode()
def test_weights_of_few_keys_equal_a_softmax(keys: int) -> None:
    scores = 30 * torch.randn(5, 7, keys, generator=torch.Generator().manual_seed(1))
    scores[0, 0, 1:] = -torch.inf
    expected = torch.softmax(scores, dim=-1)
    torch.testing.assert_close(_softmax_in_place(scores.clone()), expected)
