"""Ranges are those of the inputs of maps; int8 rounds by them, and they are stored with their weights."""

from pathlib import Path

import pytest
import torch
from tests.invariants import tiny

from docaps.batches.batch import collate
from docaps.config import DecodingSettings
from docaps.errors import CheckpointError
from docaps.model.fast.calibration import Observed, observe, ranges_of, read_ranges, write_ranges
from docaps.model.fast.int8 import Int8Linear
from docaps.model.fast.packing import Ranges, pack
from docaps.model.interface import TranslationModel
from docaps.translation.search import search

SETTINGS = DecodingSettings(beam=2, length_factor=0.1, length_margin=6)


def calibrate(name: str) -> tuple[TranslationModel, Ranges]:
    model = tiny.build(tiny.mode(name)).float()
    observed = observe(model)
    found = [search(each, tiny.sample_batch(), SETTINGS) for each in (observed, model)]
    assert [[one.tokens for one in each] for each in found[0]] == [[one.tokens for one in each] for each in found[1]]
    assert [each[0].score for each in found[0]] == pytest.approx([each[0].score for each in found[1]], abs=1e-4)
    return model, ranges_of(observed)


def test_the_largest_input_of_each_column_is_recorded() -> None:
    linear = Observed(torch.ones(2, 3), torch.zeros(2))
    linear(torch.tensor([[[1.0, -5.0, 0.0], [2.0, 1.0, 0.0]]]))
    linear(torch.tensor([[-1.5, 0.0, 0.0]]))
    assert linear.largest.tolist() == [2.0, 5.0, 0.0]


@pytest.mark.parametrize(
    "name",
    ["transformer", "qcn", "qcn-states", "qcn-both", "zhang", "han", "san", "san-decoder", "concat", "concat-segments"],
)
def test_every_map_that_is_used_gets_a_range_and_rounds_by_it(name: str) -> None:
    model, ranges = calibrate(name)
    packed = pack(model, torch.int8, ranges)
    maps = {key: module for key, module in packed.named_modules() if isinstance(module, Int8Linear)}
    known = {key.replace(".packed", "") for key, one in maps.items() if one.calibrated}
    assert {key for key in known if "parts" not in key} == set(ranges) - {"embeddings"}
    scored = "embeddings" in ranges  # some systems score words in float32
    assert all(one.calibrated == scored for key, one in maps.items() if "parts" in key)
    scores = [[one[0].score for one in search(each, tiny.sample_batch(), SETTINGS)] for each in (packed, model)]
    assert scores[0] == pytest.approx(scores[1], abs=1.0)
    assert scores[0] != scores[1]


def test_a_map_without_a_range_rounds_each_row_by_itself() -> None:
    model, ranges = calibrate("transformer")
    name = "encoder.0.attention.joint"
    packed = pack(model, torch.int8, {key: one for key, one in ranges.items() if key != name})
    assert not packed.get_submodule(name).calibrated
    assert packed.get_submodule("encoder.1.attention.joint").calibrated


@pytest.mark.parametrize("unknown", ["inner", "output"])
def test_half_a_feed_forward_network_is_not_calibrated(unknown: str) -> None:
    model, ranges = calibrate("transformer")
    name = "encoder.0.feed_forward"
    packed = pack(model, torch.int8, {key: one for key, one in ranges.items() if key != f"{name}.{unknown}"})
    for part in ("inner", "output"):
        assert not packed.get_submodule(f"{name}.packed.{part}").calibrated
        assert packed.get_submodule(f"encoder.1.feed_forward.packed.{part}").calibrated


def test_batch_neighbours_change_no_translation() -> None:
    model, ranges = calibrate("qcn")
    packed, windows = pack(model, torch.int8, ranges), tiny.sample_windows()
    together = search(packed, collate(windows, tiny.K), SETTINGS)
    for window, found in zip(windows, together, strict=True):
        (alone,) = search(packed, collate([window], tiny.K), SETTINGS)
        assert [one.tokens for one in found] == [one.tokens for one in alone]
        assert [one.score for one in found] == pytest.approx([one.score for one in alone], abs=1e-4)


def test_ranges_are_kept_with_the_weights_they_belong_to(tmp_path: Path) -> None:
    path, ranges = tmp_path / "ranges.safetensors", {"encoder.0.attention.joint": torch.tensor([1.0, 2.5])}
    write_ranges(path, ranges, weights="abc")
    found = read_ranges(path, weights="abc")
    assert {name: one.tolist() for name, one in found.items()} == {"encoder.0.attention.joint": [1.0, 2.5]}
    assert read_ranges(path, weights="abd") == {}


def test_damaged_ranges_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "ranges.safetensors"
    path.write_bytes(b"nonsense")
    with pytest.raises(
        CheckpointError, match=r"ranges\.safetensors: not the ranges that were written: `docaps precision`"
    ):
        read_ranges(path, weights="abc")
