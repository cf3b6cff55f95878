"""Dropout with one random byte for each number behaves like torch's, at a rate rounded to 256ths."""

import pytest
import torch

from docaps.model.fast.dropout import Dropout, draw_bytes


def drop(rate: float, *shape: int, seed: int = 1) -> torch.Tensor:
    torch.manual_seed(seed)
    return Dropout(rate)(torch.ones(shape))


@pytest.mark.parametrize(("rate", "level"), [(0.1, 26), (0.2, 51), (0.5, 128), (0.001, 1), (0.999, 255)])
def test_the_rate_is_rounded_to_256ths_and_kept_numbers_are_scaled_by_it(rate: float, level: int) -> None:
    found = drop(rate, 1000, 1000)
    assert found.max().item() == pytest.approx(256 / (256 - level))
    assert set(found.unique().tolist()) == {0.0, found.max().item()}
    assert (found == 0).float().mean().item() == pytest.approx(level / 256, abs=0.003)


def test_each_of_the_eight_bytes_of_a_random_word_drops_as_often() -> None:
    """Torch's usual 63 random bits would leave every eighth byte without its highest bit."""
    dropped = (drop(0.5, 100_000, 8) == 0).float().mean(dim=0)
    assert dropped.tolist() == pytest.approx([0.5] * 8, abs=0.01)


def test_neighbours_are_dropped_independently() -> None:
    dropped = (drop(0.5, 100_001) == 0).float() - 0.5
    for distance in (1, 2, 8):
        assert (dropped[distance:] * dropped[:-distance]).mean().abs().item() < 0.005


def test_it_acts_in_training_only_and_not_at_rate_0() -> None:
    values = torch.randn(3, 5)
    assert Dropout(0.5).eval()(values) is values
    assert Dropout(0.0)(values) is values
    assert torch.equal(Dropout(0.5).eval().add(values, values), 2 * values)


def test_a_rate_must_be_less_than_1() -> None:
    with pytest.raises(ValueError, match=r"less than 1, not 1\.0"):
        Dropout(1.0)


def test_the_state_of_torchs_generator_is_all_it_depends_on() -> None:
    module, values = Dropout(0.3), torch.ones(7, 11)
    module(values)
    state = torch.get_rng_state()
    first = module(values)
    second = module(values)
    torch.set_rng_state(state)
    assert torch.equal(module(values), first)
    assert torch.equal(module(values), second)
    assert not torch.equal(first, second)


def test_gradients_pass_where_numbers_were_kept() -> None:
    values = torch.ones(9, 9, dtype=torch.float64, requires_grad=True)
    torch.manual_seed(1)
    found = Dropout(0.4)(values)
    found.backward(torch.full_like(found, 3.0))
    torch.testing.assert_close(values.grad, 3 * found.detach())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_adding_to_states_is_dropping_and_then_adding(dtype: torch.dtype) -> None:
    module, states = Dropout(0.3), torch.randn(5, 13, requires_grad=True)
    found = torch.randn(5, 13).to(dtype).requires_grad_()
    torch.manual_seed(1)
    together = module.add(states, found)
    torch.manual_seed(1)
    apart = states + module(found)
    assert together.dtype == torch.float32
    torch.testing.assert_close(together, apart, rtol=0, atol=0.05 if dtype == torch.bfloat16 else 1e-6)
    gradients = [torch.autograd.grad(one.sum(), [states, found]) for one in (together, apart)]
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=0.01, atol=0)


def test_a_dropped_relu_is_a_relu_that_is_dropped() -> None:
    """Also its gradient, which is computed from the result alone."""
    module, values = Dropout(0.3), torch.randn(70, 90, dtype=torch.float64, requires_grad=True)
    torch.manual_seed(1)
    found = module.relu(values)
    torch.manual_seed(1)
    kept = draw_bytes(values) >= 77
    expected = torch.relu(values) * kept * (256 / 179)
    torch.testing.assert_close(found, expected)
    saved = found.grad_fn.saved_tensors  # type: ignore[union-attr]
    assert [one.data_ptr() for one in saved] == [found.data_ptr()]
    slopes = torch.randn(70, 90, dtype=torch.float64)
    for one, other in zip(*(torch.autograd.grad((x * slopes).sum(), values) for x in (found, expected)), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_share_and_the_mean_of_a_dropped_relu_are_right(dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    found = Dropout(0.1).relu(torch.ones(1000, 1000, dtype=dtype)).double()
    assert (found == 0).double().mean().item() == pytest.approx(26 / 256, abs=0.002)
    assert found.mean().item() == pytest.approx(1, abs=0.003 if dtype == torch.float32 else 0.006)


def test_without_dropout_a_relu_is_a_relu() -> None:
    values, state = torch.randn(3, 5), torch.get_rng_state()
    for module in (Dropout(0.5).eval(), Dropout(0.0)):
        assert torch.equal(module.relu(values), values.clamp_min(0))
    assert values.min() < 0  # not overwritten
    assert torch.equal(torch.get_rng_state(), state)
    with torch.no_grad():
        assert Dropout(0.0).relu(values) is values


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_every_byte_is_compared_exactly_in_every_format(dtype: torch.dtype) -> None:
    drawn = torch.arange(256, dtype=torch.uint8)
    for rate, level in ((0.1, 26), (0.5, 128), (0.001, 1), (0.999, 255)):
        found = Dropout(rate).keep(torch.full((256,), -2.0, dtype=dtype), drawn)
        assert found.tolist() == [0.0] * level + [-2.0] * (256 - level)


def test_the_backward_pass_keeps_a_byte_for_each_number() -> None:
    found = Dropout(0.3)._drop(torch.randn(5, 7, requires_grad=True))
    assert [one.dtype for one in found.grad_fn.saved_tensors] == [torch.uint8]  # type: ignore[union-attr]


@torch.inference_mode()
def test_in_inference_mode_the_states_are_not_overwritten() -> None:
    module, states, found = Dropout(0.5).eval(), torch.randn(3, 4), torch.randn(3, 4)
    before, expected = states.clone(), states + found
    assert torch.equal(module.add(states, found), expected)
    assert torch.equal(module.add(states, states), 2 * before)
    assert torch.equal(states, before)
    assert module.add(states, found.double()).dtype == torch.float64
