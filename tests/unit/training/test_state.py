"""The trainer's state survives JSON, and states that docaps 0.1 saved can be resumed."""

import json

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
    assert parse_trainer_state(STATE.to_json()) == STATE


def test_docaps_0_1_called_the_position_place() -> None:
    values = json.loads(STATE.to_json())
    values["place"] = values.pop("position")
    assert parse_trainer_state(json.dumps(values)) == STATE
