import pytest
import torch
from scipy import stats
from tests import oracles

from docaps.model.routing.algorithm import pearson, root, squash, standardised


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
    assert result.item() == 0
    assert constant.grad is not None
    assert constant.grad.eq(0).all()


@pytest.mark.parametrize("level", [0.0, 0.1, -7.3, 1e4])
def test_what_differs_by_rounding_only_counts_as_constant(level: float) -> None:
    """Its length after centring is noise; dividing by noise would give gradients of any size."""
    generator = torch.Generator().manual_seed(3)
    vector = torch.full((512,), level) * (1 + 1e-7 * torch.randn(512, generator=generator))
    other = torch.randn(512, generator=generator)
    vector.requires_grad_()
    result = pearson(vector, other)
    result.backward()
    assert result.item() == 0
    assert vector.grad is not None
    assert vector.grad.eq(0).all()


@pytest.mark.parametrize("level", [0.0, 1.0, 100.0])
def test_what_differs_by_more_is_correlated(level: float) -> None:
    generator = torch.Generator().manual_seed(4)
    noise = torch.randn(512, generator=generator)
    vector = level + 0.01 * noise
    assert pearson(vector, noise).item() == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("left", [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
def test_standardised_vectors_have_mean_0_and_length_1_or_are_zero(left: list[float]) -> None:
    found = standardised(torch.tensor([left, [1.0, 2.0, 6.0]], dtype=torch.float64))
    assert found[0].eq(0).all()
    assert found[1].sum().item() == pytest.approx(0, abs=1e-15)
    assert found[1].norm().item() == pytest.approx(1)


def test_the_root_of_zero_is_zero_with_gradient_zero() -> None:
    values = torch.tensor([0.0, 4.0], requires_grad=True)
    root(values).sum().backward()
    assert root(values).tolist() == [0, 2]
    assert values.grad is not None
    assert values.grad.tolist() == [0, 0.25]
