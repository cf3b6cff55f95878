"""Heat maps and their colour scales."""

import math

import pytest
from markupsafe import Markup

from docaps.report.drawing.heat_maps import ColourScale, heat_map

SCALE = ColourScale(0, 0.25, 1)


def draw_map(words: list[str], capsules: int) -> Markup:
    matrix = tuple(tuple(0.25 for _ in words) for _ in range(capsules))
    return heat_map(matrix, words, kind="coupling", iteration=2, scale=SCALE, title="a map").svg()


@pytest.mark.parametrize(("words", "capsules"), [(["a", "b", "c"], 4), (["Anna"], 2), ([], 3)])
def test_a_heat_map_has_a_cell_per_word_and_capsule(words: list[str], capsules: int) -> None:
    svg = draw_map(words, capsules)
    assert svg.count('class="cell ') == len(words) * capsules
    assert 'class="heatmap" data-kind="coupling" data-iteration="2"' in svg


def test_every_cell_says_its_value() -> None:
    svg = heat_map(((0.1, 0.9),), ["so", "far"], kind="pcc", iteration=0, scale=SCALE, title="a map").svg()
    assert "<title>far, capsule 1: p = 0.900</title>" in svg


def test_a_long_word_is_shortened_on_the_axis_only() -> None:
    svg = draw_map(["Donaudampfschifffahrt"], 1)
    assert ">Donaudampfschif…</text>" in svg
    assert "Donaudampfschifffahrt, capsule 1" in svg


def test_coupling_colours_uniform_is_neutral_one_is_blue_low_is_red() -> None:
    scale = ColourScale.over([0.0, 1.0], neutral=1 / 4, lowest=0.0)
    assert scale.shade(0.25) == ("neutral", 0)
    assert scale.shade(1.0) == ("high", 1)
    assert scale.shade(0.0) == ("low", 1)
    assert scale.shade(0.125) == ("low", 0.5)


def test_correlation_colours_are_symmetric_about_zero() -> None:
    scale = ColourScale.over([-0.4, 0.1], neutral=0.0, lowest=-1.0)
    assert (scale.low, scale.neutral, scale.high) == (-0.5, 0, 0.5)
    assert scale.shade(0) == ("neutral", 0)
    assert scale.shade(0.25) == ("high", 0.5)
    assert scale.shade(-0.25) == ("low", 0.5)


def test_a_scale_fits_small_deviations_but_does_not_blow_up_rounding_noise() -> None:
    assert ColourScale.over([0.24, 0.262], neutral=1 / 4, lowest=0.0).high == pytest.approx(0.27)
    noise = ColourScale.over([0.25 + 1e-9], neutral=1 / 4, lowest=0.0)
    assert noise.high - noise.neutral >= 0.01


def test_colours_end_at_full_strength_and_mark_the_undefined() -> None:
    scale = ColourScale(-0.5, 0, 0.5)
    assert scale.shade(0.9) == ("high", 1)
    assert scale.shade(math.nan)[0] == "undefined"
    assert ColourScale.over([math.nan], neutral=0.0, lowest=-1.0).high > 0


def test_one_capsule_takes_everything_and_still_has_a_scale() -> None:
    scale = ColourScale.over([1.0], neutral=1 / 1, lowest=0.0)
    assert scale.shade(1.0) == ("neutral", 0)
    assert scale.shade(0.995)[0] == "low"
