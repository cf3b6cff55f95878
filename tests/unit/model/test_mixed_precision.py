"""bfloat16 where it is native, float32 elsewhere, and float32 where it matters."""

import pytest
import torch
from tests.invariants import tiny

from docaps.model import mixed_precision as precision
from docaps.model.mixed_precision import autocast, choose_precision, has_native_bfloat16, to_autocast_dtype
from docaps.training.objective import compute_loss

CPU = torch.device("cpu")


@pytest.mark.parametrize(("native", "expected"), [(False, torch.float32), (True, torch.bfloat16)])
def test_auto_takes_bfloat16_only_where_it_is_native(
    monkeypatch: pytest.MonkeyPatch, native: bool, expected: torch.dtype
) -> None:
    monkeypatch.setattr(precision, "has_native_bfloat16", lambda _: native)
    assert choose_precision("auto", CPU) == expected
    assert choose_precision("float32", CPU) == torch.float32
    assert choose_precision("bfloat16", CPU) == torch.bfloat16


@pytest.mark.parametrize(("amx", "avx", "expected"), [(0, 0, False), (1, 0, True), (0, 1, True)])
def test_native_bfloat16_is_read_from_the_cpu_flags(
    monkeypatch: pytest.MonkeyPatch, amx: int, avx: int, expected: bool
) -> None:
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: bool(amx), raising=False)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: bool(avx), raising=False)
    assert has_native_bfloat16(CPU) is expected


def test_float32_changes_nothing_and_bfloat16_does() -> None:
    left = torch.randn(4, 4, generator=torch.Generator().manual_seed(1))
    with autocast(CPU, torch.float32):
        assert (left @ left).dtype == torch.float32
    with autocast(CPU, torch.bfloat16):
        assert (left @ left).dtype == torch.bfloat16


@pytest.mark.parametrize("name", tiny.SYSTEMS)
def test_a_bfloat16_step_is_finite_and_near_the_float32_one(name: str) -> None:
    model, batch = tiny.build(tiny.settings(name)).float().train(), tiny.sample_batch()
    totals = []
    for dtype in (torch.float32, torch.bfloat16):
        model.zero_grad(set_to_none=True)
        with autocast(CPU, dtype):
            prediction = model(batch)
        loss = compute_loss(prediction, batch.translations, label_smoothing=0.1, regulariser_weight=1.0)
        assert loss.total.dtype == torch.float32
        loss.total.backward()
        assert all(weight.grad is not None and weight.grad.isfinite().all() for weight in model.parameters())
        totals.append(loss.total.item())
    assert totals[1] == pytest.approx(totals[0], abs=0.05)
    assert totals[1] != totals[0]


def test_inputs_of_products_are_cast_under_autocast_only() -> None:
    values = torch.randn(2, 3)
    assert to_autocast_dtype(values) is values
    with autocast(CPU, torch.bfloat16):
        assert to_autocast_dtype(values).dtype == torch.bfloat16
        assert to_autocast_dtype(values.bfloat16()).dtype == torch.bfloat16


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_in_bfloat16_states_stay_in_float32_between_products(norm: str) -> None:
    """The sums of layers keep their precision; the inputs of the output layer do not need it."""
    model, batch = tiny.build(tiny.settings("qcn", norm=norm)).float(), tiny.sample_batch()
    exact = model(batch)
    with autocast(CPU, torch.bfloat16):
        encoding, prediction = model.encode(batch), model(batch)
    assert encoding.states.dtype == torch.float32
    assert prediction.states.dtype == torch.bfloat16
    assert exact.states.dtype == torch.float32
    torch.testing.assert_close(prediction.logits.float(), exact.logits, rtol=0.1, atol=0.3)
    found, expected = (one.log_probabilities(batch.translations) for one in (prediction, exact))
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, expected, rtol=0.05, atol=0.15)
