"""Routing in groups gives the capsules and gradients of routing at once, with less memory."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from docaps.model.routing import layer as recomputed
from docaps.model.routing.algorithm import RoutingOptions, route
from docaps.model.routing.layer import CapsuleRouting, route_in_groups

B, N, M, D, R = 5, 6, 3, 7, 3
PLAIN = RoutingOptions(rounds=R)


@pytest.fixture(autouse=True)
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recomputed, "GROUP_WORDS", 2 * N)  # two rows a group, and one left over
    monkeypatch.setattr(recomputed, "MANY_WORDS", B * N - 1)


def double(*shape: int, seed: int) -> Tensor:
    values = torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return values.requires_grad_()


def mask() -> Tensor:
    lengths = torch.tensor([6, 2, 0, 5, 1])
    return torch.arange(N) < lengths.unsqueeze(1)


@pytest.mark.parametrize("with_query", [True, False])
@pytest.mark.parametrize("gradient", ["all", "last", "detached-votes"])
@pytest.mark.parametrize("sharpness", [1.0, 9.0, None])
def test_groups_change_neither_capsules_nor_gradients(with_query: bool, gradient: str, sharpness: float | None) -> None:
    """A sharpness of None is learned."""
    options = replace(PLAIN, gradient=gradient)  # type: ignore[arg-type]
    found = []
    for in_groups in (True, False):
        words, weight = double(B, N, D, seed=1), double(M, D, D, seed=2)
        query = double(B, D, seed=3) if with_query else None
        factor = torch.full((1,), 5.0, dtype=torch.float64).requires_grad_() if sharpness is None else sharpness
        given = {"options": options, "query": query, "sharpness": factor}
        if in_groups:
            capsules = route_in_groups(words, mask(), weight, **given)
        else:
            capsules = route(words, mask(), weight, **given).capsules
        (capsules * double(B, M, D, seed=4).detach()).sum().backward()
        of_factor = factor.grad if isinstance(factor, Tensor) else None
        found.append((capsules.detach(), words.grad, weight.grad, None if query is None else query.grad, of_factor))
    assert (found[1][4] is None) == (sharpness is not None or gradient == "last")
    for one, expected in zip(*found, strict=True):
        assert (one is None) == (expected is None)
        if one is not None and expected is not None:
            torch.testing.assert_close(one, expected, rtol=0, atol=1e-12)


def test_only_large_batches_with_a_gradient_and_without_a_trace_are_routed_in_groups(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[int] = []
    groups = recomputed._groups
    monkeypatch.setattr(recomputed, "_groups", lambda words: calls.append(len(words)) or groups(words))
    routing = CapsuleRouting(size=D, capsules=M, options=PLAIN).double()
    words, query = double(B, N, D, seed=1), double(B, D, seed=3)
    routing(words, mask(), query)
    assert calls == [B]
    routing(words, mask(), query, trace=True)
    routing(words[:-1], mask()[:-1], query[:-1])
    with torch.no_grad():
        routing(words, mask(), query)
    assert calls == [B]


def test_frozen_inputs_are_supported() -> None:
    words, weight = double(B, N, D, seed=1).detach(), double(M, D, D, seed=2)
    route_in_groups(words, mask(), weight, options=PLAIN, query=None).sum().backward()
    assert words.grad is None
    assert weight.grad is not None
    assert weight.grad.abs().sum() > 0
