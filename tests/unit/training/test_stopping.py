"""How long a stage will last."""

from docaps.config import StageSettings
from docaps.training.state import TrainerState
from docaps.training.stopping import seconds_left


def test_time_left_goes_by_the_pace_since_training_went_on() -> None:
    settings = StageSettings(steps=1000)
    begun = TrainerState(step=100, seconds=5000.0)  # it was slow before
    assert seconds_left(TrainerState(step=110, seconds=5020.0), settings, begun) == 2.0 * 890


def test_no_time_is_left_beyond_the_budget() -> None:
    settings = StageSettings(steps=1000, budget="100s")
    assert seconds_left(TrainerState(step=10, seconds=30.0), settings, TrainerState()) == 70.0
    assert seconds_left(TrainerState(step=20, seconds=130.0), settings, TrainerState()) == 0.0


def test_before_the_first_step_nothing_is_known() -> None:
    assert seconds_left(TrainerState(), StageSettings(steps=10), TrainerState()) == 0.0
