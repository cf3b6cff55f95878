"""The trainer's state survives JSON, states of docaps 0.1 can be resumed, and metrics are averaged."""

import json
import math
from dataclasses import asdict, replace

from docaps.batches.sampling import StreamPosition
from docaps.training.state import Sums, TrainerState, parse_trainer_state

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
