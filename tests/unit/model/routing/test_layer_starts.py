"""How vote matrices and the maps of words start."""

import math
from typing import Any

import pytest
import torch
from tests.invariants import tiny

from docaps.model.builders import build_model
from docaps.model.routing.layer import NEAR, SHARPEST, start_matrices

M, D = 4, 64


def matrices(start: Any, **options: Any) -> torch.Tensor:
    torch.manual_seed(1)
    return start_matrices(start, M, D, **options)


@pytest.mark.parametrize(("start", "spread", "expected"), [("random", None, 1.0), ("random", 0.3, 0.3 * math.sqrt(D))])
def test_random_matrices_have_the_spread(start: str, spread: float | None, expected: float) -> None:
    assert matrices(start, spread=spread).std() * math.sqrt(D) == pytest.approx(expected, rel=0.05)


def test_near_the_identity_the_matrices_differ_a_little() -> None:
    found = matrices("identity")
    for one in found:
        noise = one - torch.eye(D)
        assert noise.std() * math.sqrt(D) == pytest.approx(NEAR, rel=0.1)
    assert not torch.equal(found[0], found[1])
    torch.testing.assert_close(matrices("identity", spread=1e-9), torch.eye(D).repeat(M, 1, 1), atol=1e-6, rtol=0)


def test_parts_cover_every_number_once() -> None:
    found = matrices("parts", spread=1e-9)
    torch.testing.assert_close(found.sum(dim=0), torch.eye(D), atol=1e-6, rtol=0)
    assert found.diagonal(dim1=1, dim2=2).sum(dim=1).round().tolist() == [16, 16, 16, 16]
    torch.manual_seed(1)
    uneven = start_matrices("parts", 3, 8, 1e-9).diagonal(dim1=1, dim2=2).round().tolist()
    assert [sum(row) for row in zip(*uneven, strict=True)] == [1.0] * 8
    assert all(2 <= sum(row) <= 3 for row in uneven)


@pytest.mark.parametrize(("start", "identical"), [("random", False), ("identity", True), ("parts", False)])
def test_words_start_as_themselves_with_the_identity_only(start: str, identical: bool) -> None:
    model = build_model(tiny.settings("qcn", start=start), vocabulary=11)
    weight = model.context.words.linear.weight
    assert torch.equal(weight[:, : tiny.D], torch.eye(tiny.D)) == identical
    assert not weight[:, tiny.D :].any()


def test_a_start_changes_no_other_weight() -> None:
    plain, started = (
        dict(build_model(tiny.settings("qcn+reg", start=start), vocabulary=11).named_parameters())
        for start in ("random", "identity")
    )
    different = {name for name in plain if not torch.equal(plain[name], started[name])}
    assert different == {"context.words.linear.weight", "context.routing.weight"}


def test_sharpness_is_a_weight_only_if_learned() -> None:
    fixed, learned = (
        build_model(tiny.settings("qcn+reg", sharpness=sharpness), vocabulary=11) for sharpness in (20.0, "learned")
    )
    assert fixed.context.routing.sharpness == 20.0
    assert fixed.regulariser.source.sharpness == 1.0  # the regulariser routes as printed
    new = dict(learned.named_parameters()).keys() - dict(fixed.named_parameters()).keys()
    assert new == {"context.routing.log_sharpness"}
    routing = learned.context.routing
    assert routing.sharpness.tolist() == [1.0]
    with torch.no_grad():
        routing.log_sharpness.fill_(1.0)
        assert routing.sharpness.item() == pytest.approx(math.exp(math.sqrt(tiny.D)))
        routing.log_sharpness.fill_(100.0)
        assert routing.sharpness.item() == pytest.approx(SHARPEST)
