import pytest

from docaps.config import StageSettings
from docaps.training.schedule import rate_factor


def stage(schedule: str, **settings: int) -> StageSettings:
    return StageSettings.model_validate({"schedule": schedule, "steps": 100, **settings})


@pytest.mark.parametrize("schedule", ["fixed", "inverse-sqrt", "linear"])
def test_the_rate_rises_evenly_to_its_peak(schedule: str) -> None:
    shares = [rate_factor(step, stage(schedule, warmup=4)) for step in (1, 2, 3, 4)]
    assert shares == pytest.approx([0.25, 0.5, 0.75, 1.0])


@pytest.mark.parametrize(
    ("schedule", "warmup", "expected"),
    [
        ("fixed", 0, {1: 1.0, 50: 1.0, 100: 1.0}),
        ("fixed", 10, {11: 1.0, 100: 1.0}),
        ("inverse-sqrt", 4, {5: (4 / 5) ** 0.5, 16: 0.5, 100: 0.2}),
        ("inverse-sqrt", 0, {1: 1.0, 4: 0.5, 100: 0.1}),
        ("linear", 0, {1: 1.0, 51: 0.5, 100: 0.01}),
        ("linear", 20, {21: 1.0, 61: 0.5, 100: 1 / 80}),
    ],
)
def test_after_the_peak_the_rate_falls_as_the_schedule_says(
    schedule: str, warmup: int, expected: dict[int, float]
) -> None:
    settings = stage(schedule, warmup=warmup)
    assert {step: rate_factor(step, settings) for step in expected} == pytest.approx(expected)


@pytest.mark.parametrize("schedule", ["fixed", "inverse-sqrt", "linear"])
@pytest.mark.parametrize("warmup", [0, 1, 99])
def test_every_step_learns_something_and_none_more_than_the_peak(schedule: str, warmup: int) -> None:
    settings = stage(schedule, warmup=warmup)
    assert all(0 < rate_factor(step, settings) <= 1 for step in range(1, settings.steps + 1))
