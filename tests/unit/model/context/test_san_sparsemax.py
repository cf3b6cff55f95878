"""Sparsemax against its printed form and its gradient; masks; and softmax beside it."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import oracles

from docaps.model.context.san import sparsemax, weigh

SCORES = st.lists(st.floats(-6, 6, allow_nan=False), min_size=1, max_size=9)


@settings(deadline=None)
@given(SCORES)
def test_weights_equal_the_printed_algorithm(scores: list[float]) -> None:
    z = torch.tensor(scores, dtype=torch.float64)
    torch.testing.assert_close(sparsemax(z), oracles.sparsemax(z), atol=1e-9, rtol=0)


def draw(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("spread", [0.2, 1.0, 5.0])
def test_the_gradient_equals_the_printed_one_and_that_of_the_loops(spread: float) -> None:
    z, g = (spread * draw(7)).requires_grad_(), draw(7, seed=2)
    weights = sparsemax(z)
    (found,) = torch.autograd.grad(weights, z, g)
    torch.testing.assert_close(found, oracles.sparsemax_gradient(weights, g), atol=1e-9, rtol=0)
    (through_loops,) = torch.autograd.grad(oracles.sparsemax(z), z, g)
    torch.testing.assert_close(found, through_loops, atol=1e-9, rtol=0)
    assert 0 < int((weights > 0).sum()) <= len(z)


def test_it_is_sparse_where_softmax_is_not() -> None:
    z = torch.tensor([2.0, 1.5, -1.0, 0.9])
    torch.testing.assert_close(sparsemax(z), torch.tensor([0.75, 0.25, 0.0, 0.0]))
    everything = torch.ones(4, dtype=torch.bool)
    assert (weigh(z, everything, "softmax") > 0).all()
    torch.testing.assert_close(weigh(z, everything, "softmax"), torch.softmax(z, dim=-1))


@pytest.mark.parametrize("how", ["sparsemax", "softmax"])
def test_masked_scores_have_no_weight_influence_or_gradient(how: Any) -> None:
    z = (0.3 * draw(3, 5)).requires_grad_()
    mask = torch.tensor([True, False, True, True, False])
    weights = weigh(z, mask, how)
    torch.testing.assert_close(weights[:, mask], weigh(z[:, mask], mask[mask], how))
    assert (weights[:, ~mask] == 0).all()
    (gradient,) = torch.autograd.grad(weights, z, draw(3, 5, seed=4))
    assert (gradient[:, ~mask] == 0).all()
    assert (gradient[:, mask] != 0).any()
    huge = torch.where(mask, z.detach(), 1e300)
    torch.testing.assert_close(weigh(huge, mask, how), weights.detach())


@pytest.mark.parametrize("how", ["sparsemax", "softmax"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_all_weights_are_0_if_everything_is_masked(how: Any, dtype: torch.dtype) -> None:
    z = draw(2, 4).to(dtype).requires_grad_()
    weights = weigh(z, torch.tensor([[False] * 4, [True] * 4]), how)
    assert weights.dtype == dtype
    assert (weights[0] == 0).all()
    assert weights[1].sum().item() == pytest.approx(1.0, abs=0.02)
    (gradient,) = torch.autograd.grad(weights.sum(), z)
    assert gradient.isfinite().all()


def test_large_scores_differ_in_float32() -> None:
    z = torch.tensor([1e8, 1e8, -1e8])
    torch.testing.assert_close(sparsemax(z - z.max()), torch.tensor([0.5, 0.5, 0.0]))
    torch.testing.assert_close(weigh(z, torch.ones(3, dtype=torch.bool), "sparsemax"), torch.tensor([0.5, 0.5, 0.0]))


def test_nan_scores_give_nan_weights() -> None:
    scores = torch.tensor([[0.3, math.nan, 0.1], [0.2, 0.1, -3.0]])
    found = sparsemax(scores)
    assert found[0].isnan().any()
    torch.testing.assert_close(found[1], sparsemax(scores[1]))
