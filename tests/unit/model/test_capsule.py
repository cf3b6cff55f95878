"""Routing without stored votes equals Algorithm 1 with votes, in values and gradients."""

import pytest
import torch
from tests import oracles
from torch import Tensor

from docaps.model.capsule import CapsuleRouting, route

N, D, M, R = 5, 6, 3, 4


def double(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def sample(seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    return double(2, N, D, seed=seed), double(M, D, D, seed=seed + 1) / D**0.5, double(2, D, seed=seed + 2)


@pytest.mark.parametrize("guided", [True, False])
@pytest.mark.parametrize("rounds", [1, 2, R])
def test_routing_equals_algorithm_1(guided: bool, rounds: int) -> None:
    words, weight, query = sample()
    mask = torch.tensor([[True] * N, [True] * 3 + [False] * (N - 3)])
    found = route(words, mask, weight, rounds=rounds, query=query if guided else None, trace=True)
    for row, length in ((0, N), (1, 3)):
        v, c, p = oracles.route(words[row, :length], weight, query[row] if guided else None, rounds)
        torch.testing.assert_close(found.capsules[row], v, rtol=0, atol=1e-9)
        assert found.coupling is not None
        torch.testing.assert_close(found.coupling[:, row, :, :length], torch.stack(c), rtol=0, atol=1e-9)
        if guided:
            assert found.correlation is not None
            torch.testing.assert_close(found.correlation[:, row, :, :length], torch.stack(p), rtol=0, atol=1e-9)


@pytest.mark.parametrize("guided", [True, False])
def test_gradients_equal_those_of_algorithm_1(guided: bool) -> None:
    fast = [tensor.requires_grad_() for tensor in sample(3)]
    slow = [tensor.clone().detach().requires_grad_() for tensor in fast]
    direction = double(2, M, D, seed=9)
    words, weight, query = fast
    capsules = route(words, torch.ones(2, N, dtype=torch.bool), weight, rounds=R, query=query if guided else None)
    (capsules.capsules * direction).sum().backward()
    words, weight, query = slow
    rows = [oracles.route(words[row], weight, query[row] if guided else None, R)[0] for row in range(2)]
    (torch.stack(rows) * direction).sum().backward()
    for one, other in list(zip(fast, slow, strict=True))[: 3 if guided else 2]:
        torch.testing.assert_close(one.grad, other.grad, rtol=0, atol=1e-9)


def test_at_iteration_0_coupling_is_uniform_and_correlation_the_same_for_all_capsules() -> None:
    words, weight, query = sample(5)
    found = route(words, torch.ones(2, N, dtype=torch.bool), weight, rounds=R, query=query, trace=True)
    assert found.coupling is not None
    assert found.correlation is not None
    torch.testing.assert_close(found.coupling[0], torch.full_like(found.coupling[0], 1 / M))
    torch.testing.assert_close(found.correlation[0], found.correlation[0][:, :1].expand(-1, M, -1))
    assert not torch.allclose(found.coupling[-1], found.coupling[0])


def test_padding_changes_nothing() -> None:
    words, weight, query = sample(7)
    mask = torch.tensor([[True] * 3 + [False] * (N - 3)] * 2)
    padded = route(words, mask, weight, rounds=R, query=query).capsules
    other = words.clone()
    other[:, 3:] = 100.0
    assert torch.equal(padded, route(other, mask, weight, rounds=R, query=query).capsules)
    torch.testing.assert_close(padded, route(words[:, :3], mask[:, :3], weight, rounds=R, query=query).capsules)


@pytest.mark.parametrize(
    "words", [torch.zeros(1, 3, D), torch.ones(1, 3, D), torch.zeros(1, 0, D), torch.randn(1, 1, D)]
)
def test_degenerate_histories_give_finite_capsules_and_gradients(words: Tensor) -> None:
    routing = CapsuleRouting(size=D, capsules=M, rounds=R)
    words = words.clone().requires_grad_()
    mask = torch.ones(words.shape[:2], dtype=torch.bool)
    capsules = routing(words, mask, torch.ones(1, D)).capsules
    capsules.sum().backward()
    assert capsules.isfinite().all()
    assert words.grad is not None
    assert words.grad.isfinite().all()
    assert routing.weight.grad is not None
    assert routing.weight.grad.isfinite().all()


def test_routing_stays_in_float32_under_autocast() -> None:
    routing = CapsuleRouting(size=D, capsules=M, rounds=R)
    words, mask = torch.randn(1, N, D), torch.ones(1, N, dtype=torch.bool)
    plain = routing(words, mask, torch.ones(1, D)).capsules
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = routing(words, mask, torch.ones(1, D)).capsules
    assert inside.dtype == torch.float32
    assert torch.equal(plain, inside)
