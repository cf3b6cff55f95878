"""Plain products and torch's fused kernel are the same attention, forwards and backwards; dropout of weights."""

import pytest
import torch
from tests import oracles
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from docaps.model.fast import attention
from docaps.model.fast.attention import FEW_KEYS, _softmax_in_place, attend, attend_by_products, attend_plainly
from docaps.model.fast.dropout import Dropout, draw_bytes

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


RATE, ROUNDED = 0.3, 77 / 256


def drawn_mask(seed: int, rows: int, length: int, keys: int = 5) -> Tensor:
    """The weights that are kept if torch has this seed, as booleans."""
    torch.manual_seed(seed)
    return draw_bytes(torch.empty(rows, length, keys)) >= 77


def dropped(parts: list[Tensor], mask: Tensor | None, causal: bool = False, seed: int = 7) -> Tensor:
    torch.manual_seed(seed)
    return attend(*parts, mask, causal, Dropout(RATE))


@pytest.mark.parametrize("length", [5, 2])
@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("causal", [True, False])
def test_dropped_attention_equals_plain_loops(length: int, masked: bool, causal: bool) -> None:
    parts = sample(length)
    visible = MASK if masked else torch.ones(2, 1, 5, dtype=torch.bool)
    visible = visible & (torch.ones(length, 5, dtype=torch.bool).tril() if causal else True)
    visible, kept = visible.expand(2, length, 5), drawn_mask(7, 6, length)
    assert not kept.all()
    rows = [
        oracles.attention_with_dropout(*(part[b, h] for part in parts), visible[b], kept[3 * b + h], ROUNDED)
        for b in range(2)
        for h in range(3)
    ]
    expected, found = torch.stack(rows).view(2, 3, length, 4), dropped(parts, MASK if masked else None, causal)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-9)
    slopes = torch.randn(found.shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    fast, slow = (torch.autograd.grad((one * slopes).sum(), parts) for one in (found, expected))
    for one, other in zip(fast, slow, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 0.05)])
def test_dropped_attention_is_the_same_in_lower_precision(dtype: torch.dtype, tolerance: float) -> None:
    """The mask too: it does not depend on the number format."""
    exact, parts = sample(5), sample(5, dtype)
    expected, found = dropped(exact, MASK, True), dropped(parts, MASK, True)
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=tolerance)
    gradients = (torch.autograd.grad(one.sum(), inputs) for one, inputs in ((found, parts), (expected, exact)))
    for one, other in zip(*gradients, strict=True):
        assert one.dtype == dtype
        torch.testing.assert_close(one.double(), other, rtol=0, atol=tolerance)


def weights_of(count: int) -> Tensor:
    """Dropped weights of even attention to 64 keys: keys of 0, values of an identity matrix."""
    values = torch.eye(64).expand(count, 1, 64, 64)
    with torch.no_grad():
        return dropped([torch.ones(count, 1, 64, 64), torch.zeros(count, 1, 64, 64), values], None)


def test_the_share_of_dropped_weights_and_their_mean_are_right() -> None:
    found = 64 * weights_of(100)  # 409,600 weights
    assert (found == 0).double().mean().item() == pytest.approx(ROUNDED, abs=0.004)
    assert found.mean().item() == pytest.approx(1, abs=0.005)
    assert found.max().item() == pytest.approx(1 / (1 - ROUNDED))


def test_the_mean_over_many_masks_is_attention_without_dropout() -> None:
    parts = [part.detach() for part in sample(5)]
    many = [part.repeat(3000, 1, 1, 1) for part in parts]
    mean = dropped(many, MASK.repeat(3000, 1, 1)).view(3000, *parts[0].shape).mean(dim=0)
    torch.testing.assert_close(mean, attend(*parts, MASK), rtol=0, atol=0.1)


def test_no_weight_is_dropped_outside_training_or_at_rate_0() -> None:
    parts = sample(5)
    expected, state = attend(*parts, MASK, True), torch.get_rng_state()
    for dropout in (Dropout(0.5).eval(), Dropout(0.0), None):
        assert torch.equal(attend(*parts, MASK, True, dropout), expected)
    assert torch.equal(torch.get_rng_state(), state)
    assert not torch.allclose(dropped(parts, MASK, True), expected)


@pytest.mark.parametrize("causal", [True, False])
def test_many_keys_are_attended_to_in_groups_of_rows(causal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second time that a group's weights are drawn, for its gradient, they are the same; nothing else is drawn."""
    generator = torch.Generator().manual_seed(1)
    parts = [torch.randn(5, 2, 8, 4, generator=generator, dtype=torch.float64).requires_grad_() for _ in range(3)]
    mask = torch.rand(5, 1, 8, generator=generator) < 0.7
    mask[:, :, 0] = True
    whole = dropped(parts, mask, causal)
    monkeypatch.setattr(attention, "PLAIN_KEYS", 7)
    monkeypatch.setattr(attention, "GROUP_WEIGHTS", 300)  # two rows of 2 x 8 x 8 weights
    calls: list[int] = []
    monkeypatch.setattr(attention, "draw_bytes", lambda like: calls.append(len(like)) or draw_bytes(like))
    groups = dropped(parts, mask, causal)
    assert calls == [4, 4, 2]
    assert torch.equal(groups, whole)
    state = torch.get_rng_state()
    for one, other in zip(*(torch.autograd.grad(found.sin().sum(), parts) for found in (groups, whole)), strict=True):
        torch.testing.assert_close(one, other)
    assert calls == [4, 4, 2] * 2
    assert torch.equal(torch.get_rng_state(), state)


def test_the_backward_pass_keeps_the_weights_and_a_byte_for_each() -> None:
    parts = sample(5, torch.bfloat16)
    kept = dropped(parts, MASK).grad_fn.saved_tensors  # type: ignore[union-attr]
    assert [(one.dtype, one.numel()) for one in kept[3:]] == [(torch.bfloat16, 150), (torch.uint8, 150)]
    assert len(kept) == 5
