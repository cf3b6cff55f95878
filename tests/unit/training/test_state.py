"""The trainer's state survives JSON, states of docaps 0.1 can be resumed, and metrics are averaged."""

import json
import math
from dataclasses import asdict, replace
from pathlib import Path
from random import Random

import pytest
import torch
from tests.unit.runs.hostile import odd_bytes, odd_json

from docaps.batches.sampling import StreamPosition
from docaps.errors import CheckpointError
from docaps.model.checkpoint import write_tensors
from docaps.training.state import TRAINER_STATE, Sums, TrainerState, parse_trainer_state, read_state

STATE = TrainerState(
    step=7,
    position=StreamPosition(2, 3),
    best=1.5,
    best_step=6,
    snapshots=(3, 6),
    unlogged=Sums({"loss": 2.5}, {"loss": 1}, 40, 0.5),
)


def test_a_state_is_read_as_it_was_written() -> None:
    assert parse_trainer_state(json.dumps(asdict(STATE))) == STATE


def test_a_state_without_newer_fields_can_be_resumed() -> None:
    """As docaps 0.2 wrote it."""
    values = asdict(replace(STATE, collapsed=5))
    del values["collapsed"]
    assert parse_trainer_state(json.dumps(values)) == STATE


def test_docaps_0_1_called_the_position_place() -> None:
    values = asdict(STATE)
    values["place"] = values.pop("position")
    assert parse_trainer_state(json.dumps(values)) == STATE


def test_a_metric_that_not_every_step_has_is_averaged_over_the_steps_that_have_it() -> None:
    sums = Sums().plus({"loss": 1.0, "pcc": 0.5}, tokens=3, seconds=1.0).plus({"loss": 3.0}, tokens=3, seconds=2.0)
    found = sums.plus({"loss": math.nan}, tokens=3, seconds=0.0).means()
    assert found == {"loss": 2.0, "pcc": 0.5, "tokens_per_second": 3.0}
    assert Sums().plus({"loss": 7.0}, tokens=3, seconds=1.0).means().keys() == {"loss", "tokens_per_second"}


WRONG = [
    {"step": "7"},
    {"step": -1},
    {"step": 2**63},
    {"step": True},
    {"seconds": None},
    {"seconds": math.inf},
    {"best": "1"},
    {"snapshots": [1, "2"]},
    {"snapshots": 3},
    {"position": [2, 3]},
    {"position": {"epoch": 2.5, "batch": 3}},
    {"unlogged": {"sums": {"loss": 1.0}, "counts": {}, "tokens": 0, "seconds": 0.0}},
    {"unlogged": {"sums": {"loss": 1.0}, "counts": {"loss": 0}, "tokens": 0, "seconds": 0.0}},
    {"more": 1},
]


@pytest.mark.parametrize("change", WRONG, ids=str)
def test_values_of_another_type_are_refused(tmp_path: Path, change: dict[str, object]) -> None:
    path = tmp_path / "state.safetensors"
    write_tensors(path, {"weights/a": torch.ones(2)}, {TRAINER_STATE: json.dumps({**asdict(STATE), **change})})
    with pytest.raises(CheckpointError, match="not a saved training state") as caught:
        read_state(path)
    assert caught.value.path == path


def test_an_odd_state_is_read_or_refused(tmp_path: Path) -> None:
    path, random, content = tmp_path / "state.safetensors", Random(3), json.dumps(asdict(STATE)).encode()
    refused = 0
    for odd in (*odd_json(content, random, 150), *odd_bytes(content, random, 50)):
        write_tensors(path, {"weights/a": torch.ones(2)}, {TRAINER_STATE: odd.decode("utf-8", errors="replace")})
        try:
            read_state(path)
        except CheckpointError:
            refused += 1
    assert refused > 100
