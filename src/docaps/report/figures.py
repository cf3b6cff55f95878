"""`docaps report --figures`: the page's charts as stand-alone SVG and PDF files.

Only PDF needs more than docaps itself: svglib and reportlab (`pip install 'docaps[plots]'`).
"""

import io
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from markupsafe import Markup

from docaps.errors import DocapsError
from docaps.files import replacing
from docaps.report.drawing.svg import COLOURS, LETTER, Panel, group, marker, number, rule, shape, text
from docaps.report.page import anchors, read_asset
from docaps.report.sections.endpoint_section import gain_panels
from docaps.report.sections.experiment_results import KINDS, gain_panel, sweep_panels
from docaps.report.sections.learning_curves import curve_panels
from docaps.report.sections.routing_maps import routing_kinds, routing_steps
from docaps.report.sections.run_table import accuracy_panels
from docaps.runs.grid_results import Grid, arrange
from docaps.runs.results import RunResults
from docaps.runs.wording import label_runs, sentence_case

_GAP, _CAPTION, _LEGEND = 24.0, 34.0, 22.0
_CHANCE = "chance"
_FONTS = "Helvetica, Arial, sans-serif"
_NEEDS_MORE = re.compile(r"[^\x00-\xff\u202f−←→…‘’“”–—€Œœ]")
"""Characters that Helvetica, which every PDF reader has, does not cover."""


def load_converter() -> Callable[[str], bytes]:
    """Return a function that turns SVG into PDF, or explain how to install it."""
    try:
        from reportlab import rl_config
        from reportlab.graphics import renderPDF
        from svglib.svglib import svg2rlg
    except ImportError:
        raise DocapsError("--figures needs svglib: pip install 'docaps[plots]'") from None

    def convert(svg: str) -> bytes:
        rl_config.invariant = 1  # no time stamps: the same results give the same bytes
        if _NEEDS_MORE.search(svg):
            svg = svg.replace(_FONTS, "DejaVu Sans")
        return bytes(renderPDF.drawToString(svg2rlg(io.BytesIO(svg.encode()))))

    return convert


def write_figures(directory: Path, results: Sequence[RunResults], grids: Sequence[Grid]) -> list[Path]:
    """Write every figure that the runs have data for, each as SVG and PDF; return the paths."""
    convert = load_converter()
    written = []
    for name, svg in _figures(results, grids).items():
        for path, content in ((f"{name}.svg", svg.encode()), (f"{name}.pdf", convert(svg))):
            with replacing(directory / path) as temporary:
                temporary.write_bytes(content)
            written.append(directory / path)
    return written


def _figures(results: Sequence[RunResults], grids: Sequence[Grid]) -> dict[str, str]:
    """Draw the figures, by file name."""
    runs, detailed, charted = arrange(results)
    labels = label_runs(runs[:charted])
    found: dict[str, str] = {}
    for grid, anchor in zip(grids, anchors(grids), strict=True):
        if grid.get("axis") and (sweep := sweep_panels(grid)):
            found[anchor] = compose(sweep, columns=2)
        if (endpoints := grid.get("endpoints")) and (panels := gain_panels(endpoints)):
            found[f"{anchor}-checkpoints"] = compose(panels, columns=2)
        if gain := gain_panel(grid):
            found[f"{anchor}-context-gain"] = compose([gain], legend=list(KINDS.values()))
    if curves := curve_panels(runs[:charted], labels, ""):
        found["curves"] = compose(curves, columns=2)
    if distances := accuracy_panels(runs[:charted], ""):
        found["distances"] = compose(distances, columns=2, legend=[*labels, _CHANCE])
    return found | _routing_figures(runs[:detailed])


