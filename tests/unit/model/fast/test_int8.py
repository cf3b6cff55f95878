"""int8 with known ranges: equal to plain loops, close to float32, rows independent."""

import pytest
import torch
from tests import oracles
from torch import Tensor, nn

from docaps.config.model_settings import Activation
from docaps.model.fast import int8
from docaps.model.fast.int8 import (
    LEVELS,
    POSITIVE_LEVELS,
    ZERO,
    Int8FeedForward,
    Int8Linear,
    Int8Output,
    quantise_columns,
    step_sizes,
    steps_after,
)
from docaps.model.layers import ACTIVATIONS

pytestmark = pytest.mark.skipif(int8.weight_levels() != LEVELS, reason="without VNNI weights have fewer levels")


def random(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def largest_of(values: Tensor) -> Tensor:
    return values.abs().flatten(0, -2).amax(dim=0)


def calibrated(weight: Tensor, bias: Tensor | None, values: Tensor, levels: int = LEVELS) -> Int8Linear:
    steps = step_sizes(weight, largest_of(values), levels)
    return Int8Linear(weight, bias, steps, zero=0 if levels == POSITIVE_LEVELS else ZERO)


def test_columns_are_rounded_by_their_steps_and_clipped() -> None:
    values = torch.tensor([[1.0, -1.0, 0.5], [1.26, -63.6, 200.0], [0.0, -0.4, -200.0], [2.5, 3.5, -2.5]])
    found = quantise_columns(values, 1 / torch.tensor([0.5, 1.0, 1.0]))
    assert found.tolist() == [[130, 127, 128], [131, 64, 255], [128, 128, 1], [133, 132, 126]]  # 128 stands for 0


def test_the_largest_input_is_at_the_last_level_and_steps_balance_inputs_and_weights() -> None:
    weight, largest = torch.tensor([[1.0, -4.0, 0.0, 1.0], [0.5, 2.0, 0.0, -1.0]]), torch.tensor([8.0, 2.0, 1.0, 0.0])
    steps = step_sizes(weight, largest, LEVELS)
    assert bool(((steps > 0) & steps.isfinite()).all())  # a column of zero weights, and one of zero inputs
    assert float((largest / steps).max()) == pytest.approx(LEVELS)
    assert float(steps[0] / steps[1]) == pytest.approx((8 / 1) ** 0.5 / (2 / 4) ** 0.5)
    nothing = step_sizes(torch.zeros(2, 3), torch.zeros(3), LEVELS)
    assert bool(((nothing > 0) & nothing.isfinite()).all())


@pytest.mark.parametrize("levels", [LEVELS, POSITIVE_LEVELS])
@torch.inference_mode()
def test_a_calibrated_map_equals_plain_loops(levels: int) -> None:
    weight, bias = random(6, 10) * torch.linspace(0.1, 3, 10), random(6, seed=3)
    seen = random(8, 10, seed=2) * torch.linspace(5, 0.2, 10)
    seen = seen.abs() if levels == POSITIVE_LEVELS else seen
    linear = calibrated(weight, bias, seen, levels)
    values = 1.3 * seen  # some are out of range
    expected = torch.tensor(oracles.calibrated_linear(values, weight, bias, largest_of(seen), levels))
    integers = quantise_columns(values, linear.inverse_steps)
    if levels == POSITIVE_LEVELS:
        integers = (values * linear.inverse_steps).round().clamp(0, 255).to(torch.uint8)
    torch.testing.assert_close(linear.multiply(integers), expected, atol=1e-4, rtol=1e-5)
    if levels == LEVELS:
        torch.testing.assert_close(linear(values.view(2, 4, 10)).flatten(0, 1), expected, atol=1e-4, rtol=1e-5)


@torch.inference_mode()
def test_columns_of_different_ranges_lose_little() -> None:
    """One step for all numbers of a row rounds the small columns, whose weights are large, to nothing."""
    spread = torch.logspace(-1, 1, 64)
    weight, values, bias = random(40, 64) / spread, random(100, 64, seed=2) * spread, random(40, seed=3)
    expected = nn.functional.linear(values, weight, bias)
    errors = [
        float((linear(values) - expected).square().mean().sqrt() / expected.std())
        for linear in (calibrated(weight, bias, values), Int8Linear(weight, bias))
    ]
    assert errors[0] < 0.015
    assert errors[1] > 0.1


@torch.inference_mode()
def test_neighbours_change_nothing() -> None:
    values = random(5, 64, seed=2)
    linear = calibrated(random(40, 64), random(40), values)
    loud = torch.cat((values, 1000 * random(3, 64, seed=4)))
    assert torch.equal(linear(loud)[:5], linear(values))


def maps(known: bool, activation: Activation = "relu") -> tuple[Int8FeedForward, nn.Module, Tensor]:
    inner, output, states = nn.Linear(32, 48), nn.Linear(48, 32), random(4, 5, 32, seed=2)
    for number, part in enumerate((inner.weight, inner.bias, output.weight, output.bias)):
        part.data = random(*part.shape, seed=10 + number)
    between = {"relu": nn.ReLU(), "swish": nn.SiLU(), "gelu": nn.GELU()}[activation]
    plain = nn.Sequential(inner, between, output)
    if not known:
        parts = (Int8Linear(one.weight, one.bias) for one in (inner, output))
        return Int8FeedForward(*parts, activation), plain, states
    first = calibrated(inner.weight, inner.bias, states)
    steps, zero = steps_after(activation, output.weight, largest_of(between(inner(states))))
    second = Int8Linear(output.weight, output.bias, steps, zero=zero)
    return Int8FeedForward(first, second, activation), plain, states


@pytest.mark.parametrize("activation", ["relu", "swish", "gelu"])
@pytest.mark.parametrize("known", [False, True])
@torch.inference_mode()
def test_a_feed_forward_network_is_close_to_the_float32_one(known: bool, activation: Activation) -> None:
    packed, plain, states = maps(known, activation)
    expected = plain(states)
    found = packed(states)
    assert found.shape == expected.shape
    assert float((found - expected).square().mean().sqrt()) < 0.03 * float(expected.std())


@pytest.mark.parametrize("activation", ["swish", "gelu"])
def test_integers_after_an_activation_reach_from_its_lowest_value_to_the_largest(activation: Activation) -> None:
    inputs = torch.linspace(-20, 5, 100_001)
    results = ACTIVATIONS[activation](inputs)
    steps, zero = steps_after(activation, random(3, 2), torch.tensor([float(results.max()), 1.0]))
    step = float(steps[0])
    assert torch.equal(steps, torch.full((2,), step))
    lowest, highest = -zero * step, (POSITIVE_LEVELS - zero) * step
    assert lowest <= float(results.min())
    assert highest >= float(results.max())
    assert lowest == pytest.approx(float(results.min()), abs=1.1 * step)
    assert highest == pytest.approx(float(results.max()), abs=1.1 * step)


@pytest.mark.parametrize("known", [False, True])
@torch.inference_mode()
def test_an_output_layer_adds_its_bias(known: bool) -> None:
    weight, states, bias = random(40, 64), random(5, 64, seed=2), random(40, seed=3)
    steps = step_sizes(weight, largest_of(states), LEVELS) if known else None
    pieces, scale = Int8Output(weight, 16, steps, bias)(states)
    assert scale is None
    torch.testing.assert_close(torch.cat(list(pieces), dim=1), states @ weight.T + bias, atol=0.6, rtol=0)


@pytest.mark.parametrize("known", [False, True])
@torch.inference_mode()
def test_a_feed_forward_network_processes_a_few_rows_at_a_time(known: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    packed, _, states = maps(known)
    expected = packed(states)
    for rows in (1, 7, 20, 100):
        monkeypatch.setattr(int8, "CACHED_ROWS", rows)
        assert torch.equal(packed(states), expected)


@torch.inference_mode()
def test_a_calibrated_output_layer_needs_no_scale() -> None:
    weight, states = random(40, 64), random(5, 64, seed=2)
    pieces, scale = Int8Output(weight, 16, step_sizes(weight, largest_of(states), LEVELS))(states)
    assert scale is None
    found = torch.cat(list(pieces), dim=1)
    torch.testing.assert_close(found, states @ weight.T, atol=0.6, rtol=0)
    expected = oracles.calibrated_linear(states, weight, torch.zeros(40), largest_of(states), LEVELS)
    torch.testing.assert_close(found, torch.tensor(expected), atol=1e-3, rtol=1e-5)
