"""Context gain: signs, intervals, values off the axis, and nothing where nothing was tested."""

import re
from pathlib import Path

import pytest
from markupsafe import escape
from tests.unit.report.fake_grids import write_trials

from docaps.report.figures import write_figures
from docaps.report.sections.experiment_results import KINDS, gain_panel, gains_of, span_of
from docaps.runs.grid_results import Grid, read_grids


def draw(grid: Grid) -> str:
    panel = gain_panel(grid)
    return panel.picture.svg() if panel else ""


def against(difference: float, low: float, high: float) -> dict[str, float]:
    return {"difference": difference, "low": low, "high": high, "p_bootstrap": 0.5, "p_randomisation": 0.5}


def test_context_gain_is_how_much_worse_everything_else_is(tmp_path: Path) -> None:
    (found,) = read_grids(write_trials(tmp_path))
    found["rows"][1]["histories"] = {
        "true": {"perplexity": 14.325, "against": against(-0.007, -0.012, -0.002)},  # better than its baseline
        "shuffled": {"perplexity": 14.334, "against": against(0.009, 0.005, 0.013)},
        "none": {"perplexity": 14.32, "against": against(-0.005, -0.008, 0.001)},  # better without
    }
    gains = gains_of(found)
    assert list(gains) == ["qcn", "mean"]  # not the sentence model's, which has no history
    assert [(list(KINDS)[gain.place], gain.value, gain.low, gain.high) for gain in gains["qcn"]] == [
        ("shuffled", 0.009, 0.005, 0.013),
        ("none", -0.005, -0.008, 0.001),
        ("baseline", 0.007, 0.002, 0.012),
    ]
    figure = draw(found)
    dots = dict(re.findall(r"<title>qcn, (.*?): (.*?)</title>", figure))
    assert dots[escape("another's history")] == "+0.009 [+0.005, +0.013]"
    places = [float(x) for x in re.findall(r'translate\((\S+) \S+\)"><title>qcn', figure)]
    line = float(re.findall(r'<line x1="(\S+)"[^>]*class="axis"', figure)[0])
    assert [x > line for x in places] == [True, False, True]
    unit = (places[0] - line) / 0.009  # pixels for a perplexity of 1
    whiskers = re.findall(r'<line x1="(\S+)" y1="\S+" x2="(\S+)" y2="\S+" class="whisker', figure)[:3]
    for ends, gain in zip(whiskers, gains["qcn"], strict=True):
        assert [(float(x) - line) / unit for x in ends] == pytest.approx([gain.low, gain.high], abs=1e-4)
    assert [(x - line) / unit for x in places] == pytest.approx([gain.value for gain in gains["qcn"]], abs=1e-4)


def test_a_distant_baseline_does_not_compress_the_rest(tmp_path: Path) -> None:
    (found,) = read_grids(write_trials(tmp_path))
    found["rows"] = found["rows"][:2]
    found["rows"][1]["histories"] = {
        "true": {"perplexity": 14.8, "against": against(0.237, 0.21, 0.265)},
        "shuffled": {"perplexity": 14.806, "against": against(0.006, 0.003, 0.009)},
        "none": {"perplexity": 14.797, "against": against(-0.003, -0.01, 0.003)},
    }
    assert span_of(gains_of(found)) == pytest.approx((-0.02, 0.009))
    figure = draw(found)
    assert "<title>qcn, the row it is compared with: −0.237 [−0.265, −0.210]</title>← −0.237</text>" in figure
    assert figure.count('class="dot') == 2
    found["rows"][1]["histories"]["true"]["against"] = against(-0.237, -0.265, -0.21)
    assert "</title>+0.237 →</text>" in draw(found)


@pytest.mark.parametrize("difference", [0.0, float("nan")])
def test_histories_that_make_no_difference_or_cannot_be_compared_are_drawn_as_such(
    difference: float, tmp_path: Path
) -> None:
    (found,) = read_grids(write_trials(tmp_path))
    for row in found["rows"][1:]:
        row["histories"] = {
            name: {"perplexity": 14.0, "against": against(0.0, 0.0, 0.0)} for name in ("true", "shuffled", "none")
        }
    found["rows"][1]["histories"]["none"]["against"] = against(difference, 0.0, 0.0)
    figure = draw(found)
    assert ("<title>qcn, no history: +0.000 [+0.000, +0.000]</title>" in figure) == (difference == 0)
    assert "nan" not in figure
    pytest.importorskip("svglib")
    assert len(write_figures(tmp_path / "figures", [], [found])) == 2


def test_without_tested_histories_there_is_no_figure(tmp_path: Path) -> None:
    (found,) = read_grids(write_trials(tmp_path))
    for row in found["rows"]:
        for history in row["histories"].values():
            history["against"] = None
    assert draw(found) == ""
    for row in found["rows"]:
        row.pop("histories")
    assert draw(found) == ""
