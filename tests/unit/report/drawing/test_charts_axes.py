"""Axes have round ticks and are logarithmic only where that helps."""

import math

import pytest

from docaps.report.drawing.charts import Axis, log_ticks, nice_ceiling, ticks


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (0, 900, [0, 200, 400, 600, 800]),
        (0.31, 0.52, [0.35, 0.4, 0.45, 0.5]),
        (-1, 1, [-1, -0.5, 0, 0.5, 1]),
        (3, 3, [3]),
    ],
)
def test_ticks_are_round_and_inside(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high) == expected


@pytest.mark.parametrize(("low", "high"), [(0.0, 7.3), (-3.2, 11), (0.001, 0.0042), (1e6, 9.9e6), (5, 5.0001)])
def test_ticks_are_neither_few_nor_many(low: float, high: float) -> None:
    marks = ticks(low, high)
    assert 2 <= len(marks) <= 7
    assert all(low - 1e-9 <= mark <= high + 1e-9 for mark in marks)


def test_no_tick_is_a_negative_zero() -> None:
    assert all(math.copysign(1, mark) == 1 for mark in ticks(-1, 1) if mark == 0)


def test_log_ticks() -> None:
    assert log_ticks(1.5, 60) == [2, 5, 10, 20, 50]
    assert log_ticks(1, 1e5) == [1, 10, 100, 1000, 1e4, 1e5]


@pytest.mark.parametrize(("value", "expected"), [(0.3, 0.5), (0.5, 0.5), (0.51, 1), (1.0, 1), (17, 20), (0.02, 0.02)])
def test_nice_ceiling(value: float, expected: float) -> None:
    assert nice_ceiling(value) == expected


def test_an_axis_is_logarithmic_only_when_it_pays() -> None:
    assert Axis.over([1.2, 400], start=0, end=100, may_be_log=True).log
    assert not Axis.over([1.2, 4], start=0, end=100, may_be_log=True).log
    assert not Axis.over([0, 400], start=0, end=100, may_be_log=True).log
    axis = Axis(1, 100, 0, 200, log=True)
    assert axis.place(10) == pytest.approx(100)


def test_an_axis_over_a_single_value_has_room() -> None:
    axis = Axis.over([2.0], start=100, end=0)
    assert axis.low < 2 < axis.high
    assert axis.place(2) == pytest.approx(50)
