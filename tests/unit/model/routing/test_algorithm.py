"""Routing without stored votes equals Algorithm 1 with votes, in values and gradients, with every option."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from tests import oracles
from torch import Tensor

from docaps.model.routing.algorithm import Routing, RoutingOptions, route
from docaps.model.routing.layer import CapsuleRouting

N, D, M, R = 5, 6, 3, 4
LENGTHS = (N, 3)
MASK = torch.tensor([[True] * N, [True] * 3 + [False] * (N - 3)])
FULL = torch.ones(2, N, dtype=torch.bool)
GUIDED = RoutingOptions(rounds=R, squash_words=False)
READINGS: dict[str, dict[str, Any]] = {
    "as printed": {},
    "one round": {"rounds": 1},
    "two rounds": {"rounds": 2},
    "squashed words": {"squash_words": True},
    "p not in s": {"guide_capsules": False},
    "p not in alpha": {"guide_agreement": False},
    "p nowhere": {"guide_capsules": False, "guide_agreement": False},
    "gradient last": {"gradient": "last"},
    "gradient last, one round": {"gradient": "last", "rounds": 1},
    "gradient last, squashed words": {"gradient": "last", "squash_words": True},
    "votes detached": {"gradient": "detached-votes"},
    "votes detached, squashed words": {"gradient": "detached-votes", "squash_words": True},
    "votes detached, p not in alpha": {"gradient": "detached-votes", "guide_agreement": False},
}


def double(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def sample(seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    return double(2, N, D, seed=seed), double(M, D, D, seed=seed + 1) / D**0.5, double(2, D, seed=seed + 2)


def by_loops(
    words: Tensor, weight: Tensor, query: Tensor | None, options: RoutingOptions, sharpness: Tensor | float = 1.0
) -> Any:
    """One row without padding, by the oracle."""
    u = torch.stack([oracles.squash(word) for word in words]) if options.squash_words else words
    return oracles.route(
        u,
        weight,
        query,
        options.rounds,
        p_in_s=options.guide_capsules,
        p_in_alpha=options.guide_agreement,
        gradient=options.gradient,
        sharpness=sharpness,
    )


@pytest.mark.parametrize("guided", [True, False], ids=["guided", "plain"])
@pytest.mark.parametrize("reading", READINGS)
def test_routing_equals_algorithm_1(guided: bool, reading: str) -> None:
    options = replace(GUIDED, **READINGS[reading])
    words, weight, query = sample()
    found = route(words, MASK, weight, options=options, query=query if guided else None, trace=True)
    assert found.coupling is not None
    assert (found.correlation is not None) == guided
    for row, length in enumerate(LENGTHS):
        v, c, p = by_loops(words[row, :length], weight, query[row] if guided else None, options)
        torch.testing.assert_close(found.capsules[row], v, rtol=0, atol=1e-9)
        torch.testing.assert_close(found.coupling[:, row, :, :length], torch.stack(c), rtol=0, atol=1e-9)
        if found.correlation is not None:
            torch.testing.assert_close(found.correlation[:, row, :, :length], torch.stack(p), rtol=0, atol=1e-9)


@pytest.mark.parametrize("guided", [True, False], ids=["guided", "plain"])
@pytest.mark.parametrize("reading", READINGS)
def test_gradients_equal_those_of_algorithm_1(guided: bool, reading: str) -> None:
    options = replace(GUIDED, **READINGS[reading])
    fast = [tensor.requires_grad_() for tensor in sample(3)]
    slow = [tensor.clone().detach().requires_grad_() for tensor in fast]
    direction = double(2, M, D, seed=9)
    words, weight, query = fast
    found = route(words, MASK, weight, options=options, query=query if guided else None)
    (found.capsules * direction).sum().backward()
    words, weight, query = slow
    for row, length in enumerate(LENGTHS):
        v = by_loops(words[row, :length], weight, query[row] if guided else None, options)[0]
        (v * direction[row]).sum().backward()
    for one, other in zip(fast, slow, strict=True):
        expected = torch.zeros_like(one) if other.grad is None else other.grad
        torch.testing.assert_close(torch.zeros_like(one) if one.grad is None else one.grad, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("guided", [True, False], ids=["guided", "plain"])
@pytest.mark.parametrize("reading", READINGS)
def test_a_sharper_agreement_equals_the_loops_with_gradients(guided: bool, reading: str) -> None:
    """A learned factor on the agreement of line 27, with its own gradient."""
    options = replace(GUIDED, **READINGS[reading])
    fast = [tensor.requires_grad_() for tensor in (*sample(3), torch.full((1,), 7.0, dtype=torch.float64))]
    slow = [tensor.clone().detach().requires_grad_() for tensor in fast]
    direction = double(2, M, D, seed=9)
    words, weight, query, sharpness = fast
    given: Any = {"options": options, "query": query if guided else None}
    found = route(words, MASK, weight, **given, sharpness=sharpness, trace=True)
    (found.capsules * direction).sum().backward()
    words, weight, query, sharpness = slow
    for row, length in enumerate(LENGTHS):
        v, c, _ = by_loops(words[row, :length], weight, query[row] if guided else None, options, sharpness[0])
        torch.testing.assert_close(found.capsules[row], v, rtol=0, atol=1e-9)
        torch.testing.assert_close(found.coupling[:, row, :, :length], torch.stack(c), rtol=0, atol=1e-9)
        (v * direction[row]).sum().backward()
    for one, other in zip(fast, slow, strict=True):
        expected = torch.zeros_like(one) if other.grad is None else other.grad
        torch.testing.assert_close(torch.zeros_like(one) if one.grad is None else one.grad, expected, rtol=0, atol=1e-8)
    assert (slow[3].grad is None or not slow[3].grad.any()) == (options.rounds == 1 or options.gradient == "last")
    fixed = route(*(tensor.detach() for tensor in (fast[0], MASK, fast[1])), **given, sharpness=7.0)
    torch.testing.assert_close(fixed.capsules, found.capsules)


@pytest.mark.parametrize("gradient", ["all", "last", "detached-votes"])
def test_the_query_learns_with_every_gradient(gradient: Any) -> None:
    words, weight, query = sample(4)
    query.requires_grad_()
    options = replace(GUIDED, gradient=gradient)
    route(words, FULL, weight, options=options, query=query).capsules.sum().backward()
    assert query.grad is not None
    assert query.grad.abs().max() > 1e-6


def test_the_gradient_options_differ() -> None:
    gradients = []
    for gradient in ("all", "last", "detached-votes"):
        words, weight, query = sample(4)
        words.requires_grad_()
        options = replace(GUIDED, gradient=gradient)
        route(words, FULL, weight, options=options, query=query).capsules.sum().backward()
        assert words.grad is not None
        gradients.append(words.grad)
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert (gradients[one] - gradients[other]).abs().max() > 1e-4


def test_without_p_the_query_changes_nothing_and_routing_is_plain() -> None:
    words, weight, query = sample(6)
    options = replace(GUIDED, guide_capsules=False, guide_agreement=False)
    guided = route(words, MASK, weight, options=options, query=query).capsules
    torch.testing.assert_close(guided, route(words, MASK, weight, options=GUIDED).capsules, rtol=0, atol=1e-12)


def test_at_iteration_0_coupling_is_uniform_and_correlation_the_same_for_all_capsules() -> None:
    words, weight, query = sample(5)
    found = route(words, FULL, weight, options=GUIDED, query=query, trace=True)
    assert found.coupling is not None
    assert found.correlation is not None
    torch.testing.assert_close(found.coupling[0], torch.full_like(found.coupling[0], 1 / M))
    torch.testing.assert_close(found.correlation[0], found.correlation[0][:, :1].expand(-1, M, -1))
    assert not torch.allclose(found.coupling[-1], found.coupling[0])
    assert not torch.allclose(found.correlation[-1], found.correlation[-1][:, :1].expand(-1, M, -1))


def test_a_trace_changes_nothing_and_is_kept_only_when_asked_for() -> None:
    words, weight, query = sample(5)
    plain, traced = (route(words, FULL, weight, options=GUIDED, query=query, trace=trace) for trace in (False, True))
    assert torch.equal(plain.capsules, traced.capsules)
    assert plain.coupling is plain.correlation is None


def test_padding_changes_nothing() -> None:
    words, weight, query = sample(7)
    mask = torch.tensor([[True] * 3 + [False] * (N - 3)] * 2)
    padded = route(words, mask, weight, options=GUIDED, query=query).capsules
    other = words.clone()
    other[:, 3:] = 100.0
    assert torch.equal(padded, route(other, mask, weight, options=GUIDED, query=query).capsules)
    torch.testing.assert_close(padded, route(words[:, :3], mask[:, :3], weight, options=GUIDED, query=query).capsules)


def backward_is_finite(words: Tensor, mask: Tensor, *, guided: bool, query: Tensor, gradient: Any) -> Routing:
    """Route in float32 as models do, check capsules and gradients, and return the routing."""
    torch.manual_seed(2)
    options = RoutingOptions(rounds=R, gradient=gradient)
    routing = CapsuleRouting(size=words.shape[-1], capsules=M, options=options)
    words, query = words.clone().requires_grad_(), query.clone().requires_grad_()
    found: Routing = routing(words, mask, query if guided else None)
    (found.capsules * torch.randn(found.capsules.shape)).sum().backward()
    assert found.capsules.isfinite().all()
    for tensor in (words, routing.weight, query) if guided else (words, routing.weight):
        assert tensor.grad is not None
        assert tensor.grad.isfinite().all()
    return found


DEGENERATE = {
    "zeros": torch.zeros(1, 3, 8),
    "constant": torch.full((1, 3, 8), 0.1),
    "constant but for rounding": torch.full((1, 3, 8), 0.1) + 1e-8 * torch.arange(8),
    "constant and large": torch.full((1, 3, 8), 1e4),
    "no words": torch.zeros(1, 0, 8),
    "one word": torch.randn(1, 1, 8, generator=torch.Generator().manual_seed(1)),
    "tiny": 1e-18 * torch.randn(1, 3, 8, generator=torch.Generator().manual_seed(1)),
    "small": 1e-14 * torch.randn(1, 3, 8, generator=torch.Generator().manual_seed(1)),
    "rounded to nothing": 1e-30 * torch.randn(1, 3, 8, generator=torch.Generator().manual_seed(1)),
    "huge": 1e6 * torch.randn(1, 3, 8, generator=torch.Generator().manual_seed(1)),
}


@pytest.mark.parametrize("gradient", ["all", "last", "detached-votes"])
@pytest.mark.parametrize("guided", [True, False], ids=["guided", "plain"])
@pytest.mark.parametrize("case", DEGENERATE)
def test_degenerate_histories_give_finite_capsules_and_gradients(case: str, guided: bool, gradient: str) -> None:
    words = DEGENERATE[case]
    mask = torch.ones(words.shape[:2], dtype=torch.bool)
    for query in (torch.arange(8.0).unsqueeze(0), torch.zeros(1, 8), torch.full((1, 8), 0.3)):
        backward_is_finite(words, mask, guided=guided, query=query, gradient=gradient)


def test_a_word_that_is_constant_but_for_rounding_has_no_huge_gradient() -> None:
    """Dividing by a length that is only rounding would give gradients of 1e6 and more."""
    words = (torch.full((1, 3, 8), 0.1) + 1e-8 * torch.arange(8)).requires_grad_()
    weight = torch.eye(8).expand(M, 8, 8)
    mask = torch.ones(1, 3, dtype=torch.bool)
    found = route(words, mask, weight, options=GUIDED, query=torch.arange(8.0).unsqueeze(0))
    found.capsules[..., 0].sum().backward()
    assert words.grad is not None
    assert words.grad.abs().max() < 100


def test_a_row_of_padding_gives_zero_capsules() -> None:
    words = torch.randn(2, 3, 8, generator=torch.Generator().manual_seed(1))
    mask = torch.tensor([[True, True, False], [False] * 3])
    found = backward_is_finite(words, mask, guided=True, query=torch.randn(2, 8), gradient="all")
    assert found.capsules[1].eq(0).all()
    assert found.capsules[0].abs().max() > 0.01


@pytest.mark.parametrize("guided", [True, False], ids=["guided", "plain"])
def test_a_history_of_2000_words_is_routed_safely(guided: bool) -> None:
    words = torch.randn(2, 2000, 32, generator=torch.Generator().manual_seed(1))
    mask = torch.ones(2, 2000, dtype=torch.bool)
    found = backward_is_finite(words, mask, guided=guided, query=torch.randn(2, 32), gradient="all")
    lengths = torch.linalg.vector_norm(found.capsules, dim=-1)
    assert (lengths <= 1).all()


def test_a_constant_word_correlates_with_nothing() -> None:
    words = torch.full((1, 2, 8), 0.1)
    words[0, 1] += torch.arange(8.0)
    found = route(
        words,
        torch.ones(1, 2, dtype=torch.bool),
        torch.eye(8).expand(M, 8, 8),
        options=GUIDED,
        query=torch.arange(8.0).unsqueeze(0),
        trace=True,
    )
    assert found.correlation is not None
    assert found.correlation[0, 0, :, 0].eq(0).all()
    torch.testing.assert_close(found.correlation[0, 0, :, 1], torch.ones(M))


def test_routing_stays_in_float32_under_autocast() -> None:
    routing = CapsuleRouting(size=D, capsules=M, options=RoutingOptions(rounds=R))
    words, mask = torch.randn(1, N, D), torch.ones(1, N, dtype=torch.bool)
    plain = routing(words, mask, torch.ones(1, D)).capsules
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = routing(words, mask, torch.ones(1, D)).capsules
    assert inside.dtype == torch.float32
    assert torch.equal(plain, inside)


def test_vote_matrices_start_with_the_spread_asked_for() -> None:
    torch.manual_seed(1)
    options = RoutingOptions(rounds=R)
    default = CapsuleRouting(size=64, capsules=4, options=options).weight.detach().std()
    small = CapsuleRouting(size=64, capsules=4, options=options, spread=0.01).weight.detach().std()
    assert float(default) == pytest.approx(1 / 8, rel=0.03)
    assert float(small) == pytest.approx(0.01, rel=0.03)
