import pytest
import torch
from scipy import stats
from tests import oracles

from docaps.model.functional import pearson, squash


def test_squash_equals_the_printed_formula() -> None:
    for vector in torch.randn(5, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(1)) * 3:
        torch.testing.assert_close(squash(vector), oracles.squash(vector), rtol=0, atol=1e-14)


def test_squash_of_zeros_is_zero_with_a_finite_gradient() -> None:
    vector = torch.zeros(4, dtype=torch.float64, requires_grad=True)
    squash(vector).sum().backward()
    assert squash(vector).eq(0).all()
    assert vector.grad is not None
    assert vector.grad.isfinite().all()


def test_squashed_vectors_are_shorter_than_one_and_keep_their_direction() -> None:
    vector = torch.tensor([30.0, 40.0], dtype=torch.float64)
    squashed = squash(vector)
    assert squashed.norm().item() == pytest.approx(2500 / 2501)
    assert squashed[1] / squashed[0] == pytest.approx(4 / 3)


def test_pearson_equals_scipy_and_the_oracle() -> None:
    generator = torch.Generator().manual_seed(2)
    left, right = torch.randn(2, 6, 11, dtype=torch.float64, generator=generator)
    for a, b, found in zip(left, right, pearson(left, right), strict=True):
        assert found.item() == pytest.approx(stats.pearsonr(a.numpy(), b.numpy()).statistic, abs=1e-12)
        assert found.item() == pytest.approx(oracles.pcc(a, b).item(), abs=1e-12)


def test_pearson_with_a_constant_vector_is_zero_with_finite_gradients() -> None:
    constant = torch.full((1, 5), 0.3, requires_grad=True)
    other = torch.arange(5.0)[None].requires_grad_()
    result = pearson(constant, other)
    result.sum().backward()
    assert abs(result.item()) < 1e-5
    assert constant.grad is not None
    assert constant.grad.isfinite().all()
