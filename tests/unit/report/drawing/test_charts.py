"""Charts are well-formed SVG that shows what it is given."""

import math
import re
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

from markupsafe import Markup

from docaps.report.drawing.charts import Bar, DotRow, Series, bar_chart, dot_chart, line_chart, spread
from docaps.report.drawing.heat_maps import ColourScale, heat_map
from docaps.report.drawing.svg import group, shape


def test_text_is_escaped_and_markup_is_not() -> None:
    assert shape("text", "a < b", shape("title", '"'), data_x='"x"') == (
        '<text data-x="&#34;x&#34;">a &lt; b<title>&#34;</title></text>'
    )
    assert group(["<", Markup("<g>")]) == "&lt;<g>"
    assert shape("line", x1=1.0, y1=1.239, class_="axis") == '<line x1="1" y1="1.24" class="axis"></line>'


def test_charts_are_well_formed_and_escape_their_labels() -> None:
    name = "<script>alert(1)</script>"
    charts = [
        line_chart([Series(name, [(1, 2), (2, 1)], 0), Series(name, [(1, 3)], 9, dashed=True)], title=name),
        dot_chart([DotRow(name, [0.5, None], 0.3)], [name, "b"], title=name),
        heat_map(((0.25, 0.5),), [name, "&"], kind="coupling", iteration=0, scale=ColourScale(0, 0.25, 1), title=name),
    ]
    for chart in charts:
        ElementTree.fromstring(chart.svg())
        assert "<script" not in chart.svg()


def test_non_finite_values_are_left_out_of_curves() -> None:
    svg = line_chart([Series("a", [(1, 5.0), (2, math.nan), (3, math.inf), (4, 1.0)], 0)], title="t").svg()
    (points,) = re.findall(r'points="([^"]+)"', svg)
    assert len(points.split()) == 2


def test_labels_are_spread_apart_inside_their_bounds() -> None:
    places = spread([100, 101, 50, 100], gap=10, low=0, high=105)
    ordered = sorted(places)
    assert all(after - before >= 10 for before, after in pairwise(ordered))
    assert ordered[0] >= 0
    assert ordered[-1] <= 105
    assert places[2] == 50


def test_bars_lie_on_the_side_of_their_sign() -> None:
    picture = bar_chart([Bar("a", -0.1, "-10"), Bar("b", 0.05, "+5"), Bar("c", 0.0, "0")], title="t").svg()
    assert picture.count('class="bar better"') == 1
    assert picture.count('class="bar worse"') == 2
    assert 'aria-label="t"' in picture
    assert "nan" not in bar_chart([Bar("a", 0.0, "0")], title="t").svg()
