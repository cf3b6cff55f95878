import math
import re
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest

from docaps.report.drawing.charts import DotRow, Series, dot_chart, line_chart, spread
from docaps.report.drawing.heat_maps import heat_map
from docaps.report.markup import Markup, element, join
from docaps.corpus.text.cutting import escape
from docaps.report.drawing.heat_maps import ColourScale

SCALE = ColourScale(0, 0.25, 1)


def draw_map(words: list[str], capsules: int) -> Markup:
    matrix = tuple(tuple(0.25 for _ in words) for _ in range(capsules))
    return heat_map(matrix, words, kind="coupling", iteration=2, scale=SCALE, title="a map")


def test_text_is_escaped_and_markup_is_not() -> None:
    assert element("p", "a < b", element("b", '"'), title='"x"') == '<p title="&quot;x&quot;">a &lt; b<b>&quot;</b></p>'
    assert escape(Markup("<b>")) == "<b>"
    assert join(["<", Markup("<br>")]) == "&lt;<br>"
    assert element("input", hidden=True, value=None, open=False, data_kind="x") == '<input hidden data-kind="x">'


@pytest.mark.parametrize(("words", "capsules"), [(["a", "b", "c"], 4), (["Anna"], 2), ([], 3)])
def test_a_heat_map_has_a_cell_per_word_and_capsule(words: list[str], capsules: int) -> None:
    svg = draw_map(words, capsules)
    assert svg.count('class="cell ') == len(words) * capsules
    assert 'class="heatmap" data-kind="coupling" data-iteration="2"' in svg


def test_every_cell_says_its_value() -> None:
    svg = heat_map(((0.1, 0.9),), ["so", "far"], kind="pcc", iteration=0, scale=SCALE, title="a map")
    assert "<title>far, capsule 1: p = 0.900</title>" in svg


def test_a_long_word_is_shortened_on_the_axis_only() -> None:
    svg = draw_map(["Donaudampfschifffahrt"], 1)
    assert ">Donaudampfschif…</text>" in svg
    assert "Donaudampfschifffahrt, capsule 1" in svg


def test_charts_are_well_formed_and_hold_no_markup_of_others() -> None:
    name = "<script>alert(1)</script>"
    charts = [
        line_chart([Series(name, [(1, 2), (2, 1)], 0), Series(name, [(1, 3)], 9, dashed=True)], title=name),
        dot_chart([DotRow(name, [0.5, None], 0.3)], [name, "b"], title=name),
        draw_map([name, "&"], 2),
    ]
    for chart in charts:
        ElementTree.fromstring(chart)
        assert "<script" not in chart


def test_values_that_are_not_numbers_are_left_out_of_curves() -> None:
    svg = line_chart([Series("a", [(1, 5.0), (2, math.nan), (3, math.inf), (4, 1.0)], 0)], title="t")
    (points,) = re.findall(r'points="([^"]+)"', svg)
    assert len(points.split()) == 2


def test_labels_are_spread_apart_inside_their_bounds() -> None:
    places = spread([100, 101, 50, 100], gap=10, low=0, high=105)
    ordered = sorted(places)
    assert all(after - before >= 10 for before, after in pairwise(ordered))
    assert ordered[0] >= 0
    assert ordered[-1] <= 105
    assert places[2] == 50