def _routing_figures(runs: Sequence[RunResults]) -> dict[str, str]:
    """Draw the heat maps of the first history sentence of each run: iterations downwards, c left, p right."""
    names, found = Counter(run.name for run in runs), {}
    for run, label in zip(runs, label_runs(runs), strict=True):
        if run.routing and run.routing[0].history:
            name = re.sub(r"\W+", "-", f"routing-{run.name if names[run.name] == 1 else label}")
            history = run.routing[0].history
            columns = [
                [
                    Panel(kind.title, f"iteration {step}, {values}", picture)
                    for step, (picture, values) in enumerate(steps)
                ]
                for kind in routing_kinds(history)
                for steps in [routing_steps(kind, history[0])]
            ]
            panels = [panel for row in zip(*columns, strict=True) for panel in row]
            found[name] = compose(panels, len(columns))
    return found


def compose(panels: Sequence[Panel], columns: int = 1, legend: Sequence[str] = ()) -> str:
    """Put panels with their captions, and a legend above them, into one stand-alone SVG file."""
    width = max(panel.picture.width for panel in panels)
    height = _CAPTION + max(panel.picture.height for panel in panels)
    keys, top = _legend(legend, columns * (width + _GAP))
    rows = -(-len(panels) // columns)
    body = [keys]
    for place, panel in enumerate(panels):
        body.append(_place(panel, place % columns * (width + _GAP), top + place // columns * (height + _GAP)))
    content = shape("g", *body, transform=f"translate({number(_GAP)} {number(_GAP)})")
    across, down = _GAP + columns * (width + _GAP), _GAP + top + rows * (height + _GAP)
    size = {"width": number(across), "height": number(down), "viewBox": f"0 0 {number(across)} {number(down)}"}
    style, title = Markup(f"<style>\n{_style()}\n</style>"), "; ".join(panel.picture.title for panel in panels)
    svg = shape("svg", style, content, xmlns="http://www.w3.org/2000/svg", role="img", aria_label=title, **size)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{svg}\n'


def _place(panel: Panel, x: float, y: float) -> Markup:
    """Draw a panel with its caption at a position."""
    caption = [text(sentence_case(panel.title), 0, 12, class_="title"), text(panel.note.strip(), 0, 27)]
    picture = shape("g", panel.picture.body, class_=panel.picture.kind, transform=f"translate(0 {number(_CAPTION)})")
    return shape("g", *caption, picture, transform=f"translate({number(x)} {number(y)})")


def _legend(labels: Sequence[str], width: float) -> tuple[Markup, float]:
    """Draw the markers of runs with their labels in lines; return them with their height."""
    parts, x, y = [], 0.0, 0.0
    for run, label in enumerate(labels):
        room = 18 + len(label) * LETTER + 14
        if x and x + room > width:
            x, y = 0.0, y + _LEGEND
        key = rule(x + 6, y - 1, x + 6, y + 13, "chance") if label == _CHANCE else marker(run, x + 6, y + 6)
        parts += [key, text(label, x + 18, y + 10)]
        x += room
    return group(parts), y + _LEGEND + 8 if labels else 0.0


def _style() -> str:
    """Return the page's rules for charts with light colours filled in: few programs know CSS variables."""
    css = read_asset("page.css")
    light = dict(re.findall(r"--([\w-]+): ([^;]+);", css.partition("}")[0]))
    colours = {**light, "paper": "#ffffff", "sans": _FONTS}
    charts = css.partition("/* charts")[2].partition("*/")[2].partition("/* end of charts")[0]
    rules = []
    for selector, declarations in re.findall(r"([^{}]+)\{([^{}]*)\}", charts):
        # A run's class sets the variable of its colour: write a rule for each run instead.
        for run in range(COLOURS) if "var(--run)" in declarations else [None]:
            own = selector.strip() if run is None else f"{selector.strip()}.run-{run}"
            filled = declarations.replace("var(--run)", f"var(--run-{run})").replace("600", "bold")
            filled = re.sub(r"var\(--([\w-]+)\)", lambda name: colours[name[1]], filled)
            rules.append(f"{own} {{{filled}}}")
    only_on_page = re.compile(r"\.run-|svg \{|\.(chart|heatmap|bar) \{|.*:hover")
    rules = [one for one in rules if not only_on_page.match(one)]
    return "\n".join([*rules, f".title {{ fill: {colours['ink']}; font-weight: bold }}"])
