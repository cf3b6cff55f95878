"""A shared matrix gives the same products and gradients as autograd does, product by product."""

import pytest
import torch
from torch import Tensor

from docaps.model.fast.shared import Shared


def double(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def use(matrices: Tensor, shared: bool, small: Tensor, other: Tensor, *, moments: bool, plain_use: bool) -> Tensor:
    """Several products, each depending on the one before."""
    if shared:
        both = Shared(matrices)
        combine, compare, raw = both.combine_rows, both.compare_rows, both.matrices
        variance, mean = both.moments()
    else:
        combine, compare, raw = (lambda x: x @ matrices), (lambda x: x @ matrices.transpose(1, 2)), matrices
        variance, mean = matrices.var(dim=-1, correction=0), matrices.mean(dim=-1)
    combined = combine(small)
    compared = compare(torch.tanh(combined) + other)
    total = combine(compared.sigmoid()).square().sum()
    if moments:
        total = total + (variance * mean.exp()).sum() + compare(other).mul(variance.unsqueeze(1)).sum()
    return total + (raw**3).sum() if plain_use else total


@pytest.mark.parametrize("moments", [True, False])
@pytest.mark.parametrize("plain_use", [True, False])
@pytest.mark.parametrize("frozen", ["nothing", "matrices", "small"])
def test_gradients_equal_those_of_autograd(moments: bool, plain_use: bool, frozen: str) -> None:
    found = []
    for shared in (True, False):
        matrices, small, other = double(2, 4, 3, seed=1), double(2, 5, 4, seed=2), double(2, 5, 3, seed=3)
        matrices.requires_grad_(frozen != "matrices")
        small.requires_grad_(frozen != "small")
        other.requires_grad_()
        total = use(matrices, shared, small, other, moments=moments, plain_use=plain_use)
        total.backward()
        found.append((total.detach(), matrices.grad, small.grad, other.grad))
    for one, expected in zip(*found, strict=True):
        assert (one is None) == (expected is None)
        if one is not None:
            torch.testing.assert_close(one, expected, rtol=0, atol=1e-11)


def test_a_second_backward_pass_through_a_kept_graph_gives_the_same_gradient() -> None:
    matrices, small, other = double(2, 4, 3, seed=1).requires_grad_(), double(2, 5, 4, seed=2), double(2, 5, 3, seed=3)
    total = use(matrices, True, small, other, moments=True, plain_use=False)
    first, second = (torch.autograd.grad(total, matrices, retain_graph=True)[0] for _ in range(2))
    assert torch.equal(first, second)


def test_a_backward_pass_to_other_inputs_leaves_no_records() -> None:
    """It never reaches the matrices, so its records must not count in the next pass."""
    matrices, other = double(2, 4, 3, seed=1).requires_grad_(), double(2, 5, 3, seed=3).requires_grad_()
    total = use(matrices, True, double(2, 5, 4, seed=2), other, moments=True, plain_use=False)
    (expected,) = torch.autograd.grad(total, matrices, retain_graph=True)
    torch.autograd.grad(total, other, retain_graph=True)
    (found,) = torch.autograd.grad(total, matrices)
    assert torch.equal(found, expected)


def test_gradients_of_two_passes_add_up() -> None:
    matrices = double(2, 4, 3, seed=1).requires_grad_()
    small, other = double(2, 5, 4, seed=2), double(2, 5, 3, seed=3)
    for _ in range(2):
        use(matrices, True, small, other, moments=True, plain_use=False).backward()
    assert matrices.grad is not None
    once = torch.autograd.grad(use(matrices, False, small, other, moments=True, plain_use=False), matrices)[0]
    torch.testing.assert_close(matrices.grad, 2 * once, rtol=0, atol=1e-11)


def test_a_second_derivative_is_refused_instead_of_being_wrong() -> None:
    matrices = double(2, 4, 3, seed=1).requires_grad_()
    total = Shared(matrices).combine_rows(double(2, 5, 4, seed=2)).square().sum()
    with pytest.raises(RuntimeError, match="no second derivative"):
        torch.autograd.grad(total, matrices, create_graph=True)


def test_nothing_as_large_as_the_matrices_is_kept_for_the_backward_pass() -> None:
    matrices = double(2, 40, 30, seed=1).requires_grad_()
    kept = []

    def pack(tensor: Tensor) -> Tensor:
        if tensor.numel() >= matrices.numel() and tensor.data_ptr() != matrices.data_ptr():
            kept.append(tensor.shape)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        use(matrices, True, double(2, 5, 40, seed=2), double(2, 5, 30, seed=3), moments=True, plain_use=False)
    assert not kept
