"""A packed model multiplies in lower precision: close to float32, rows independent, other weights shared."""

from typing import Any

import pytest
import torch
from tests.invariants import tiny
from torch import nn

from docaps.batches.batch import collate
from docaps.config import DecodingSettings
from docaps.corpus.text.vocabulary import BOS
from docaps.model.fast.calibration import observe, ranges_of
from docaps.model.fast.int8 import Int8Linear, Int8Output, quantise
from docaps.model.fast.packing import HalfLinear, pack
from docaps.model.interface import TranslationModel
from docaps.model.mixed_precision import choose_translation_precision
from docaps.translation.search import search

CPU = torch.device("cpu")

READINGS = ("qcn-both", "qcn-translations-states", "qcn-current-states", "qcn-current-both")


def random(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_rows_are_rounded_to_integers_with_their_own_scales() -> None:
    integers, scale = quantise(torch.tensor([[127.0, -63.6, 0.4], [0.0, 0.0, 0.0], [-2.0, 1.0, 0.5]]))
    assert integers.tolist() == [[255, 64, 128], [128, 128, 128], [1, 192, 160]]  # 128 stands for 0
    assert scale.flatten().tolist() == pytest.approx([1.0, 0.0, 2 / 127], abs=1e-9)
    assert scale[1] > 0  # a row of zeros is not divided by 0


@pytest.mark.parametrize(("make", "tolerance"), [(Int8Linear, 0.02), (HalfLinear, 0.01)])
@torch.inference_mode()
def test_a_packed_map_is_close_to_the_float32_one(make: type[nn.Module], tolerance: float) -> None:
    weight = random(40, 64) * torch.linspace(0.01, 3, 40).unsqueeze(1)  # rows of different size
    values, bias = random(2, 3, 64, seed=2) * torch.tensor([0.01, 1.0, 50.0]).view(1, 3, 1), random(40, seed=3)
    expected = nn.functional.linear(values, weight, bias)
    size = nn.functional.linear(values.abs(), weight.abs(), bias.abs())
    assert ((make(weight, bias)(values) - expected).abs() / size).max() < tolerance


@torch.inference_mode()
def test_neighbours_change_nothing_in_int8() -> None:
    linear, values = Int8Linear(random(40, 64), random(40)), random(5, 64, seed=2)
    loud = torch.cat((values, 1000 * random(3, 64, seed=4)))
    assert torch.equal(linear(loud)[:5], linear(values))


@torch.inference_mode()
def test_the_output_layer_scores_all_words_in_chunks() -> None:
    weight, states = random(40, 64), random(5, 64, seed=2)
    pieces, scale = Int8Output(weight, 16)(states)
    scores = torch.cat(list(pieces), dim=1) * scale
    torch.testing.assert_close(scores, states @ weight.T, atol=0.6, rtol=0)
    assert torch.equal(scores, Int8Output(weight, 16)(states)[1] * Int8Linear(weight).multiply(quantise(states)[0]))


@pytest.mark.parametrize("name", ["transformer", "qcn", "zhang", "han", "san", "san-decoder", *READINGS])
@pytest.mark.parametrize("dtype", [torch.int8, torch.bfloat16])
def test_a_packed_model_searches_like_the_original(name: str, dtype: torch.dtype) -> None:
    model = tiny.build(tiny.mode(name, norm="post")).float()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    packed = pack(model, dtype)
    batch, settings = tiny.sample_batch(), DecodingSettings(beam=3, length_factor=0.1, length_margin=6)
    scores = [[one[0].score for one in search(each, batch, settings)] for each in (packed, model)]
    assert scores[0] == pytest.approx(scores[1], abs=1.0)
    assert scores[0] != scores[1]
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())
    assert packed.get_parameter("embeddings.source.weight") is model.get_parameter("embeddings.source.weight")


@pytest.mark.parametrize("calibrated", [False, True])
@pytest.mark.parametrize("form", [tiny.MARIAN, *tiny.FORMS.values()])
@torch.inference_mode()
def test_every_form_of_the_transformer_is_packed(form: dict[str, Any], calibrated: bool) -> None:
    model, batch = tiny.build(tiny.settings("qcn", **form)).float(), tiny.sample_batch()
    first = torch.full((len(batch.source), 1), BOS)

    def endings(one: TranslationModel) -> torch.Tensor:
        return one.hypothesise(one.encode(batch), 1).extend(first, 3).ending

    expected, observed = endings(model), observe(model)
    torch.testing.assert_close(endings(observed), expected)
    ranges = ranges_of(observed) if calibrated else None
    for dtype in (torch.int8, torch.bfloat16):
        found = endings(pack(model, dtype, ranges))
        torch.testing.assert_close(found, expected, rtol=0, atol=0.12)
        assert not torch.equal(found, expected)


@pytest.mark.parametrize("name", ["qcn", "capsnet"])
@pytest.mark.parametrize("positions", [False, True])
@pytest.mark.parametrize("dtype", [torch.int8, torch.bfloat16])
@torch.inference_mode()
def test_words_mapped_beforehand_give_the_same_capsules(name: str, positions: bool, dtype: torch.dtype) -> None:
    model = tiny.build(tiny.settings(name, tables={"history": {"positions": positions}})).float()
    packed, batch = pack(model, dtype), tiny.sample_batch()
    found, expected = (each.encode(batch).context for each in (packed, model))
    assert packed.history_table is not None
    torch.testing.assert_close(found.vectors, expected.vectors)
    assert model.history_table is None
    assert not model.context.words.mapped


def test_batch_neighbours_change_no_translation_in_int8() -> None:
    model = pack(tiny.build(tiny.settings("qcn")).float(), torch.int8)
    settings, windows = DecodingSettings(beam=2, length_factor=0.1, length_margin=6), tiny.sample_windows()
    together = search(model, collate(windows, tiny.K), settings)
    for window, found in zip(windows, together, strict=True):
        (alone,) = search(model, collate([window], tiny.K), settings)
        assert [one.tokens for one in found] == [one.tokens for one in alone]
        assert [one.score for one in found] == pytest.approx([one.score for one in alone], abs=1e-4)


def test_float32_is_the_model_itself() -> None:
    model = tiny.build(tiny.settings("qcn"))
    assert pack(model, torch.float32) is model


@pytest.mark.parametrize(
    ("wish", "native", "checked", "expected"),
    [
        ("auto", True, True, torch.bfloat16),
        ("auto", False, False, torch.float32),
        ("auto", False, True, torch.int8),
        ("int8", True, False, torch.int8),
        ("bfloat16", False, True, torch.bfloat16),
        ("float32", True, True, torch.float32),
    ],
)
def test_the_precision_of_auto(
    wish: str, native: bool, checked: bool, expected: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("docaps.model.mixed_precision.has_native_bfloat16", lambda _: native)
    assert choose_translation_precision(wish, CPU, int8_checked=checked) == expected  # type: ignore[arg-type]
